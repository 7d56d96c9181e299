"""A candidate all the way: to a verifier, to rollouts, published and rebuilt; and single submissions to its verifier."""

from collections.abc import Mapping

from blocks.builder.grading import Verdict, grade
from blocks.catalog import index
from blocks.records import EnvironmentRow, Outcome, Phase, RolloutRow, VerifierRow
from blocks.trees import File, overlay
from flows.commands.rebuild import Rebuilt, rebuild_published
from tasks.archaeology.phase import ARCHAEOLOGY
from tasks.capture.phase import CAPTURE
from tasks.containerize.phase import CONTAINERIZE
from tasks.publish.phase import publish
from tasks.synthesis.phase import SYNTHESIS
from tests.tasks.pipeline import Candidate

Change = Mapping[str, File | None]


def verify(candidate: Candidate) -> Candidate:
    """Through synthesis."""
    for definition in (ARCHAEOLOGY, CONTAINERIZE, SYNTHESIS):
        result = candidate.run(definition)
        assert result.goes_on, result.message
    return candidate


def submit(candidate: Candidate, change: Change, *, solved: bool = False) -> Verdict:
    """Grade the workspace with a change, made to the start or to the solution."""
    workspace = candidate.chain.tree(Phase.CONTAINERIZE, "workspace.tar")
    solution = candidate.chain.tree(Phase.ARCHAEOLOGY, "solution.tar") if solved else {}
    return grade(
        candidate.workshop.engine,
        candidate.chain.row(Phase.CONTAINERIZE, EnvironmentRow).image,
        overlay({**workspace, **solution}, change),
        candidate.chain.tree(Phase.SYNTHESIS, "tests.tar"),
        timeout_sec=120,
    )


def publish_and_rebuild(candidate: Candidate) -> Rebuilt:
    """Capture, publish, and build again from what was published, without a network."""
    result = candidate.run(CAPTURE)
    assert result.outcome is Outcome.PASSED, result.message
    rewards = {row.agent: row.reward for row in candidate.chain.rows(Phase.CAPTURE, RolloutRow)}
    assert rewards == {"oracle": 1, "nop": 0}
    workshop = candidate.workshop
    publish(workshop.store, workshop.settings, [candidate.chain], {})
    index(workshop.store, workshop.settings)
    found = rebuild_published(workshop, candidate.chain.candidate_id, offline=True)
    assert found.equal, found.states
    assert [(state.kind, state.reward) for state in found.states] == [("nop", 0), ("oracle", 1)]
    assert all(state.tests for state in found.states)
    return found


def card(candidate: Candidate) -> VerifierRow:
    """The quality card."""
    return candidate.chain.row(Phase.SYNTHESIS, VerifierRow)


def clean_up(candidate: Candidate) -> None:
    """Remove the environment's image; the layers below are kept for the next time."""
    if Phase.CONTAINERIZE in candidate.chain.manifests:
        candidate.workshop.engine.remove_image(candidate.chain.row(Phase.CONTAINERIZE, EnvironmentRow).image)
