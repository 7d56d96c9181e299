"""One running container: commands, files in and out, commit. Leaving the `with` block removes it, whatever happened."""

import io
import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from docker import APIClient
from docker.utils import parse_repository_tag

from blocks.engine import archive
from blocks.engine.clip import Clip
from blocks.engine.faults import MAKE_ROOM, ContainerEndedError, EngineDiskFullError, engine_faults, is_disk_full
from blocks.engine.raw import inspect_image
from blocks.engine.settle import end_stragglers, free_bytes, oom_kills
from blocks.engine.spec import ContainerSpec, ExecResult
from blocks.engine.stream import ExecStream
from blocks.engine.transcript import Transcript
from blocks.engine.usage import Usage, cpu_seconds
from blocks.engine.watch import Ending, Watch
from blocks.errors import EnvmillError
from blocks.trees import File, Tree

OUTPUT_HEAD, OUTPUT_TAIL = 16 << 10, 48 << 10
_TICK_SEC = 0.5
_NO_ROOM_BYTES = 16 << 20
_log = logging.getLogger(__name__)


class Container:
    """A started container. All methods raise TransientError or PermanentError for faults of the engine."""

    def __init__(
        self,
        api: APIClient,
        container_id: str,
        spec: ContainerSpec,
        user: str,
        *,
        written_bytes: int,
        log_bytes: int,
        usage: Usage,
        transcript: Transcript | None = None,
    ) -> None:
        self.id = container_id
        self.spec = spec
        self.user = user
        """Who runs commands that name nobody."""
        self._api = api
        self._written_bytes = written_bytes
        self._log_bytes = log_bytes
        self._usage = usage
        self._transcript = transcript
        self._oom_kills = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def run(
        self,
        argv: Sequence[str],
        *,
        user: str | None = None,
        workdir: str | None = None,
        environment: Mapping[str, str] | None = None,
        timeout_sec: int,
        log: BinaryIO | None = None,
    ) -> ExecResult:
        """Run one command to its end.

        A command that is still running after `timeout_sec` is killed with every process it left behind; where that does
        not help within seconds the container is ended. A process that the command leaves behind when it ends in time
        goes on, but is not waited for. With `log`, output goes there too, up to the settings' log_mb.

        Raises:
            ContainerEndedError: the container had ended before, or was removed while the command ran, or was ended from
                outside: an engine that is restarted does that. It says nothing about the command.
            EngineDiskFullError: it failed, and the engine has no room left.
        """
        user = user or self.user
        exec_id = self._create_exec(
            ("/usr/bin/timeout", "-s", "KILL", str(timeout_sec), *argv), user, workdir, environment
        )
        output = Clip(OUTPUT_HEAD, OUTPUT_TAIL)
        told = io.BytesIO() if self._transcript and not log else None
        sink = log or told
        full = Clip(self._log_bytes // 2, self._log_bytes // 2, sink) if sink else None
        watch = Watch(self._api, self.id, timeout_sec=timeout_sec, written_bytes=self._written_bytes)
        ending = None
        with ExecStream(self._api, exec_id) as stream:
            for chunk in stream.chunks(_TICK_SEC):
                output.feed(chunk)
                if full:
                    full.feed(chunk)
                ending = watch.look()
                if ending:
                    self.kill()
                    break
                if not chunk and self._exit_code(exec_id) is not None:
                    break
        result = self._result(exec_id, watch, ending, user, output, full)
        if self._transcript:
            said = told.getvalue() if told else b"(its output is in a log of its own)"
            ending_said = f"ended with {result.exit_code} after {result.seconds:.1f} s"
            self._transcript.command(argv, user, said, ending_said)
        return result

    def put_tree(self, tree: Tree, dest: str, *, uid: int = 0, gid: int = 0) -> None:
        """Write files over what is at `dest`; makes `dest`."""
        archive.put_tree(self._api, self.id, tree, dest, uid, gid)

    def put_file(self, dest: str, content: bytes, *, mode: int = 0o644, uid: int = 0, gid: int = 0) -> None:
        """Write one file; its folder must exist."""
        archive.put_file(self._api, self.id, dest, content, mode, uid, gid)

    def put_archive(self, tar: bytes | Path | BinaryIO, dest: str) -> None:
        """Unpack a tar (also a compressed one) at `dest`, which must exist."""
        archive.put_archive(self._api, self.id, tar, dest)

    def get_file(self, path: str, *, max_bytes: int) -> bytes | None:
        """Content of a regular file; None where there is none. PermanentError where it is larger."""
        return archive.get_file(self._api, self.id, path, max_bytes)

    def get_tree(self, path: str, *, max_bytes: int, drop_unsafe: bool = True) -> dict[str, File]:
        """The regular files and in-tree links below `path`, as data. TreeUnsafeError where there is more."""
        return archive.get_tree(self._api, self.id, path, max_bytes, drop_unsafe)

    def get_archive(self, path: str) -> Iterator[bytes]:
        """The tar of a path, as it is: hostile. Names begin with the path's last part."""
        return archive.get_archive(self._api, self.id, path)

    def ran_out_of_memory(self) -> bool:
        """Whether the memory limit ended a process here that no result has told of yet; also one whose parent went on."""
        kills = oom_kills(self._api, self.id)
        more, self._oom_kills = kills > self._oom_kills, max(kills, self._oom_kills)
        return more

    def is_running(self) -> bool:
        """Whether commands can still run in it; files can be read either way."""
        return self._is_running()

    def stop(self) -> None:
        """End every process; files can still be read."""
        with engine_faults("stopping a container"):
            self._api.stop(self.id, timeout=2)

    def kill(self) -> None:
        """End every process at once; files can still be read."""
        try:
            with engine_faults("ending a container"):
                self._api.kill(self.id)
                self._api.wait(self.id, timeout=20)
        except ContainerEndedError:
            return

    def remove(self) -> None:
        """End and remove. What cannot be removed now is left to the reaper and logged."""
        self._usage.ended(cpu_seconds(self._api, self.id))
        try:
            with engine_faults("removing a container"):
                self._api.remove_container(self.id, force=True, v=True)
        except ContainerEndedError:
            return
        except EnvmillError as error:
            _log.warning("container %s is left to the reaper: %s", self.id[:12], error)

    def commit(self, reference: str, *, labels: Mapping[str, str] | None = None, changes: Sequence[str] = ()) -> str:
        """Make an image of the container's files and return its id.

        User, working folder, command, environment and labels are those of the container's image, not of the container;
        `changes` (Dockerfile instructions: `USER agent`, `ENV K=V`) and `labels` come on top.
        """
        repository, tag = parse_repository_tag(reference)
        with engine_faults(f"committing {reference}"):
            config = inspect_image(self._api, self.spec.image)["Config"]
            own = self._api.inspect_container(self.id)["Config"].get("Labels") or {}
            kept = {**dict.fromkeys(own, ""), **(config.get("Labels") or {}), **(labels or {})}
            restored = [
                f"USER {config.get('User') or 'root'}",
                f"ENTRYPOINT {json.dumps(config.get('Entrypoint') or [])}",
                f"CMD {json.dumps(config.get('Cmd') or ['/bin/bash'])}",
                *(f"LABEL {json.dumps(key)}={json.dumps(value)}" for key, value in sorted(kept.items())),
            ]
            made = self._api.commit(self.id, repository=repository, tag=tag or "latest", changes=[*restored, *changes])
        return str(made["Id"])

    def _create_exec(
        self, argv: Sequence[str], user: str, workdir: str | None, environment: Mapping[str, str] | None
    ) -> str:
        values = {**dict(self.spec.environment), **(environment or {})}
        with engine_faults(f"running {argv[4] if len(argv) > 4 else argv[0]}"):
            made = self._api.exec_create(
                self.id, list(argv), user=user, workdir=workdir or self.spec.workdir, environment=values
            )
        return str(made["Id"])

    def _exit_code(self, exec_id: str) -> int | None:
        """Exit code of a command; None while it runs, or where its container ended first."""
        with engine_faults("asking for a command's end"):
            state = self._api.exec_inspect(exec_id)
        return None if state["Running"] or state["ExitCode"] is None else int(state["ExitCode"])

    def _result(
        self, exec_id: str, watch: Watch, ending: Ending | None, user: str, output: Clip, full: Clip | None
    ) -> ExecResult:
        seconds = watch.seconds
        exit_code = None if ending else self._wait_for_exit(exec_id)
        timed_out = ending is Ending.TIME or (watch.time_is_over and exit_code in (None, 137))
        out_of_memory = False
        if exit_code != 0:
            self._expect_there()
            out_of_memory = self.ran_out_of_memory()
        ended_by_us = ending is not None
        if timed_out and not ending and not end_stragglers(self._api, self.id, user):
            self.kill()
            ended_by_us = True
        ended = exit_code != 0 and self._has_ended(killed=exit_code in (None, 137) and not timed_out)
        if ended and not ended_by_us and not out_of_memory:
            self._expect_own_end()
        if exit_code not in (0, None) and not ended:
            self._expect_room(output)
        note = _note(ending, timed_out, out_of_memory)
        if full:
            full.finish(note)
        return ExecResult(
            exit_code=exit_code,
            timed_out=timed_out,
            output=output.finish(note).decode("utf-8", errors="replace"),
            seconds=round(seconds, 3),
            out_of_memory=out_of_memory,
            written_limit=ending is Ending.WRITTEN,
            container_ended=ended,
        )

    def _has_ended(self, *, killed: bool) -> bool:
        """Whether the container is at its end. Where a command was killed, that may show a moment after it."""
        for _ in range(20 if killed else 1):
            if not self._is_running():
                return True
            time.sleep(0.05 if killed else 0)
        return False

    def _expect_there(self) -> None:
        """A container that ended is a fact about its command; one that somebody removed is none."""
        with engine_faults("running a command in a container"):
            self._api.inspect_container(self.id)

    def _expect_own_end(self) -> None:
        """A container that ended by itself did so at its deadline, or for lack of memory; else somebody else ended it."""
        with engine_faults("looking at a container that ended"):
            state = self._api.inspect_container(self.id)["State"]
        if state["ExitCode"] != 0 and not state["OOMKilled"]:
            raise ContainerEndedError(
                f"a container of {self.spec.image} was ended from outside (exit code {state['ExitCode']}): the engine was "
                "restarted, or somebody removed it; run again"
            )

    def _expect_room(self, output: Clip) -> None:
        """A command that failed because the engine's disk is full says nothing about itself.

        Only where less is left than a container may write: with more, its own limit would have come first, so that no
        command can claim this on an engine with room.
        """
        left = free_bytes(self._api, self.id)
        if left is None or left >= self._written_bytes:
            return
        if left < _NO_ROOM_BYTES or is_disk_full(output.finish()):
            raise EngineDiskFullError(
                f"a command in a container of {self.spec.image} failed with {left >> 20} MB left on the disk; {MAKE_ROOM}"
            )

    def _wait_for_exit(self, exec_id: str) -> int | None:
        """The output's end comes a moment before the exit code does."""
        for _ in range(100):
            try:
                code = self._exit_code(exec_id)
            except ContainerEndedError:
                return None
            if code is not None:
                return code
            if not self._is_running():
                return None
            time.sleep(0.05)
        return None

    def _is_running(self) -> bool:
        try:
            with engine_faults("looking at a container"):
                return bool(self._api.inspect_container(self.id)["State"]["Running"])
        except ContainerEndedError:
            return False


def _note(ending: Ending | None, timed_out: bool, out_of_memory: bool) -> str:
    if ending is Ending.WRITTEN:
        return "ended: the container wrote more than its limit"
    if timed_out:
        return "ended: time is over"
    return "a process was ended: the container's memory limit" if out_of_memory else ""
