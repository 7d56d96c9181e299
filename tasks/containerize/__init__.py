"""Containerize: the start state becomes an image without Git, solution or hidden tests."""
