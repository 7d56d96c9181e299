"""What a model gets to read of a candidate: its session, the collector's evidence, and what the rule made of it."""

from blocks.llm import Data, cut
from blocks.session import Session, Step
from tasks.qualify.verdict import Verdict

MAX_TEXT = 3000
MAX_OBSERVATION = 1200
MAX_SESSION = 60_000
MAX_EVIDENCE = 20_000


def dossier(verdict: Verdict, session: Session, start: str) -> list[Data]:
    """The data of the question, each part bounded. `verdict` is the rule's."""
    told = f"{verdict.decision.value} ({verdict.reason_code.value}): {verdict.message}"
    where = f"repository {session.repository}\nstart commit {start}"
    return [
        Data(title="candidate", text=where),
        Data(title="session", text=_session(session)),
        Data(title="evidence of the collector, JSON", text=cut(verdict.evidence, MAX_EVIDENCE)),
        Data(title="what the rule says", text=cut(told, MAX_TEXT)),
    ]


def _session(session: Session) -> str:
    """Steps in order. Where they are too long together, those in the middle go: the wish is first, the outcome last."""
    steps = [_step(step) for step in session.steps]
    while sum(map(len, steps)) > MAX_SESSION and len(steps) > 2:
        gone = len(steps) // 2
        steps[gone - 1 : gone + 1] = [f"{steps[gone - 1].splitlines()[0]}\n[... steps left out ...]"]
    return cut("\n\n".join(steps), MAX_SESSION + 5000)


def _step(step: Step) -> str:
    kind = f", {step.intervention.value}" if step.intervention else ""
    parts = [f"step {step.index} ({step.speaker.value}{kind}):", cut(step.text, MAX_TEXT)]
    parts += [f"calls {call.name}: {cut(call.arguments, MAX_OBSERVATION)}" for call in step.tool_calls]
    parts += [f"is shown: {cut(shown.content, MAX_OBSERVATION)}" for shown in step.observations]
    return "\n".join(part for part in parts if part)
