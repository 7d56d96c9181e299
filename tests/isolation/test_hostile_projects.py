"""Repositories whose build, file names or links attack: what their build does, and what is left in an image of it."""

from pathlib import Path

import pytest

from blocks.builder.foundations import foundation_of
from blocks.engine import ContainerSpec, Engine, Role
from blocks.lake import ObjectStore
from blocks.records import Outcome, ReasonCode
from blocks.repositories import MirrorCache
from blocks.settings import Settings
from tasks.archaeology.reconstruct import Reconstruction, reconstruct
from tasks.containerize.seal import Sealed, seal
from tests.history import EPOCH, git
from tests.isolation.conftest import Dig
from tests.tasks.projects import FAIL_TO_PASS, Project, publish, src_layout

pytestmark = [pytest.mark.engine, pytest.mark.slow]

IDENTITY = "https://github.com/example/kettle"


def project_with(setup: str) -> Project:
    """A project whose setup.py runs this when it is installed."""
    head = "import os, signal, socket, subprocess, time\nfrom pathlib import Path\nfrom setuptools import setup\n"
    return src_layout(setup=f"{head}\n{setup}\n\nsetup()\n")


BOMB = "while True:\n    try: os.fork()\n    except OSError: pass"
FILLER = "with open('/tmp/big', 'wb') as file:\n    while True: file.write(b'x' * (1 << 20)); time.sleep(0.01)"
DEAF = "[signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]\nwhile True: time.sleep(1)"


@pytest.mark.parametrize("setup", [BOMB, FILLER, DEAF], ids=["a fork bomb", "a full disk", "ignoring signals"])
def test_builds_that_do_not_end(dig: Dig, setup: str) -> None:
    """The install is ended; where its container lived on, the tests run without it, and the obstacle is told."""
    found = dig(project_with(setup))
    if found.row.status is Outcome.PASSED:
        assert found.obstacles
        assert "editable install failed" in found.obstacles[0].symptom
        assert found.recipe is not None
        assert found.recipe.install == "path"
    else:
        assert (found.row.status, found.row.reason_code) == (Outcome.FAILED, ReasonCode.INSTALL_FAILED), found.message


MESS = r"""
if os.getuid():
    here = Path.cwd()
    (here / "out").symlink_to("/etc")
    (here / "up").symlink_to("../../etc/passwd")
    os.mkfifo(here / "pipe")
    subprocess.run(["cp", "/usr/bin/id", str(here / "id")], check=True)
    os.chmod(here / "id", 0o6755)
    for folder in ("/var/tmp", "/tmp", "/run/lock", "/home/agent", "/dev/shm"):
        Path(folder, ".planted").write_text("x")
    site = Path("/opt/venv/lib/python3.11/site-packages")
    (site / "planted.pth").write_text("import os\n")
    os.chmod(site / "planted.pth", 0o666)
    subprocess.run(["cp", "/usr/bin/id", str(site / "id")], check=True)
    os.chmod(site / "id", 0o6755)
    if os.fork() == 0:
        os.setsid()
        [os.close(n) for n in range(3)]
        while True:
            Path("/var/tmp/late").write_text("x")
            Path("/app/late").write_text("x")
            time.sleep(0.01)
"""


def sealed_image(small: Engine, settings: Settings, store: ObjectStore, found: Reconstruction) -> Sealed:
    assert found.recipe is not None
    assert found.states is not None
    runtime = foundation_of(found.recipe).runtime_image(small, settings, found.recipe)
    assert runtime is not None
    return seal(
        small, store, settings, found.recipe, found.states.start, runtime_image=runtime, environment_id="hostile-0"
    )


def test_what_a_build_leaves_in_the_image(small: Engine, dig: Dig, place: tuple[Settings, ObjectStore]) -> None:
    """Only files of the workspace; no process, no special bits, nothing of the agent's elsewhere."""
    found = dig(project_with(MESS))
    assert found.row.status is Outcome.PASSED, found.message
    built = sealed_image(small, *place, found)
    try:
        assert not built.failure
        assert {"out", "up", "pipe"}.isdisjoint(built.workspace)
        with small.container(ContainerSpec(image=built.reference, role=Role.BUILD, deadline_sec=60)) as box:
            for question in (
                "find / -xdev -user agent ! -path '/app*' ! -path /home/agent",
                "find / -xdev -perm /6000 -user agent",
                "find /app /opt/venv -xdev ! -type l -perm /6000",
                "find /opt/venv -xdev ! -type l -perm /022",
                "find / -xdev -name .planted",
                "find /app -xdev ! -type f ! -type d ! -type l",
                "find /tmp /var/tmp /run/lock /home/agent -mindepth 1",
            ):
                assert box.run(["sh", "-c", question], timeout_sec=60).output == "", question
            first = box.run(["sh", "-c", "ls -l --time-style=+%s%N /app/late; sleep 0.2"], timeout_sec=10).output
            assert (
                box.run(["sh", "-c", "ls -l --time-style=+%s%N /app/late; sleep 0.2"], timeout_sec=10).output == first
            )
    finally:
        small.remove_image(built.reference)


BROKEN = '"src/kettle/a\\nb.txt"'
"""A line break in a name, as git-fast-import(1) wants it."""


def test_names_and_links_of_a_tree(dig: Dig) -> None:
    """Names that break listings and terminals are carried as they are; links stay what they are."""
    names = {
        BROKEN: "x",
        "src/kettle/\x1b[31mred\x1b[0m.txt": "x",
        "tests/-rf": "x",
        "tests/$(touch pwned)`id`;.txt": "x",
        "tests/test_\x1b]0;title\x07.py": "def test_named():\n    assert True\n",
        "tests/café \u202egnp.txt": "x",
        "deep/" + "d" * 200 + "/" + "f" * 200: "x",
    }
    project = src_layout()
    found = dig(Project({**project.start, **names}, {**project.change, BROKEN: "y", "tests/-rf": None}))
    assert found.row.status is Outcome.PASSED, found.message
    assert found.comparison is not None
    assert set(FAIL_TO_PASS) <= set(found.comparison.fail_to_pass)
    assert any("test_named" in test for test in found.comparison.pass_to_pass)
    assert found.states is not None
    assert {*names.keys() - {BROKEN}, "src/kettle/a\nb.txt"} <= found.states.start.keys()


def test_a_tree_with_a_link_out_is_refused(small: Engine, place: tuple[Settings, ObjectStore], tmp_path: Path) -> None:
    """A link that leaves the tree never gets into a container."""
    found = publish(tmp_path / "repository", src_layout())
    stream = f"commit refs/heads/bad\ncommitter Ada <a@example.org> {EPOCH} +0000\ndata 3\nbad\nfrom {found.start}\n"
    stream += "M 120000 inline src/kettle/passwd\ndata 11\n/etc/passwd\n"
    git(tmp_path / "repository" / "origin", "fast-import", "--quiet", stdin=stream.encode())
    bad = git(tmp_path / "repository" / "origin", "rev-parse", "bad")
    mirrors = MirrorCache(tmp_path / "mirrors", {IDENTITY: str(tmp_path / "repository" / "origin")})
    settings, store = place
    before = small.started_count()
    ended = reconstruct(
        small, store, settings, mirrors.open(IDENTITY), candidate_id="c-0", start_commit=bad, end_commit=found.end
    )
    assert (ended.row.status, ended.row.reason_code) == (Outcome.REJECTED, ReasonCode.TREE_UNSAFE)
    assert "src/kettle/passwd" in ended.message
    assert small.started_count() == before
