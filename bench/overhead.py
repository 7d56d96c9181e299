"""What the pipeline costs on top of its containers: its phases against a plain script that does the same container work.

    python -m bench.overhead [--rounds N]

Both do the sample contribution warm (packages fetched, dependency layer built). The pipeline runs with its Prefect server
already up; its figure is the sum of the seconds of archaeology, containerize, synthesis and capture. The rival uses the
docker command line: the same containers, the same trees copied in, the same commands. Prints both and the ratio, round by
round; the aim is 1.2.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from blocks.builder.project import version_environment
from blocks.builder.solution import solution_files
from blocks.builder.testing import grader_tree
from blocks.catalog import query
from blocks.chain import Chain
from blocks.lake import open_store
from blocks.phases import load_chain
from blocks.recipe import Recipe
from blocks.records import EnvironmentRow, Phase, TestRunRow
from blocks.settings import Settings, load_settings
from blocks.trees import File, Tree, pack
from flows.pipeline import DEFINITIONS
from flows.server import prefect_server
from tasks.synthesis.hunks import hunks
from tasks.synthesis.phase import gather

_PHASES = (Phase.ARCHAEOLOGY, Phase.CONTAINERIZE, Phase.SYNTHESIS, Phase.CAPTURE)
_LIMITS = [
    "--network",
    "none",
    "--memory",
    "4g",
    "--cpus",
    "2",
    "--pids-limit",
    "512",
    "--security-opt",
    "no-new-privileges",
]
_INSTALL = [
    "uv",
    "pip",
    "install",
    "--python",
    "/opt/venv/bin/python",
    "--offline",
    "--no-index",
    "--no-deps",
    "--no-cache",
]


def main() -> int:
    """Run both and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sample = Path(__file__).parents[1] / "data" / "sample" / "envmill.toml"
    with tempfile.TemporaryDirectory(prefix="envmill-bench-") as home:
        os.environ |= {"ENVMILL_CONFIG": str(sample), "ENVMILL_HOME": home}
        settings = load_settings()
        with prefect_server(settings) as server:
            os.environ["PREFECT_API_URL"] = server.api_url
            _pipeline([])
            candidate = str(query(settings.catalog_path, "SELECT candidate_id FROM candidates").rows[0][0])
            ratios = []
            for number in range(1, options.rounds + 1):
                ours = _ours(settings, candidate)
                plain = _plain(settings, candidate)
                ratios.append(ours / plain)
                print(f"round {number}: pipeline {ours:.1f} s, plain script {plain:.1f} s, ratio {ours / plain:.2f}")
    print(f"median ratio {median(ratios):.2f} (aim 1.2)")
    return 0


def _pipeline(arguments: Sequence[str]) -> None:
    envmill = Path(sys.executable).with_name("envmill")
    subprocess.run([envmill, "run", *arguments, "--json"], check=True, stdout=subprocess.DEVNULL)


def _ours(settings: Settings, candidate: str) -> float:
    """Seconds of the four phases, done anew."""
    _pipeline([candidate, "--retry", Phase.ARCHAEOLOGY, "--no-publish"])
    names = ", ".join(f"'{phase}'" for phase in _PHASES)
    sql = (
        f"SELECT phase, seconds FROM phase_runs WHERE phase IN ({names}) ORDER BY started_at DESC LIMIT {len(_PHASES)}"
    )
    rows = query(settings.catalog_path, sql).rows
    return sum(float(str(row[1])) for row in rows)


def _plain(settings: Settings, candidate: str) -> float:
    """Seconds of the same container work by the docker command line."""
    store = open_store(settings)
    chain, _ = load_chain(store, settings, candidate, DEFINITIONS)
    work = _Work(chain, settings)
    started = time.monotonic()
    work.archaeology()
    work.containerize()
    work.synthesis()
    work.capture()
    seconds = time.monotonic() - started
    subprocess.run(["docker", "rmi", "-f", work.image], check=False, capture_output=True)
    return seconds


