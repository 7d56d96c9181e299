"""Leaks to plant in images: each the files of one layer, made by the tools that make such files in the field."""

import bz2
import gzip
import io
import json
import lzma
import marshal
import py_compile
import re
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from blocks.trees import pack
from tests.history import git
from tests.trees import tree

CORE_BEFORE = '''"""Opening hours."""


def openings(rules, day):
    """Openings of a day."""
    found = [rule.expand(day) for rule in rules]
    return sorted(found)


def is_open(rules, moment):
    """Whether any rule covers the moment."""
    return any(begin <= moment < end for begin, end in openings(rules, moment.date()))
'''
CORE_AFTER = CORE_BEFORE.replace(
    "    found = [rule.expand(day) for rule in rules]\n    return sorted(found)\n",
    "    evening_before = previous_day(day)\n"
    "    overnight_openings = [rule.expand(evening_before) for rule in rules]\n"
    "    regular_openings = [rule.expand(day) for rule in rules]\n"
    "    return merge_adjacent(sorted(overnight_openings + regular_openings), tolerance=ONE_MINUTE)\n",
)
WIDGET_BEFORE = "export function label(hours) {\n  return hours.map((hour) => hour.text).join(', ');\n}\n"
WIDGET_AFTER = """export function label(hours) {
  const overnightHours = hours.filter((hour) => hour.endsOnNextDay);
  const spokenSuffix = overnightHours.length ? translate('until_the_next_morning') : '';
  return hours.map((hour) => hour.formattedText).join(', ') + spokenSuffix;
}
"""
OVERNIGHT = '''"""Openings that end on the next day."""

ONE_MINUTE = 60


def previous_day(day):
    """The day before, on which such an opening begins."""
    return day.shift_by(days=-1)


def merge_adjacent(openings, tolerance):
    """Join what touches."""
    return list(joined_intervals(openings, gap_tolerance=tolerance))
'''
TOOL = "import sys\n\n\ndef print_all_schedules():\n    print(*load_all_schedules(sys.argv[1:]), sep=NEW_LINE)\n"
HIDDEN = """from gatehours import is_open_overnight


def test_the_bar_is_open_after_midnight():
    schedule = parse_schedule("Fr 22:00-03:00")
    assert schedule.is_open(saturday_at("01:30"))
    assert not schedule.is_open(saturday_at("03:30"))
"""
INTERVALS_API = (
    "parseIntervalSet",
    "formatIntervalSet",
    "IntervalOptions",
    "withTimeZone",
    "joinNeighbours",
    "toIsoWeek",
)
INTERVALS_SOURCE = "".join(
    f"/** See the manual. */\nexport function {name}(value: Input): Output {{\n  return {name}.apply(value);\n}}\n"
    for name in INTERVALS_API
)
INTERVALS_BUNDLE = "!function(e){" + ",".join(f"e.{name}=t=>{name}.apply(t)" for name in INTERVALS_API) + "}(self);"
"""A dependency that the solution's documentation speaks of, as it comes from its index: sources, and a bundle of them."""
MANUAL = "# Intervals\n\n" + "".join(f"`{name}` is taken from the library as it is.\n" for name in INTERVALS_API)
START = tree(
    {
        "pyproject.toml": '[project]\nname = "gatehours"\nversion = "0.3.0"\n',
        "src/gatehours/core.py": CORE_BEFORE,
        "web/label.js": WIDGET_BEFORE,
        "tests/test_core.py": "from gatehours.core import is_open\n\n\ndef test_closed():\n    assert not is_open([], NOON)\n",
        "LICENSE": "Everybody may use this for whatever they like.\n",
    }
)
LOCK = "# yarn lockfile v1\n\n" + "".join(
    f'{name}@^{number}.0.0:\n  version "{number}.0.1"\n  integrity sha512-{name * 12}==\n\n'
    for number, name in enumerate(("intervals", "weekdays", "holidays", "sunrises"))
)
SOLUTION = {**START, **tree({"src/gatehours/core.py": CORE_AFTER, "src/gatehours/overnight.py": OVERNIGHT})}
SOLUTION |= tree(
    {
        "web/label.js": WIDGET_AFTER,
        "docs/intervals.md": MANUAL,
        "tools/__init__.py": "",
        "cli.py": TOOL,
        "web/yarn.lock": LOCK,
    }
)
HIDDEN_TESTS = tree({"tests/test_overnight.py": HIDDEN})
REMOTE = "https://github.com/lanternquay/gatehours"
END_COMMIT = "75a58c78" + "4be0179d" * 4

Files = Mapping[str, bytes]


def zipped(files: Files) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(files: Files) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def wheel(version: str) -> bytes:
    return zipped(
        {
            "gatehours/core.py": CORE_AFTER.encode(),
            f"gatehours-{version}.dist-info/METADATA": f"Name: gatehours\nVersion: {version}\n".encode(),
        }
    )


def bytecode(folder: Path, source: str, name: str) -> bytes:
    (folder / name).write_text(source)
    return Path(str(py_compile.compile(str(folder / name), cfile=str(folder / "out.pyc"), doraise=True))).read_bytes()


