"""The environment image: what an agent finds in it, what it may do there, and what must not be in it."""

import base64
import json
import zlib
from collections.abc import Iterator

import pytest

from blocks.engine import Container, ContainerSpec, Role
from blocks.records import EnvironmentRow, Outcome, Phase, ReasonCode, ReconstructionRow
from blocks.trees import pack
from tasks.containerize.phase import CONTAINERIZE, environment_id
from tests.tasks.pipeline import CANDIDATE, INSTRUCTION, REPOSITORY, Candidate
from tests.tasks.projects import FIX, NEW_TESTS
from tests.trees import tree


@pytest.mark.parametrize(
    ("repository", "said"),
    [
        ("https://github.com/Owner/Ket_tle.py/", "ket-tle-py-cafebabe"),
        ("https://github.com/owner/Wärme", "w-rme-cafebabe"),
        ("https://github.com/owner/---", "repository-cafebabe"),
    ],
)
def test_names_of_environments(repository: str, said: str) -> None:
    assert environment_id(repository, "c-cafebabe99") == said


@pytest.fixture(scope="module")
def box(built: Candidate) -> Iterator[Container]:
    """A container as an agent gets it."""
    row = built.chain.row(Phase.CONTAINERIZE, EnvironmentRow)
    spec = ContainerSpec(image=row.image, role=Role.SUBJECT, user="agent", workdir="/app", deadline_sec=300)
    with built.workshop.engine.container(spec) as made:
        yield made


def says(box: Container, script: str) -> str:
    done = box.run(["bash", "-c", script], timeout_sec=60)
    return f"{done.exit_code} {done.output.strip()}".strip()


@pytest.mark.engine
def test_what_the_row_says(built: Candidate) -> None:
    row = built.chain.row(Phase.CONTAINERIZE, EnvironmentRow)
    assert row.environment_id == "kettle-00000000"
    assert (row.status, row.leak_hits) == (Outcome.PASSED, 0)
    assert row.image_id == built.workshop.engine.image_id(row.image)
    assert 0 < row.unique_bytes < 2 << 20 < row.size_bytes
    assert json.loads(built.chain.content(Phase.CONTAINERIZE, "leaks.json")) == []
    workspace = built.chain.tree(Phase.CONTAINERIZE, "workspace.tar")
    start = built.chain.tree(Phase.ARCHAEOLOGY, "start.tar")
    assert {path: workspace.get(path) for path in start} == start


@pytest.mark.engine
def test_what_an_agent_may_do(box: Container) -> None:
    assert says(box, "id -un; pwd; test -O . && echo mine") == "0 agent\n/app\nmine"
    assert says(box, "touch new src/kettle/new.py && rm -r new src/kettle/new.py && echo yes") == "0 yes"
    assert says(box, "find /opt/venv ! -type l -writable -print -quit") == "0"
    assert says(box, "touch /opt/venv/bin/x /opt/venv/lib/python3.11/site-packages/x.pth").startswith("1 ")
    assert says(box, "find / -xdev -user agent ! -path '/app*' ! -path '/home/agent' 2>/dev/null; true") == "0"
    assert says(box, "find /tmp /var/tmp /home/agent -mindepth 1") == "0"


@pytest.mark.engine
def test_what_an_agent_finds(box: Container) -> None:
    assert says(box, "command -v git; find / -xdev -name .git 2>/dev/null; true") == "0"
    assert says(box, "ls -d /tests /solution /logs 2>/dev/null | wc -l") == "0 0"
    assert says(box, "ls /sys/class/net") == "0 lo"
    assert (
        says(box, "python -c 'import kettle.core as k; print(k.__file__, k.boil(1))'")
        == "0 /app/src/kettle/core.py 100"
    )
    assert says(box, "pytest -q -o addopts= 2>&1 | tail -1").startswith("0 2 passed")
    assert says(box, "env | grep -iE 'proxy|ssl_cert|index_url|secret|token'").startswith("1")


@pytest.mark.engine
def test_a_second_run_builds_nothing(built: Candidate) -> None:
    started = built.workshop.engine.started_count()
    assert built.run(CONTAINERIZE).reused
    assert built.workshop.engine.started_count() == started


PLANTED = {
    "/app/docs/notes.md": f"# Later\n\n{FIX}",
    "/app/x/cache.py": NEW_TESTS,
    "/app/dist/kettle-1.5.0.tar.gz": "no archive, but named like one",
    "/opt/venv/lib/python3.11/site-packages/leak.py": FIX,
}
"""Where a project's own build could put what it must not have."""
SWEPT = {"/tmp/leak.py": FIX, "/home/agent/leak.py": FIX}
"""What is gone before the image is sealed."""
PLANT = {**PLANTED, **SWEPT, "/app/.git/HEAD": "ref: refs/heads/main\n"}


def planting_setup() -> str:
    """A setup.py that hides what it writes from whoever reads the start tree."""
    hidden = base64.b85encode(zlib.compress(json.dumps(PLANT).encode())).decode()
    return f"""\
import base64, json, pathlib, zlib
from setuptools import setup
for path, text in json.loads(zlib.decompress(base64.b85decode({hidden!r}))).items():
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(path).write_text(text)
setup()
"""


@pytest.mark.engine
def test_a_build_that_gives_the_solution_away(rebuilt: Candidate) -> None:
    """The same candidate with a setup.py that plants, and with the outcome's commit in the prompt."""
    original = rebuilt.chain
    objects = {
        entry.name: original.content(Phase.ARCHAEOLOGY, entry.name)
        for entry in original.manifest(Phase.ARCHAEOLOGY).files
        if not entry.name.endswith(".parquet")
    }
    start = {**original.tree(Phase.ARCHAEOLOGY, "start.tar"), **tree({"setup.py": planting_setup()})}
    row = original.row(Phase.ARCHAEOLOGY, ReconstructionRow)
    try:
        rebuilt.ingest(f"{INSTRUCTION} Like {rebuilt.end}.")
        rebuilt.commit(Phase.ARCHAEOLOGY, [row], {**objects, "start.tar": pack(start)})
        result = rebuilt.run(CONTAINERIZE)
        found = rebuilt.chain.row(Phase.CONTAINERIZE, EnvironmentRow)
        hits = json.loads(rebuilt.chain.content(Phase.CONTAINERIZE, "leaks.json"))
    finally:
        rebuilt.chain = original
    rebuilt.workshop.engine.remove_image(found.image)
    assert (result.outcome, result.reason_code) == (Outcome.REJECTED, ReasonCode.LEAK_FOUND)
    paths = {hit["path"] for hit in hits}
    assert {path[1:] for path in PLANTED} | {"instruction"} <= paths
    assert "app/.git" in {path[:8] for path in paths}
    assert not any(path.startswith(("tmp/", "home/")) for path in paths)
    assert {"solution_lines", "own_release", "git", "commit_id"} <= {hit["kind"] for hit in hits}
    assert found.leak_hits == len(hits)
    assert (found.candidate_id, found.environment_id) == (CANDIDATE, environment_id(REPOSITORY, CANDIDATE))
