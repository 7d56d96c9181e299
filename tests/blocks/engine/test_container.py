"""Containers for real: limits hold, timeouts end everything, files go in and out as data."""

import io
import tarfile
from collections.abc import Iterator

import pytest

from blocks.engine import Container, ContainerEndedError, ContainerSpec, Engine, ImageMissingError, Role
from blocks.engine.settle import strangers
from blocks.errors import PermanentError
from blocks.trees import File, TreeUnsafeError

pytestmark = pytest.mark.engine

CAPABILITY_BITS = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7}


def spec(image: str, role: Role = Role.SUBJECT, **more: object) -> ContainerSpec:
    return ContainerSpec.model_validate({"image": image, "role": role, "deadline_sec": 300, **more})


@pytest.fixture(scope="module")
def box(engine: Engine, base_image: str) -> Iterator[Container]:
    """One container for all tests that leave it as they found it."""
    with engine.container(spec(base_image, memory_mb=200, pids=40, environment=(("GREETING", "hello"),))) as container:
        yield container


def run(box: Container, script: str, **more: object) -> str:
    result = box.run(["bash", "-c", script], **{"timeout_sec": 20, **more})  # type: ignore[arg-type]
    assert result.ok, result
    return result.output


def status(text: str) -> dict[str, str]:
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def mask(names: tuple[str, ...]) -> int:
    return sum(1 << CAPABILITY_BITS[name] for name in names)


