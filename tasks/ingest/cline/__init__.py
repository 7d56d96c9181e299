"""Cline classic task folders (3.x, and the legacy bundle of 4.x). The format: docs/formats/cline.md."""

from tasks.ingest.cline.folder import TaskFolder, find_task_folders
from tasks.ingest.cline.session import SOURCE, Identity, identify, read_session

__all__ = ["SOURCE", "Identity", "TaskFolder", "find_task_folders", "identify", "read_session"]
