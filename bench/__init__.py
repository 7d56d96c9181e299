"""Benchmarks and the corpus, each one command."""
