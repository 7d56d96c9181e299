"""Short ways to write trees in tests."""

from blocks.trees import File


def tree(files: dict[str, str | bytes]) -> dict[str, File]:
    """Plain files from texts."""
    return {
        path: File(content=content.encode() if isinstance(content, str) else content) for path, content in files.items()
    }
