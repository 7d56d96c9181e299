import subprocess
from pathlib import Path

import pytest

from blocks.repositories import (
    MirrorCache,
    ObjectsMissingError,
    RepositoryUnavailableError,
    RepositoryUnreachableError,
)
from tests.history import History, git

IDENTITY = "https://example.org/tea/kettle"


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "source")


def test_folder_bundle_and_prefix_give_the_same_repository(history: History, tmp_path: Path) -> None:
    sha = history.commit({"a.py": "a = 1\n"}, "one", day=0)
    bundle = history.bundle(tmp_path / "kettle.bundle")
    (tmp_path / "tea").mkdir()
    history.folder.rename(tmp_path / "tea" / "kettle.git")
    for number, mirrors in enumerate(
        ({IDENTITY + ".git": str(bundle)}, {"https://example.org/": str(tmp_path)}, {IDENTITY: f"file://{bundle}"})
    ):
        repository = MirrorCache(tmp_path / f"cache{number}", mirrors).open("git@example.org:tea/kettle.git")
        assert repository.identity == IDENTITY
        assert repository.resolve("main") == sha
        assert repository.read(sha, "a.py") == b"a = 1\n"


def test_open_follows_its_source_and_forgets_what_is_no_longer_public(history: History, tmp_path: Path) -> None:
    first = history.commit({"a.py": "1"}, "one", day=0)
    second = history.commit({"a.py": "2"}, "two", day=1)
    git(history.folder, "update-ref", "refs/pull/7/head", second)
    cache = MirrorCache(tmp_path / "cache", {IDENTITY: str(history.folder)})
    assert cache.open(IDENTITY).branches_containing(second) == ("main",)
    git(history.folder, "update-ref", "refs/heads/main", first)
    third = history.commit({"b.py": "3"}, "three", day=2, branch="other", parents=[first])
    repository = cache.open(IDENTITY)
    assert repository.branches_containing(second) == ()
    assert repository.branches_containing(first) == ("main", "other")
    assert repository.branches_containing(third) == ("other",)
    assert len([path for path in (tmp_path / "cache").iterdir() if path.is_dir()]) == 1


def test_a_worktree_without_its_largest_file_is_copied_as_data(history: History, tmp_path: Path) -> None:
    start = history.commit({"a.py": "a = 1\n"}, "one", day=0)
    sha = history.commit({"a.py": "a = 2\n", "large.bin": b"\0" * 50_000}, "two", day=1)
    checkout = tmp_path / "checkout"
    git(tmp_path, "clone", "--quiet", "--no-local", str(history.folder), str(checkout))
    blob = git(checkout, "rev-parse", f"{sha}:large.bin")
    pack = next((checkout / ".git" / "objects" / "pack").glob("*.pack"))
    moved = pack.rename(tmp_path / "moved.pack")
    for leftover in (checkout / ".git" / "objects" / "pack").iterdir():
        leftover.unlink()
    git(checkout, "unpack-objects", "-q", stdin=moved.read_bytes())
    (checkout / ".git" / "objects" / blob[:2] / blob[2:]).unlink()

    repository = MirrorCache(tmp_path / "cache", {IDENTITY: str(checkout)}).open(IDENTITY)
    assert repository.resolve("main") == sha
    changes = {change.path: change for change in repository.changes(sha)}
    assert (changes["a.py"].insertions, changes["a.py"].deletions) == (1, 1)
    assert changes["large.bin"].binary
    assert {path: edit.added for path, edit in repository.edited_lines(sha).items()} == {"a.py": {"a = 2"}}
    assert repository.export(start)["a.py"].content == b"a = 1\n"
    with pytest.raises(ObjectsMissingError, match=r"large\.bin"):
        repository.export(sha)


