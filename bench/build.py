"""What building costs: every repository of the corpus lists through archaeology and containerize, cold and warm.

    python -m bench.build data/corpus/*.toml --mirrors FOLDER --home FOLDER [--only OWNER/NAME] [--through PHASE]
        [--cold-only] [--forget]

`--mirrors` is as for bench.corpus. `--home` keeps lake, catalog and `build.jsonl`, a line for each repository that is
done; a broken run goes on after those. Qualify is left out: the outcome is the one the rule draws, or the list names.

Cold: nothing of this repository is there, no package, no resolution, no dependency layer. That holds only where home and
engine have not seen these repositories; `--forget` removes every dependency and environment image of the engine first.
Warm: the same candidate again, everything done anew on what the cold run left; this is what a repository's second candidate
meets. Runtime images are there either way (`make setup`, or the first candidate of a runtime).

Wall: seconds from the phases' first to their last. CPU: of the containers, and of this process with its children; not the
engine's own. Unique bytes: the environment image beyond its dependency layer; added cold: beyond the runtime image.
Tries: plans that were built and tested. Prints one line per repository as it goes, a table as markdown and the medians.
"""

import argparse
import json
import os
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from bench.corpus import draw, find_mirror, prompt_of, read_corpus
from bench.pinned import pin
from blocks.builder.foundations import foundation_of
from blocks.catalog.index import index
from blocks.chain import Chain
from blocks.engine.retention import stored_images
from blocks.errors import EnvmillError, TransientError
from blocks.lake import ask_retry
from blocks.phases import load_chain
from blocks.recipe import Recipe
from blocks.records import CostRow, EnvironmentRow, Phase, ReasonCode, ReconstructionRow
from blocks.settings import Settings, load_settings
from blocks.work import hold, perform
from blocks.workshop import Workshop
from flows.pipeline import DEFINITIONS

_TABLE = (
    "| repository | start | outcome | stack, runtime | result | fail-to-pass / pass-to-pass / broken | wall cold, s | "
    "wall warm, s | CPU cold, s | CPU warm, s | own MB | added cold, MB | tries |"
)
_COLD_KINDS = ("envmill/deps", "envmill/environment")


@dataclass(frozen=True)
class Target:
    """One repository at one pair of commits."""

    name: str
    mirror: Path | None
    start: str
    end: str
    prompt: str


@dataclass(frozen=True)
class Run:
    """One way through the phases."""

    result: str
    wall_sec: float
    cpu_sec: float
    tries: int = 0
    stack: str = ""
    fail_to_pass: int = 0
    pass_to_pass: int = 0
    pass_to_fail: int = 0
    own_bytes: int = 0
    added_bytes: int = 0

    @property
    def is_built(self) -> bool:
        """Whether the bug was seen, the solution passed, and the image was built and is clean."""
        return self.result == ReasonCode.OK


Measured = tuple[Run, Run | None]
"""Cold, and warm where it was measured."""


def read_targets(path: Path, mirrors: Path) -> Iterator[Target]:
    """What a corpus file names, or its rule draws."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    if "rule" not in document:
        for entry in document["repository"]:
            yield Target(entry["name"], find_mirror(mirrors, entry["name"]), entry["start"], entry["end"], "")
        return
    for name, rule in read_corpus(path):
        drawn = draw(name, mirrors, rule)
        end, prompt = (drawn.commit.sha, prompt_of(drawn.commit)) if drawn.commit else ("", "")
        yield Target(name, drawn.mirror, drawn.start, end, prompt)


def build(target: Target, settings: Settings, last: Phase, *, again: bool) -> Run:
    """Take one target through the phases; `again`: nothing of an earlier run's manifests is reused."""
    chain = pin(Workshop(settings), address_of(target), target.start, target.end, target.prompt or target.name)
    if again:
        ask_retry(chain.store, chain.candidate_id, Phase.ARCHAEOLOGY)
    definitions = DEFINITIONS[: [one.phase for one in DEFINITIONS].index(last) + 1]
    wall, cpu = time.monotonic(), _own_cpu()
    said = ""
    while (pending := load_chain(chain.store, settings, chain.candidate_id, definitions))[1]:
        key = pending[1]
        workshop = Workshop(settings)
        try:
            with hold(workshop, key):
                perform(next(one for one in definitions if one.phase is key.phase), key, workshop)
        except EnvmillError as error:
            said = f"crashed: {error}"
            break
    return _described(pending[0], settings, said, time.monotonic() - wall, _own_cpu() - cpu)


def address_of(target: Target) -> str:
    """The public identity of its repository."""
    return f"https://github.com/{target.name}"


def _described(chain: Chain, settings: Settings, said: str, wall: float, own_cpu: float) -> Run:
    """What the committed phases say."""
    manifests = [chain.manifests[phase] for phase in list(Phase)[2:] if phase in chain.manifests]
    costs = [row for manifest in manifests for row in chain.rows(manifest.key.phase, CostRow)]
    cpu = own_cpu + sum(row.value for row in costs if row.kind == "cpu_seconds")
    result = said or (manifests[-1].reason_code if manifests else "nothing was done")
    run = Run(result, wall, cpu, tries=int(sum(row.value for row in costs if row.kind == "tries")))
    if Phase.ARCHAEOLOGY in chain.manifests:
        row = chain.row(Phase.ARCHAEOLOGY, ReconstructionRow)
        run = replace(
            run,
            stack=" ".join(filter(None, [row.stack, row.runtime])),
            fail_to_pass=row.fail_to_pass,
            pass_to_pass=row.pass_to_pass,
            pass_to_fail=row.pass_to_fail,
        )
    if Phase.CONTAINERIZE in chain.manifests:
        environment = chain.row(Phase.CONTAINERIZE, EnvironmentRow)
        if environment.image_id:
            added = _added_bytes(settings, chain, environment.image)
            run = replace(run, own_bytes=environment.unique_bytes, added_bytes=added)
    return run


