"""Two licence detectors over the text on stdin, as JSON on stdout. Run as a program: the text is hostile, and regular
expressions over it may take for ever; whoever starts this sets the deadline.
"""

import json
import sys

import askalono
import spdx_matcher


def main() -> None:
    """Print what each detector says: `askalono` [id, score] or null, `spdx_matcher` a list of ids."""
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    best = askalono.identify(text)
    found, _ = spdx_matcher.analyse_license_text(text)
    told = {"askalono": [best.name, best.score] if best else None, "spdx_matcher": sorted(found["licenses"])}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