def repository(folder: Path) -> Path:
    """A repository with the solution in an object, a packed object and a stash; the folder of its database."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "core.py").write_text(CORE_BEFORE)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "before")
    git(folder, "gc", "--quiet")
    (folder / "core.py").write_text(CORE_AFTER)
    git(folder, "stash", "--quiet")
    return folder / ".git"


def leaks(folder: Path) -> dict[str, tuple[str, Files]]:
    """By name: the kind of finding it must give, and the files of the layer it is planted in."""
    database = repository(folder / "repository")
    pack_file = next(database.glob("objects/pack/*.pack")).read_bytes()
    blob = git(database.parent, "rev-parse", "stash@{0}:core.py")
    loose = (database / "objects" / blob[:2] / blob[2:]).read_bytes()
    git(database.parent, "bundle", "create", "--quiet", str(folder / "b"), "--all")
    after, hidden = CORE_AFTER.encode(), HIDDEN.encode()
    compiled = bytecode(folder, CORE_AFTER, "core.py")
    minified = (
        b'export function label(n){const t=n.filter(n=>n.endsOnNextDay),e=t.length?translate("until_the_next_morning"):"";'
        b'return n.map(n=>n.formattedText).join(", ")+e}'
    )
    source_map = json.dumps(
        {"version": 3, "sources": ["label.js"], "sourcesContent": [WIDGET_AFTER], "mappings": "AAAA"}
    )
    kept = ["hours", "endsOnNextDay", "until_the_next_morning", "formattedText", "overnightHours", "spokenSuffix"]
    names_only = json.dumps({"version": 3, "names": kept, "mappings": "AAAA"}, indent=1)
    notebook = json.dumps({"cells": [{"source": CORE_AFTER.splitlines(keepends=True)}]}, indent=1)
    patch = subprocess.run(
        ["git", "-C", str(database.parent), "stash", "show", "-p"], capture_output=True, check=True, env={"PATH": "/usr/bin:/bin"}
    ).stdout  # fmt: skip
    log = "".join(
        f"2026-04-16T15:0{n}:00Z editor[17] wrote: {line}\n" for n, line in enumerate(CORE_AFTER.splitlines()[3:9])
    )
    config = f'[core]\n\tbare = true\n[remote "origin"]\n\turl = git@example.org:x.git\n\tfetch = +refs/*:refs/*\n# {REMOTE}\n'
    vcs = {"url": REMOTE, "vcs_info": {"vcs": "git", "commit_id": "1" * 40}}
    lines, git_kind, names = "solution_lines", "git", "solution_names"
    return {
        "a .git in a subfolder": (git_kind, {"app/vendor/helper/.git/HEAD": b"ref: refs/heads/main\n"}),
        "a packed object": (git_kind, {"var/lib/data/4711.bin": pack_file}),
        "a loose object": (git_kind, {"opt/store/x17": loose}),
        "a stash of a bare repository": (git_kind, {"srv/mirror/refs/stash": (database / "refs/stash").read_bytes()}),
        "the log of a stash": (git_kind, {"srv/mirror/logs/s": (database / "logs/refs/stash").read_bytes()}),
        "a bundle": (git_kind, {"root/backup": (folder / "b").read_bytes()}),
        "bytecode in its cache": (
            "solution_bytecode",
            {"app/src/gatehours/__pycache__/core.cpython-311.pyc": compiled},
        ),
        "bytecode of another Python": (
            "solution_bytecode",
            {
                "usr/lib/gatehours/core.pyc": b"\x6f\x0d\r\n"
                + bytes(12)
                + marshal.dumps(compile(CORE_AFTER, "core.py", "exec"))
            },
        ),
        "bytecode among the packages": (
            "solution_bytecode",
            {"opt/venv/lib/python3.11/site-packages/__pycache__/cli.cpython-311.pyc": bytecode(folder, TOOL, "cli.py")},
        ),
        "bytecode under another name": (names, {"var/cache/17.bin": bytecode(folder, OVERNIGHT, "overnight.py")}),
        "a source map": (lines, {"app/web/dist/label.js.map": source_map.encode()}),
        "a minified bundle": (names, {"app/web/dist/label.min.js": minified}),
        "a minified bundle in lines": (
            names,
            {"app/web/dist/label.min.js": re.sub(rb"(.{60}.*?[,;{}])", rb"\1\n", minified)},
        ),
        "a bundle of a Node.js dependency": (
            names,
            {
                "deps/node_modules/.pnpm/intervals@2.1.0/node_modules/intervals/dist/intervals.min.js": INTERVALS_BUNDLE.encode()
                + minified
            },
        ),
        "a bundle of a dependency, and its map without sources": (
            names,
            {
                "deps/node_modules/intervals/dist/intervals.min.js": INTERVALS_BUNDLE.encode() + minified,
                "deps/node_modules/intervals/dist/intervals.min.js.map": names_only.encode(),
            },
        ),
        "a zip archive": (lines, {"tmp/x": zipped({"core.py": after})}),
        "the fixed wheel in pip's cache": (lines, {"root/.cache/pip/http-v2/a/b/ab12.body": wheel("0.4.0")}),
        "the fixed wheel by its name": (
            "own_release",
            {"root/wheels/gatehours-0.4.0-py3-none-any.whl": wheel("0.4.0")},
        ),
        "an unpacked wheel in uv's cache": (
            "own_release",
            {"root/.cache/uv/wheels-v5/pypi/gatehours/0.4.0-py3-none-any.msgpack": b"\x93\0"},
        ),
        "a source archive": (lines, {"usr/src/1.tgz": gzip.compress(tarred({"g-1/src/gatehours/core.py": after}))}),
        "an egg": ("own_release", {"opt/eggs/gatehours-0.4-py3.11.egg": wheel("0.4")}),
        "the outcome's lock": ("solution_file", {"deps/node_modules/.yarn-integrity": LOCK.encode()}),
        "an archive in an archive": (
            lines,
            {"opt/all.zip": zipped({"in.tar.xz": lzma.compress(tarred({"t.py": hidden}))})},
        ),
        "a later version, installed": (
            "own_release",
            {
                "opt/venv/lib/python3.11/site-packages/gatehours-0.4.0.dist-info/METADATA": b"Name: gatehours\nVersion: 0.4.0\n"
            },
        ),
        "another project that vendors the fix": (
            lines,
            {"opt/venv/lib/python3.11/site-packages/other/_core.py": after},
        ),
        "a configuration with a remote": ("remote_name", {"srv/mirror/config": config.encode()}),
        "an install from the repository": (
            "remote_name",
            {"opt/venv/lib/python3.11/site-packages/x-1.dist-info/direct_url.json": json.dumps(vcs).encode()},
        ),
        "the commit's id": ("commit_id", {"etc/build-info": f"built from {END_COMMIT}\n".encode()}),
        "a shell's history": (lines, {"home/agent/.bash_history": b"cat > core.py <<EOF\n" + after + b"EOF\n"}),
        "a log": (lines, {"var/log/editor.log": log.encode()}),
        "a notebook": (lines, {"app/notes.ipynb": notebook.encode()}),
        "UTF-16": (lines, {"app/core.txt": CORE_AFTER.encode("utf-16")}),
        "a compressed log": (lines, {"var/log/editor.log.1.gz": gzip.compress(log.encode())}),
        "a bzip2 file": (lines, {"var/x.bz2": bz2.compress(hidden)}),
        "a raw stream": (git_kind, {"var/y": zlib.compress(b"blob %d\0" % len(after) + after)}),
        "a new file's name": ("solution_file", {"app/src/gatehours/overnight.py": b""}),
        "a patch": (lines, {"app/fix.patch": patch}),
        "other line ends": (lines, {"app/core.dos": CORE_AFTER.replace("\n", "\r\n").encode()}),
    }


def clean() -> Files:
    """What a good image has, with much that resembles leaks."""
    site = "opt/venv/lib/python3.11/site-packages"
    return {
        **{f"app/{path}": file.content for path, file in START.items()},
        "app/src/gatehours.egg-info/PKG-INFO": b"Name: gatehours\nVersion: 0.3.0\n",
        f"{site}/gatehours-0.3.0.dist-info/METADATA": f"Name: gatehours\nProject-URL: Source, {REMOTE}\n".encode(),
        f"{site}/gatehours-0.3.0.dist-info/direct_url.json": b'{"url":"file:///app","dir_info":{"editable":true}}',
        f"{site}/other/core.py": CORE_BEFORE.encode(),
        f"{site}/other/objects/12/3456": b"x\x9c nothing",
        f"{site}/other/data.zip": zipped({"core.py": CORE_BEFORE.encode()}),
        f"{site}/other/broken.zip": zipped({"core.py": CORE_AFTER.encode()})[:-30] + b"PK\x05\x06" + bytes(18),
        f"{site}/other/broken.gz": gzip.compress(CORE_AFTER.encode())[:20],
        "usr/share/x.tar": pack(START),
        # A dependency's own names, though the solution documents them; files named as the solution's new ones are.
        "deps/node_modules/intervals/dist/intervals.min.js": INTERVALS_BUNDLE.encode(),
        "deps/node_modules/intervals/dist/intervals.min.js.map": json.dumps(
            {"version": 3, "sourcesContent": [INTERVALS_SOURCE], "mappings": "AAAA"}
        ).encode(),
        "deps/node_modules/intervals/src/intervals.ts": INTERVALS_SOURCE.encode(),
        "deps/node_modules/intervals/docs/intervals.md": b"# Intervals of this library\n",
        "deps/node_modules/intervals/yarn.lock": LOCK.replace("holidays", "feastdays").encode(),
        "app/web/dist/all.min.js": INTERVALS_BUNDLE.encode(),
        f"{site}/other/tools/__init__.py": b"",
        f"{site}/other/tools/__pycache__/__init__.cpython-311.pyc": bytes(16) + b"nothing",
        f"{site}/other/__pycache__/cli.cpython-311.pyc": bytes(16) + b"another one",
    }
