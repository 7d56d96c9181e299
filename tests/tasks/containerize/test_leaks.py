"""Every kind of leak, planted in the layers of an image as the engine saves it; and images that hold none."""

import gzip
import io
import tarfile
from collections.abc import Iterable
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.trees import File, Tree, pack
from tasks.containerize.fingerprints import fingerprint, match
from tasks.containerize.leaks import LeakHit, scan_layers, scan_text
from tests.trees import tree

BEFORE = """\
def opening(day):
    rules = expand(day)
    return [rule for rule in rules if rule.begins == day]


def closing(day):
    return opening(day)[-1].ends
"""
AFTER = BEFORE.replace(
    "    rules = expand(day)\n", "    rules = [*expand(day - ONE_DAY), *expand(day)]  # overnight\n    rules.sort()\n"
)
HIDDEN = "def test_overnight():\n    schedule = Schedule('22:00-02:00')\n    assert schedule.is_open('01:30')\n"
START = tree({"src/hours.py": BEFORE, "tests/test_hours.py": "def test_plain():\n    assert opening(MONDAY)\n"})
PRINTS = fingerprint(START, tree({"src/hours.py": AFTER, "tests/test_overnight.py": HIDDEN}))
REMOTE = "https://github.com/lanternquay/gatehours"


def layers(*trees: Tree) -> list[tuple[str, IO[bytes]]]:
    return [(f"layer/{number}", io.BytesIO(pack(files))) for number, files in enumerate(trees)]


def scan(found: Iterable[tuple[str, IO[bytes]]], before: str | None = None) -> list[LeakHit]:
    return scan_layers(found, PRINTS, project="Gate.Hours", before=before, remotes=[REMOTE])


def kinds(hits: Iterable[LeakHit]) -> list[tuple[str, str, str]]:
    return [(hit.kind, hit.layer, hit.path) for hit in hits]


def test_clean_layers_give_none() -> None:
    clean = {
        **{f"app/{path}": file for path, file in START.items()},
        **tree(
            {
                "app/.gitignore": "*.pyc",
                "app/README.md": f"Clone {REMOTE} and read on.",
                "opt/venv/gate_hours-0.3.0.dist-info/METADATA": "Name: gatehours",
                "opt/venv/gate_hours-0.3.0.dist-info/direct_url.json": '{"url": "file:///app"}',
                "opt/wheels/pytest-8.4.0-py3-none-any.whl": b"PK\0",
                "opt/wheels/gate_hours_plugin-1.0.tar.gz": b"",
                "usr/lib/objects/12/3456": "x",
                "usr/bin/tool": b"\x7fELF\0" + BEFORE.encode(),
            }
        ),
        "app/link": File(link="README.md"),
    }
    assert scan(layers(clean, START)) == []


@pytest.mark.parametrize(
    ("path", "content", "kind"),
    [
        ("app/src/hours.py", AFTER, "solution_lines"),
        ("var/notes.md", "# How\n\n" + AFTER.replace("\n", "\r\n").replace("    ", "\t"), "solution_lines"),
        ("tmp/x.txt", "rules = [*expand(day - ONE_DAY), *expand(day)]  # overnight\nrules.sort()", "solution_lines"),
        ("root/.cache/test_overnight.py", HIDDEN, "solution_lines"),
        ("tests/quote.txt", "\n\n".join(HIDDEN.splitlines()), "solution_lines"),
        ("app/.git/HEAD", "ref: refs/heads/main", "git"),
        ("app/vendor/sub/.git", "gitdir: ../../.git/modules/sub", "git"),
        ("srv/repo/objects/ab/" + "c" * 38, b"x\x01\0", "git"),
        ("srv/repo/objects/pack/pack-" + "d" * 40 + ".pack", b"PACK", "git"),
        ("home/agent/.cache/pip/gate.hours-0.3.1.tar.gz", b"\x1f\x8b", "own_release"),
        ("opt/wheels/gate_hours-0.4.0-py3-none-any.whl", b"PK\0", "own_release"),
        ("opt/Gate-Hours-1.0.zip", b"PK\0", "own_release"),
        ("etc/config", f'[remote "origin"]\n\turl = {REMOTE}.git\n', "remote_name"),
    ],
)
def test_each_kind_of_leak(path: str, content: str | bytes, kind: str) -> None:
    hits = scan(_planted(path, content))
    assert kinds(hits) == [(kind, "layer/1", path)]
    assert "assert" not in hits[0].evidence and "rules" not in hits[0].evidence


