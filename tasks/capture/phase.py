"""Trace capture as a phase: oracle and nop through the agent's own container, replay of the session's edits.

All three take the path of a submission: the workspace is copied out as data and graded in a fresh container.
"""

import time

from blocks.builder.grading import Verdict, grade
from blocks.builder.solution import solution_files
from blocks.chain import Chain
from blocks.lake import PhaseWriter
from blocks.phases import Decision, PhaseDefinition
from blocks.records import EnvironmentRow, Outcome, Phase, ReasonCode, Record, RolloutRow, VerifierRow
from blocks.session import Session
from blocks.settings import Settings
from blocks.trees import Tree
from blocks.workshop import Workshop
from tasks.capture.agents import run_agent
from tasks.capture.atif import Exchange, minimal_trajectory, session_trajectory
from tasks.capture.replay import replay

VERSION = 1


class Config(Record):
    """Settings that change a rollout."""

    agent_sec: int
    tests_sec: int


def run(workshop: Workshop, chain: Chain, writer: PhaseWriter) -> Decision:
    """Record the rollouts that need no model, and hold them against what the gates measured."""
    session = chain.record(Phase.INGEST, "session.json", Session)
    environment = chain.row(Phase.CONTAINERIZE, EnvironmentRow)
    capture = _Capture(workshop, chain, writer, environment, chain.tree(Phase.SYNTHESIS, "tests.tar"))
    start, solution = (chain.tree(Phase.ARCHAEOLOGY, f"{name}.tar") for name in ("start", "solution"))
    rewards = {
        "oracle": capture.scripted("oracle", solution_files(start, solution)),
        "nop": capture.scripted("nop", None),
    }
    if session.edits:
        rewards["replay"] = capture.replayed(session)
    capture.commit_rows()
    said = ", ".join(f"{agent} {reward}" for agent, reward in rewards.items())
    if rewards["oracle"] != 1 or rewards["nop"] != 0:
        return Decision(outcome=Outcome.REJECTED, reason_code=ReasonCode.ROLLOUT_DISAGREES, message=said)
    if rewards.get("replay") == 1:
        message = f"{said}: the session's own edits, which the user rejected, pass the hidden tests"
        return Decision(outcome=Outcome.REVIEW, reason_code=ReasonCode.REPLAY_PASSES, message=message)
    return Decision(outcome=Outcome.PASSED, reason_code=ReasonCode.OK, message=said)


class _Capture:
    """The runs of one environment; rows are kept until all of them are there."""

    def __init__(
        self, workshop: Workshop, chain: Chain, writer: PhaseWriter, environment: EnvironmentRow, tests: Tree
    ) -> None:
        self.workshop, self.chain, self.writer = workshop, chain, writer
        self.environment, self.tests = environment, tests
        self.verifier = chain.row(Phase.SYNTHESIS, VerifierRow)
        self.instruction = chain.candidate().instruction
        self.scopes = chain.candidate().consent_scopes.split(",")
        self.rows: list[RolloutRow] = []

    def scripted(self, agent: str, solution: Tree | None) -> float | None:
        """Oracle (a solution) or nop (None)."""
        started = time.monotonic()
        timeout_sec = self.workshop.settings.timeouts.agent_sec
        done = run_agent(self.workshop.engine, self.environment.image, solution, timeout_sec=timeout_sec)
        verdict = self._grade(done.workspace)
        exchanges = [
            Exchange(command=command, output=output, exit_code=code) for command, output, code in done.commands
        ]
        trajectory = minimal_trajectory(agent, self.instruction, exchanges, session_id=self._id(agent))
        self._row(agent, None, verdict, done.exit_reason, 1 + max(1, len(exchanges)), None, started, trajectory)
        return verdict.reward

    def replayed(self, session: Session) -> float | None:
        """The workspace as the session's own edits left it."""
        started = time.monotonic()
        done = replay(self.chain.tree(Phase.CONTAINERIZE, "workspace.tar"), session.edits)
        verdict = self._grade(done.workspace)
        tokens = sum((step.prompt_tokens or 0) + (step.completion_tokens or 0) for step in session.steps)
        reason = "replayed" if not done.failed else f"replayed, {len(done.failed)} edits left out"
        trajectory = session_trajectory(session, consent_scopes=self.scopes)
        self.writer.object("replay.txt", "\n".join([f"{done.applied} edits applied", *done.failed]) + "\n")
        self._row("replay", session.model, verdict, reason, len(session.steps), tokens, started, trajectory)
        return verdict.reward

    def commit_rows(self) -> None:
        """Write the rows of all runs."""
        self.writer.rows(self.rows)
        self.writer.rows(self.workshop.engine_costs(self.chain.candidate_id, Phase.CAPTURE))

    def _grade(self, workspace: Tree) -> Verdict:
        timeout_sec = self.workshop.settings.timeouts.tests_sec
        return grade(self.workshop.engine, self.environment.image, workspace, self.tests, timeout_sec=timeout_sec)

    def _row(
        self,
        agent: str,
        model: str | None,
        verdict: Verdict,
        exit_reason: str,
        steps: int,
        tokens: int | None,
        started: float,
        trajectory: bytes,
    ) -> None:
        self.writer.record(f"vectors/{agent}.json", verdict.vector)
        self.rows.append(
            RolloutRow(
                candidate_id=self.chain.candidate_id,
                rollout_id=self._id(agent),
                environment_id=self.environment.environment_id,
                agent=agent,
                model=model,
                reward=verdict.reward,
                exit_reason=exit_reason,
                steps=steps,
                tokens=tokens,
                cost_usd=None,
                seconds=time.monotonic() - started,
                trajectory_uri=self.writer.object(f"trajectories/{agent}.json", trajectory),
            )
        )

    def _id(self, agent: str) -> str:
        return f"{self.verifier.verifier_id}-{agent}"


def _config(settings: Settings) -> Config:
    return Config(agent_sec=settings.timeouts.agent_sec, tests_sec=settings.timeouts.tests_sec)


CAPTURE = PhaseDefinition(Phase.CAPTURE, VERSION, _config, run)
