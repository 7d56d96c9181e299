"""One phase of one candidate, run anew by hand: what a person starts from the Prefect UI after a build has failed.

What was committed before stays in the lake as history; the phases after this one become pending, and the next nightly
brings the candidate on.
"""

from typing import Literal

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from blocks.errors import UsageError
from blocks.lake import PhaseKey, ask_retry
from blocks.phases import PhaseResult, load_chain
from blocks.records import Phase
from blocks.workshop import Workshop, open_workshop
from flows.abandoned import sign
from flows.hooks import remove_left_overs
from flows.indexing import index_patiently
from flows.nightly import label_of
from flows.patience import patiently
from flows.pipeline import DEFINITIONS, stage_of

Rerunnable = Literal["qualify", "archaeology", "containerize", "synthesis", "capture"]


@flow(
    name="rerun",
    flow_run_name="rerun-{phase}-{candidate_id}",
    on_cancellation=[remove_left_overs],
    on_crashed=[remove_left_overs],
)
async def rerun(candidate_id: str, phase: Rerunnable) -> State[PhaseResult]:
    """Run one phase of one candidate anew, although it is committed, and end as that phase ends.

    Args:
        candidate_id: as `envmill status` lists it, `c-` and 16 hex digits.
        phase: the phase; those before it must have passed.
    """
    workshop = open_workshop(flow_run.id)
    await sign(str(flow_run.id))
    key, label = await patiently(claim, workshop, candidate_id, Phase(phase))
    ended: State[PhaseResult] = await stage_of(key).flow(key, label, return_state=True)
    await index_patiently(workshop)
    # A state of its own: Prefect takes a returned state of another run for one of many, and makes its own of them.
    return State(type=ended.type, name=ended.name, message=ended.message)


def claim(workshop: Workshop, candidate_id: str, phase: Phase) -> tuple[PhaseKey, str]:
    """Ask for another run of a phase. Returns the key of that run, and what the candidate is called in run names.

    Raises:
        UsageError: no such candidate, or it has not come to this phase; nothing was asked for.
    """
    chain, pending = load_chain(workshop.store, workshop.settings, candidate_id, DEFINITIONS)
    if not chain.manifests:
        raise UsageError(f"{candidate_id}: no such candidate in the lake; `envmill status` lists them")
    if pending is None or pending.phase is not phase:
        if phase not in chain.manifests:
            fell = list(chain.manifests)[-1]
            raise UsageError(
                f"{candidate_id}: it has not come to {phase}, its last phase is {fell}; rerun {fell} first"
            )
        ask_retry(workshop.store, candidate_id, phase)
        _, pending = load_chain(workshop.store, workshop.settings, candidate_id, DEFINITIONS)
    if pending is None or pending.phase is not phase:
        raise UsageError(f"{candidate_id}: another worker runs {phase} already; wait for it")
    return pending, label_of(chain.candidate())
