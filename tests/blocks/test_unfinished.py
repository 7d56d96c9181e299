"""Which environment images the lake still asks for, over committed chains that end in different ways."""

from pathlib import Path

import pytest

from blocks.lake import PhaseKey, PhaseWriter, commit_phase
from blocks.lake.file import FileStore
from blocks.records import EnvironmentRow, Outcome, Phase, ReasonCode
from blocks.unfinished import is_unfinished

CANDIDATE = "c-0123456789abcdef"
IMAGE = "envmill/environment:tea-kettle-01234567-00112233445566ff"
LATER = (Phase.SYNTHESIS, Phase.CAPTURE, Phase.PUBLISH)


def commit(store: FileStore, phase: Phase, outcome: Outcome, *, mark: str = "1", after: str = "1") -> None:
    before = list(Phase)[list(Phase).index(phase) - 1]
    key = PhaseKey(candidate_id=CANDIDATE, phase=phase, input_key=f"{phase}{mark}", upstream_key=f"{before}{after}")
    writer = PhaseWriter(store, key)
    if phase is Phase.CONTAINERIZE:
        image = IMAGE if mark == "1" else f"{IMAGE[:-1]}{mark}"
        row = EnvironmentRow(
            candidate_id=CANDIDATE,
            environment_id="tea-kettle-01234567",
            image=image,
            image_id=None,
            size_bytes=1,
            unique_bytes=1,
            build_seconds=1,
            leak_hits=0,
            status=outcome,
            reason_code=ReasonCode.OK,
            log_uri=None,
        )
        writer.rows([row])
    commit_phase(writer, outcome, ReasonCode.OK, "")


@pytest.mark.parametrize(
    ("built", "ends", "unfinished"),
    [
        (Outcome.PASSED, (), True),
        (Outcome.REJECTED, (), False),
        (Outcome.PASSED, (Outcome.PASSED,), True),
        (Outcome.PASSED, (Outcome.REJECTED,), False),
        (Outcome.PASSED, (Outcome.NEEDS_MODEL,), True),
        (Outcome.PASSED, (Outcome.PASSED, Outcome.REVIEW), True),
        (Outcome.PASSED, (Outcome.PASSED, Outcome.PASSED), True),
        (Outcome.PASSED, (Outcome.PASSED, Outcome.PASSED, Outcome.PASSED), False),
    ],
)
def test_until_its_candidate_has_come_to_an_end(
    tmp_path: Path, built: Outcome, ends: tuple[Outcome, ...], unfinished: bool
) -> None:
    store = FileStore(tmp_path)
    commit(store, Phase.CONTAINERIZE, built)
    for phase, outcome in zip(LATER, ends, strict=False):
        commit(store, phase, outcome)
    assert is_unfinished(store, IMAGE) is unfinished
    assert not is_unfinished(store, f"{IMAGE[:-1]}0"), "an image of this candidate that no run committed"
    assert not is_unfinished(store, IMAGE.replace("01234567", "76543210")), "a candidate of another lake"
    assert not is_unfinished(store, "envmill/deps:0123456789abcdef")


def test_a_run_anew_waits_for_its_own_image_only(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    for phase in (Phase.CONTAINERIZE, *LATER):
        commit(store, phase, Outcome.PASSED)
    commit(store, Phase.CONTAINERIZE, Outcome.PASSED, mark="2")
    assert not is_unfinished(store, IMAGE)
    assert is_unfinished(store, f"{IMAGE[:-1]}2")
