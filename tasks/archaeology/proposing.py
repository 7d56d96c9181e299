"""A model that proposes how to mend a recipe: it sees recipe, logs and tries, and names fields to change, nothing else.

What it says is tried like a line of the table; `proposals.py` bounds it. A model that does not answer proposes nothing.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from blocks.lake import ObjectStore
from blocks.llm import (
    CandidateCache,
    Data,
    Limits,
    LiveModel,
    ModelRun,
    NoTools,
    Question,
    RecordedModel,
    Spent,
    converse,
    cut,
    load_prompt,
    recordings,
)
from blocks.recipe import Recipe
from blocks.records import Record
from blocks.settings import Settings
from tasks.archaeology.proposals import Asking, Proposal, Proposed
from tasks.archaeology.remedies import Evidence, Fix

MAX_LOG = 6000
MAX_RECIPE = 8000
_LIMITS = Limits(turns=2, max_tokens=1500)
_VOLATILE = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?", "<moment>"),
        (r"\b\d+(?:\.\d+)?\s?(?:ms|s|secs?|seconds?|minutes?)\b", "<time>"),
        (r"\b\d+(?:\.\d+)?\s?[kMG]i?B(?:/s)?\b", "<size>"),
        (r"0x[0-9a-f]{6,}", "0x<address>"),
        (r"/tmp/[\w.-]+", "/tmp/<name>"),
    )
)


class Mending(Record):
    """What the model answers."""

    because: Annotated[str, Field(max_length=1000)]
    fixes: Annotated[tuple[Proposed, ...], Field(max_length=8)]


@dataclass
class ModelProposer:
    """Asks the model of the settings; `spents` grows by one for each question."""

    settings: Settings
    run: ModelRun
    store: ObjectStore
    candidate_id: str
    paid_by: str
    spents: list[Spent] = field(default_factory=list)

    def propose(self, recipe: Recipe, evidence: Evidence, tried: Sequence[Fix], budget_usd: float) -> Proposal:
        """What to try next, for at most this money; nothing where no model answers."""
        model = self._model(budget_usd)
        self.spents.append(model.spent)
        models = self.settings.models
        reply = asyncio.run(
            converse(
                model,
                self.run.models,
                _question(recipe, evidence, tried),
                _LIMITS,
                temperature=models.temperature,
                structured=models.structured,
            )
        )
        cost = model.spent.usd + model.spent.usd_assumed
        return Proposal(fixes=reply.answer.fixes if reply.answer else (), cost_usd=cost)

    def _model(self, budget_usd: float) -> LiveModel | RecordedModel:
        if self.settings.qualify.provider == "recorded":
            return RecordedModel(recordings(self.settings.models.recorded, self.store))
        cache = CandidateCache(self.store, self.candidate_id)
        return LiveModel(self.run, cache, self.candidate_id, self.paid_by, limit_usd=budget_usd)


def asking_for(
    settings: Settings, run: ModelRun, store: ObjectStore, candidate_id: str, paid_by: str
) -> tuple[Asking, ModelProposer] | None:
    """Who is asked for fixes, with bounds; None where the settings name no model."""
    if settings.qualify.provider == "rules":
        return None
    proposer = ModelProposer(settings, run, store, candidate_id, paid_by)
    return Asking(proposer, settings.models.proposals, settings.models.proposals_budget_usd), proposer


def names_of(settings: Settings) -> tuple[str, ...]:
    """What of models and prompt changes a proposal; empty where nobody is asked."""
    models = settings.models
    if settings.qualify.provider == "rules":
        return ()
    bounds = f"{models.proposals} {models.temperature} {models.structured}"
    return (settings.qualify.provider, models.model, *models.fallbacks, load_prompt("recipe").label, bounds)


def _stable(text: str) -> str:
    """The log without what every run says anew, so that the same failure is the same question."""
    for pattern, name in _VOLATILE:
        text = pattern.sub(name, text)
    return text


def _question(recipe: Recipe, evidence: Evidence, tried: Sequence[Fix]) -> Question[Mending]:
    logs = [
        Data(title=f"end of the log: {name}", text=_stable(text)[-MAX_LOG:])
        for name, text in evidence.model_dump().items()
        if text.strip()
    ]
    told = "\n".join(f"{fix.action.value} {fix.argument}" for fix in tried) or "nothing"
    shown = recipe.model_copy(update={"packages": ()}).model_dump_json(exclude_defaults=True)
    packages = " ".join(f"{package.name}=={package.version}" for package in recipe.packages)
    return Question(
        prompt=load_prompt("recipe"),
        task=f"The stack is {recipe.stack}. What should be changed in the recipe?",
        data=[
            Data(title="recipe, JSON", text=cut(shown, MAX_RECIPE)),
            Data(title="packages it resolved to", text=cut(packages, MAX_RECIPE)),
            *logs,
            Data(title="tried without success", text=cut(told, MAX_LOG)),
        ],
        answer=Mending,
        toolbox=NoTools(),
    )
