"""An environment that really builds: a project with its own build backend, which comes as a vendored wheel."""

import base64
import hashlib
import io
import zipfile

from blocks.recipe import Package
from blocks.trees import File
from tasks.publish.member import Member
from tests.tasks.publish.members import a_member, a_recipe

BACKEND = """
import zipfile
from pathlib import Path


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    name = "calc-0.1.0-py3-none-any.whl"
    info = "calc-0.1.0.dist-info"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as wheel:
        wheel.writestr("calc_editable.pth", str(Path.cwd()) + "\\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: calc\\nVersion: 0.1.0\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
    Path("generated.txt").write_text("by the build\\n")
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    raise SystemExit("only editable")
"""
PYPROJECT = b"""[build-system]
requires = ["tinybackend"]
build-backend = "tinybackend"

[project]
name = "calc"
version = "0.1.0"
"""
START = {
    "pyproject.toml": File(content=PYPROJECT),
    "calc/__init__.py": File(content=b"from calc.core import add\n"),
    "calc/core.py": File(content=b"def add(a, b):\n    return a - b\n"),
    "calc/alias.py": File(link="core.py"),
    "bin/run": File(content=b"#!/bin/sh\n", executable=True),
}
SOLUTION = {**START, "calc/core.py": File(content=b"def add(a, b):\n    return a + b\n")}
TEST_SCRIPT = b"""#!/bin/bash
cd /
reward=0
if [ "$(ls /sys/class/net)" = lo ] && [ "$(id -u)" = 0 ] && [ -L /app/calc/alias.py ] &&
    /opt/venv/bin/python -c 'import calc; assert calc.add(2, 3) == 5'; then
    reward=1
fi
echo "$reward" > /logs/verifier/reward.txt
printf '{"reward": %s}\\n' "$reward" > /logs/verifier/reward.json
"""


def backend_wheel() -> bytes:
    """The backend as a wheel (PyPA binary distribution format 1.0)."""
    info = "tinybackend-1.0.dist-info"
    files = {
        "tinybackend.py": BACKEND.encode(),
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tinybackend\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [f"{name},sha256={_record_hash(content)},{len(content)}" for name, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def load_backend(sha256: str, _filename: str) -> bytes:
    content = backend_wheel()
    assert hashlib.sha256(content).hexdigest() == sha256
    return content


def buildable_member(image: str, **recipe: object) -> Member:
    wheel = Package(
        name="tinybackend",
        version="1.0",
        filename="tinybackend-1.0-py3-none-any.whl",
        sha256=hashlib.sha256(backend_wheel()).hexdigest(),
    )
    member = a_member()
    return a_member(
        environment=member.environment.model_copy(update={"image": image}),
        recipe=a_recipe(packages=(wheel,), **{"install": "editable", **recipe}),
        start=START,
        solution=SOLUTION,
        tests={"test.sh": File(content=TEST_SCRIPT, executable=True)},
    )


def _record_hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
