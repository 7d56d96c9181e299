"""The grader: a stdlib-only package (Python 3.8+) that is copied as it is into every published task.

It runs as root, outside the agent's reach, and decides; the submission's code runs as an unprivileged user, and only
`inside/` is ever imported by that user's interpreter. Nothing here imports `blocks` or anything else from outside the
package, so the copy works alone: `/usr/bin/python3 -I -S /tests/grader grade --spec /tests/spec.json --out DIR`.

Grade B: the tests and the submission share an interpreter, so the report can be forged by code that goes looking for
the reporter. Policy, sentinels, nonce and process control stop the plain attacks; twins are for the rest.
"""

GRADER_VERSION = "2"
"""Part of what a verifier was validated with: raise it when a verdict may change."""
