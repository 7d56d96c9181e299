"""Debian mirrors as this machine uses them, for the moment of a bootstrap or an apt step; nothing of it stays in an image."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from blocks.records import Record

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_ONE_LINE = re.compile(r"deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)")
_PASSED_ON = re.compile(r'(Acquire::(?:Check-Valid-Until|Check-Date|(?:http|https)::Proxy(?:::\S+)?)) "(.*)";')


class Source(Record):
    """One archive that apt reads."""

    uri: str
    suite: str
    signed_by: str = ""

    def stanza(self) -> str:
        """As a deb822 paragraph (sources.list(5)), main component, signed by Debian."""
        return f"Types: deb\nURIs: {self.uri}\nSuites: {self.suite}\nComponents: main\nSigned-By: {KEYRING}\n"


def host_sources(codename: str, root: Path = Path("/")) -> str | None:
    """This machine's Debian mirrors for a release, as deb822 text; None where it runs no Debian, or names no archive of it.

    A mirror has every release it still carries under one address, so the machine's own release may be another one.
    Archives of others are left out: only `main` of the release, its updates and its security suite.
    """
    own = _own_release(root)
    if own is None:
        return None
    wanted = {own: codename, f"{own}-updates": f"{codename}-updates", f"{own}-security": f"{codename}-security"}
    found = [
        source.model_copy(update={"suite": wanted[source.suite]})
        for file in source_files(root / "etc/apt")
        for source in _sources(file)
        if source.suite in wanted and source.signed_by in ("", KEYRING)
    ]
    if codename not in {source.suite for source in found}:
        return None
    return "\n".join(source.stanza() for source in dict.fromkeys(found))


def host_apt_options() -> tuple[str, ...]:
    """This machine's apt settings that decide whether its mirrors can be used, as `Name=value`."""
    try:
        done = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False, timeout=30)
    except FileNotFoundError:
        return ()
    return tuple(f"{name}={value}" for name, value in _PASSED_ON.findall(done.stdout) if value)


def source_files(apt: Path = Path("/etc/apt")) -> list[Path]:
    """Files that name this machine's archives; none where it has no apt."""
    candidates = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]
    return [file for file in candidates if file.suffix in (".list", ".sources") and file.is_file()]


def _own_release(root: Path) -> str | None:
    try:
        text = (root / "etc/os-release").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    values = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', text, re.MULTILINE))
    return values.get("VERSION_CODENAME") if values.get("ID") == "debian" else None


def _sources(file: Path) -> Iterator[Source]:
    text = file.read_text(encoding="utf-8", errors="replace")
    return _deb822(text) if file.suffix == ".sources" else _one_line(text)


def _deb822(text: str) -> Iterator[Source]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        fields = {
            key.lower(): value.split()
            for key, value in re.findall(r"^([\w-]+):((?:.*(?:\n[ \t].*)*))", paragraph, re.M)
        }
        if "deb" not in fields.get("types", []) or "main" not in fields.get("components", []):
            continue
        if fields.get("enabled", ["yes"])[:1] == ["no"]:
            continue
        signed_by = " ".join(fields.get("signed-by", []))
        for uri in fields.get("uris", []):
            for suite in fields.get("suites", []):
                yield Source(uri=uri, suite=suite, signed_by=signed_by)


def _one_line(text: str) -> Iterator[Source]:
    for line in text.splitlines():
        match = _ONE_LINE.match(line.split("#")[0].strip())
        if match and "main" in match["components"].split():
            options = dict(re.findall(r"(\S+?)=(\S+)", match["options"] or ""))
            yield Source(uri=match["uri"], suite=match["suite"], signed_by=options.get("signed-by", ""))
