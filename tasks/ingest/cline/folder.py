"""Where Cline task folders lie in a contribution, and reading the files of one."""

import re
from pathlib import Path

from blocks.records import Record
from tasks.ingest.cline.messages import Message, parse_message
from tasks.ingest.cline.timeline import Timeline, build_timeline
from tasks.ingest.raw import as_map, clean, read_json, unreadable

HISTORY = "api_conversation_history.json"
UI = "ui_messages.json"
_FOCUS = re.compile(r"^focus_chain_taskid_(\d+)\.md$")


class TaskFolder(Record):
    """One Cline task. `name` is its path in the contribution, for messages."""

    path: Path
    session_id: str
    name: str


def find_task_folders(folder: Path) -> tuple[TaskFolder, ...]:
    """The task folders of a contribution: `tasks/<id>/`, or the contribution itself. Empty where there are none."""
    tasks = folder / "tasks"
    if tasks.is_dir() and not tasks.is_symlink():
        return tuple(
            TaskFolder(path=path, session_id=clean(path.name), name=f"tasks/{clean(path.name)}")
            for path in sorted(tasks.iterdir())
            if path.is_dir() and not path.is_symlink() and not path.name.startswith(".")
        )
    if (folder / HISTORY).exists() or (folder / UI).exists():
        focus = (_FOCUS.match(path.name) for path in sorted(folder.iterdir()))
        named = next((match[1] for match in focus if match), folder.name)
        return (TaskFolder(path=folder, session_id=clean(named), name="."),)
    return ()


def read_history(task: TaskFolder) -> list[Message]:
    """The conversation with the model, row by row.

    Raises:
        RefusedError: file_unreadable; missing, not JSON, not a list, or a row that is no message.
    """
    name = f"{task.name}/{HISTORY}"
    rows = _rows(task.path / HISTORY, name)
    messages = []
    for position, row in enumerate(rows):
        message = parse_message(row)
        if message is None:
            raise unreadable(
                name, f"row {position} is no message of a user or an assistant", "export the session again"
            )
        messages.append(message)
    return messages


def read_timeline(task: TaskFolder) -> Timeline:
    """Times, tokens and costs from the rows shown in the user interface; empty where that file is missing.

    Raises:
        RefusedError: file_unreadable; there, but not JSON or not a list.
    """
    path = task.path / UI
    if not path.exists() and not path.is_symlink():
        return Timeline()
    return build_timeline([as_map(row) for row in _rows(path, f"{task.name}/{UI}")])


def _rows(path: Path, name: str) -> list[object]:
    if not path.exists() and not path.is_symlink():
        raise unreadable(name, "is missing", "hand in the whole task folder")
    rows = read_json(path, name)
    if not isinstance(rows, list):
        raise unreadable(name, "is not a JSON array", "export the session again")
    return rows
