"""What a person sees in the Prefect UI of a build that failed: the run's log, a page, a table of obstacles, the whole log."""

import asyncio

from prefect.artifacts import acreate_link_artifact, acreate_markdown_artifact, acreate_table_artifact
from prefect.logging import get_run_logger

from blocks.chain import Chain, load_upstream
from blocks.errors import PermanentError
from blocks.lake import Manifest, PhaseKey, find_manifest, load_rows, read_object
from blocks.phases import PhaseResult
from blocks.recipe import Recipe
from blocks.records import ObstacleRow, Phase
from blocks.workshop import Workshop
from flows import failure_page, verdict_page
from flows.failure_page import Failure, LogPlace
from flows.judged import judged_in_run
from flows.logs import log_name
from tasks.publish.environment import environment_files


async def explain_verdict(workshop: Workshop, key: PhaseKey) -> None:
    """Leave the page of one committed run of qualify: why the candidate passed or fell."""
    judged = await asyncio.to_thread(judged_in_run, workshop, key)
    if judged is not None:
        await acreate_markdown_artifact(
            markdown=verdict_page.markdown(judged),
            key=f"qualify-{key.candidate_id}".lower(),
            description="Why it passed or fell",
        )


async def explain_failure(workshop: Workshop, key: PhaseKey, result: PhaseResult) -> None:
    """Leave the log line and the artifacts of one failed phase run."""
    manifest = await asyncio.to_thread(find_manifest, workshop.store, key)
    if manifest is None:
        return
    failure = await asyncio.to_thread(_failure, workshop, manifest, result)
    get_run_logger().error(failure_page.plain(failure))
    slug = f"{key.phase}-{key.candidate_id}".lower()
    await acreate_markdown_artifact(
        markdown=failure_page.markdown(failure), key=f"{slug}-failure", description=str(result.reason_code)
    )
    if failure.obstacles:
        rows = failure_page.rows(failure.obstacles)
        await acreate_table_artifact(table=rows, key=f"{slug}-obstacles", description="What stood in the way")
    if failure.place:
        await acreate_link_artifact(
            link=failure.place.url,
            link_text="The whole log",
            key=f"{slug}-log",
            description=failure_page.log_description(failure.place),
        )


def _failure(workshop: Workshop, manifest: Manifest, result: PhaseResult) -> Failure:
    key, store = manifest.key, workshop.store
    chain = load_upstream(store, key).with_manifest(manifest)
    name = log_name(entry.name for entry in manifest.files)
    recipe = _recipe(chain)
    return Failure(
        candidate=chain.candidate(),
        phase=key.phase,
        reason_code=result.reason_code,
        message=result.message,
        obstacles=load_rows(store, manifest, ObstacleRow),
        log=read_object(store, manifest, name).decode("utf-8", "replace") if name else "",
        place=_place(workshop, key, name) if name else None,
        dockerfile=_dockerfile(recipe) if recipe else None,
        requirements=recipe.requirements if recipe else (),
    )


def _place(workshop: Workshop, key: PhaseKey, name: str) -> LogPlace:
    return LogPlace(
        url=f"{workshop.settings.log_url.rstrip('/')}/{key.prefix}{name}",
        uri=workshop.store.uri(key.prefix + name),
        command=f"envmill show {key.candidate_id} --log {key.phase}",
    )


def _recipe(chain: Chain) -> Recipe | None:
    archaeology = chain.manifests.get(Phase.ARCHAEOLOGY)
    if archaeology is None or not chain.has(Phase.ARCHAEOLOGY, "recipe.json"):
        return None
    return chain.record(Phase.ARCHAEOLOGY, "recipe.json", Recipe)


def _dockerfile(recipe: Recipe) -> str | None:
    """As it would be published; None where a failed build's recipe does not give one."""
    try:
        return environment_files(recipe, {}, lambda _sha256, _name: b"")["Dockerfile"].content.decode()
    except (PermanentError, KeyError):
        return None
