"""Verifier synthesis: hidden tests, the grader that runs them, and the quality card."""
