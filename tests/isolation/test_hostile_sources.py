"""Packages whose build attacks: each is built alone, unprivileged, without a network; what it leaves is data."""

import io
import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from blocks.builder.dependencies import ensure_dependency_image
from blocks.builder.packages import keep_package, load_package
from blocks.engine import ContainerSpec, Engine, Role
from blocks.lake import ObjectStore
from blocks.recipe import Recipe
from blocks.settings import Settings
from tasks.archaeology.index import ContainerIndex, Question, index_spec
from tasks.archaeology.source_packages import Wheel
from tasks.archaeology.wheel_builds import WheelBuilder
from tests.tasks.archaeology.sdists import source

pytestmark = [pytest.mark.engine, pytest.mark.slow]

ASKED = Question(("pot",), datetime(2025, 6, 1, tzinfo=UTC), "3.11")
HEAD = (
    "import json, os, signal, socket, subprocess, sys, time\nfrom pathlib import Path\nfrom setuptools import setup\n"
)
TELL = "setup(name='pot', version='1.0', packages=['pot'], package_data={'pot': ['told.json']})\n"

SPY = r"""
told = {"uid": os.getuid(), "groups": os.getgroups(), "reached": [], "wrote": [], "devices": sorted(os.listdir("/sys/class/net"))}
for host, port in (("192.0.2.1", 80), ("172.17.0.1", 2375), ("172.17.0.1", 22), ("example.org", 443), ("169.254.169.254", 80)):
    try:
        socket.create_connection((host, port), 2)
        told["reached"].append(host)
    except OSError:
        pass
for name in ("/usr/lib/python3/dist-packages/planted.py", "/usr/local/bin/uv", "/opt/planted", "/etc/hosts", "/app/../planted"):
    try:
        Path(name).write_text("planted")
        told["wrote"].append(name)
    except OSError:
        pass
told["sockets"] = [str(p) for p in Path("/").glob("*run*/**/*.sock")] + [str(p) for p in Path("/var/run/").glob("*.sock")]
told["secrets"] = sorted(name for name in os.environ if "TOKEN" in name or "PROXY" in name.upper() or "INDEX" in name)
told["memory"] = [str(p) for p in Path("/dev/shm").rglob("*")]
for place in ("/tmp", str(Path(sys.executable).parents[1])):
    for path in Path(place).rglob("*"):
        if path.suffix in (".whl", ".py", ".pth") and "source" not in path.parts:
            try:
                path.write_bytes(b"raise SystemExit('planted')")
            except OSError:
                pass
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    [os.close(n) for n in range(3)]
    while True: time.sleep(1)
Path("pot/told.json").write_text(json.dumps(told))
"""
BY_HAND = r"""
import base64, hashlib, zipfile
out = Path("/tmp/build/out")
with zipfile.ZipFile(out / "pot-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("pot/told.json", json.dumps(told))
    wheel.writestr("pot-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: pot\nVersion: 1.0\n")
os._exit(0)
"""


@pytest.fixture
def builder(small: Engine, place: tuple[Settings, ObjectStore], python_image: str) -> Iterator[WheelBuilder]:
    """With small limits, and the real index for the tools of the builds."""
    settings, store = place
    with small.container(index_spec(settings, python_image)) as box:
        yield WheelBuilder(small, store, settings, python_image, ContainerIndex(box, store, settings))


def test_what_a_build_can_see_and_do(builder: WheelBuilder, store_of: ObjectStore) -> None:
    """It tells in its own wheel; the next build, with the same tools, is none the worse."""
    hostile = source(
        "pot",
        "1.0",
        {"setup.py": f"{HEAD}if 'wheel' in str(sys.argv):{_in(SPY + BY_HAND)}\n{TELL}", "pot/__init__.py": ""},
    )
    made = builder.build(hostile, ASKED, ())
    assert isinstance(made, Wheel), made
    with zipfile.ZipFile(io.BytesIO(load_package(store_of, made.package))) as wheel:
        told = json.loads(wheel.read("pot/told.json"))
    assert told["uid"] == 1000 and 0 not in told["groups"]
    assert (told["reached"], told["wrote"], told["sockets"], told["secrets"], told["memory"]) == ([], [], [], [], [])
    assert told["devices"] == ["lo"]
    honest = source("pan", "1.0", {"setup.py": "from setuptools import setup\nsetup(name='pan', version='1.0')\n"})
    after = builder.build(honest, ASKED, ())
    assert isinstance(after, Wheel) and after.package.filename == "pan-1.0-py3-none-any.whl", after


