"""The commands of `envmill`, one module per group; flows/cli.py puts them together."""
