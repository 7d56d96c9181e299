"""Trace capture: agents run in the environment; trajectory and reward are recorded."""
