"""Folders that root is about to hand over: that none of them is a link, nor lies behind one that somebody else made."""

from collections.abc import Sequence

from blocks.engine import Container

_CHECK = 'for path; do [ -d "$path" ] && [ "$(realpath -e -- "$path")" = "$path" ] || { echo "$path"; exit 1; }; done'


def first_unreal(box: Container, paths: Sequence[str]) -> str | None:
    """The first of the absolute, normal paths that is no folder, or that has a link among its parts; None: all are real.

    Run as root, after whoever could change them has ended.
    """
    done = box.run(["sh", "-c", _CHECK, "sh", *paths], user="root", timeout_sec=60)
    return None if done.ok else done.output.strip()
