"""Running git on hostile data: argument lists only, no configuration but ours, no hooks, filters, helpers or prompts,
a deadline, and bounded output.
"""

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from blocks.errors import PermanentError, ServiceMissingError, TransientError

MAX_OUTPUT_BYTES = 256 << 20
TIMEOUT_SEC = 120.0
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

_KEPT = ("PATH", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
_LITERAL = "--literal-pathspecs"
_HARDENED = (
    "--no-replace-objects",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.quotePath=false",
    "-c", "core.commitGraph=false",
    "-c", f"attr.tree={EMPTY_TREE}",
    "-c", "credential.helper=",
    "-c", "i18n.logOutputEncoding=UTF-8",
    "-c", "log.showSignature=false",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "submodule.recurse=false",
    "-c", "fetch.unpackLimit=1",
)  # fmt: skip


class GitError(PermanentError):
    """git refused, or answered with what cannot be read."""


class GitTimeoutError(TransientError):
    """git did not end before its deadline."""


class ObjectsMissingError(PermanentError):
    """The mirror lacks objects that this question needs; names the paths or ids."""


class GitResult:
    """What a git process left behind. `errors` is the end of what it wrote on its error stream."""

    def __init__(self, code: int, output: bytes, errors: str) -> None:
        self.code = code
        self.output = output
        self.errors = errors


def run_git(
    arguments: Sequence[str],
    *,
    git_dir: Path | None = None,
    stdin: bytes = b"",
    protocols: str = "none",
    timeout_sec: float = TIMEOUT_SEC,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
    max_file_bytes: int | None = None,
    literal_paths: bool = True,
) -> GitResult:
    """Run git and return how it ended, whatever its exit code.

    Args:
        arguments: subcommand and arguments; what comes from outside must stand after `--end-of-options` or `--`.
        git_dir: the bare repository to work on.
        stdin: what git reads.
        protocols: transports git may use, as GIT_ALLOW_PROTOCOL (`https:file`).
        timeout_sec: after this git and its children are killed.
        max_output_bytes: most bytes of output.
        max_file_bytes: longest file git may write (where the system has prlimit).
        literal_paths: False for a command that knows no other paths and therefore refuses the option.

    Raises:
        GitTimeoutError: the deadline passed.
        GitError: more output than allowed.
        ServiceMissingError: git is not installed.
    """
    executable = shutil.which("git")
    if executable is None:
        raise ServiceMissingError("git is not installed; install it (Debian: apt-get install git)")
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(stdin)
        given.seek(0)
        process = subprocess.Popen(
            [executable, *([_LITERAL] if literal_paths else []), *_HARDENED, *arguments],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=_environment(git_dir, protocols),
            cwd="/",
            start_new_session=True,
        )
        _limit_files(process.pid, max_file_bytes)
        output, expired = _read(process, timeout_sec, max_output_bytes)
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4000))
        told = errors.read().decode("utf-8", "backslashreplace").strip()
    if expired:
        raise GitTimeoutError(f"git {arguments[0]}: not done after {timeout_sec:.0f} seconds; it was ended, try again")
    if output is None:
        raise GitError(f"git {arguments[0]}: more than {max_output_bytes} bytes of output; the repository is too large")
    return GitResult(process.returncode, output, told)


def git_output(arguments: Sequence[str], *, git_dir: Path, stdin: bytes = b"") -> bytes:
    """The output of a git command that must succeed.

    Raises:
        ObjectsMissingError: an object it needs is not in the mirror.
        GitError: any other refusal.
    """
    result = run_git(arguments, git_dir=git_dir, stdin=stdin)
    if result.code == 0:
        return result.output
    if any(sign in result.errors for sign in ("unable to read", "missing blob", "bad object", "could not get object")):
        raise ObjectsMissingError(f"git {arguments[0]}: the mirror lacks objects ({result.errors[-300:]})")
    raise GitError(f"git {arguments[0]} ended with {result.code}: {result.errors[-300:]}")


def _environment(git_dir: Path | None, protocols: str) -> dict[str, str]:
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        # safe.directory is heeded from a file or -c only, and -c does not reach the upload-pack of a local mirror.
        "GIT_CONFIG_GLOBAL": str(Path(__file__).with_name("gitconfig")),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes",
        "GIT_ALLOW_PROTOCOL": protocols,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    ca_bundle = os.environ.get("GIT_SSL_CAINFO") or os.environ.get("SSL_CERT_FILE")
    if ca_bundle:
        environment["GIT_SSL_CAINFO"] = ca_bundle
    if git_dir is not None:
        environment["GIT_DIR"] = str(git_dir)
    return environment


def _limit_files(pid: int, max_file_bytes: int | None) -> None:
    if max_file_bytes is None or not hasattr(resource, "prlimit"):
        return
    try:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
    except ProcessLookupError:
        return


def _read(process: "subprocess.Popen[bytes]", timeout_sec: float, most: int) -> tuple[bytes | None, bool]:
    """Output (None where there was too much) and whether the deadline passed. The process is gone afterwards."""
    expired = threading.Event()

    def end() -> None:
        expired.set()
        _kill(process)

    timer = threading.Timer(timeout_sec, end)
    timer.daemon = True
    timer.start()
    chunks: list[bytes] = []
    total = 0
    try:
        assert process.stdout is not None
        with process.stdout as stream:
            while chunk := stream.read(1 << 16):
                total += len(chunk)
                if total > most:
                    break
                chunks.append(chunk)
        if total > most:
            _kill(process)
        process.wait()
    finally:
        timer.cancel()
        if process.poll() is None:
            _kill(process)
            process.wait()
    return (None if total > most else b"".join(chunks)), expired.is_set()


def _kill(process: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
