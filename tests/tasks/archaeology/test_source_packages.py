"""What source distributions say of themselves, and how a resolution with some of them comes to its end."""

import io
import tomllib
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
import tomli_w

import blocks.builder.source_fetch as source_fetch
from blocks.recipe import Package
from tasks.archaeology.index import Lock, Question, Refused, read_lock
from tasks.archaeology.source_facts import (
    BuildSystem,
    Metadata,
    as_uv,
    build_system,
    plain_requirements,
    static_metadata,
    wheel_metadata,
)
from tasks.archaeology.source_packages import MOST_BUILDS, Resolution, Source, Wheel, resolve_with_sources
from tests.tasks.archaeology.sdists import TableIndex, sdist

ASKED = Question(("app",), datetime(2025, 6, 1, tzinfo=UTC), "3.11")
INFO = "Metadata-Version: {0}\nName: kettle\nVersion: 1.0\nRequires-Dist: attrs>=20 ; extra == 'x'\nProvides-Extra: x\n"


class Builder:
    """Makes wheels of names in a table; notes what it was asked for."""

    def __init__(self, needs: dict[str, tuple[str, ...]]) -> None:
        self.needs = needs
        self.asked: list[str] = []

    def build(self, source: Source, question: Question, pins: Sequence[str]) -> Wheel | str:
        name = f"{source.sdist.name} {source.sdist.version}"
        self.asked.append(name)
        if name not in self.needs:
            return "it does not compile"
        package = Package(name=source.sdist.name, version=source.sdist.version, filename=f"{name}.whl", sha256="0")
        return Wheel(package, Metadata(requires=self.needs[name]), "by hand")


def test_metadata_is_taken_from_the_source_only_where_a_build_would_not_change_it() -> None:
    found = static_metadata(INFO.format("2.2"))
    assert found == Metadata(requires=('attrs>=20; extra == "x"',), extras=("x",))
    assert static_metadata(INFO.format("2.4") + "Dynamic: License\nRequires-Python: >=3.9\n") == Metadata(
        requires=found.requires, extras=("x",), requires_python=">=3.9"
    )
    assert static_metadata(INFO.format("2.1")) is None
    assert static_metadata(INFO.format("2.2") + "Dynamic: Requires-Dist\n") is None
    assert static_metadata(INFO.format("two")) is None and static_metadata(None) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, BuildSystem()),
        ("[tool.black]\n", BuildSystem()),
        ("[build-system]\nbuild-backend = 'x'\n", BuildSystem()),
        ("[build-system", BuildSystem()),
        ("[build-system]\nrequires = ['flit_core >=3', 'a @ file:///etc', '-r x', 3]\nbuild-backend = 'flit_core.buildapi'\n",
         BuildSystem(requires=("flit_core>=3",), backend="flit_core.buildapi")),
        ("[build-system]\nrequires = []\nbuild-backend = 'own:hooks'\nbackend-path = ['.', '../up', '/abs']\n",
         BuildSystem(requires=(), backend="own:hooks", backend_path=(".",))),
        ("[build-system]\nrequires = ['x']\nbuild-backend = 'os; import x'\n", BuildSystem(requires=("x",))),
    ],
)  # fmt: skip
def test_how_it_is_built(text: str | None, expected: BuildSystem) -> None:
    assert build_system(text) == expected


def test_the_wheel_must_be_of_the_release() -> None:
    def wheel(text: str, name: str = "kettle-1.0.dist-info/METADATA") -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr(name, text)
        return buffer.getvalue()

    assert wheel_metadata(wheel(INFO.format("2.1")), "Kettle", "1.0.0") == Metadata(
        requires=('attrs>=20; extra == "x"',), extras=("x",)
    )
    for content, version, said in [
        (wheel(INFO.format("2.1")), "1.1", "made a wheel of kettle 1.0"),
        (wheel(INFO.format("2.1").replace("kettle", "attrs")), "1.0", "made a wheel of attrs 1.0"),
        (wheel("x", "other/METADATA"), "1.0", "no metadata"),
        (b"PK", "1.0", "is no wheel"),
    ]:
        told = wheel_metadata(content, "kettle", version)
        assert isinstance(told, str) and said in told
    assert plain_requirements(["b @ https://example.org/b.whl", "a", "a", "no such !"]) == ("a",)


def test_the_resolver_is_asked_until_it_chooses_nothing_unknown() -> None:
    """App needs pot (source, 2.0 wants lid<2 of which only 1.0 is) and tea (source with reliable metadata, which needs cup)."""
    static = {"PKG-INFO": "Metadata-Version: 2.2\nName: tea\nVersion: 3.0\nRequires-Dist: cup\n"}
    index = TableIndex(
        {"app": [("1.0", ("pot", "tea"))], "cup": [("1.0", ())]},
        {"pot": [("2.0", {})], "tea": [("3.0", static)], "lid": [("2.0", {}), ("1.0", {})]},
    )
    builder = Builder({"pot 2.0": ("lid<2",), "lid 1.0": (), "tea 3.0": ()})
    found = resolve_with_sources(index, builder, ASKED)
    assert isinstance(found, Resolution), found
    assert [f"{one.name} {one.version}" for one in found.packages] == [
        "app 1.0", "cup 1.0", "pot 2.0", "tea 3.0", "lid 1.0",
    ]  # fmt: skip
    assert {f"{one.name} {one.version} {one.note}" for one in found.built} == {
        "pot 2.0 by hand", "tea 3.0 by hand", "lid 1.0 by hand",
    }  # fmt: skip
    assert builder.asked == ["pot 2.0", "lid 1.0", "tea 3.0"], "each once; what its source tells is built at the end"
    assert index.fetched == ["pot 2.0", "tea 3.0", "lid 1.0"], "lid 2.0 was never wanted"


