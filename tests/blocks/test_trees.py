"""Trees as tar and back; tars that want more than a workspace may have."""

import hashlib
import io
import tarfile
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from blocks.trees import (
    EPOCH,
    File,
    TreeUnsafeError,
    digest,
    link_stays_inside,
    misplaced,
    overlay,
    pack,
    safe_path,
    unpack,
    unpack_bytes,
)
from tests.trees import tree

names = st.one_of(
    st.sampled_from(["a", "b", "src", "x" * 120, "ü", "\udcff", "new\nline", "eq=al", ".hidden", "-x", "a b", "..."]),
    st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=8),
).filter(lambda name: name not in (".", "..") and name.lower() != ".git")
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
files = st.one_of(
    st.builds(File, content=st.binary(max_size=30), executable=st.booleans()),
    st.builds(File, link=st.sampled_from(["a", "b/c", "./a", "sp ace", "\udcfe", "l" * 150])),
)
trees = st.dictionaries(paths, files, max_size=6)


@given(trees)
def test_pack_and_unpack_are_inverse(given_tree: dict[str, File]) -> None:
    assume(not misplaced(given_tree))
    packed = pack(given_tree)
    assert unpack_bytes(packed) == given_tree
    assert packed == pack(dict(reversed(given_tree.items()))), "equal trees give equal bytes"
    prefixed = pack(given_tree, prefix="app/")
    assert unpack(io.BytesIO(prefixed), strip="app/") == given_tree
    assert digest(unpack_bytes(packed)) == digest(given_tree)


@given(trees, trees)
def test_digests_tell_trees_apart(one: dict[str, File], other: dict[str, File]) -> None:
    assert (digest(one) == digest(other)) == (one == other)


def test_a_name_cannot_stand_for_two_files() -> None:
    two = tree({"a": "1", "b": "2"})
    forged = f"a\nf {hashlib.sha256(b'2').hexdigest()} b"
    assert digest({forged: two["a"]}) != digest(two)


def test_owners_times_and_folders() -> None:
    packed = pack(tree({"a/b/c.py": "x"}), uid=1000, gid=1000)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        entries = archive.getmembers()
    assert [(entry.name, entry.isdir()) for entry in entries] == [("a", True), ("a/b", True), ("a/b/c.py", False)]
    assert {(entry.uid, entry.gid, entry.mtime) for entry in entries} == {(1000, 1000, EPOCH)}


@pytest.mark.parametrize(
    "path",
    ["", "/", "/etc/passwd", "..", "../x", "a/../b", "a/./b", "a//b", "a/", "a\0b", ".git/config", "x/.GIT/HEAD"],
)
def test_unsafe_paths(path: str) -> None:
    with pytest.raises(TreeUnsafeError):
        safe_path(path)
    with pytest.raises(TreeUnsafeError):
        pack({path: File()})


@pytest.mark.parametrize("path", ["a", ".gitignore", ".github/x.yml", "...", "a b/ü", "git"])
def test_safe_paths(path: str) -> None:
    assert safe_path(path) == path


@pytest.mark.parametrize(
    ("path", "target", "inside"),
    [
        ("a", "b", True),
        ("a/b", "../c", True),
        ("a/b", "..", True),
        ("a", "a/../b", True),
        ("a", "..", False),
        ("a/b", "../../c", False),
        ("a", "/etc/passwd", False),
        ("a", "", False),
        ("a", "b\0c", False),
        ("a/b", "x/../../../c", False),
    ],
)
def test_links(path: str, target: str, inside: bool) -> None:
    assert link_stays_inside(path, target) is inside


def entry(
    name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0, mode: int = 0o644
) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size, made.mode = kind, link, size, mode
    return made


