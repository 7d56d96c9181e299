"""Commits that no branch holds, asked of real Git servers: some give a commit by its id, some only what they list."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from blocks.repositories import MirrorCache, Reach, Way
from blocks.repositories.standing import public_ancestor, public_commits, reach_of
from tests.gitserver import git_server
from tests.history import History, git

pytestmark = pytest.mark.slow

IDENTITY = "https://example.org/tea/kettle"


class Forked:
    """A main branch, and a branch of three commits that was taken away again."""

    def __init__(self, folder: Path) -> None:
        self.history = History(folder)
        self.root = self.history.commit({"a.py": "a = 1\n"}, "root", day=0)
        self.tip = self.history.commit({"a.py": "a = 2\n"}, "main goes on", day=1)
        gone = [{"b.py": "b = 1\n"}, {"b.py": "b = 2\n"}, {"b.py": "b = 3\n"}]
        self.gone = [
            self.history.commit(files, f"gone {day}", day=day, branch="gone", parents=[self.root] if day == 2 else None)
            for day, files in enumerate(gone, start=2)
        ]
        git(folder, "update-ref", "-d", "refs/heads/gone")

    def pull(self, number: int, commit: str, kind: str = "pull") -> None:
        git(self.history.folder, "update-ref", f"refs/{kind}/{number}/head", commit)


@pytest.fixture
def forked(tmp_path: Path) -> Forked:
    return Forked(tmp_path / "served" / "kettle.git")


Cached = Callable[..., MirrorCache]


@pytest.fixture
def cached(tmp_path: Path) -> Iterator[Cached]:
    """A cache that reads `served/kettle.git` through a server, or as a folder."""
    with ExitStack() as stack:

        def make(*, old: bool = False, local: bool = False) -> MirrorCache:
            where = str(tmp_path / "served" / "kettle.git")
            if not local:
                where = stack.enter_context(git_server(tmp_path / "served", old=old)) + "/kettle.git"
            return MirrorCache(tmp_path / "cache", {IDENTITY: where})

        yield make


@pytest.mark.parametrize("local", [False, True])
def test_a_commit_that_is_given_by_its_id_is_no_public_history(forked: Forked, cached: Cached, local: bool) -> None:
    cache = cached(local=local)
    start = forked.gone[1]
    assert cache.open(IDENTITY).resolve(start) is None
    repository = cache.open(IDENTITY, commit=start)
    assert repository.export(start)["b.py"].content == b"b = 2\n"
    assert reach_of(repository, start).way is Way.ID
    assert public_ancestor(repository, start) == forked.root
    assert repository.branches_containing(start) == ()
    assert [commit.sha for commit in repository.commits_after(forked.root, window_days=30)] == [forked.tip]
    assert [commit.sha for commit in repository.commits_after(start, window_days=30)] == []
    listed = public_commits(repository, until=datetime(2030, 1, 1, tzinfo=UTC), limit=100)
    assert listed == (forked.tip, forked.root)
    assert repository.resolve(forked.gone[2]) is None, "what came later did not come along"


def test_what_was_brought_stays_when_everything_else_is_pruned(forked: Forked, cached: Cached) -> None:
    cache = cached()
    start = forked.gone[1]
    path = cache.open(IDENTITY, commit=start).path
    later = forked.history.commit({"a.py": "a = 3\n"}, "main moves", day=9)
    git(forked.history.folder, "reflog", "expire", "--expire=now", "--all")
    git(forked.history.folder, "gc", "--quiet", "--prune=now")
    repository = cache.open(IDENTITY, commit=start)
    assert repository.resolve("main") == later
    git(path, "gc", "--quiet", "--prune=now")
    assert cache.open(IDENTITY).export(start)["b.py"].content == b"b = 2\n"
    assert reach_of(repository, start).way is Way.ID


@pytest.mark.parametrize("local", [False, True])
def test_what_was_on_a_branch_when_it_was_fetched_is_kept_while_its_source_gives_it(
    forked: Forked, cached: Cached, local: bool
) -> None:
    cache = cached(local=local)
    cache.open(IDENTITY)
    git(forked.history.folder, "update-ref", "refs/heads/main", forked.root)
    repository = cache.open(IDENTITY, commit=forked.tip)
    assert reach_of(repository, forked.tip).way is Way.ID


def test_what_its_source_gives_no_more_is_left(forked: Forked, cached: Cached) -> None:
    cache = cached(old=True)
    first = cache.open(IDENTITY, commit=forked.tip)
    assert reach_of(first, forked.tip).way is Way.BRANCH
    git(forked.history.folder, "update-ref", "refs/heads/main", forked.root)
    repository = cache.open(IDENTITY, commit=forked.tip)
    assert reach_of(repository, forked.tip).way is Way.LEFT
    git(repository.path, "gc", "--quiet", "--prune=now")
    assert repository.resolve(forked.tip) == forked.tip


@pytest.mark.parametrize("kind", ["pull", "merge-requests"])
def test_a_server_that_gives_only_what_it_lists_is_asked_for_its_pull_refs(
    forked: Forked, cached: Cached, kind: str
) -> None:
    other = forked.history.commit({"c.py": "c\n"}, "another pull", day=3, branch="other", parents=[forked.root])
    git(forked.history.folder, "update-ref", "-d", "refs/heads/other")
    forked.pull(7, forked.gone[2], kind)
    forked.pull(12, other, kind)
    cache = cached(old=True)
    start = forked.gone[0]
    repository = cache.open(IDENTITY, commit=start)
    assert repository.export(start)["b.py"].content == b"b = 1\n"
    assert reach_of(repository, start) == Reach(way=Way.PULL, names=(f"{kind}/7/head",))
    assert repository.resolve(other) is None, "a pull ref that is not needed was fetched"
    assert repository.branches_containing(start) == ()
    # A pull ref that moves on takes nothing away.
    forked.pull(7, other, kind)
    assert cache.open(IDENTITY, commit=start).resolve(start) == start


@pytest.mark.parametrize("old", [False, True])
def test_a_tip_of_a_pull_ref_is_known_as_one_however_it_came(forked: Forked, cached: Cached, old: bool) -> None:
    forked.pull(7, forked.gone[2])
    repository = cached(old=old).open(IDENTITY, commit=forked.gone[2])
    assert reach_of(repository, forked.gone[2]) == Reach(way=Way.PULL, names=("pull/7/head",))


def test_a_shortened_id_is_found_at_the_tip_of_a_pull_ref(forked: Forked, cached: Cached) -> None:
    forked.pull(7, forked.gone[2])
    repository = cached(old=True).open(IDENTITY, commit=forked.gone[2][:10])
    assert repository.resolve(forked.gone[2][:10]) == forked.gone[2]


def test_a_commit_that_nobody_gives_says_what_was_tried(forked: Forked, cached: Cached) -> None:
    forked.pull(3, forked.tip)
    for cache, said in ((cached(old=True), "unadvertised object"), (cached(), "not our ref")):
        repository = cache.open(IDENTITY, commit="0" * 39 + "1")
        assert repository.search is not None and repository.search.commit is None
        by_id, by_pull = repository.search.said
        assert said in by_id
        assert "1 listed, 0 searched, none holds it" in by_pull
        assert reach_of(repository, "0" * 39 + "1").way is Way.NONE


def test_an_id_of_something_else_is_no_commit(forked: Forked, cached: Cached) -> None:
    blob = git(forked.history.folder, "rev-parse", f"{forked.gone[2]}:b.py")
    cache = cached()
    repository = cache.open(IDENTITY, commit=blob)
    assert repository.search is not None and "not a commit" in repository.search.said[0]
    assert repository.refs_containing(forked.root, "refs/envmill/") == ()
    for odd in ("--all", "main", "refs/pull/3/head", "HEAD", "0" * 6, ""):
        found = cache.open(IDENTITY, commit=odd).search
        assert found is not None and not found.said


def test_a_source_whose_objects_are_not_whole_gives_them_as_data(forked: Forked, cached: Cached) -> None:
    broken = forked.history.commit({"large.bin": b"\0" * 5000}, "large", day=5)
    folder = forked.history.folder
    packs = list((folder / "objects" / "pack").glob("*.pack"))
    moved = [pack.rename(folder.parent / pack.name) for pack in packs]
    for leftover in (folder / "objects" / "pack").iterdir():
        leftover.unlink()
    for pack in moved:
        git(folder, "unpack-objects", "-q", stdin=pack.read_bytes())
    blob = git(folder, "rev-parse", f"{broken}:large.bin")
    (folder / "objects" / blob[:2] / blob[2:]).unlink()
    repository = cached(local=True).open(IDENTITY, commit=forked.gone[1])
    assert repository.export(forked.gone[1])["b.py"].content == b"b = 2\n"
    assert repository.branches_containing(forked.gone[1]) == ()
