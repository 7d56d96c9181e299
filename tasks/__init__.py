"""What each step does: one package per phase, plain functions, Prefect wrappers in steps.py."""
