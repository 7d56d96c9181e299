"""A C candidate through the phases after archaeology: the environment is built; its grading is said to be missing."""

from pathlib import Path

import pytest

from blocks.engine import ContainerSpec, Engine, Role
from blocks.records import EnvironmentRow, Outcome, Phase, ReasonCode
from tasks.archaeology.phase import ARCHAEOLOGY
from tasks.containerize.phase import CONTAINERIZE
from tasks.synthesis.phase import SYNTHESIS
from tests.tasks.archaeology.cpp.projects import make_plain
from tests.tasks.pipeline import Candidate

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_a_c_candidate_becomes_an_environment(engine: Engine, tmp_path: Path) -> None:
    candidate = Candidate(tmp_path, make_plain())
    assert candidate.run(ARCHAEOLOGY).outcome is Outcome.PASSED
    assert candidate.run(CONTAINERIZE).outcome is Outcome.PASSED
    row = candidate.chain.row(Phase.CONTAINERIZE, EnvironmentRow)
    assert row.leak_hits == 0
    with engine.container(ContainerSpec(image=row.image, role=Role.SUBJECT, user="agent", deadline_sec=120)) as box:
        built = box.run(["bash", "-c", "cd /app && make test; which git"], timeout_sec=60)
        asked = box.run(["bash", "-c", "cd /app && command -v gcc && ls -la /opt/compilers"], timeout_sec=60)
    assert "tests/test_crashes failed" in built.output and "test_boils" not in built.output
    assert built.exit_code == 1, "there is no git"
    assert asked.output.startswith("/opt/compilers/gcc")
    assert "agent" not in asked.output, "the wrappers are root's"
    result = candidate.run(SYNTHESIS)
    assert (result.outcome, result.reason_code) == (Outcome.REJECTED, ReasonCode.RUNNER_NOT_SUPPORTED)
