"""A small library with a history, and sessions about it."""

import shutil
from copy import copy
from pathlib import Path

from blocks.chain import Chain
from blocks.lake import ObjectStore, PhaseKey, PhaseWriter, commit_phase
from blocks.records import CandidateRow, Outcome, Phase, ReasonCode
from blocks.repositories import MirrorCache, Repository
from blocks.session import Edit, EditKind, Intervention, Replacement, SeenFile, Session, Speaker, Step
from tests.history import MIT, History

IDENTITY = "https://example.org/tea/kettle"

BOILER = '''"""Heating water."""


def boil(litres, celsius):
    """Seconds until the water boils."""
    return litres * (100 - celsius) * 4186 / 2000


def whistle(pressure):
    """Whether the whistle sounds."""
    return pressure > 1
'''
TIMER = '''"""Steeping times."""


def steep(kind):
    """Minutes for a kind of tea."""
    return {"green": 2, "black": 4}[kind]
'''
BASE = {
    "LICENSE": MIT,
    "README.md": "# kettle\n",
    "pyproject.toml": '[project]\nname = "kettle"\nlicense = "MIT"\n',
    "kettle/__init__.py": '__version__ = "1.0"\n',
    "kettle/boiler.py": BOILER,
    "kettle/timer.py": TIMER,
    "tests/test_boiler.py": "from kettle.boiler import boil\n\n\ndef test_boil():\n    assert boil(0, 20) == 0\n",
}
FIXED_BOILER = BOILER.replace(
    "    return pressure > 1\n",
    "    if pressure is None:\n        return False\n    return pressure >= 1\n",
)
FIX = {
    "kettle/boiler.py": FIXED_BOILER,
    "tests/test_boiler.py": BASE["tests/test_boiler.py"] + "\n\ndef test_whistle_limit():\n    assert whistle(1)\n",
}
FIX_MESSAGE = "Fix whistle at the limit: pressure 1 sounds\n\nIt stayed silent at exactly 1 bar, and broke on None."
PROMPT = "`whistle` stays silent when the pressure is exactly 1 bar. It should sound there, and None must not crash it."


class Kettle:
    """The library's history so far: its base, and unrelated commits after the start."""

    def __init__(self, folder: Path) -> None:
        self.history = History(folder / "source")
        self.cache = MirrorCache(folder / "cache", {IDENTITY: str(self.history.folder)})
        self.first = self.history.commit(BASE, "Boil water", day=0)
        self.start = self.history.commit(
            {"kettle/timer.py": TIMER.replace('"black": 4', '"black": 3')}, "Black tea: 3", day=1
        )
        self.history.commit({"README.md": "# kettle\n\nBoils water.\n"}, "Say what it is", day=2)
        rooibos = "\n\ndef rooibos():\n    return 7\n"
        self.history.commit({"kettle/timer.py": TIMER + rooibos}, "Steep rooibos", day=3)

    def copy(self, folder: Path) -> "Kettle":
        """The same history in another place, to go on from."""
        twin = copy(self)
        twin.history = copy(self.history)
        twin.history.folder = folder / "source"
        twin.history.tips = dict(self.history.tips)
        shutil.copytree(self.history.folder, twin.history.folder)
        twin.cache = MirrorCache(folder / "cache", {IDENTITY: str(twin.history.folder)})
        return twin

    def fix(self, day: float = 5, **options: object) -> str:
        """The fix lands."""
        return self.history.commit(FIX, FIX_MESSAGE, day=day, **options)  # type: ignore[arg-type]

    def open(self) -> Repository:
        return self.cache.open(IDENTITY)


def prompt_session(start: str, text: str = PROMPT) -> Session:
    """A bare prompt."""
    return Session(
        source="prompt",
        session_id="p-1",
        repository=IDENTITY,
        start_commit=start,
        start_evidence="given",
        steps=(_said(0, Intervention.PROMPT, text),),
    )


def agent_session(start: str, *, seen: tuple[tuple[str, str], ...] = (("kettle/boiler.py", BOILER),)) -> Session:
    """An agent that looked at files and made a wrong edit, and a user who objected."""
    return Session(
        source="cline",
        session_id="s-1",
        repository=IDENTITY,
        start_commit=start,
        start_evidence="environment details",
        steps=(
            _said(0, Intervention.PROMPT, "the whistle does not sound at exactly 1 bar, please fix"),
            Step(index=1, speaker=Speaker.AGENT, text="I changed the comparison."),
            _said(2, Intervention.FEEDBACK, "No, it still crashes on None."),
        ),
        seen_files=tuple(SeenFile(step=1, path=path, content=content, after_edit=False) for path, content in seen),
        edits=(
            Edit(
                step=1,
                kind=EditKind.REPLACE,
                path="kettle/boiler.py",
                replacements=(Replacement(search="    return pressure > 1", replace="    return pressure > 0"),),
            ),
        ),
    )


def _said(index: int, kind: Intervention, text: str) -> Step:
    return Step(index=index, speaker=Speaker.USER, text=text, intervention=kind)


def ingest_by_hand(store: ObjectStore, candidate_id: str, session: Session) -> Chain:
    """The chain of a candidate whose ingest, under the key `1` * 32, is committed."""
    writer = PhaseWriter(store, PhaseKey(candidate_id=candidate_id, phase=Phase.INGEST, input_key="1" * 32))
    row = CandidateRow.model_validate(
        {"candidate_id": candidate_id, "contribution_id": "x-1", "source": session.source, "repository": IDENTITY,
         "start_commit": session.start_commit, "start_fidelity": None, "instruction": session.prompt,
         "language": None, "created_at": "2026-01-01T00:00:00Z"}
    )  # fmt: skip
    writer.rows([row])
    writer.record("session.json", session)
    return Chain(store, candidate_id).with_manifest(commit_phase(writer, Outcome.PASSED, ReasonCode.OK, "by hand"))
