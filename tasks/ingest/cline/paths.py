"""Paths of a session, made relative to the workspace they lie in."""

import posixpath
import re

_DRIVE = re.compile(r"^[A-Za-z]:/")


def relative_path(path: str, roots: tuple[str, ...]) -> str | None:
    """The path relative to the workspace root it lies in, with `/`; None outside every root, or where it is empty."""
    text = path.strip().replace("\\", "/") if _is_windows(path, roots) else path.strip()
    for root in roots:
        base = root.replace("\\", "/").rstrip("/")
        if base and (text + "/").startswith(base + "/"):
            text = text[len(base) :].lstrip("/") or "."
            break
    else:
        if text.startswith("/") or _DRIVE.match(text):
            return None
    normal = posixpath.normpath(text) if text else "."
    return None if normal == "." or normal == ".." or normal.startswith("../") else normal


def _is_windows(path: str, roots: tuple[str, ...]) -> bool:
    return any("\\" in root or _DRIVE.match(root) for root in roots) or bool(_DRIVE.match(path.replace("\\", "/")))
