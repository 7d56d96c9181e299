"""Verifier synthesis as a phase: the outcome's own tests through the grader, the gates, the quality card."""

import hashlib
from dataclasses import replace

from blocks.builder.grading import Verdict, grade
from blocks.chain import Chain
from blocks.lake import PhaseWriter
from blocks.phases import Decision, PhaseDefinition
from blocks.recipe import Paths, Recipe
from blocks.records import (
    CostRow,
    EnvironmentRow,
    Outcome,
    Phase,
    ReasonCode,
    Record,
    TestResultRow,
    TestRunRow,
    VerifierRow,
)
from blocks.settings import Settings
from blocks.trees import Tree, digest, pack
from blocks.vectors import StateComparison
from blocks.workshop import Workshop
from tasks.synthesis.calibrate import calibrate, configuration_said, sentinels_said
from tasks.synthesis.gates import Card, Run, measure
from tasks.synthesis.ingredients import Ingredients
from tasks.synthesis.suite import Suite, build_suite, open_paths
from tasks.synthesis.watch import unwatched, without

VERSION = 3


class Config(Record):
    """Settings that change a card."""

    repeats: int
    min_fail_to_pass: int
    min_pass_to_pass: int
    max_hunks: int
    tests_sec: int


def run(workshop: Workshop, chain: Chain, writer: PhaseWriter) -> Decision:
    """Make the verifier of an environment and measure it."""
    environment = chain.row(Phase.CONTAINERIZE, EnvironmentRow)
    compared = chain.record(Phase.ARCHAEOLOGY, "comparison.json", StateComparison)
    ingredients = gather(chain, workshop.settings.timeouts.tests_sec)

    def one(suite: Suite, workspace: Tree) -> Verdict:
        return grade(
            workshop.engine, environment.image, workspace, suite.tests, timeout_sec=workshop.settings.timeouts.tests_sec
        )

    ingredients = calibrate(ingredients, compared, one)
    alone = unwatched(build_suite(ingredients, compared))
    watched = without(compared, alone)
    card = measure(ingredients, watched if watched.fail_to_pass else compared, workshop.settings.gates, one)
    left_out = ""
    if watched.fail_to_pass and alone:
        card = replace(card, dropped=(*alone, *card.dropped))
        left_out = f", {len(alone)} left out that no test that must fail watches over"
    elif alone and card.reason_code is ReasonCode.OK:
        why = "no test that must fail watches over any fail-to-pass test"
        card = replace(card, reason_code=ReasonCode.SENTINELS_SILENT, message=why)
    row = _card_row(card, environment, chain.candidate_id)
    _write(writer, chain, card, row, workshop.engine_costs(chain.candidate_id, Phase.SYNTHESIS))
    outcome = Outcome.PASSED if card.reason_code is ReasonCode.OK else Outcome.REJECTED
    noticed = f", {row.hunks_detected} of {row.hunks_required} hunks noticed" if row.hunks_required is not None else ""
    said = card.message + left_out + noticed + sentinels_said(card.suite) + configuration_said(ingredients)
    return Decision(outcome=outcome, reason_code=card.reason_code, message=said)


def gather(chain: Chain, timeout_sec: int) -> Ingredients:
    """The ingredients of a candidate's verifier, from what earlier phases committed."""
    recipe = chain.record(Phase.ARCHAEOLOGY, "recipe.json", Recipe)
    paths = chain.record(Phase.ARCHAEOLOGY, "paths.json", Paths)
    start, solution = (chain.tree(Phase.ARCHAEOLOGY, f"{name}.tar") for name in ("start", "solution"))
    hidden = chain.tree(Phase.ARCHAEOLOGY, "hidden.tar")
    different = {path for path in start.keys() | solution.keys() if start.get(path) != solution.get(path)}
    return Ingredients(
        start=chain.tree(Phase.CONTAINERIZE, "workspace.tar"),
        change={path: solution.get(path) for path in sorted(different - hidden.keys() - set(paths.removed_tests))},
        source_paths=paths.source_paths,
        hidden=hidden,
        removed_tests=paths.removed_tests,
        test_paths=paths.test_paths,
        open_paths=open_paths(paths.configuration_paths, recipe.folder),
        recipe=recipe,
        timeout_sec=timeout_sec,
        pristine=frozenset(start),
    )


