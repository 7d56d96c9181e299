"""What runs, and in what order: Prefect flows, one module per phase, and the command line."""