def test_a_partial_clone_is_copied_with_its_packs(history: History, tmp_path: Path) -> None:
    start = history.commit({"a.py": "a = 1\n"}, "one", day=0)
    sha = history.commit({"a.py": "a = 2\n", "large.bin": b"\0" * 50_000}, "two", day=1)
    git(history.folder, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:limit=1k", history.folder.as_uri(), str(clone))
    assert list((clone / "objects" / "pack").glob("*.promisor"))
    repository = MirrorCache(tmp_path / "cache", {IDENTITY: str(clone)}).open(IDENTITY)
    assert repository.export(start)["a.py"].content == b"a = 1\n"
    assert repository.commit(sha).parents == (start,)
    with pytest.raises(ObjectsMissingError, match=r"large\.bin"):
        repository.export(sha)


def test_nothing_of_a_hostile_source_runs(history: History, tmp_path: Path) -> None:
    sha = history.commit({".gitattributes": "* filter=x diff=x\n", "a.py": "a = 1\n"}, "one", day=0)
    trap = tmp_path / "trap"
    ran = tmp_path / "ran"
    trap.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
    trap.chmod(0o755)
    blob = git(history.folder, "rev-parse", f"{sha}:a.py")
    for name in ("refs/tags/-v", "refs/tags/--upload-pack=x", "refs/heads/x;id", f"refs/tags/{sha}", "refs/tags/1.0"):
        git(history.folder, "update-ref", name, sha)
    git(
        history.folder, "update-ref", f"refs/tags/{sha[:8]}", history.commit({"a.py": "b\n"}, "x", day=1, branch="evil")
    )
    # A missing file makes git want to fetch it from the promisor, a transport that would run the trap.
    partial = history.commit({"large.bin": "large\n"}, "two", day=2)
    missing = git(history.folder, "rev-parse", f"{partial}:large.bin")
    (history.folder / "objects" / missing[:2] / missing[2:]).unlink()
    (history.folder / "hooks").mkdir()
    for hook in ("post-checkout", "reference-transaction", "pre-auto-gc", "post-upload-pack"):
        (history.folder / "hooks" / hook).symlink_to(trap)
    with (history.folder / "config").open("a") as config:
        config.write(
            f'[core]\n fsmonitor = {trap}\n hooksPath = {history.folder}/hooks\n sshCommand = {trap}\n pager = {trap}\n'
            f' alternateRefsCommand = {trap}\n'
            f'[uploadpack]\n packObjectsHook = {trap}\n[diff "x"]\n textconv = {trap}\n command = {trap}\n'
            f'[filter "x"]\n smudge = {trap}\n clean = {trap}\n[protocol]\n allow = always\n'
            f'[protocol "ext"]\n allow = always\n'
            f'[core]\n repositoryFormatVersion = 1\n[remote "origin"]\n url = ext::{trap} %S\n promisor = true\n'
            '[extensions]\n partialClone = origin\n'
        )  # fmt: skip

    repository = MirrorCache(tmp_path / "cache", {IDENTITY: str(history.folder)}).open(IDENTITY)
    assert repository.resolve(sha[:8]) == sha
    assert repository.resolve(sha) == sha
    assert repository.export(sha)["a.py"].content == b"a = 1\n"
    assert repository.diff(sha, history.tips["evil"]).count("\n-") >= 1
    for odd in ("-v", "--upload-pack=x", "main^{tree}", ":/one", "main:a.py", "@{-1}", "a..b", blob, "0" * 40, ""):
        assert repository.resolve(odd) is None, odd
    with pytest.raises(ObjectsMissingError, match=r"large\.bin"):
        repository.export(partial)
    assert not ran.exists()
    with pytest.raises(subprocess.CalledProcessError):
        git(history.folder, "cat-file", "blob", missing)
    assert ran.exists(), "the trap is dead: this test proves nothing"


def test_a_source_that_is_not_there_says_what_to_mend(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for where in ("nowhere", "empty"):
        with pytest.raises(RepositoryUnreachableError, match="mirrors"):
            MirrorCache(tmp_path / "cache", {IDENTITY: str(tmp_path / where)}).open(IDENTITY)
    assert not list((tmp_path / "cache").glob("*/HEAD"))


def test_a_refused_connection_is_worth_a_retry_and_tells_no_password(tmp_path: Path) -> None:
    cache = MirrorCache(tmp_path / "cache", {IDENTITY: "http://user:hunter2@127.0.0.1:1/tea/kettle"})
    with pytest.raises(RepositoryUnavailableError) as unavailable:
        cache.open(IDENTITY)
    assert "hunter2" not in str(unavailable.value)
