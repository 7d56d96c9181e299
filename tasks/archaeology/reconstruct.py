"""Archaeology of one candidate, from outcome to a decision. No Prefect here; steps.py wraps it."""

from dataclasses import dataclass, field

from blocks.engine import Engine
from blocks.lake import ObjectStore
from blocks.recipe import Recipe
from blocks.records import ObstacleRow, Outcome, Phase, ReasonCode, ReconstructionRow
from blocks.repositories import Checkout, Checkouts, Reach, Repository, Way
from blocks.repositories.standing import reach_of
from blocks.settings import Settings
from blocks.start import Start
from blocks.trees import Tree, TreeUnsafeError, misplaced, overlay
from blocks.vectors import StateComparison, TestVector
from tasks.archaeology.proof import Proof, prove
from tasks.archaeology.proposals import Asking
from tasks.archaeology.repair import remember, repair
from tasks.archaeology.stack import Bench, Facts, NoPlan, Planned
from tasks.archaeology.stacks import ONE_RUNNER, claimed, known_stacks, plan_build
from tasks.archaeology.states import States, build_states, changed

VERSION = 4


@dataclass(frozen=True)
class Reconstruction:
    """Everything archaeology found, also where it fell out on the way."""

    row: ReconstructionRow
    message: str
    start: Start
    """Where the candidate starts, with what its checkout lacks."""
    obstacles: tuple[ObstacleRow, ...] = ()
    states: States | None = None
    recipe: Recipe | None = None
    before: TestVector | None = None
    after: TestVector | None = None
    comparison: StateComparison | None = None
    patch: str = ""
    tries: int = 0
    """Plans that were built and tested."""
    submodules: tuple[str, ...] = ()
    """Folders of the states that hold another repository's files."""


@dataclass
class _Dig:
    """What is known so far; `end` turns it into a result at any point."""

    candidate_id: str
    end_commit: str
    start: Start
    obstacles: list[ObstacleRow] = field(default_factory=list)
    states: States | None = None
    recipe: Recipe | None = None
    before: TestVector | None = None
    after: TestVector | None = None
    comparison: StateComparison | None = None
    proof: Proof | None = None
    patch: str = ""
    insertions: int = 0
    deletions: int = 0
    tries: int = 0
    submodules: tuple[str, ...] = ()

    def obstacle(self, symptom: str, remedy: str, *, resolved: bool) -> None:
        self.obstacles.append(
            ObstacleRow(
                candidate_id=self.candidate_id,
                phase=Phase.ARCHAEOLOGY,
                attempt=len(self.obstacles) + 1,
                symptom=symptom,
                remedy=remedy,
                resolved=resolved,
            )
        )

    def end(self, status: Outcome, reason_code: ReasonCode, message: str) -> Reconstruction:
        compared = self.comparison
        row = ReconstructionRow(
            candidate_id=self.candidate_id,
            end_commit=self.end_commit,
            files_changed=len(changed(self.states.start, self.states.solution)) if self.states else 0,
            insertions=self.insertions,
            deletions=self.deletions,
            stack=self.recipe.stack if self.recipe else None,
            runtime=self.recipe.runtime if self.recipe else None,
            as_of=self.recipe.as_of if self.recipe else None,
            fail_to_pass=len(compared.fail_to_pass) if compared else 0,
            pass_to_pass=len(compared.pass_to_pass) if compared else 0,
            pass_to_fail=len(compared.pass_to_fail) if compared else 0,
            status=status,
            reason_code=reason_code,
        )
        return Reconstruction(
            row, message, self.start, tuple(self.obstacles), self.states, self.recipe, self.before, self.after,
            compared, self.patch, self.tries, self.submodules,
        )  # fmt: skip


