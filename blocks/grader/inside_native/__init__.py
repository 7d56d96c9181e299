"""What builds and tests a C or C++ tree, run by the subject: build system, test programs, their structured reports.

Copied into a root-owned folder for each run. Python 3.8+, the standard library, nothing else.
"""