@pytest.mark.parametrize(
    ("version", "before", "is_leak"),
    [
        ("0.4.0", "0.3.1", True),
        ("0.3.1", "0.3.1", False),
        ("0.3.0.post1", "0.3.1", False),
        ("0.3", None, True),
        ("1x", "1", True),
    ],
)
def test_a_release_from_before_the_start_gives_nothing_away(version: str, before: str | None, is_leak: bool) -> None:
    path = f"opt/venv/lib/python3.11/site-packages/tool/_vendor/gate_hours-{version}.dist-info/METADATA"
    hits = scan(_planted(path, f"Name: gate-hours\nVersion: {version}\n"), before=before)
    assert kinds(hits) == ([("own_release", "layer/1", path)] if is_leak else [])


def _planted(path: str, content: str | bytes) -> list[tuple[str, IO[bytes]]]:
    """The leak in one layer, and deleted by the next: it is still in the image."""
    buffer = io.BytesIO()
    data = content.encode() if isinstance(content, str) else content
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo(path)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    buffer.seek(0)
    folder, _, name = path.rpartition("/")
    below, above = layers(START, tree({f"{folder}/.wh.{name}".replace(".git/", "git/"): ""}))
    return [below, ("layer/1", buffer), ("layer/2", above[1])]


def test_empty_git_folders_and_compressed_layers() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("./app/.git")
        entry.type = tarfile.DIRTYPE
        archive.addfile(entry)
    squeezed = io.BytesIO(gzip.compress(buffer.getvalue()))
    assert kinds(scan([("layer/0", squeezed)])) == [("git", "layer/0", "app/.git")]


def test_the_documents_of_an_image() -> None:
    config = '{"history": [{"created_by": "COPY . /app"}]}'
    assert scan([("json/config", io.BytesIO(config.encode()))]) == []
    told = io.BytesIO(f"{config}\n{HIDDEN}".encode())
    assert kinds(scan([("json/config", told)])) == [("solution_lines", "text", "json/config")]


def test_the_instruction() -> None:
    commit = "75a58c78" + "0" * 32
    assert scan_text("instruction", "Overnight openings are wrong.", PRINTS, secrets=[commit]) == []
    found = scan_text("instruction", f"Fixed by {commit[:12]}, see below.\n{AFTER}", PRINTS, secrets=[commit])
    assert {hit.kind for hit in found} == {"commit_id", "solution_lines"}
    assert not any(commit in hit.evidence for hit in found)


def test_short_hunks() -> None:
    """One or two added lines are looked for as they are where they say enough, and in their surroundings either way."""
    long_line = "    return sorted(openings, key=lambda opening: opening.begins_at)"
    prints = fingerprint(tree({"a.py": "a = 1\n"}), tree({"a.py": f"a = 1\n{long_line}\n"}))
    assert match(prints, f"try {long_line.strip()}") is None, "part of a line is no line"
    assert match(prints, f"try\n{long_line.strip()}\n") == (long_line.strip(),)
    short = fingerprint(tree({"a.py": "a = 1\n"}), tree({"a.py": "a = 1\nb = 2\n"}))
    assert short.count() == 0
    context = (
        "def opening(self, day):\n    return self.rules[day]{0}\n# the rules of the day before are not asked for\n"
    )
    start, end = tree({"a.py": context.format("")}), tree({"a.py": context.format(" + 1")})
    assert match(fingerprint(start, end), context.format(" + 1"))
    assert match(fingerprint(start, end), context.format("")) is None


def test_what_the_start_has_is_no_print() -> None:
    moved = tree({"src/other.py": BEFORE, "b.bin": b"\0" + AFTER.encode(), "link": b""})
    assert fingerprint(START, {**moved, "l": File(link="src/hours.py")}).count() == 0
    assert fingerprint(START, START).count() == 0


lines = st.lists(
    st.sampled_from(["first line of some length", "  second line of some length", "", "x = 1", "y"]), max_size=9
)


@given(lines, lines)
def test_the_start_never_matches_and_the_solution_always_does(before: list[str], after: list[str]) -> None:
    start, end = tree({"a.py": "\n".join(before)}), tree({"a.py": "\n".join(after)})
    prints = fingerprint(start, end)
    assert match(prints, start["a.py"].content.decode()) is None
    found = match(prints, end["a.py"].content.decode())
    assert (found is not None) == (prints.count() > 0)
