"""Publish: what is verified becomes a release; nothing happens where every one of them is in the latest already."""

from prefect import flow
from prefect.runtime import flow_run

from blocks.lake import PhaseKey
from blocks.phases import load_chain
from blocks.records import Outcome, Phase
from blocks.workshop import Workshop, open_workshop
from flows.abandoned import sign
from flows.candidates import candidate_ids
from flows.patience import patiently
from flows.pipeline import DEFINITIONS
from tasks.publish.phase import Published
from tasks.publish.steps import write_release


@flow(name="publish")
async def publish(force: bool = False) -> Published | None:
    """Write a release of all verified candidates. `force` writes it also where nothing is new."""
    await sign(str(flow_run.id))
    workshop = open_workshop(str(flow_run.id))
    verified = await patiently(verified_runs, workshop)
    return await write_release(verified, force) if verified else None


def verified_runs(workshop: Workshop) -> list[PhaseKey]:
    """The capture run of every candidate that came through all phases before publish."""
    found = []
    for candidate_id in candidate_ids(workshop.settings.catalog_path):
        chain, pending = load_chain(workshop.store, workshop.settings, candidate_id, DEFINITIONS)
        capture = chain.manifests.get(Phase.CAPTURE)
        if pending is None and capture is not None and capture.outcome is Outcome.PASSED:
            found.append(capture.key)
    return found
