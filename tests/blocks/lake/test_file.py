"""What only a folder can get wrong: writers that die, races between processes, names that clash."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from blocks.errors import UsageError
from blocks.lake.file import FileStore
from blocks.owner import Owner

ROOT = Path(__file__).parents[3]


def python(code: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", code, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_two_processes_race_for_the_same_keys(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from blocks.lake.file import FileStore
store = FileStore(Path(sys.argv[1]))
for number in range(300):
    if store.put_if_absent(f"keys/{number}", sys.argv[2].encode()):
        print(number)
"""
    racers = {name: python(code, str(tmp_path / "lake"), name) for name in ("one", "two")}
    won = {name: set(racer.communicate(timeout=60)[0].split()) for name, racer in racers.items()}
    assert not won["one"] & won["two"]
    store = FileStore(tmp_path / "lake")
    held = {info.key.removeprefix("keys/"): store.get(info.key).decode() for info in store.list("keys/")}
    assert held == {number: name for name, numbers in won.items() for number in numbers}
    assert len(held) == 300


def test_a_killed_writer_leaves_the_old_content_and_its_leftover_goes(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "lake", stale_sec=3600)
    store.put("a/object", b"old")
    code = """
import os, sys
from pathlib import Path
from blocks.lake.file import FileStore
fifo = Path(sys.argv[2])
class Endless(type(fifo)):
    def is_file(self): return True
FileStore(Path(sys.argv[1])).put("a/object", Endless(fifo))
"""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = python(code, str(tmp_path / "lake"), str(fifo))
    with fifo.open("wb") as stream:
        stream.write(b"new" * 500_000)
        stream.flush()
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    [left] = unfinished(store)
    assert [info.key for info in store.list()] == ["a/object"] and store.get("a/object") == b"old"
    place, pid, ticks, _ = left.name.split("-")
    assert pid == str(writer.pid)
    living, elsewhere, old = (
        left.with_name(name)
        for name in (f"{place}-{os.getpid()}-{Owner.current().start_ticks}-1", f".~0-{pid}-{ticks}-2", ".~old")
    )
    for path in (living, elsewhere, old):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    FileStore(store.root, stale_sec=3600)
    assert unfinished(store) == sorted([living, elsewhere])
    os.utime(living, (time.time() - 7200,) * 2)
    FileStore(store.root, stale_sec=3600)
    assert unfinished(store) == [elsewhere]


def unfinished(store: FileStore) -> list[Path]:
    return sorted(path for path in store.root.rglob(".~*") if path.is_file())


def test_what_a_killed_download_left_goes_with_the_next(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "lake")
    store.put("object", b"1")
    name = python("from blocks.lake.file import _temporary; from pathlib import Path;"
                  "print(_temporary(Path('.')).__enter__().name)").communicate(timeout=60)[0].strip()  # fmt: skip
    (tmp_path / name).write_bytes(b"half")
    (tmp_path / "mine").write_bytes(b"kept")
    store.download("object", tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "lake", "mine"]


def test_a_file_and_a_folder_cannot_share_a_name(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "lake")
    store.put("a/b", b"1")
    for write in (store.put, store.put_if_absent):
        with pytest.raises(UsageError, match="share a name"):
            write("a/b/c", b"2")
    with pytest.raises(UsageError, match="share a name"):
        store.put("a", b"2")
    assert [info.key for info in store.list()] == ["a/b"]
    assert sorted(path.name for path in store.root.rglob("*")) == [".~unfinished", "a", "b"]


def test_delete_takes_empty_folders_but_not_from_under_a_writer(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from blocks.lake.file import FileStore
store = FileStore(Path(sys.argv[1]))
for number in range(400):
    store.put(f"deep/er/{sys.argv[2]}", b"1")
    store.delete(f"deep/er/{sys.argv[2]}")
"""
    workers = [python(code, str(tmp_path / "lake"), name) for name in "ab"]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    assert [path.name for path in (tmp_path / "lake").rglob("*")] == [".~unfinished"]
