"""package.json, field by field: a submission may change what it depends on, not what is run or how.

Entry points (`main`, `exports`, `type` and the like) are the submission's where the outcome changes them too; scripts,
runner configuration and every field unknown here are those of the base copy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

FREE_FIELDS = frozenset(
    {"dependencies", "devDependencies", "peerDependencies", "peerDependenciesMeta", "optionalDependencies"}
    | {"version", "description", "keywords", "author", "contributors", "files", "homepage", "bugs", "funding"}
    | {"license", "repository", "engines", "private", "sideEffects"}
)
ENTRY_FIELDS = frozenset(
    {"main", "module", "browser", "exports", "imports", "bin", "type", "types", "typings", "typesVersions", "unpkg"}
    | {"jsdelivr", "directories", "man", "esnext", "source"}
)
"""Fields an outcome can open."""
MAX_BYTES = 1 << 20


def merged(submitted: bytes | None, base: bytes, open_fields: Iterable[str]) -> bytes:
    """What is graded: free and open fields as submitted, all others as in base; base itself where nothing readable is."""
    theirs, ours = _document(submitted), _document(base)
    if theirs is None or ours is None:
        return base
    free = FREE_FIELDS | (ENTRY_FIELDS & set(open_fields))
    # The order of base, so that a file that changes nothing stays as it is.
    names = [*ours, *(name for name in theirs if name not in ours)]
    document = {}
    for name in names:
        source = theirs if name in free else ours
        if name in source:
            document[name] = source[name]
    if document == ours:
        return base
    return json.dumps(document, indent=2).encode("ascii") + b"\n"


def changed_entries(before: bytes | None, after: bytes | None) -> frozenset[str]:
    """Entry fields that differ between two versions of one package.json; none where either is unreadable."""
    old, new = _document(before), _document(after)
    if old is None or new is None:
        return frozenset()
    return frozenset(name for name in ENTRY_FIELDS if old.get(name) != new.get(name))


def changes_more(before: bytes | None, after: bytes | None) -> bool:
    """Whether fields differ that no submission may change."""
    old, new = _document(before), _document(after)
    if old is None or new is None:
        return before != after
    held = (old.keys() | new.keys()) - FREE_FIELDS - ENTRY_FIELDS
    return any(old.get(name) != new.get(name) for name in held)


def _document(content: bytes | None) -> dict[str, object] | None:
    if content is None or len(content) > MAX_BYTES:
        return None
    try:
        document = json.loads(content.decode("utf-8-sig"))
        json.dumps(document).encode("ascii")
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
