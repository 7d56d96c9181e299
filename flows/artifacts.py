"""What a person sees in the Prefect UI of a build that failed: reason, recipe, log tail, obstacles, link to the log."""

import asyncio

from prefect.artifacts import acreate_link_artifact, acreate_markdown_artifact, acreate_table_artifact

from blocks.lake import Manifest, PhaseKey, find_manifest, load_rows, read_record
from blocks.phases import PhaseResult
from blocks.recipe import Recipe
from blocks.records import ObstacleRow
from blocks.workshop import Workshop

_LOGS = ("build.log", "archaeology.log")
_TAIL = 6000


async def explain_failure(workshop: Workshop, key: PhaseKey, result: PhaseResult) -> None:
    """Leave the artifacts of one failed phase run: markdown, table of obstacles, link to the whole log."""
    manifest = await asyncio.to_thread(find_manifest, workshop.store, key)
    if manifest is None:
        return
    slug = f"{key.phase}-{key.candidate_id}".lower()
    text = await asyncio.to_thread(_markdown, workshop, manifest, result)
    await acreate_markdown_artifact(markdown=text, key=f"{slug}-failure", description=str(result.reason_code))
    obstacles = await asyncio.to_thread(load_rows, workshop.store, manifest, ObstacleRow)
    rows = [row.model_dump(mode="json", include={"attempt", "symptom", "remedy", "resolved"}) for row in obstacles]
    if rows:
        await acreate_table_artifact(table=rows, key=f"{slug}-obstacles", description="What stood in the way")
    log = _log_name(manifest)
    if log:
        await acreate_link_artifact(
            link=workshop.store.uri(key.prefix + log), link_text="the whole log", key=f"{slug}-log"
        )


def _markdown(workshop: Workshop, manifest: Manifest, result: PhaseResult) -> str:
    log = _log_name(manifest)
    tail = workshop.store.get(manifest.key.prefix + log).decode("utf-8", "replace")[-_TAIL:] if log else result.message
    parts = [
        f"# {result.phase} failed: `{result.reason_code}`",
        f"Candidate `{result.candidate_id}`, run `{result.input_key}`.",
        "## What was said",
        _fenced(result.message),
        "## End of the log",
        _fenced(tail),
    ]
    if any(entry.name == "recipe.json" for entry in manifest.files):
        recipe = read_record(workshop.store, manifest, "recipe.json", Recipe)
        parts += ["## Recipe", _fenced(_recipe(recipe))]
    return "\n\n".join(parts)


def _recipe(recipe: Recipe) -> str:
    return "\n".join(
        [f"{recipe.stack} {recipe.runtime}, as of {recipe.as_of}, install {recipe.install}", *recipe.requirements]
    )


def _log_name(manifest: Manifest) -> str | None:
    names = {entry.name for entry in manifest.files}
    return next((name for name in _LOGS if name in names), None)


def _fenced(text: str) -> str:
    """A code block that hostile text cannot close: its fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"