def test_what_ends_a_resolution() -> None:
    index = TableIndex({"app": [("1.0", ("pot",))]}, {"pot": [("2.0", {})]})
    assert resolve_with_sources(index, Builder({}), ASKED) == (
        "pot 2.0 exists as source only, and building it failed: it does not compile"
    )
    index = TableIndex({"app": [("1.0", ("pot<1",))]}, {"pot": [("2.0", {})]})
    assert resolve_with_sources(index, Builder({}), ASKED) == "nothing of pot fits <1"
    names = [f"p{number}" for number in range(MOST_BUILDS + 1)]
    many = TableIndex({"app": [("1.0", tuple(names))]}, {name: [("1.0", {})] for name in names})
    many.lock = lambda question, known: Lock(dict.fromkeys(names, "1.0"), tuple(sdist(n, "1.0", {})[0] for n in names))  # type: ignore[method-assign]
    said = resolve_with_sources(many, Builder({f"{name} 1.0": () for name in names}), ASKED)
    assert isinstance(said, str) and "one too many" in said


def test_what_the_resolver_is_given() -> None:
    known = {"pot": {"2.0": Metadata(requires=("lid<2",), requires_python=">=3.9")}, "tea": {}}
    assert tomllib.loads(tomli_w.dumps(as_uv(known))) == {
        "dependency-metadata": [
            {"name": "pot", "requires-dist": []},
            {
                "name": "pot",
                "version": "2.0",
                "requires-dist": ["lid<2"],
                "provides-extra": [],
                "requires-python": ">=3.9",
            },
            {"name": "tea", "requires-dist": []},
        ]
    }


def test_a_lock_of_the_resolver() -> None:
    text = (
        '[[packages]]\nname = "Pot"\nversion = "2.0"\n'
        'sdist = {url = "https://x/a/pot-2.0%2Bx.tar.gz", hashes = {sha256 = "ab"}}\n'
        '[[packages]]\nname = "cup"\nversion = "1"\nwheels = [{url = "https://x/cup.whl"}]\n'
    )
    lock = read_lock(text)
    assert isinstance(lock, Lock) and lock.pins == {"pot": "2.0", "cup": "1"}
    assert [(one.name, one.filename) for one in lock.sdists] == [("pot", "pot-2.0+x.tar.gz")]
    for odd in (
        "[[packages]]\nname = 'a'\n",
        "[[packages]]\nname='a'\nversion='1'\nvcs={url='x'}\n",
        "x",
        "packages = 3",
    ):
        assert isinstance(read_lock(odd), Refused), odd


def test_sources_are_fetched_by_hash_and_nothing_is_unpacked(tmp_path: Path) -> None:
    """The script that runs in the fetch container, here with files in place of an index."""
    one, content = sdist("pot", "2.0", {"PKG-INFO": INFO, "setup.py": "open('/tmp/ran', 'w')", "a/PKG-INFO": "no"})
    (tmp_path / "served.tar.gz").write_bytes(content)
    order = {"url": (tmp_path / "served.tar.gz").as_uri(), "sha256": one.sha256, "filename": one.filename}
    assert source_fetch.main([order], tmp_path) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"served.tar.gz", one.filename, "facts.json"}
    assert INFO in (tmp_path / "facts.json").read_text(encoding="utf-8").encode().decode("unicode_escape")
    assert source_fetch.main([{**order, "sha256": "0" * 64}], tmp_path) == 1
    (tmp_path / "served.tar.gz").write_bytes(b"\x1f\x8bnothing")
    assert source_fetch.main([{**order, "sha256": _sha(b"\x1f\x8bnothing")}], tmp_path) == 1
    assert source_fetch.main([{**order, "url": "http://127.0.0.1:9/x"}], tmp_path) == 75, "worth another try"


def test_credentials_go_to_the_index_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_INDEX_URL", "https://me:s%40y@pypi.example.org/simple")
    assert source_fetch._credentials("https://pypi.example.org/files/a.tar.gz") == "bWU6c0B5"
    assert source_fetch._credentials("https://files.example.net/a.tar.gz") is None
    assert source_fetch._credentials("http://pypi.example.org/a.tar.gz") is None, "never without encryption"


def test_the_scripts_run_on_the_oldest_python() -> None:
    """They are compiled with the syntax of 3.9: bullseye's runs them."""
    import ast

    for name in ("source_fetch.py", "source_build.py"):
        ast.parse((Path(source_fetch.__file__).parent / name).read_text(encoding="utf-8"), feature_version=(3, 9))


def _sha(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()
