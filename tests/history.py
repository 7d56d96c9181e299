"""Builds small real Git repositories with fixed dates and people, so that ids are the same on every machine."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

EPOCH = 1_750_000_000
DAY = 86_400
MIT = """MIT License

Copyright (c) 2025 The Kettle Authors

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
"""


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run git in a test's own repository."""
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "HOME": str(folder),
        "LC_ALL": "C",
        **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"), ("DATE", f"{EPOCH} +0000"))},
    }  # fmt: skip
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, input=stdin, capture_output=True, check=True
    )
    return done.stdout.decode("utf-8", "surrogateescape").strip()


class History:
    """A bare repository in `folder`. `commit` returns the new commit's id; parents default to the branch's tip."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        git(folder, "init", "--quiet", "--bare", "--template=", "--initial-branch=main")
        self.tips: dict[str, str] = {}

    def commit(
        self,
        files: Mapping[str, str | bytes | None],
        message: str,
        *,
        day: float,
        branch: str = "main",
        parents: Sequence[str] | None = None,
    ) -> str:
        """Commit changed files (None removes one) on a branch, `day` days after the epoch of these tests."""
        before = [self.tips[branch]] if parents is None and branch in self.tips else list(parents or ())
        when = f"{EPOCH + int(day * DAY)} +0000"
        stream = [b"commit refs/heads/%s\n" % branch.encode(), b"mark :1\n"]
        stream += [f"{who} Ada <ada@example.org> {when}\n".encode() for who in ("author", "committer")]
        stream.append(_data(message.encode()))
        stream += [f"{'merge' if position else 'from'} {sha}\n".encode() for position, sha in enumerate(before)]
        for path, content in files.items():
            if content is None:
                stream.append(f"D {path}\n".encode())
            else:
                body = content.encode() if isinstance(content, str) else content
                stream.append(f"M 100644 inline {path}\n".encode() + _data(body))
        stream.append(b"\nget-mark :1\n")
        told = git(self.folder, "fast-import", "--quiet", "--force", "--cat-blob-fd=1", stdin=b"".join(stream))
        self.tips[branch] = told.splitlines()[-1]
        return self.tips[branch]

    def bundle(self, target: Path) -> Path:
        """The whole repository as a bundle."""
        git(self.folder, "bundle", "create", "--quiet", str(target), "--all")
        return target


def pin(
    history: History,
    modules: Mapping[str, tuple[str, str]],
    files: Mapping[str, str | bytes | None] | None = None,
    message: str = "pin",
) -> str:
    """A commit on top of main that also has submodules: path to (address, commit)."""
    lines = [f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n' for path, (url, _) in modules.items()]
    before = [part for tip in (history.tips.get("main"),) if tip for part in ("-p", tip)]
    base = history.commit({".gitmodules": "".join(lines), **(files or {})}, "pin", day=5)
    index = history.folder / "index"
    command = ["-c", f"core.worktree={history.folder}"]
    git(history.folder, *command, "read-tree", f"--index-output={index}", base)
    entries = "".join(f"160000 {commit}\t{path}\n" for path, (_, commit) in modules.items())
    git(history.folder, *command, "update-index", "--index-info", stdin=entries.encode())
    commit = git(history.folder, "commit-tree", "-m", message, *before, git(history.folder, *command, "write-tree"))
    index.unlink()
    git(history.folder, "update-ref", "refs/heads/main", commit)
    history.tips["main"] = commit
    return commit


def _data(content: bytes) -> bytes:
    return b"data %d\n" % len(content) + content + b"\n"
