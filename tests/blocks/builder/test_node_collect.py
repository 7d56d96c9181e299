"""What is made of an install in the fetch container: links into the workspace, no release of the project, one archive."""

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import blocks.builder.node_collect


def collect(root: Path, **orders: object) -> tuple[dict[str, object], bytes]:
    archive = root.parent / "made.tar.gz"
    given = {"root": str(root), "workspace": "/app", "archive": str(archive), "own": [], "dated": True, **orders}
    script = blocks.builder.node_collect.__file__
    done = subprocess.run(
        [sys.executable, "-I", "-S", script, json.dumps(given)], capture_output=True, check=True, text=True
    )
    return json.loads(done.stdout), archive.read_bytes()


def package(folder: Path, name: str, version: str = "1.0.0", **files: str) -> None:
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"name": name, "version": version}))
    for file, text in files.items():
        (folder / file.replace("_", ".")).write_text(text)


def build(root: Path) -> None:
    top = root / "node_modules"
    package(top / "left", "left")
    package(top / "@scope" / "kettle", "@scope/kettle", "9.0.0")
    package(top / "native", "native", binding_gyp="{}")
    package(top / "left" / "node_modules" / "inner", "inner")
    package(root / "packages" / "core", "core")
    (top / "core").symlink_to("../packages/core")
    (root / "packages" / "core" / "node_modules").mkdir()
    (root / "packages" / "core" / "node_modules" / "left").symlink_to("../../../node_modules/left")
    (top / "outside").symlink_to("../../../etc")
    (top / ".modules.yaml").write_text("prunedAt: now")
    (top / ".package-lock.json").write_text("{}")
    (top / ".pnpm").mkdir()
    (top / ".pnpm" / "lock.yaml").write_text("packages: {}")
    (root / "packages" / "empty" / "node_modules").mkdir(parents=True)


def test_a_tree_that_fits_any_workspace(tmp_path: Path) -> None:
    build(tmp_path / "deps")
    facts, content = collect(tmp_path / "deps", own=["@scope/kettle", "left"], dated=False)
    assert facts["links"] == ["node_modules", "packages/core/node_modules"]
    assert facts["native"] == ["node_modules/native"]
    dropped = facts["dropped"]
    assert isinstance(dropped, list)
    assert sorted(item.split(",")[0] for item in dropped) == [
        "@scope/kettle@9.0.0",
        "left@1.0.0",
        "link node_modules/outside",
    ]
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        links = {entry.name: entry.linkname for entry in archive if entry.issym()}
        names = archive.getnames()
        assert {(entry.uid, entry.mtime) for entry in archive} == {(0, 315619200)}
    assert links == {
        "node_modules/core": "/app/packages/core",
        "packages/core/node_modules/left": "../../../node_modules/left",
    }
    assert not [name for name in names if "lock" in name or ".modules" in name]
    assert "packages/core/package.json" not in names


def test_under_a_lock_older_releases_of_the_project_stay_and_the_archive_is_the_same_again(tmp_path: Path) -> None:
    build(tmp_path / "deps")
    facts, first = collect(tmp_path / "deps", own=["@scope/kettle"])
    assert facts["dropped"] == ["link node_modules/outside"]
    build(tmp_path / "again" / "deps")
    _, second = collect(tmp_path / "again" / "deps", own=["@scope/kettle"])
    assert first == second
