"""SEARCH/REPLACE blocks as Cline applies them (its `constructNewFileContent`, version 1; 3.37 to 3.51).

Every block is looked for in the file as it was before the edit, from the end of the block before it on: the exact text,
else the same lines with white space at their ends ignored, else, for three lines or more, a block of as many lines with
the same first and last line, else the exact text anywhere. An empty SEARCH stands for the whole file.
"""

from collections.abc import Iterable, Sequence

from blocks.session import Replacement


def apply_blocks(text: str, blocks: Iterable[Replacement]) -> str:
    """The text with every block replaced.

    Raises:
        LookupError: a block is not in the file, or two of them overlap.
    """
    found: list[tuple[int, int, str]] = []
    position = 0
    for block in blocks:
        start, end = _find(text, block.search, position)
        found.append((start, end, block.replace))
        if start >= position:
            position = end
    result, position = "", 0
    for start, end, replacement in sorted(found, key=lambda item: item[:2]):
        if start < position:
            raise LookupError("two SEARCH blocks overlap")
        result += text[position:start] + replacement
        position = end
    return result + text[position:]


def _find(text: str, search: str, position: int) -> tuple[int, int]:
    if not search:
        return 0, len(text)
    start = text.find(search, position)
    if start >= 0:
        return start, start + len(search)
    lines = text.split("\n")
    wanted = [line.strip() for line in search.removesuffix("\n").split("\n")]
    stripped = [line.strip() for line in lines]
    places = [0]
    for line in lines:
        places.append(places[-1] + len(line) + 1)
    first = next(number for number, place in enumerate(places) if place >= position)
    number = _same_lines(stripped, wanted, first)
    if number is None and len(search.split("\n")) >= 3:
        number = _same_ends(stripped, wanted, first)
    if number is not None:
        return places[number], min(places[number + len(wanted)], len(text))
    start = text.find(search)
    if start < 0:
        raise LookupError("a SEARCH block is not in the file")
    return start, start + len(search)


def _same_lines(lines: Sequence[str], wanted: Sequence[str], first: int) -> int | None:
    size = len(wanted)
    return next((at for at in range(first, len(lines) - size + 1) if lines[at : at + size] == wanted), None)


def _same_ends(lines: Sequence[str], wanted: Sequence[str], first: int) -> int | None:
    size, ends = len(wanted), (wanted[0], wanted[-1])
    starts = range(first, len(lines) - size + 1)
    return next((at for at in starts if (lines[at], lines[at + size - 1]) == ends), None)
