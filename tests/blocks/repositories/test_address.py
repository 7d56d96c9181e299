import pytest

from blocks.errors import UsageError
from blocks.repositories import normalise


@pytest.mark.parametrize(
    "written",
    [
        "https://github.com/Owner/name.py",
        "https://GitHub.com/Owner/name.py.git/",
        "http://user:hunter2@github.com:443/Owner/name.py.git",
        "git@github.com:Owner/name.py.git",
        "github.com:Owner/name.py",
        "ssh://git@github.com:2222/Owner/name.py.git",
        "git+ssh://git@github.com/Owner/name.py",
        "git://github.com/Owner/name.py",
        " github.com/Owner/name.py ",
        "https://github.com/Owner/name.py/tree/main/src#readme",
    ],
)
def test_every_spelling_gives_one_identity(written: str) -> None:
    identity = normalise(written)
    assert identity == "https://github.com/Owner/name.py"
    assert normalise(identity) == identity


def test_what_is_part_of_the_identity_is_kept() -> None:
    assert normalise("https://gitlab.org/group/sub/name/-/issues/3") == "https://gitlab.org/group/sub/name"
    assert normalise("https://git.example.org:8443/o/n") == "https://git.example.org:8443/o/n"


@pytest.mark.parametrize(
    "written",
    [
        "", "owner/name", "/srv/repo", "file:///srv/repo", "../repo", "https://github.com/owner", "https://localhost/o/n",
        "https://127.0.0.1/o/n", "https://[::1]/o/n", "https://0x7f.1/o/n", "ext::sh -c 'touch x'", "--upload-pack=x",
        "https://github.com/o/n?x=1", "https://github.com/../n", "https://github.com/o/--x", "ssh://-oProxyCommand=x/o/n",
        "https://github.com:99999999/o/n", "https://github.com/o/n\nx",
    ],
)  # fmt: skip
def test_what_is_no_public_address_is_refused(written: str) -> None:
    with pytest.raises(UsageError):
        normalise(written)


def test_a_refusal_does_not_repeat_credentials() -> None:
    with pytest.raises(UsageError) as refused:
        normalise("https://user:hunter2@github.com/owner")
    assert "hunter2" not in str(refused.value)