def reconstruct(
    engine: Engine,
    store: ObjectStore,
    settings: Settings,
    repository: Repository,
    *,
    candidate_id: str,
    start_commit: str,
    end_commit: str,
    start: Start | None = None,
    recovered: Tree | None = None,
    asking: Asking | None = None,
) -> Reconstruction:
    """Rebuild and test both states of a candidate whose outcome is known.

    Args:
        engine: where it is built.
        store: where packages are kept.
        settings: limits and deadlines.
        repository: opened so that it has both commits.
        candidate_id: whose.
        start_commit: full id of the commit whose files the start has.
        end_commit: full id of the outcome.
        start: what qualify decided of the start; None: `start_commit` as it is.
        recovered: files of the session that are written over the start commit's.
        asking: who is asked for fixes of the recipe where nothing else helps; None: nobody.

    Raises:
        TransientError: network, store or engine; nothing is decided.
    """
    if start is None:
        start = Start(commit=start_commit, base_commit=start_commit, reach=reach_of(repository, start_commit))
    dig = _Dig(candidate_id, end_commit, start)
    outcome = repository.commit(end_commit)
    parent = outcome.parents[0] if outcome.parents else start_commit
    try:
        before, between, after = Checkouts(repository).take(start_commit, parent, end_commit)
        tree = _as_the_user_had_it(before.tree, recovered or {})
    except TreeUnsafeError as error:
        return dig.end(Outcome.REJECTED, ReasonCode.TREE_UNSAFE, str(error))
    _note_start(dig, before, after)
    submodules = {folder for checkout in (before, between, after) for folder in checkout.vendored}
    dig.submodules = tuple(sorted(submodules))
    dig.states = build_states(tree, between.tree, after.tree, dig.submodules)
    _describe_change(dig, repository, parent)
    if not dig.states.carried:
        dig.obstacle("the outcome's change conflicts with the start tree", "whole end tree as solution", resolved=True)
    if not claimed(list(dig.states.hidden)):
        return dig.end(
            Outcome.NEEDS_MODEL,
            ReasonCode.OUTCOME_HAS_NO_TESTS,
            f"the outcome {end_commit[:12]} changes no test of a stack that is built here ({known_stacks()}); hidden tests "
            "would have to be synthesized by a model",
        )
    facts = Facts(outcome.committed_at, repository.nearest_tag(start_commit), tuple(sorted(dig.states.hidden)))
    chosen = plan_build(dig.states.start, dig.states.solution, facts)
    if isinstance(chosen, NoPlan):
        return dig.end(Outcome.REJECTED, chosen.reason_code, chosen.message)
    planned = chosen.planned
    for line in chosen.unbuilt:
        dig.obstacle(line, ONE_RUNNER, resolved=False)
    dig.recipe = planned.recipe
    for item in planned.left_out:
        dig.obstacle(f"requirement not on an index: {item[:200]}", "left out", resolved=False)
    return _build(dig, Bench(engine, store, settings, candidate_id, asking), planned, repository.identity)


def _as_the_user_had_it(base: Tree, recovered: Tree) -> Tree:
    tree = overlay(base, recovered)
    if clash := misplaced(tree) - misplaced(base):
        raise TreeUnsafeError(f"{min(clash)[:200]!r} of the session lies below a file; the tree is refused")
    return tree


def _note_start(dig: _Dig, before: Checkout, after: Checkout) -> None:
    """What a person has to know of the start, as obstacles."""
    dig.start = start = dig.start.model_copy(
        update={"submodules": before.submodules, "lfs_pointers": before.lfs_pointers}
    )
    if not start.is_exact:
        dig.obstacle(
            f"start commit {start.commit[:40]} cannot be had",
            f"public commit {start.base_commit[:12]} instead",
            resolved=True,
        )
    elif not start.reach.is_public_history:
        dig.obstacle("no branch or tag holds the start commit", _remedy(start.reach), resolved=True)
    if start.recovered:
        some = ", ".join(one.path for one in start.recovered[:5])
        dig.obstacle(
            f"the session saw uncommitted contents: {some[:300]}",
            f"uncommitted content of {len(start.recovered)} files recovered from the session",
            resolved=True,
        )
    lacking = {one.path: one for checkout in (after, before) for one in checkout.submodules if one.fault}
    for one in lacking.values():
        named = one.repository or "no public address"
        dig.obstacle(
            f"submodule {one.path[:100]} ({named[:100]}) cannot be had: {one.fault}",
            "its folder is empty",
            resolved=False,
        )
    if before.lfs_pointers or after.lfs_pointers:
        count = len({*before.lfs_pointers, *after.lfs_pointers})
        some = ", ".join((before.lfs_pointers or after.lfs_pointers)[:5])
        dig.obstacle(f"{count} files are Git LFS pointers: {some[:300]}", "the pointers stay", resolved=False)


def _remedy(reach: Reach) -> str:
    if reach.way is Way.PULL:
        return f"fetched from {', '.join(reach.names[:3])}"
    return "fetched by its id" if reach.way is Way.ID else "taken from an earlier mirror"