def test_a_subject_is_nobody_and_reaches_nothing(box: Container) -> None:
    told = status(run(box, "cat /proc/self/status"))
    assert told["Uid"].split() == ["1000"] * 4
    assert {told[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert told["NoNewPrivs"] == "1"
    assert [line.split(":")[0].strip() for line in run(box, "cat /proc/net/dev").splitlines()[2:]] == ["lo"]
    assert box.run(["bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/80"], timeout_sec=10).exit_code == 1
    assert not box.run(["touch", "/etc/x"], timeout_sec=10).ok
    assert not box.run(["ls", "/var/run/docker.sock"], timeout_sec=10).ok


@pytest.mark.parametrize(
    ("role", "more", "names"),
    [
        (Role.GRADER, {}, ("SETUID", "SETGID", "CHOWN", "DAC_OVERRIDE", "KILL")),
        (Role.BUILD, {}, ("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETUID", "SETGID")),
        (Role.FETCH, {}, ()),
        (Role.FETCH, {"installs_packages": True}, ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETUID", "SETGID")),
    ],
)
def test_roles_have_exactly_their_capabilities(
    engine: Engine, base_image: str, role: Role, more: dict[str, object], names: tuple[str, ...]
) -> None:
    with engine.container(spec(base_image, role, **more)) as container:
        told = status(run(container, "cat /proc/self/status"))
    assert told["Uid"].split() == ["0"] * 4
    assert {int(told[name], 16) for name in ("CapPrm", "CapEff", "CapBnd")} == {mask(names)}
    assert told["NoNewPrivs"] == "1"


def test_a_grader_can_become_the_subject_and_end_all_of_it(engine: Engine, base_image: str) -> None:
    as_subject = "setpriv --reuid 1000 --regid 1000 --clear-groups"
    listing = "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"
    with engine.container(spec(base_image, Role.GRADER)) as container:
        run(container, f"{as_subject} setsid sleep 654 >/dev/null 2>&1 & sleep 0.3")
        assert "sleep 654" in run(container, listing)
        run(container, f"{as_subject} bash -c 'kill -KILL -1'")
        assert "sleep 654" not in run(container, listing)


def test_output_environment_and_exit_code(box: Container) -> None:
    result = box.run(
        ["sh", "-c", "echo $GREETING $NAME; pwd; echo no >&2; printf 'caf\\351\\n'; exit 7"],
        environment={"NAME": "you"},
        workdir="/usr",
        timeout_sec=10,
    )
    assert (result.exit_code, result.timed_out, result.out_of_memory, result.container_ended) == (
        7,
        False,
        False,
        False,
    )
    assert sorted(result.output.splitlines()) == sorted(["hello you", "/usr", "no", "caf\ufffd"])
    assert box.run(["no-such-command"], timeout_sec=10).exit_code == 127


def test_endless_output_is_bounded(engine: Engine, base_image: str, box: Container) -> None:
    log = io.BytesIO()
    result = box.run(
        ["bash", "-c", "echo first; timeout 2 yes $(head -c 200 /dev/zero | tr '\\0' y); echo last"],
        timeout_sec=30,
        log=log,
    )
    limit = engine.settings.log_mb << 20
    for text, size in ((result.output.encode(), 64 << 10), (log.getvalue(), limit)):
        assert size <= len(text) < size + 200
        assert text.startswith(b"first\n")
        assert text.endswith(b"last\n")
        assert text.count(b"bytes cut here") == 1


def test_memory_is_limited_and_told(box: Container) -> None:
    hog = "a=$(head -c 500M /dev/zero | tr '\\0' x); echo ${#a}"
    result = box.run(["bash", "-c", hog], timeout_sec=60)
    assert result.out_of_memory
    assert not result.ok
    result = box.run(["bash", "-c", "exit 3"], timeout_sec=10)
    assert (result.exit_code, result.out_of_memory) == (3, False), "not told again of what came after"


def test_a_timeout_ends_what_ignores_signals_and_left_its_session(box: Container) -> None:
    stubborn = "trap '' TERM INT HUP; while true; do sleep 1; done"
    result = box.run(["bash", "-c", f'(setsid bash -c "{stubborn}" &); env -i bash -c "{stubborn}"'], timeout_sec=1)
    assert (result.timed_out, result.container_ended) == (True, False)
    assert "time is over" in result.output
    assert not strangers(box._api, box.id)
    assert run(box, "echo still here") == "still here\n"


def test_no_name_hides_a_process(engine: Engine, python_image: str) -> None:
    name = "printf 'a) Z\\nb' > /proc/self/comm; while true; do read -t 9 < /dev/zero; done"
    with engine.container(spec(python_image)) as container:
        container.run(["bash", "-c", f'setsid bash -c "{name}" >/dev/null 2>&1 & sleep 0.3'], timeout_sec=10)
        assert len(strangers(container._api, container.id)) == 1
        assert container.run(["sleep", "60"], timeout_sec=1).timed_out
        assert strangers(container._api, container.id) == []


def test_what_a_command_leaves_behind_does_not_hold_it_up(box: Container) -> None:
    result = box.run(["bash", "-c", "sleep 300 & echo done"], timeout_sec=60)
    assert (result.ok, result.output) == (True, "done\n")
    box.run(["sh", "-c", "kill -KILL -1"], timeout_sec=10)
    assert not strangers(box._api, box.id)


def test_a_fork_bomb_stays_inside(engine: Engine, base_image: str) -> None:
    with engine.container(spec(base_image, pids=40)) as container:
        result = container.run(["bash", "-c", ":(){ :|:& };: ; sleep 60"], timeout_sec=2)
        assert result.timed_out
        assert container.run(["echo", "calm"], timeout_sec=20).output == "calm\n" or result.container_ended


def test_as_root_a_timeout_ends_the_container_where_it_must(engine: Engine, base_image: str) -> None:
    with engine.container(spec(base_image, Role.BUILD)) as container:
        result = container.run(["bash", "-c", "setsid sleep 300 & sleep 300"], timeout_sec=1)
        assert (result.timed_out, result.container_ended) == (True, True)
        with pytest.raises(ContainerEndedError, match="ended"):
            container.run(["true"], timeout_sec=5)


def test_the_watchdog_ends_a_container_that_writes_too_much(engine: Engine, base_image: str) -> None:
    with engine.container(spec(base_image, written_mb=30)) as container:
        result = container.run(["bash", "-c", "head -c 80M /dev/zero > /tmp/big; sleep 300"], timeout_sec=120)
        assert (result.written_limit, result.container_ended, result.timed_out) == (True, True, False)
        assert "wrote more than its limit" in result.output
        assert container.get_file("/etc/hostname", max_bytes=100) is not None, "files can still be read"


def test_a_container_ends_itself_at_its_deadline(engine: Engine, base_image: str) -> None:
    with engine.container(spec(base_image, deadline_sec=2)) as container:
        result = container.run(["sleep", "60"], timeout_sec=50)
        assert (result.exit_code == 0, result.container_ended) == (False, True)


def test_files_go_in_and_out(box: Container) -> None:
    tree = {
        "a.txt": File(content=b"text \xff"),
        "bin/tool": File(content=b"#!/bin/sh\necho ran\n", executable=True),
        "bin/link": File(link="tool"),
        "deep/er/empty": File(),
    }
    box.put_tree(tree, "/tmp/new/place", uid=1000, gid=1000)
    assert (
        run(box, "cd /tmp/new/place && bin/link && touch more && stat -c %u:%g . deep/er a.txt")
        == "ran\n" + "1000:1000\n" * 3
    )
    assert box.get_tree("/tmp/new/place", max_bytes=1000) == {**tree, "more": File()}
    with pytest.raises(TreeUnsafeError, match="more than 10 bytes"):
        box.get_tree("/tmp/new/place", max_bytes=10)
    box.put_tree({"a.txt": File(content=b"changed")}, "/tmp/new/place", uid=1000, gid=1000)
    assert box.get_file("/tmp/new/place/a.txt", max_bytes=7) == b"changed"
    with pytest.raises(PermanentError, match="more than the 6"):
        box.get_file("/tmp/new/place/a.txt", max_bytes=6)
    for nothing in ("/tmp/new/place/absent", "/tmp/new/place/bin", "/tmp/new/place/bin/link", "/nowhere/at/all"):
        assert box.get_file(nothing, max_bytes=100) is None
    with pytest.raises(PermanentError, match="/absent"):
        box.get_tree("/absent", max_bytes=100)
    box.put_file("/tmp/new/secret", b"s", mode=0o400)
    assert run(box, "stat -c %a:%u /tmp/new/secret; cat /tmp/new/secret 2>&1 || true").startswith("400:0\ncat:")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("from-tar"))
    box.put_archive(buffer.getvalue(), "/tmp/new")
    assert "from-tar" in run(box, "ls /tmp/new")


def test_hostile_files_do_not_come_out(engine: Engine, base_image: str) -> None:
    script = """
        mkdir -p /w/sub/.git /w/.GIT && cd /w && echo good > good && echo x > sub/.git/config && echo x > .GIT/hook
        ln -s /etc/passwd absolute && ln -s ../etc/passwd climbing && ln -s sub/../../etc out && ln -s good fine
        mkfifo pipe && cp /bin/true setid && chmod 4755 setid && ln good hard && truncate -s 100G /w/../sparse
    """
    with engine.container(spec(base_image, Role.BUILD)) as container:
        run(container, script)
        tree = container.get_tree("/w", max_bytes=1 << 20)
        assert {"good", "fine", "setid"} <= set(tree) <= {"good", "fine", "setid", "hard"}
        assert (tree["fine"].link, tree["setid"].executable) == ("good", True)
        with pytest.raises(TreeUnsafeError):
            container.get_tree("/w", max_bytes=1 << 20, drop_unsafe=False)
        run(container, "mkdir /s && mv /sparse /s/")
        with pytest.raises(TreeUnsafeError, match="more than"):
            container.get_tree("/s", max_bytes=1 << 20)


def test_a_missing_image_is_named(engine: Engine) -> None:
    before = engine.started_count()
    with pytest.raises(ImageMissingError, match="envmill/no-such-image"):
        engine.container(spec("envmill/no-such-image:1"))
    assert engine.started_count() == before
