"""Whole checkouts of repositories with submodules, and what a hostile `.gitmodules` gets: nothing."""

from pathlib import Path

import pytest

from blocks.errors import UsageError
from blocks.repositories import Checkout, Checkouts, MirrorCache
from blocks.repositories.submodules import MAX_DEPTH, resolve_address
from blocks.trees import TreeUnsafeError
from tests.gitserver import git_server
from tests.history import History, git, pin

pytestmark = pytest.mark.slow

KETTLE, LEAF = "https://example.org/tea/kettle", "https://example.org/tea/leaf"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"


class Tea:
    """`tea/kettle` and `tea/leaf`, read through a prefix of the mirror map."""

    def __init__(self, folder: Path) -> None:
        self.kettle, self.leaf = History(folder / "tea" / "kettle"), History(folder / "tea" / "leaf")
        self.first = self.leaf.commit({"leaf.py": "leaf = 1\n", "data.bin": LFS}, "one", day=0)
        self.second = self.leaf.commit({"leaf.py": "leaf = 2\n"}, "two", day=1)
        self.kettle.commit({"a.py": "a = 1\n"}, "root", day=0)
        self.cache = MirrorCache(folder / "cache", {"https://example.org/": str(folder)})

    def checkouts(self, *commits: str) -> list[Checkout]:
        return Checkouts(self.cache.open(KETTLE)).take(*commits)


@pytest.fixture
def tea(tmp_path: Path) -> Tea:
    return Tea(tmp_path)


def faults(checkout: Checkout) -> dict[str, str | None]:
    return {one.path: one.fault for one in checkout.submodules}


@pytest.mark.parametrize("address", [LEAF + ".git", "../leaf.git", "../../tea/leaf", "git@example.org:tea/leaf.git"])
def test_a_checkout_has_the_files_of_its_submodules_at_their_pins(tea: Tea, address: str) -> None:
    old = pin(tea.kettle, {"deps/leaf": (address, tea.first)})
    new = pin(tea.kettle, {"deps/leaf": (address, tea.second)})
    first, second = tea.checkouts(old, new)
    assert {path: first.tree[path].content for path in ("a.py", "deps/leaf/leaf.py")} == {
        "a.py": b"a = 1\n",
        "deps/leaf/leaf.py": b"leaf = 1\n",
    }
    assert second.tree["deps/leaf/leaf.py"].content == b"leaf = 2\n"
    assert first.lfs_pointers == ("deps/leaf/data.bin",)
    (module,) = first.submodules
    assert (module.repository, module.commit, module.files, module.fault) == (LEAF, tea.first, 2, None)
    assert (first.vendored, ".gitmodules" in first.tree) == (("deps/leaf",), True)


def test_a_pin_that_no_branch_holds_is_asked_for_by_its_id_and_without_history(tmp_path: Path) -> None:
    tea = Tea(tmp_path / "served")
    git(tea.leaf.folder, "update-ref", "refs/heads/main", tea.first)
    commit = pin(tea.kettle, {"leaf": ("../leaf", tea.second)})
    with git_server(tmp_path / "served") as address:
        cache = MirrorCache(tmp_path / "cache", {"https://example.org/": address})
        (found,) = Checkouts(cache.open(KETTLE)).take(commit)
        assert found.tree["leaf/leaf.py"].content == b"leaf = 2\n"
        pins = cache.pinned(LEAF, tea.second).path
        assert git(pins, "rev-list", "--count", tea.second) == "1"
    assert cache.pinned(LEAF, tea.second).export(tea.second)["leaf.py"].content == b"leaf = 2\n", (
        "read without a server"
    )


def test_an_old_server_gives_a_pin_with_its_history(tmp_path: Path) -> None:
    tea = Tea(tmp_path / "served")
    commit = pin(tea.kettle, {"leaf": ("../leaf", tea.first)})
    with git_server(tmp_path / "served", old=True) as address:
        cache = MirrorCache(tmp_path / "cache", {"https://example.org/": address})
        (found,) = Checkouts(cache.open(KETTLE)).take(commit)
    assert found.tree["leaf/leaf.py"].content == b"leaf = 1\n"