FILLER = "with open('/tmp/big', 'wb') as file:\n    while True: file.write(b'x' * (1 << 20)); time.sleep(0.01)"


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        (FILLER, "wrote more than"),
        ("while True:\n    try: os.fork()\n    except OSError: pass", ""),
        ("[signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]\nwhile True: time.sleep(1)", "in time"),
        ("x = []\nwhile True: x.append(bytearray(1 << 24))", ""),
        ("socket.create_connection(('192.0.2.1', 80), 3)", "Network is unreachable"),
        ("setup(name='attrs', version='1.0')", "made a wheel of attrs"),
        ("setup(name='pot', version='2.0')", "made a wheel of pot 2.0"),
        ("Path('/tmp/build/asked.json').mkdir(); os._exit(0)", "left 0 wheels"),
        ("subprocess.run(['rm', '-rf', '/tmp/build/out']); os._exit(0)", "cannot be taken"),
        ("Path('/tmp/build/out/pot-1.0-py3-none-any.whl').symlink_to('/etc/shadow'); os._exit(0)", "left 0 wheels"),
        ("os._exit(0)", "left 0 wheels"),
        ("Path('/tmp/build/asked.json').write_text('[\"setuptools<0\"]'); os._exit(0)", ""),
    ],
    ids=["disk", "forks", "deaf", "memory", "network", "another's name", "another release", "a folder", "no folder", "a link",
         "nothing", "what nobody has"],
)  # fmt: skip
def test_builds_that_come_to_nothing(builder: WheelBuilder, setup: str, said: str) -> None:
    made = builder.build(source("pot", "1.0", {"setup.py": f"{HEAD}{setup}\n"}), ASKED, ())
    assert isinstance(made, str) and made and said in made, made
    assert builder.build(source("pot", "1.0", {"setup.py": f"{HEAD}{setup}\n"}), ASKED, ()) == made, "not tried twice"


def test_a_build_that_asks_for_more_gets_it_as_of_the_date(builder: WheelBuilder) -> None:
    """setup_requires is fetched between two containers; what setup.py imports unasked is found in its words."""
    setup = (
        "import iniconfig\nfrom setuptools import setup\nimport importlib.metadata as m\n"
        "try: told = m.version('pluggy')\nexcept m.PackageNotFoundError: told = ''\n"
        "setup(name='pot', version='1.0', setup_requires=['pluggy'], install_requires=[f'pluggy=={told}'] if told else [])\n"
    )
    made = builder.build(source("pot", "1.0", {"setup.py": setup}), ASKED, ("pluggy==1.5.0", "setuptools==70.0.0"))
    assert isinstance(made, Wheel), made
    assert made.metadata.requires == ("pluggy==1.5.0",), "as the resolution has it"
    assert made.note == "with iniconfig, which its build imports and does not ask for"


@pytest.fixture
def store_of(place: tuple[Settings, ObjectStore]) -> ObjectStore:
    return place[1]


def _in(code: str) -> str:
    return "\n" + "\n".join(f"    {line}" for line in code.strip().splitlines())


RUNS = """\
import os, pathlib, subprocess
for place in ("/usr/local/bin", "/usr/lib", "/opt", "/opt/venv", "/root", "/etc", "/tmp", "/var/tmp", "/home/agent", "/app"):
    try:
        pathlib.Path(place, "planted").write_text(str(os.getuid()))
    except OSError:
        pass
pathlib.Path(__file__).with_name("told.txt").write_text(str(os.getuid()))
quiet = subprocess.DEVNULL
subprocess.Popen(["sleep", "1000"], start_new_session=True, stdin=quiet, stdout=quiet, stderr=quiet)
"""


def test_a_wheel_whose_files_run_when_python_starts(
    small: Engine, place: tuple[Settings, ObjectStore], python_image: str
) -> None:
    """`.pth` files run in every Python of the environment, that which compiles it too: never as root."""
    _, store = place
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as wheel:
        info = "pot-1.0.dist-info"
        files = {
            "pot.pth": "import pot\n",
            "pot.py": RUNS,
            f"{info}/METADATA": "Metadata-Version: 2.1\nName: pot\nVersion: 1.0\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        for name, text in files.items():
            wheel.writestr(zipfile.ZipInfo(name, (2025, 1, 1, 0, 0, 0)), text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"]))
    package = keep_package(store, "pot", "1.0", "pot-1.0-py3-none-any.whl", buffer.getvalue())
    recipe = Recipe(stack="python", runtime="3.11", as_of="2025-01-01T00:00:00Z", packages=(package,))
    image = ensure_dependency_image(small, store, recipe, python_image, timeout_sec=60)
    try:
        with small.container(ContainerSpec(image=image, role=Role.BUILD, deadline_sec=60)) as box:
            for question, told in (
                ("cat /opt/venv/lib/python3.11/site-packages/told.txt", "1000"),
                ("find / -xdev -name planted ! -path '/opt/venv/*'", ""),
                ("find /opt/venv -xdev ! -user root ! -type d", ""),
                ("find /tmp -xdev -mindepth 1", ""),
                ("find /opt/venv -name pot.py", "/opt/venv/lib/python3.11/site-packages/pot.py\n"),
                ("find /opt/venv -perm /6000", ""),
            ):
                assert box.run(["sh", "-c", question], timeout_sec=60).output == told, question
    finally:
        small.remove_image(image)
