"""The part of the grader that the submission's interpreter imports: a pytest plugin that reports, and its launcher.

Copied into a root-owned folder for each run. Python 3.8+, pytest 6 to 9, nothing else.
"""
