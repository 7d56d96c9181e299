"""The image that C and C++ is built on: the Python image of a Debian release, build systems, the compilers' wrappers."""

import hashlib
import json
import tempfile
from pathlib import Path

import blocks.grader
from blocks.engine import Engine, apt_spec, clean_packages, ensure_python_runtime, install_packages
from blocks.engine.base import locked
from blocks.errors import TransientError
from blocks.settings import Settings

PYTHON_OF = {"bookworm": "3.11", "trixie": "3.13"}
"""Debian releases that C and C++ is built on, each with the Python whose image stands below."""

PACKAGES = (
    "autoconf",
    "autoconf-archive",
    "automake",
    "bison",
    "cmake",
    "file",
    "flex",
    "gettext",
    "libtool",
    "m4",
    "meson",
    "ninja-build",
    "strace",
    "xxd",
)
"""Build systems, the generators that their trees ask for, and strace, which tells what a Makefile's test target ran."""

COMPILERS = "/opt/compilers"
"""Before the compilers on the path: see blocks/grader/inside_native/compiler.py."""

_NAMES = ("cc", "c++", "gcc", "g++")
_VERSION = 1


def ensure_native_runtime(engine: Engine, settings: Settings, release: str) -> str | None:
    """Reference of the image of a Debian release, made where it is not there yet; None where there is none.

    It has no Git, and no address or certificate of this machine.

    Raises:
        TransientError: apt failed; the message holds the end of its output.
    """
    below = ensure_python_runtime(engine, settings, PYTHON_OF[release]) if release in PYTHON_OF else None
    if below is None:
        return None
    wrapper = _wrapper()
    key = json.dumps([_VERSION, below, PACKAGES, _NAMES, hashlib.sha256(wrapper).hexdigest()])
    reference = f"envmill/native:{release}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    with locked("native-image"):
        if not engine.image_id(reference):
            _build(engine, settings, release, below, reference)
    return reference


def compiler_wrappers() -> dict[str, bytes]:
    """The scripts of COMPILERS, by name."""
    return dict.fromkeys(_NAMES, b"#!/usr/bin/python3 -ISB\n" + _wrapper())


def _wrapper() -> bytes:
    return (Path(blocks.grader.__file__).parent / "inside_native" / "compiler.py").read_bytes()


def _build(engine: Engine, settings: Settings, release: str, below: str, reference: str) -> None:
    timeout_sec = settings.timeouts.fetch_sec
    with tempfile.TemporaryDirectory(prefix="envmill-apt-") as folder:
        spec = apt_spec(settings, below, Path(folder), deadline_sec=timeout_sec + 300, suite=release)
        with engine.container(spec) as box:
            install_packages(box, PACKAGES, timeout_sec=timeout_sec)
            clean_packages(box)
            made = box.run(["mkdir", "-p", COMPILERS], timeout_sec=30)
            if not made.ok:
                raise TransientError(f"making the image {reference}: {made.output[-500:]}")
            for name, content in compiler_wrappers().items():
                box.put_file(f"{COMPILERS}/{name}", content, mode=0o755)
            box.commit(reference, labels={"envmill.kind": "runtime"})
