"""The start tree, read from the bundle, and the edit tools of the session applied to it."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cline_task import Json, Tool

SEARCH, DIVIDER, REPLACE = "------- SEARCH", "=======", "+++++++ REPLACE"


def read_tree(bundle: Path, commit: str) -> dict[str, str]:
    """Every file of `commit`, as text, by its path."""
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-C", folder]
        subprocess.run(["git", "clone", "--quiet", "--bare", str(bundle), folder], check=True, capture_output=True)
        listing = subprocess.run([*git, "ls-tree", "-r", "--name-only", commit], check=True, capture_output=True)
        return {
            path: subprocess.run([*git, "show", f"{commit}:{path}"], check=True, capture_output=True).stdout.decode()
            for path in listing.stdout.decode().splitlines()
        }


@dataclass
class Workspace:
    """Files of the working directory. Each method does what the tool of that name does and gives the call."""

    root: str
    files: dict[str, str]

    def listing(self) -> str:
        """As Cline lists it: files before folders, folders followed by what they hold."""
        return "\n".join(self._list(sorted(self.files), ""))

    def _list(self, paths: Sequence[str], prefix: str) -> list[str]:
        inside = [path for path in paths if path.startswith(prefix)]
        lines = [path for path in inside if "/" not in path[len(prefix) :]]
        for folder in sorted({path[len(prefix) :].split("/")[0] for path in inside if "/" in path[len(prefix) :]}):
            lines += [f"{prefix}{folder}/", *self._list(inside, f"{prefix}{folder}/")]
        return lines

    def read_file(self, path: str, progress: str = "") -> Tool:
        return Tool(
            name="read_file",
            input=_with_progress({"path": path}, progress),
            label=f"read_file for '{path}'",
            result=self.files[path],
            row=self._row("readFile", path, f"{self.root}/{path}"),
        )

    def replace_in_file(self, path: str, *changes: tuple[str, str], progress: str = "") -> Tool:
        """Each change is (search, replace), whole lines, in the order of the file."""
        content = self.files[path]
        for search, replacement in changes:
            if content.count(search) != 1:
                raise ValueError(f"{path}: a search block must be there exactly once: {search!r}")
            content = content.replace(search, replacement)
        diff = "".join(f"{SEARCH}\n{old}{DIVIDER}\n{new}{REPLACE}\n" for old, new in changes)
        return self._edit("replace_in_file", path, "diff", diff, content, progress)

    def write_to_file(self, path: str, content: str, progress: str = "") -> Tool:
        return self._edit("write_to_file", path, "content", content, content, progress)

    def execute(self, command: str, output: str, progress: str = "", *, denied: bool = False) -> Tool:
        call: Json = {"command": command, "requires_approval": denied}
        return Tool(
            name="execute_command",
            input=_with_progress(call, progress),
            label=f"execute_command for '{command}'",
            result="The user denied this operation." if denied else f"Command executed.\nOutput:\n{output}",
            output=None if denied else output,
            denied=denied,
        )

    def _edit(self, name: str, path: str, field: str, value: str, content: str, progress: str) -> Tool:
        kind = "editedExistingFile" if path in self.files else "newFileCreated"
        self.files[path] = content
        absolute = f"{self.root}/{path}"
        return Tool(
            name=name,
            input=_with_progress({"absolutePath": absolute, field: value}, progress),
            label=f"{name} for '{absolute}'",
            result=(
                f"The content was successfully saved to {absolute}.\n\n"
                "Here is the full, updated content of the file that was saved:\n\n"
                f'<final_file_content path="{absolute}">\n{content}\n</final_file_content>\n\n'
                "IMPORTANT: For any future changes to this file, use the final_file_content shown above as your "
                "reference. This content reflects the current state of the file, including any auto-formatting (e.g., "
                "if you used single quotes but the formatter converted them to double quotes). Always base your "
                "SEARCH/REPLACE operations on this final version to ensure accuracy.\n\n"
            ),
            row=self._row(kind, path, value),
        )

    @staticmethod
    def _row(tool: str, path: str, content: str) -> Json:
        return {"tool": tool, "path": path, "content": content, "operationIsLocatedInWorkspace": True}


def _with_progress(call: Json, progress: str) -> Json:
    return {**call, "task_progress": progress} if progress else call