def _added_bytes(settings: Settings, chain: Chain, image: str) -> int:
    engine, recipe = Workshop(settings).engine, chain.record(Phase.ARCHAEOLOGY, "recipe.json", Recipe)
    runtime = foundation_of(recipe).runtime_image(engine, settings, recipe)
    return engine.unique_bytes(image, runtime) if runtime else 0


def _own_cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def measure(target: Target, settings: Settings, last: Phase, done: Measured | None, *, warm: bool) -> Measured:
    """Cold, and where that built it and it is asked for, warm; what is done already is not done again."""
    first = done[0] if done else build(target, settings, last, again=False)
    second = done[1] if done else None
    if warm and first.is_built and second is None:
        second = build(target, settings, last, again=True)
    settings.home.mkdir(parents=True, exist_ok=True)
    with (settings.home / "build.jsonl").open("a", encoding="utf-8") as file:
        runs = {"cold": asdict(first), "warm": asdict(second) if second else None}
        file.write(json.dumps({"name": target.name, "end": target.end, **runs}) + "\n")
    return first, second


def read_done(home: Path) -> dict[str, Measured]:
    """What earlier runs measured, by end commit; of several lines the last counts."""
    path = home / "build.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    return {one["end"]: (Run(**one["cold"]), Run(**one["warm"]) if one["warm"] else None) for one in lines}


def forget(settings: Settings) -> int:
    """Remove every dependency and environment image that no container uses. Returns how many."""
    workshop = Workshop(settings)
    count = 0
    for kind in reversed(_COLD_KINDS):
        for image in stored_images(workshop.engine.api, workshop.last_use):
            for reference in image.references:
                if reference.startswith(f"{kind}:"):
                    with suppress(TransientError):  # A container uses it.
                        workshop.engine.remove_image(reference)
                        count += 1
    return count


def line(target: Target, cold: Run, warm: Run | None) -> str:
    """One row of the table."""
    cells = [
        target.name,
        target.start[:8],
        target.end[:8],
        cold.stack or "-",
        "built" if cold.is_built else f"`{cold.result}`",
        f"{cold.fail_to_pass} / {cold.pass_to_pass} / {cold.pass_to_fail}",
        f"{cold.wall_sec:.0f}",
        f"{warm.wall_sec:.0f}" if warm else "",
        f"{cold.cpu_sec:.0f}",
        f"{warm.cpu_sec:.0f}" if warm else "",
        f"{cold.own_bytes / 1e6:.1f}" if cold.own_bytes else "",
        f"{cold.added_bytes / 1e6:.0f}" if cold.added_bytes else "",
        str(cold.tries),
    ]
    return "| " + " | ".join(cells) + " |"


def medians(built: Sequence[Measured]) -> str:
    """Over what was built."""
    figures = {
        "wall cold, s": [cold.wall_sec for cold, _ in built],
        "wall warm, s (aim 180)": [warm.wall_sec for _, warm in built if warm],
        "CPU cold, s": [cold.cpu_sec for cold, _ in built],
        "CPU warm, s": [warm.cpu_sec for _, warm in built if warm],
        "own MB (aim 50)": [cold.own_bytes / 1e6 for cold, _ in built],
        "added cold, MB": [cold.added_bytes / 1e6 for cold, _ in built],
        "tries": [float(cold.tries) for cold, _ in built],
    }
    return "\n".join(f"median {name}: {median(values):.1f}" for name, values in figures.items() if values)


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="+")
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--through", type=Phase, default=Phase.CONTAINERIZE)
    parser.add_argument("--cold-only", action="store_true")
    parser.add_argument("--forget", action="store_true")
    options = parser.parse_args()
    settings = load_settings().model_copy(update={"home": options.home.absolute()})
    targets = [target for path in options.corpus for target in read_targets(path, options.mirrors.absolute())]
    mirrors = {address_of(target): str(target.mirror) for target in targets if target.mirror}
    settings = settings.model_copy(update={"mirrors": mirrors})
    if options.forget:
        print(f"{forget(settings)} images removed")
    print(_TABLE, "|" + " --- |" * (_TABLE.count("|") - 1), sep="\n", flush=True)
    built = []
    done = read_done(settings.home)
    for target in targets:
        if options.only and target.name not in options.only:
            continue
        if not (target.mirror and target.end):
            print(f"| {target.name} | no mirror, or no commit fits |", flush=True)
            continue
        cold, warm = measure(target, settings, options.through, done.get(target.end), warm=not options.cold_only)
        print(line(target, cold, warm), flush=True)
        if cold.is_built:
            built.append((cold, warm))
    print(f"built: {len(built)}", medians(built), sep="\n")
    index(Workshop(settings).store, settings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
