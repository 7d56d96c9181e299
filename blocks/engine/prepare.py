"""The last step of the machine set-up: the engine answers, and the two images everything is built on are there.

Run as `python -m blocks.engine.prepare`; exit code 3 with a message where something must be installed first.
"""

import sys

from blocks.engine.engine import Engine
from blocks.engine.runtime import ensure_python_runtime
from blocks.errors import EnvmillError, ServiceMissingError
from blocks.owner import Owner
from blocks.settings import load_settings


def main() -> int:
    """Make what is missing; returns the exit code."""
    try:
        settings = load_settings()
        engine = Engine.connect(settings.engine, Owner.current())
        engine.reap()
        sys.stderr.write("setup: looking for the images; the first time they are made, which takes a minute\n")
        reference = ensure_python_runtime(engine, settings)
        sys.stderr.write(f"setup: image {reference}\n")
    except ServiceMissingError as error:
        sys.stderr.write(f"setup: {error}\n")
        return 3
    except EnvmillError as error:
        sys.stderr.write(f"setup: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
