"""Publish: what is verified becomes a release; nothing happens where every one of them is in the latest already."""

from prefect import flow
from prefect.runtime import flow_run

from blocks.lake import PhaseKey
from blocks.records import Outcome
from blocks.standing import standings
from blocks.workshop import Workshop, open_workshop
from flows.abandoned import sign
from flows.indexing import index_patiently
from flows.patience import patiently
from flows.pipeline import DEFINITIONS
from tasks.publish.phase import Published
from tasks.publish.steps import write_release


@flow(name="publish")
async def publish(force: bool = False) -> Published | None:
    """Write a release of all verified candidates. `force` writes it also where nothing is new."""
    await sign(str(flow_run.id))
    workshop = open_workshop(str(flow_run.id))
    await index_patiently(workshop)
    verified = await patiently(verified_runs, workshop)
    return await write_release(verified, force) if verified else None


def verified_runs(workshop: Workshop) -> list[PhaseKey]:
    """The capture run of every candidate that came through all phases before publish."""
    settings = workshop.settings
    return [
        standing.keys[-1]
        for standing in standings(settings.catalog_path, workshop.store, settings, DEFINITIONS)
        if not standing.is_pending and standing.results[-1].outcome is Outcome.PASSED
    ]
