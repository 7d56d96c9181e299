"""Reading hostile JSON with types: every accessor gives a clean value or nothing, whatever lies in the file."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from blocks.records import ReasonCode
from tasks.ingest.result import RefusedError

MAX_FILE_BYTES = 256 << 20
MAX_DEPTH = 100


def read_bytes(path: Path, name: str) -> bytes:
    """A regular file's content.

    Raises:
        RefusedError: file_unreadable; a link, a folder, too large, or not readable.
    """
    if path.is_symlink() or not path.is_file():
        raise unreadable(name, "is not a regular file", "export the session again")
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise unreadable(name, f"is larger than {MAX_FILE_BYTES} bytes", "hand in the session without attachments")
        return path.read_bytes()
    except OSError as error:
        raise unreadable(name, f"cannot be read ({error.strerror})", "check its permissions") from None


def read_text(path: Path, name: str) -> str:
    """A UTF-8 file's text, cleaned. Raises as `read_bytes`, and where it is not UTF-8."""
    return clean(_decode(read_bytes(path, name), name))


def read_json(path: Path, name: str) -> object:
    """A JSON file's value. `name` is what messages call the file.

    Raises:
        RefusedError: file_unreadable; also truncated or otherwise no JSON (with line and column), or nested too deeply.
    """
    text = _decode(read_bytes(path, name), name)
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}, offset {error.pos} of {len(text)}"
        raise unreadable(name, f"is not complete JSON: {error.msg} at {place}", "export the session again") from None
    except ValueError:
        raise unreadable(name, "holds a number that is too long", "export the session again") from None
    except RecursionError:
        raise unreadable(name, "is nested too deeply", "export the session again") from None
    if _deeper_than(value, MAX_DEPTH):
        raise unreadable(name, f"is nested more than {MAX_DEPTH} levels deep", "export the session again")
    return value


def unreadable(name: str, fault: str, mend: str) -> RefusedError:
    """The refusal for a file that cannot be read."""
    return RefusedError(ReasonCode.FILE_UNREADABLE, f"{name} {fault}; {mend}")


def clean(text: str) -> str:
    """The text as it can be stored and scanned: lone surrogates and NUL become U+FFFD."""
    text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def as_text(value: object) -> str:
    """The cleaned text, or "" where it is none."""
    return clean(value) if isinstance(value, str) else ""


def as_map(value: object) -> Mapping[str, object]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> Sequence[object]:
    """The array, or an empty one."""
    return value if isinstance(value, list) else ()


def as_int(value: object) -> int | None:
    """A whole number that fits 63 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) < 1 << 62 else None


def as_cost(value: object) -> float | None:
    """A finite number, not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def as_moment(milliseconds: object) -> datetime | None:
    """A UTC moment from milliseconds since 1970."""
    number = as_int(milliseconds)
    if number is None or number <= 0:
        return None
    try:
        return datetime.fromtimestamp(number / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def clean_json(value: object) -> object:
    """The value with every text in it cleaned; keys too. Depth is bounded by `read_json`."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        return {clean(str(key)): clean_json(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise unreadable(name, f"is not UTF-8 at byte {error.start}", "save it as UTF-8") from None


def _deeper_than(value: object, limit: int) -> bool:
    level: list[object] = [value]
    for _ in range(limit):
        level = [child for item in level for child in _children(item)]
        if not level:
            return False
    return True


def _children(item: object) -> Sequence[object]:
    if isinstance(item, dict):
        return list(item.values())
    return item if isinstance(item, list) else ()