def test_submodules_within_submodules_have_a_bound(tea: Tea, tmp_path: Path) -> None:
    names = [f"deep{number}" for number in range(MAX_DEPTH + 2)]
    below: dict[str, tuple[str, str]] = {}
    for name in names:
        history = History(tmp_path / "tea" / name)
        history.commit({f"{name}.py": "x\n"}, "root", day=0)
        below = {"in": (f"../{name}", pin(history, below))}
    (found,) = tea.checkouts(pin(tea.kettle, below))
    depths = {one.path.count("/") + 1: one.fault for one in found.submodules}
    assert [depths[depth] for depth in range(1, MAX_DEPTH + 1)] == [None] * MAX_DEPTH
    assert "within each other" in str(depths[MAX_DEPTH + 1])
    assert "in/in/deep3.py" in found.tree and not any("deep1.py" in path for path in found.tree)


HOSTILE = (
    "ext::sh -c touch% ran", "ext::x/y", "file:///etc/kettle", "/etc/kettle", "--upload-pack=x", "-ufoo/bar", "../../../up/x",
    "https://127.0.0.1/tea/leaf", "https://localhost/tea/leaf", "fd::7/x", "C:\\tea\\leaf", "https://example.org/../leaf", "",
)  # fmt: skip


def test_no_hostile_address_is_followed_and_nobody_is_refused_for_it(tea: Tea) -> None:
    commit = pin(tea.kettle, {f"m{number}": (url, tea.first) for number, url in enumerate(HOSTILE)})
    (found,) = tea.checkouts(commit)
    assert len(found.submodules) == len(HOSTILE)
    assert all(one.fault and one.repository is None and not one.files for one in found.submodules), faults(found)
    assert set(found.tree) == {"a.py", ".gitmodules"}
    for address in HOSTILE:
        with pytest.raises(UsageError):
            resolve_address(KETTLE, address)


def test_what_cannot_be_had_is_left_out_of_every_state(tea: Tea) -> None:
    missing = "1" * 40
    old = pin(tea.kettle, {"leaf": (LEAF, tea.first), "none": ("../nobody", tea.first)})
    new = pin(tea.kettle, {"leaf": (LEAF, missing), "none": ("../nobody", tea.first)})
    first, second = tea.checkouts(old, new)
    assert set(first.tree) == set(second.tree) == {"a.py", ".gitmodules"}
    assert "no commit 1111" in str(faults(second)["leaf"]) and "in another state" in str(faults(first)["leaf"])
    assert "not there" in str(faults(first)["none"])
    (alone,) = tea.checkouts(old)
    assert (alone.tree["leaf/leaf.py"].content, faults(alone)["leaf"]) == (b"leaf = 1\n", None)


def test_a_submodule_that_became_files_stays_files(tea: Tea) -> None:
    missing = pin(tea.kettle, {"leaf": ("../nobody", tea.first)})
    tree = git(tea.kettle.folder, "mktree", stdin=_without_pin(tea.kettle, missing).encode())
    root = git(tea.kettle.folder, "commit-tree", "-m", "vendored", "-p", missing, tree)
    git(tea.kettle.folder, "update-ref", "refs/heads/main", root)
    tea.kettle.tips["main"] = root
    vendored = tea.kettle.commit({"leaf/leaf.py": "leaf = 9\n"}, "files", day=7)
    first, second = tea.checkouts(missing, vendored)
    assert second.tree["leaf/leaf.py"].content == b"leaf = 9\n" and second.submodules == ()
    assert not any(path.startswith("leaf/") for path in first.tree)


def _without_pin(history: History, commit: str) -> str:
    listed = git(history.folder, "ls-tree", commit).splitlines()
    return "".join(f"{line}\n" for line in listed if not line.startswith("160000"))


@pytest.mark.parametrize("name", [".git", "..", "."])
def test_a_submodule_whose_name_may_not_be_carried_refuses_the_tree(tea: Tea, name: str) -> None:
    body = b"160000 %s\0%s" % (name.encode(), bytes.fromhex(tea.first))
    tree = git(tea.kettle.folder, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=body)
    commit = git(tea.kettle.folder, "commit-tree", "-m", "odd", tree)
    git(tea.kettle.folder, "update-ref", "refs/heads/odd", commit)
    with pytest.raises(TreeUnsafeError):
        tea.checkouts(commit)
