"""A candidate whose start no branch holds, with a submodule, a pointer and uncommitted files: qualified, rebuilt, tested."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from blocks.chain import Chain
from blocks.engine import Engine
from blocks.lake import Manifest, PhaseKey, PhaseWriter, commit_phase, find_manifest
from blocks.phases import PhaseDefinition, expected_key
from blocks.recipe import Paths
from blocks.records import CandidateRow, ObstacleRow, Outcome, Phase, ReasonCode
from blocks.repositories import Way
from blocks.session import Edit, EditKind, Intervention, Replacement, SeenFile, Session, Speaker, Step
from blocks.settings import GateSettings, Settings
from blocks.start import START, Start
from blocks.trees import Tree
from blocks.work import perform
from blocks.workshop import Workshop
from tasks.archaeology.phase import ARCHAEOLOGY
from tasks.qualify.phase import QUALIFY
from tests.history import History, git, pin
from tests.tasks.projects import BUG, FIX, NEW_TESTS, src_layout

pytestmark = pytest.mark.engine

CANDIDATE = "c-0123456789abcdef"
KETTLE = "https://github.com/example/kettle"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
PROMPT = "boil(1) must say what physics says: boiling a litre takes 334 kJ, not 100. Please fix boil in kettle/core.py."
LEAF_TEST = """

def test_the_leaf_that_is_pinned():
    import pathlib
    text = pathlib.Path(__file__).parents[1].joinpath("extern/leaf/leaf.txt").read_text()
    assert text == "second\\n"


def test_what_was_not_committed():
    import kettle.spout
    assert kettle.spout.SPOUT == 1
