"""A hostile tree on disk: what is cleaned away, what is kept, who owns it afterwards."""

import hashlib
import os
import socket
import stat
from pathlib import Path

from blocks.grader import tree
from blocks.grader.account import Account
from blocks.grader.spec import GraderSpec
from blocks.grader.submission import changed, prepare
from tests.blocks.grader.conftest import needs_root


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@needs_root
def test_a_hostile_tree_is_brought_in_order(box: Path, subject_uid: int) -> None:
    app, victim = box / "app", box / "victim"
    victim.write_text("root's own")
    (app / "src").mkdir(parents=True)
    (app / "src/a.py").write_text("a")
    os.link(app / "src/a.py", app / "src/same.py")
    os.link(victim, app / "stolen")
    os.mkfifo(app / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(app / "socket"))
    for name, target in (("good", "src/a.py"), ("abs", "/etc/passwd"), ("up", "../victim"), ("src/loop", "loop")):
        (app / name).symlink_to(target)
    (app / "p/q/r").mkdir(parents=True)
    (app / "p/q/r/s").symlink_to("../../../src")
    (app / "sneaky").symlink_to("p/q/r/s/../..")
    (app / "suid").write_text("x")
    (app / "suid").chmod(0o6755)
    (app / "sticky").mkdir()
    (app / "sticky").chmod(0o1000)
    os.chown(app / "sticky", subject_uid, subject_uid)
    (app / "tests").write_text("in the way")
    (box / "tests/hidden/tests").mkdir(parents=True)
    (box / "tests/hidden/tests/test_a.py").write_text("hidden")
    (box / "tests/base").mkdir()
    (box / "tests/base/link").symlink_to("src/a.py")
    spec = GraderSpec(
        workspace=str(app),
        fail_to_pass=("tests/test_a.py::a",),
        pass_to_pass=(),
        test_files=("tests/test_a.py",),
        hidden={"tests/test_a.py": sha("hidden")},
        base={"link": sha("src/a.py")},
    )
    actions = prepare(spec, box / "tests", Account(subject_uid, subject_uid, "agent", switch=True))

    removed = {action.path for action in actions if action.action == "removed"}
    assert removed == {"stolen", "fifo", "socket", "abs", "up", "sneaky"}
    assert victim.read_text() == "root's own" and victim.stat().st_uid == 0
    assert (app / "src/same.py").read_text() == "a" and (app / "good").is_symlink()
    assert (app / "link").readlink() == Path("src/a.py")
    assert changed(spec) == []
    for path, info in tree.entries(app):
        assert not info.st_mode & (stat.S_ISUID | stat.S_ISGID), path
    placed = (app / "tests/test_a.py").stat()
    assert (placed.st_uid, stat.S_IMODE(placed.st_mode)) == (0, 0o644)
    for folder in (app, app / "tests"):
        assert (folder.stat().st_uid, folder.stat().st_gid) == (0, subject_uid)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o1775
    assert (app / "src/a.py").stat().st_uid == subject_uid
    (app / "tests/test_a.py").write_text("other")
    assert changed(spec) == ["tests/test_a.py"]


def test_a_tree_deeper_than_any_path_is_removed(box: Path) -> None:
    top = box / "top"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("deep", dir_fd=here)
        inner = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    assert max(path.count("/") for path, _ in tree.entries(top)) == tree.MAX_DEPTH
    assert tree.remove(top)
    assert list(box.iterdir()) == []
    assert not tree.remove(top)