class _Work:
    """What the plain script needs, read before its clock starts."""

    def __init__(self, chain: Chain, settings: Settings) -> None:
        self.recipe = chain.record(Phase.ARCHAEOLOGY, "recipe.json", Recipe)
        self.ingredients = gather(chain, settings.timeouts.tests_sec)
        self.start = chain.tree(Phase.ARCHAEOLOGY, "start.tar")
        self.solution = chain.tree(Phase.ARCHAEOLOGY, "solution.tar")
        self.tests = chain.tree(Phase.SYNTHESIS, "tests.tar")
        self.runs = chain.rows(Phase.SYNTHESIS, TestRunRow)
        self.environment = chain.row(Phase.CONTAINERIZE, EnvironmentRow)
        self.deps = _parent(self.environment.image)
        self.image = "envmill-bench/plain:latest"

    def archaeology(self) -> None:
        """Both states: install, test."""
        before = {**self.start, **self.ingredients.hidden}
        for state in (before, self.solution):
            with _container(self.deps, "agent") as box:
                _copy(box, self.start, "/app", 1000)
                _exec(
                    box,
                    [*_INSTALL, "--no-build-isolation", "--editable", "/app"],
                    "agent",
                    version_environment(self.recipe),
                )
                _copy(box, {path: file for path, file in state.items() if self.start.get(path) != file}, "/app", 1000)
                _copy(box, _observer(self.recipe), "/opt/envmill", 0)
                _exec(box, _observe(), "agent", {})
                subprocess.run(["docker", "cp", f"{box}:/tmp/vector.json", "-"], check=True, stdout=subprocess.DEVNULL)

    def containerize(self) -> None:
        """Install, seal, commit, read the layers back."""
        with _container(self.deps, "root") as box:
            _copy(box, self.start, "/app", 1000)
            _exec(
                box,
                [*_INSTALL, "--no-build-isolation", "--editable", "/app"],
                "agent",
                version_environment(self.recipe),
            )
            for argv in (
                ["find", "/opt/venv", "-xdev", "-user", "agent", "-exec", "chown", "-h", "root:root", "{}", "+"],
                ["find", "/tmp", "/home/agent", "-mindepth", "1", "-delete"],
            ):
                _exec(box, argv, "root", {})
            changes = ["--change", "WORKDIR /app", "--change", "USER root"]
            subprocess.run(["docker", "commit", *changes, box, self.image], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["docker", "save", self.image], check=True, stdout=subprocess.DEVNULL)

    def synthesis(self) -> None:
        """Every graded run of the gates."""
        solved = self.ingredients.solved()
        dropped = {
            f"hunk-{hunk.name}": hunk for hunk in hunks(self.ingredients.start, solved, self.ingredients.source_paths)
        }
        for run in self.runs:
            tree = self.ingredients.start if run.kind == "nop" else solved
            if run.kind == "hunk":
                hunk = dropped[run.run]
                tree = {path: file for path, file in solved.items() if path != hunk.path}
                tree |= {hunk.path: hunk.without} if hunk.without else {}
            self._grade(tree)

    def capture(self) -> None:
        """Oracle and nop in the agent's container, then three verdicts."""
        for solution in (solution_files(self.start, self.solution), None):
            with _container(self.environment.image, "agent") as box:
                if solution:
                    _copy(box, solution, "/solution", 1000)
                    _exec(box, ["bash", "/solution/solve.sh"], "agent", {})
                subprocess.run(["docker", "stop", "-t", "0", box], check=True, stdout=subprocess.DEVNULL)
                subprocess.run(["docker", "cp", f"{box}:/app", "-"], check=True, stdout=subprocess.DEVNULL)
            self._grade(self.ingredients.solved() if solution else self.ingredients.start)
        self._grade(self.ingredients.start)

    def _grade(self, tree: Tree) -> None:
        capabilities = ["--cap-drop", "ALL"]
        for name in ("SETUID", "SETGID", "CHOWN", "DAC_OVERRIDE", "KILL"):
            capabilities += ["--cap-add", name]
        with _container(self.environment.image, "root", capabilities) as box:
            _exec(box, ["find", "/app", "-mindepth", "1", "-delete"], "root", {})
            _copy(box, tree, "/app", 1000)
            _copy(box, self.tests, "/tests", 0)
            _exec(box, ["mkdir", "-p", "/logs/verifier"], "root", {})
            _exec(box, ["bash", "/tests/test.sh"], "root", {})
            subprocess.run(
                ["docker", "cp", f"{box}:/logs/verifier/details.json", "-"], check=True, stdout=subprocess.DEVNULL
            )


@contextmanager
def _container(image: str, user: str, options: Sequence[str] = ()) -> Iterator[str]:
    argv = ["docker", "run", "-d", "--init", "--user", user, *_LIMITS, *options, "--entrypoint", "sleep", image, "1800"]
    box = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()
    try:
        yield box
    finally:
        subprocess.run(["docker", "rm", "-f", box], check=True, stdout=subprocess.DEVNULL)


def _copy(box: str, tree: Tree, target: str, uid: int) -> None:
    content = pack(tree, prefix=target.lstrip("/") + "/", uid=uid, gid=uid)
    subprocess.run(["docker", "cp", "-", f"{box}:/"], check=True, input=content)


def _exec(box: str, argv: Sequence[str], user: str, environment: Mapping[str, str]) -> None:
    variables = [word for name, value in environment.items() for word in ("-e", f"{name}={value}")]
    subprocess.run(["docker", "exec", "-u", user, *variables, box, *argv], check=False, capture_output=True)


def _observer(recipe: Recipe) -> dict[str, File]:
    texts = {
        "pytest.ini": "\n".join(["[pytest]", *recipe.ini_lines, ""]),
        "arguments.json": json.dumps(list(recipe.arguments)),
    }
    files = {path: File(content=text.encode()) for path, text in texts.items()}
    return {**{f"grader/{path}": file for path, file in grader_tree().items()}, **files}


def _observe() -> list[str]:
    grader = ["/usr/bin/python3", "-I", "-S", "/opt/envmill/grader", "observe", "--workspace", "/app"]
    files = ["--ini-file", "/opt/envmill/pytest.ini", "--arguments-json", "@/opt/envmill/arguments.json"]
    return [*grader, "--python", "/opt/venv/bin/python", *files, "--out", "/tmp/vector.json"]


def _parent(image: str) -> str:
    """The image below: the dependency layer whose layers the environment begins with."""

    def layers(reference: str) -> list[str]:
        text = subprocess.run(
            ["docker", "inspect", "-f", "{{json .RootFS.Layers}}", reference], check=True, capture_output=True
        )
        found: list[str] = json.loads(text.stdout)
        return found

    wanted = layers(image)[:-1]
    listed = subprocess.run(
        ["docker", "images", "--format", "{{.Repository}}:{{.Tag}}", "envmill/deps"],
        check=True,
        capture_output=True,
        text=True,
    )
    return next(reference for reference in listed.stdout.split() if layers(reference) == wanted)


if __name__ == "__main__":
    sys.exit(main())
