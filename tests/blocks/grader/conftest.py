"""A published task in miniature, graded as a consumer grades it: own process, own user, the grader's capabilities."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import distribution
from pathlib import Path

import pytest

from blocks.grader.spec import GraderSpec

GRADER = Path(__file__).parents[3] / "blocks" / "grader"
RUNNER_PACKAGES = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
CAPABILITIES = "-all,+setuid,+setgid,+chown,+dac_override,+kill"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="the grader drops from root to the subject's uid")


@pytest.fixture(scope="session")
def subject_uid() -> int:
    """A uid that no account and no other test run has."""
    return random.SystemRandom().randrange(1_000_000, 2_000_000)


@pytest.fixture(scope="session")
def subject_python(subject_uid: int) -> Iterator[str]:
    """An interpreter with pytest that the subject's uid can start."""
    for candidate in (sys.executable, "/usr/bin/python3"):
        if Path(candidate).exists() and _starts(candidate, subject_uid):
            break
    else:
        pytest.skip("no Python on this machine can be started by another user")
    with tempfile.TemporaryDirectory(prefix="subject-") as folder:
        Path(folder).chmod(0o755)
        subprocess.run([candidate, "-m", "venv", "--without-pip", f"{folder}/venv"], check=True)
        site = next(Path(folder, "venv", "lib").glob("python3*/site-packages"))
        for package in RUNNER_PACKAGES:
            _copy_distribution(package, site)
        yield f"{folder}/venv/bin/python"


@pytest.fixture
def box() -> Iterator[Path]:
    """A folder that other users can reach (pytest's own temporary folders they cannot)."""
    with tempfile.TemporaryDirectory(prefix="box-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@dataclass(frozen=True)
class Result:
    """What a grading left behind."""

    exit_code: int
    reward: float | None
    details: Mapping[str, object]

    @property
    def reasons(self) -> list[str]:
        reasons = self.details["reasons"]
        assert isinstance(reasons, list)
        return reasons


@dataclass(frozen=True)
class Task:
    """tests/ and the workspace of one environment."""

    root: Path
    spec: GraderSpec

    @property
    def app(self) -> Path:
        return self.root / "app"

    @property
    def out(self) -> Path:
        return self.root / "logs" / "verifier"

    def write(self, path: str, text: str) -> None:
        """A file of the submission."""
        (self.app / path).parent.mkdir(parents=True, exist_ok=True)
        (self.app / path).write_text(text)

    def grade(self, **changes: object) -> Result:
        """Publish and grade."""
        spec = replace(self.spec, **changes)  # type: ignore[arg-type]
        tests = self.root / "tests"
        (tests / "spec.json").write_text(spec.to_json())
        command = [sys.executable, "-I", "-S", str(tests / "grader"), "grade"]
        command += ["--spec", str(tests / "spec.json"), "--out", str(self.out)]
        if shutil.which("setpriv"):
            command = ["setpriv", "--bounding-set", CAPABILITIES, "--inh-caps", "-all", *command]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode in (0, 2), done.stderr
        details = json.loads((self.out / "details.json").read_text())
        reward = None
        if (self.out / "reward.json").exists():
            document = json.loads((self.out / "reward.json").read_text())
            assert set(document) == {"reward"}
            reward = document["reward"]
            assert float((self.out / "reward.txt").read_text()) == reward == details["reward"]
        return Result(done.returncode, reward, details)


RIGHT = "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return 2 * a\n"
WRONG = RIGHT.replace("a + b", "a - b")
OLD_TEST = "from calc import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
HIDDEN_TEST = (
    "import pytest\n\nfrom calc import add\n\n\n"
    '@pytest.mark.parametrize("a, b, expected", [(1, 2, 3), (2, 5, 7)])\n'
    "def test_add(a, b, expected):\n    assert add(a, b) == expected\n"
)
CONFTEST = "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef plain():\n    yield\n"


@pytest.fixture
def task(box: Path, subject_python: str, subject_uid: int) -> Task:
    """A small library with a bug, a shipped test, a hidden test, and a folder for the verdict that all may write."""
    tests = box / "tests"
    shutil.copytree(GRADER, tests / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    base = {"tests/test_old.py": OLD_TEST, "conftest.py": CONFTEST}
    hidden = {"tests/test_add.py": HIDDEN_TEST}
    for folder, files in (("base", base), ("hidden", hidden)):
        for path, text in files.items():
            (tests / folder / path).parent.mkdir(parents=True, exist_ok=True)
            (tests / folder / path).write_text(text)
    spec = GraderSpec(
        workspace=str(box / "app"),
        python=subject_python,
        subject_user=str(subject_uid),
        ini_lines=("pythonpath = src",),
        test_files=("tests/test_old.py", "tests/test_add.py"),
        fail_to_pass=("tests/test_add.py::test_add[1-2-3]", "tests/test_add.py::test_add[2-5-7]"),
        pass_to_pass=("tests/test_old.py::test_double",),
        hidden={path: _sha(text) for path, text in hidden.items()},
        base={path: _sha(text) for path, text in base.items()},
        protected_patterns=("/tests/**",),
        timeout_sec=60,
    )
    made = Task(box, spec)
    made.write("src/calc/__init__.py", WRONG)
    for path, text in base.items():
        made.write(path, text)
    made.out.mkdir(parents=True)
    made.out.chmod(0o777)
    return made


def living(uid: int) -> list[str]:
    """Processes of a uid that are no zombies."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            status = (folder / "status").read_text() if folder.name.isdigit() else ""
        except OSError:
            continue
        fields = dict(line.partition(":")[::2] for line in status.splitlines())
        if str(uid) in fields.get("Uid", "").split() and fields["State"].strip()[0] not in "ZX":
            found.append(folder.name)
    return found


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _starts(python: str, uid: int) -> bool:
    try:
        done = subprocess.run([python, "-c", ""], user=uid, group=uid, extra_groups=[], cwd="/", check=False)
    except OSError:
        return False
    return done.returncode == 0


def _copy_distribution(name: str, site: Path) -> None:
    for file in distribution(name).files or ():
        source = Path(str(file.locate()))
        if ".." not in file.parts and "__pycache__" not in file.parts and source.is_file():
            (site / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, site / file)
