"""The command `rebuild`: an environment from its published files, and the same test results from it."""

import io
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from blocks.builder.foundations import foundation_of
from blocks.builder.grading import grade
from blocks.catalog import query
from blocks.chain import Chain, load_upstream
from blocks.engine import Network, ensure_base
from blocks.errors import PermanentError, UsageError
from blocks.lake import Manifest
from blocks.lake.commit import MANIFEST
from blocks.recipe import Recipe
from blocks.records import Phase, Record, VerifierRow
from blocks.settings import load_settings
from blocks.trees import File
from blocks.vectors import TestVector
from blocks.workshop import Workshop
from flows.commands.output import console, print_json, print_table
from tasks.capture.agents import run_agent
from tasks.containerize.rebuild import StateCheck, built_again, check_state, read_folder


class Rebuilt(Record):
    """What `rebuild` found."""

    candidate_id: str
    task: str
    offline: bool
    base: str
    build_seconds: float
    equal: bool
    """Every test of every state ended as recorded, with the same reward."""
    states: tuple[StateCheck, ...]


def rebuild(
    environment: Annotated[str, typer.Argument(help="Candidate, environment or Harbor task; an id or how it begins.")],
    offline: Annotated[
        bool, typer.Option("--offline", help="Without a network, on the runtime image of this machine.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Build a published environment again from its files, grade nop and oracle in it, compare with what is recorded."""
    found = rebuild_published(Workshop(load_settings()), environment, offline=offline)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        console.print(f"{escape(found.task)} built in {found.build_seconds:.1f} s on {found.base}", soft_wrap=True)
        rows = [
            (state.kind, state.reward, state.recorded_reward, state.tests, len(state.differences))
            for state in found.states
        ]
        print_table(["state", "reward", "recorded", "tests", "different"], rows)
        for state in found.states:
            for item in state.differences[:20]:
                said = f"{state.kind}: {item.test_id}: recorded {item.recorded}, now {item.now}"
                console.print(escape(said), soft_wrap=True)
        console.print("[green]equal[/green]" if found.equal else "[red]not equal[/red]")
    if not found.equal:
        raise typer.Exit(1)


def rebuild_published(workshop: Workshop, wanted: str, *, offline: bool) -> Rebuilt:
    """See `rebuild`.

    Raises:
        UsageError: not exactly one published environment is called so.
        PermanentError: the published files do not build.
    """
    engine, settings = workshop.engine, workshop.settings
    candidate_id, path = _published(settings.catalog_path, wanted)
    folder = settings.releases / "latest" / path
    parts = {name: read_folder(folder / name) for name in ("environment", "solution", "tests")}
    chain = _recorded(workshop, candidate_id)
    recipe = chain.record(Phase.ARCHAEOLOGY, "recipe.json", Recipe)
    base = foundation_of(recipe).runtime_image(engine, settings, recipe) if offline else ensure_base(engine, settings)
    if base is None:
        raise PermanentError(f"{wanted}: this machine has no runtime image for {recipe.stack} {recipe.runtime}")
    reference = f"envmill/rebuilt:{folder.name[:80]}-{engine.owner.pid}"
    network = Network.NONE if offline else Network.FETCH
    started = time.monotonic()
    with built_again(engine, parts["environment"], reference, base=base, network=network, log=io.BytesIO()) as image:
        seconds = time.monotonic() - started
        states = tuple(_check(workshop, chain, image, kind, parts) for kind in ("nop", "oracle"))
    return Rebuilt(
        candidate_id=candidate_id,
        task=folder.name,
        offline=offline,
        base=base,
        build_seconds=round(seconds, 1),
        equal=all(state.is_equal for state in states),
        states=states,
    )


def _check(workshop: Workshop, chain: Chain, image: str, kind: str, parts: dict[str, dict[str, File]]) -> StateCheck:
    """The published tests on what an agent leaves that does nothing, or runs the published solution."""
    timeouts = workshop.settings.timeouts
    solution = parts["solution"] if kind == "oracle" else None
    left = run_agent(workshop.engine, image, solution, timeout_sec=timeouts.agent_sec)
    verdict = grade(workshop.engine, image, left.workspace, parts["tests"], timeout_sec=timeouts.tests_sec)
    verifier = chain.row(Phase.SYNTHESIS, VerifierRow)
    unstable = chain.content(Phase.SYNTHESIS, "dropped.txt").decode().splitlines()
    return check_state(
        kind,
        chain.record(Phase.SYNTHESIS, f"vectors/{kind}-1.json", TestVector),
        verifier.nop_reward if kind == "nop" else verifier.oracle_reward,
        verdict.vector,
        verdict.reward,
        frozenset(unstable),
    )


def _published(catalog: Path, wanted: str) -> tuple[str, str]:
    """Candidate and path of the one published environment that is called so."""
    rows = query(catalog, "SELECT DISTINCT candidate_id, environment_id, path FROM release_members").rows
    found = {
        (str(candidate), str(path))
        for candidate, name, path in rows
        if any(
            str(known).startswith(wanted)
            for known in (candidate, str(candidate).removeprefix("c-"), name, str(path).rpartition("/")[2])
        )
    }
    if len(found) != 1:
        raise UsageError(f"{wanted}: {len(found)} published environments begin like this; `envmill status` lists all")
    return found.pop()


def _recorded(workshop: Workshop, candidate_id: str) -> Chain:
    """What the phases committed from which the candidate was last published."""
    store = workshop.store
    manifests = [
        Manifest.model_validate_json(store.get(info.key))
        for info in store.list(f"candidates/{candidate_id}/{Phase.PUBLISH}/")
        if info.key.endswith(f"/{MANIFEST}")
    ]
    if not manifests:
        raise PermanentError(f"{candidate_id} is in the catalog as published, but not in the lake; run it again")
    return load_upstream(store, max(manifests, key=lambda manifest: manifest.committed_at).key)