def _card_row(card: Card, environment: EnvironmentRow, candidate_id: str) -> VerifierRow:
    admitted = card.reason_code is ReasonCode.OK
    verifier_id = (
        "v-" + hashlib.sha256(f"{environment.environment_id} {digest(card.suite.tests)}".encode()).hexdigest()[:16]
    )
    return VerifierRow(
        candidate_id=candidate_id,
        environment_id=environment.environment_id,
        verifier_id=verifier_id,
        grade="B",
        tier="train" if admitted else "quarantine",
        fail_to_pass=len(card.wanted.fail_to_pass),
        pass_to_pass=len(card.wanted.pass_to_pass),
        pass_to_fail=len(card.wanted.pass_to_fail),
        nop_reward=_worst(card, "nop"),
        stub_reward=None,
        oracle_reward=_worst(card, "oracle"),
        repeats=sum(run.kind == "oracle" for run in card.runs),
        flips=card.flips,
        hunks_required=len(card.hunks) if admitted else None,
        hunks_detected=sum(noticed for _, noticed in card.hunks) if admitted else None,
        mutants=None,
        mutants_killed=None,
        twins=None,
        guess_odds=None,
        attacks=None,
        attack_wins=None,
        coupling_findings=None,
        status="admitted" if admitted else "rejected",
        reason_code=card.reason_code,
    )


def _worst(card: Card, kind: str) -> float | None:
    """The reward furthest from what is right: the highest of nop, the lowest of oracle; None where a run gave none."""
    rewards = [run.verdict.reward for run in card.runs if run.kind == kind]
    known = [reward for reward in rewards if reward is not None]
    if not known or len(known) < len(rewards):
        return None
    return max(known) if kind == "nop" else min(known)


def _write(writer: PhaseWriter, chain: Chain, card: Card, row: VerifierRow, costs: list[CostRow]) -> None:
    writer.rows([row])
    whitelist = set(card.suite.spec.whitelist)
    results: list[TestResultRow] = []
    runs: list[TestRunRow] = []
    for number, run in enumerate(card.runs, start=1):
        name = (
            f"hunk-{number}" if run.kind == "hunk" else run.name
        )  # A hunk's name holds a path, which no key can take.
        uri = writer.record(f"vectors/{name}.json", run.verdict.vector)
        passed = len(run.verdict.vector.passed() & whitelist)
        runs.append(
            TestRunRow(
                verifier_id=row.verifier_id,
                run=run.name,
                kind=run.kind,
                passed=passed,
                failed=len(whitelist) - passed,
                deviations=len(run.deviations),
                reward=run.verdict.reward,
                seconds=run.verdict.seconds,
                vector_uri=uri,
            )
        )
        results += _results(run, row.verifier_id)
    writer.rows(results)
    writer.rows(runs)
    writer.rows(
        [
            *costs,
            *(
                CostRow(
                    candidate_id=chain.candidate_id,
                    phase=Phase.SYNTHESIS,
                    kind=f"{kind}_seconds",
                    value=sum(run.verdict.seconds for run in card.runs if run.kind == kind),
                )
                for kind in ("nop", "oracle", "hunk")
            ),
        ]
    )
    writer.object("tests.tar", pack(card.suite.tests))
    lines = [f"{'noticed' if noticed else 'missed'} {hunk.name}\n" for hunk, noticed in card.hunks]
    writer.object("hunks.txt", "".join(lines))
    writer.object("dropped.txt", "".join(f"{test}\n" for test in card.dropped))


def _results(run: Run, verifier_id: str) -> list[TestResultRow]:
    """Every test of the first nop and the first oracle run; of later runs only those that deviate."""
    vector = run.verdict.vector
    wanted = vector.results if run.name in ("nop-1", "oracle-1") else run.deviations
    return [
        TestResultRow(
            verifier_id=verifier_id,
            run=run.name,
            test_id=test,
            outcome=vector.results[test].status if test in vector.results else "absent",
            failure_kind=vector.results[test].failure_kind if test in vector.results else None,
            seconds=vector.results[test].seconds if test in vector.results else 0.0,
        )
        for test in wanted
    ]


def _config(settings: Settings) -> Config:
    gates = settings.gates
    return Config(
        repeats=gates.repeats,
        min_fail_to_pass=gates.min_fail_to_pass,
        min_pass_to_pass=gates.min_pass_to_pass,
        max_hunks=gates.max_hunks,
        tests_sec=settings.timeouts.tests_sec,
    )


SYNTHESIS = PhaseDefinition(Phase.SYNTHESIS, VERSION, _config, run)