def tar(*entries: tarfile.TarInfo, pax: dict[str, str] | None = None) -> io.BytesIO:
    """`good.py`, then the entries, then `later.py`: what comes after something bad is still read."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(entry("good.py", size=1), io.BytesIO(b"1"))
        for made in entries:
            made.pax_headers = pax or {}
            archive.addfile(made, io.BytesIO(b"x" * made.size))
        archive.addfile(entry("later.py", size=1), io.BytesIO(b"2"))
    buffer.seek(0)
    return buffer


HOSTILE: dict[str, Callable[[], io.BytesIO]] = {
    "climbing": lambda: tar(entry("../evil", size=1)),
    "climbing in the middle": lambda: tar(entry("a/../../evil", size=1)),
    "absolute": lambda: tar(entry("/etc/evil", size=1)),
    "two slashes": lambda: tar(entry("//etc/evil", size=1)),
    "git": lambda: tar(entry("sub/.git/config", size=1)),
    "git in capitals": lambda: tar(entry(".Git/hooks/post-checkout", size=1, mode=0o755)),
    "nul": lambda: tar(entry("plain", size=1), pax={"path": "a\0b"}),
    "fifo": lambda: tar(entry("pipe", tarfile.FIFOTYPE)),
    "character device": lambda: tar(entry("null", tarfile.CHRTYPE)),
    "block device": lambda: tar(entry("sda", tarfile.BLKTYPE)),
    "hard link out": lambda: tar(entry("hard", tarfile.LNKTYPE, "/etc/shadow")),
    "link out": lambda: tar(entry("link", tarfile.SYMTYPE, "../../etc/passwd")),
    "absolute link": lambda: tar(entry("link", tarfile.SYMTYPE, "/etc/passwd")),
    "link out by way of another": lambda: tar(
        entry("up/root", tarfile.SYMTYPE, ".."), entry("link", tarfile.SYMTYPE, "up/root/../evil")
    ),
    "link out by way of another, the other way round": lambda: tar(
        entry("link", tarfile.SYMTYPE, "a/../evil"),
        entry("a", tarfile.SYMTYPE, "b/c"),
        entry("b/c", tarfile.SYMTYPE, ".."),
    ),
    "a file through a link": lambda: tar(entry("dir", tarfile.SYMTYPE, "later"), entry("dir/evil", size=1)),
    "a file below a file": lambda: tar(entry("good.py/evil", size=1)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_tars(name: str) -> None:
    with pytest.raises(TreeUnsafeError):
        unpack(HOSTILE[name]())
    left = unpack(HOSTILE[name](), drop_unsafe=True)
    assert {path: left[path].content for path in ("good.py", "later.py")} == {"good.py": b"1", "later.py": b"2"}
    assert not any("evil" in path or ".git" in path.lower() or "\0" in path for path in left)
    assert set(left) - {"good.py", "later.py"} <= {"up/root", "a", "b/c", "dir"}
    assert not misplaced(left)


def test_modes_and_special_bits_are_one_bit() -> None:
    found = unpack(tar(entry("setuid", mode=0o4755, size=1), entry("plain", mode=0o2644, size=1)))
    assert (found["setuid"], found["plain"]) == (File(content=b"x", executable=True), File(content=b"x"))


def test_links_that_lead_nowhere_or_in_circles_stay() -> None:
    links = {"a": File(link="b"), "b": File(link="a"), "c": File(link="missing/x"), "d/e": File(link="../c")}
    assert unpack_bytes(pack(links)) == links


def test_too_much_is_refused_before_it_is_read() -> None:
    class Bomb(io.RawIOBase):
        """A header that promises a terabyte, and zeros without end."""

        served = 0

        def __init__(self) -> None:
            self.head = entry("bomb", size=1 << 40).tobuf(tarfile.GNU_FORMAT)

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            assert self.served < 1 << 20
            chunk = (self.head if not self.served else b"").ljust(size, b"\0")
            self.served += size
            return chunk

    with pytest.raises(TreeUnsafeError, match="more than 1000 bytes"):
        unpack(Bomb(), max_bytes=1000, drop_unsafe=True)
    with pytest.raises(TreeUnsafeError, match="more than"):
        unpack(tar(entry("a", size=600), entry("b", size=600)), max_bytes=1000)
    assert "a" in unpack(tar(entry("a", size=600)), max_bytes=1000)


def test_only_what_is_below_the_stripped_folder() -> None:
    found = unpack(
        tar(entry("app/a", size=1), entry("application/b", size=1), entry("app/app/c", size=1)), strip="app/"
    )
    assert set(found) == {"a", "app/c"}


@given(trees, st.dictionaries(paths, st.one_of(st.none(), files), max_size=4))
def test_overlay(base: dict[str, File], top: dict[str, File | None]) -> None:
    merged = overlay(base, top)
    for path in {*base, *top}:
        assert merged.get(path) == (top[path] if path in top else base[path])
    assert set(merged) <= {*base, *top}
