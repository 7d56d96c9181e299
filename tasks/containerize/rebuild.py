"""An environment built again from its published files alone, and whether it gives the test results that were recorded."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from blocks.engine import Engine, Network
from blocks.errors import PermanentError
from blocks.records import Record
from blocks.trees import File, Tree, pack
from blocks.vectors import TestVector

BUILD_STAGE = "build"
"""Name of the published Dockerfile's stage that installs."""


class Difference(Record):
    """One test that ended in another way than recorded."""

    test_id: str
    recorded: str
    now: str


class StateCheck(Record):
    """One graded run in the rebuilt environment against the recorded one."""

    kind: str
    """`nop` or `oracle`."""
    reward: float | None
    recorded_reward: float | None
    tests: int
    """Tests that were compared."""
    differences: tuple[Difference, ...]

    @property
    def is_equal(self) -> bool:
        """Same reward, same result of every test."""
        return self.reward == self.recorded_reward and not self.differences


def read_folder(folder: Path) -> dict[str, File]:
    """The files of a published folder, which holds no links.

    Raises:
        PermanentError: there is no such folder, or something in it is not a regular file.
    """
    if not folder.is_dir():
        raise PermanentError(f"{folder} is not there; publish the environment again (`envmill publish`)")
    tree = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise PermanentError(f"{path} is not a regular file; a release holds nothing else, publish it again")
        if path.is_file():
            is_executable = bool(path.stat().st_mode & 0o100)
            tree[path.relative_to(folder).as_posix()] = File(content=path.read_bytes(), executable=is_executable)
    return tree


@contextmanager
def built_again(
    engine: Engine, environment: Tree, reference: str, *, base: str, network: Network, log: BinaryIO | None = None
) -> Iterator[str]:
    """The image that the published Dockerfile gives on `base`; taken away afterwards. Nothing of earlier builds is used.

    Raises:
        PermanentError: the build failed; the message ends with its output.
    """
    context, stage = pack(environment), f"{reference}-{BUILD_STAGE}"
    arguments = {"BASE": base}
    try:
        # By itself and under a name, so that it can be taken away: a builder leaves unnamed stages behind.
        engine.build(context, stage, buildargs=arguments, network=network, log=log, target=BUILD_STAGE, anew=True)
        engine.build(context, reference, buildargs=arguments, network=network, log=log)
        yield reference
    finally:
        engine.remove_image(reference)
        engine.remove_image(stage)


def check_state(
    kind: str,
    recorded: TestVector,
    recorded_reward: float | None,
    now: TestVector,
    reward: float | None,
    unstable: frozenset[str] = frozenset(),
) -> StateCheck:
    """Compare test by test: status and kind of failure. `unstable`: tests that the verifier's own repeats threw out."""
    tests = sorted((recorded.results.keys() | now.results.keys()) - unstable)
    pairs = [(test, _ending(recorded, test), _ending(now, test)) for test in tests]
    different = (Difference(test_id=test, recorded=was, now=found) for test, was, found in pairs if was != found)
    return StateCheck(
        kind=kind, reward=reward, recorded_reward=recorded_reward, tests=len(tests), differences=tuple(different)
    )


def _ending(vector: TestVector, test: str) -> str:
    result = vector.results.get(test)
    if result is None:
        return "absent"
    return f"{result.status}, {result.failure_kind}" if result.failure_kind else str(result.status)