"""
UNCOMMITTED = "SPOUT = 1\n"


class Rewritten:
    """Work started in a pull request that never landed so; the outcome landed on main and moved the submodule on."""

    def __init__(self, home: Path) -> None:
        leaf = History(home / "example" / "leaf")
        first = leaf.commit({"leaf.txt": "first\n", "test_leaf.py": "def test_leaf():\n    assert 0\n"}, "first", day=0)
        second = leaf.commit({"leaf.txt": "second\n"}, "second", day=1)
        self.kettle = kettle = History(home / "example" / "kettle")
        project = src_layout()
        base = {**project.start, "poster.png": POINTER, ".gitignore": "*.log\n"}
        modules = {"extern/leaf": ("../leaf.git", first), "extern/nobody": ("../nobody.git", first)}
        root = pin(kettle, modules, base)
        tree = git(kettle.folder, "rev-parse", f"{root}^{{tree}}")
        self.start = git(kettle.folder, "commit-tree", "-p", root, "-m", "Work in progress", tree)
        git(kettle.folder, "update-ref", "refs/pull/9/head", self.start)
        tests = {"tests/test_core.py": NEW_TESTS + LEAF_TEST, "src/kettle/core.py": FIX, "README.md": "# Kettle\n"}
        self.end = pin(kettle, {**modules, "extern/leaf": ("../leaf.git", second)}, tests, "Boil as physics says")
        self.settings = Settings(home=home, mirrors={"https://github.com/": str(home)}, gates=GateSettings(repeats=1))
        self.workshop = Workshop(self.settings)
        self.chain = Chain(self.workshop.store, CANDIDATE)

    def ingest(self) -> None:
        seen = {"src/kettle/core.py": BUG, "src/kettle/spout.py": UNCOMMITTED, "boil.log": "hot\n"}
        block = Replacement(search="return litres * 100", replace="return litres * 300")
        session = Session(
            source="cline",
            session_id="s-1",
            repository=KETTLE,
            start_commit=self.start,
            start_evidence="by hand",
            steps=(Step(index=0, speaker=Speaker.USER, text=PROMPT, intervention=Intervention.PROMPT),),
            edits=(Edit(step=2, kind=EditKind.REPLACE, path="src/kettle/core.py", replacements=(block,)),),
            seen_files=tuple(
                SeenFile(step=1, path=path, content=text, after_edit=False) for path, text in seen.items()
            ),
        )
        row = CandidateRow(
            candidate_id=CANDIDATE,
            contribution_id="x-1",
            source="cline",
            repository=KETTLE,
            start_commit=self.start,
            start_fidelity=None,
            instruction=PROMPT,
            language="python",
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        writer = PhaseWriter(
            self.workshop.store, PhaseKey(candidate_id=CANDIDATE, phase=Phase.INGEST, input_key="1" * 32)
        )
        writer.rows([row])
        writer.record("session.json", session)
        self.chain = self.chain.with_manifest(commit_phase(writer, Outcome.PASSED, ReasonCode.OK, "by hand"))

    def run(self, definition: PhaseDefinition) -> Manifest:
        before = list(Phase)[list(Phase).index(definition.phase) - 1]
        key = expected_key(definition, self.settings, self.chain, self.chain.manifest(before).key.input_key)
        perform(definition, key, self.workshop)
        manifest = find_manifest(self.workshop.store, key)
        assert manifest is not None
        self.chain = self.chain.with_manifest(manifest)
        return manifest


def test_the_start_is_what_the_user_had(engine: Engine, python_image: str, tmp_path: Path) -> None:
    story = Rewritten(tmp_path)
    story.ingest()
    qualified = story.run(QUALIFY)
    assert qualified.outcome is Outcome.PASSED, qualified.message
    dug = story.run(ARCHAEOLOGY)
    assert dug.outcome is Outcome.PASSED, dug.message

    start, solution, hidden = (
        story.chain.tree(Phase.ARCHAEOLOGY, f"{name}.tar") for name in ("start", "solution", "hidden")
    )
    assert _texts(start, "extern/leaf/leaf.txt", "src/kettle/spout.py", "poster.png") == [
        "first\n",
        UNCOMMITTED,
        POINTER,
    ]
    assert _texts(solution, "extern/leaf/leaf.txt", "src/kettle/spout.py") == ["second\n", UNCOMMITTED]
    assert set(hidden) == {"tests/test_core.py"}, "a submodule's tests are none of the project's"
    assert not any(path.startswith("extern/nobody") or path == "boil.log" for path in start)

    told = story.chain.record(Phase.ARCHAEOLOGY, START, Start)
    assert (told.commit, told.base_commit, told.reach.way) == (story.start, story.start, Way.PULL)
    assert (told.commit_fidelity, told.start_fidelity) == (0.5, 1.0)
    assert [one.path for one in told.recovered] == ["src/kettle/spout.py"]
    assert told.lfs_pointers == ("poster.png",)
    assert {one.path: (one.files, one.fault is None) for one in told.submodules} == {
        "extern/leaf": (2, True),
        "extern/nobody": (0, False),
    }

    paths = story.chain.record(Phase.ARCHAEOLOGY, "paths.json", Paths)
    assert (paths.source_paths, paths.documentation_paths) == (("src/kettle/core.py",), ("README.md",))
    assert paths.configuration_paths == ()
    assert paths.generated_paths == ("extern/leaf/leaf.txt",)
    assert paths.test_paths == ("tests/test_core.py", "tests/test_legacy.py")

    symptoms = [(row.symptom, row.remedy) for row in story.chain.rows(Phase.ARCHAEOLOGY, ObstacleRow)]
    for symptom, remedy in (
        ("no branch or tag holds the start commit", "fetched from pull/9/head"),
        ("uncommitted contents: src/kettle/spout.py", "1 files recovered from the session"),
        ("submodule extern/nobody (https://github.com/example/nobody) cannot be had", "its folder is empty"),
        ("1 files are Git LFS pointers: poster.png", "the pointers stay"),
    ):
        assert any(symptom in said and remedy in done for said, done in symptoms), (symptom, symptoms)


def _texts(tree: Tree, *paths: str) -> list[str]:
    return [tree[path].content.decode() for path in paths]