def _describe_change(dig: _Dig, repository: Repository, parent: str) -> None:
    assert dig.states is not None
    dig.patch = repository.diff(parent, dig.end_commit)
    for change in repository.changes(dig.end_commit):
        dig.insertions += change.insertions
        dig.deletions += change.deletions


def _build(dig: _Dig, bench: Bench, planned: Planned, repository: str) -> Reconstruction:
    assert dig.states is not None and dig.recipe is not None
    repaired = repair(bench, planned, dig.states, repository)
    trial = repaired.trial
    dig.recipe, dig.tries = trial.recipe, repaired.tries
    dig.obstacles.extend(repaired.obstacles)
    if trial.reason_code is not None:
        unavailable = trial.reason_code is ReasonCode.RUNTIME_NOT_AVAILABLE
        status = Outcome.REJECTED if unavailable else Outcome.FAILED
        return dig.end(status, trial.reason_code, trial.failure[-1500:])
    dig.after = trial.vector
    if (useless := _useless(dig)) is not None:
        return useless
    proof = prove(bench, trial, dig.states)
    dig.obstacles.extend(proof.obstacles)
    if not proof.before:
        return dig.end(Outcome.FAILED, ReasonCode.INSTALL_FAILED, proof.failure[-1500:])
    dig.before, dig.proof = proof.before[0], proof
    found = _judge(dig)
    if found.row.status is Outcome.PASSED:
        remember(bench, repository, repaired)
    return found


def _useless(dig: _Dig) -> Reconstruction | None:
    """The end, where the solution's own tests say nothing."""
    assert dig.after is not None
    if (unfinished := _unfinished(dig, dig.after, "solution")) is not None:
        return unfinished
    if not dig.after.passed():
        return dig.end(
            Outcome.FAILED,
            ReasonCode.TESTS_NOT_COLLECTED,
            f"no test passes in the solution ({len(dig.after.results)} ran, {len(dig.after.collection_errors)} files not "
            f"collected): {dig.after.log_tail[-1500:]}",
        )
    return None


def _unfinished(dig: _Dig, vector: TestVector, state: str) -> Reconstruction | None:
    """The end, where a run of the tests did not come to its own: what ran before that cannot be compared."""
    log = vector.log_tail[-1000:]
    if vector.timed_out:
        return dig.end(Outcome.FAILED, ReasonCode.TESTS_TIMED_OUT, f"tests ran into the deadline: {log}")
    if vector.limit:
        said = f"the tests of the {state} were ended, {vector.limit}: {log}"
        return dig.end(Outcome.FAILED, ReasonCode.LIMIT_EXCEEDED, said)
    if not vector.complete:
        said = f"the test runner did not come to its end in the {state}: {log}"
        return dig.end(Outcome.FAILED, ReasonCode.TESTS_NOT_COLLECTED, said)
    return None


def _judge(dig: _Dig) -> Reconstruction:
    """The bug must be seen failing and the solution passing."""
    assert dig.before is not None and dig.proof is not None
    if (unfinished := _unfinished(dig, dig.before, "start")) is not None:
        return unfinished
    dig.comparison = found = dig.proof.comparison
    if deviating := dig.proof.deviating:
        some = ", ".join(deviating[:5])
        runs = len(dig.proof.before) + len(dig.proof.after)
        dig.obstacle(
            f"{len(deviating)} tests end one way and another: {some[:300]}",
            f"left out after {runs} runs",
            resolved=True,
        )
    if broken := sorted(set(dig.before.collection_errors) - set(dig.proof.after[0].collection_errors)):
        dig.obstacle(
            f"{len(broken)} files cannot be built or collected in the start with the outcome's tests, and can in the "
            f"solution: {', '.join(broken[:5])[:300]}",
            "their tests count as failing before",
            resolved=True,
        )
    counts = f"{len(found.fail_to_pass)} fail-to-pass, {len(found.pass_to_pass)} pass-to-pass, {len(found.pass_to_fail)} broken"
    if not found.fail_to_pass:
        return dig.end(Outcome.REJECTED, ReasonCode.BUG_NOT_SEEN, f"no test fails before and passes after: {counts}")
    return dig.end(Outcome.PASSED, ReasonCode.OK, f"both states built and tested: {counts}")
