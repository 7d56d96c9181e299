"""Times that uv leaves beside what it installed (`uv_cache.json`, `uv_build.json`): they differ from build to build."""

_FILES = "*.dist-info/uv_*.json"


def forget_times(*folders: str) -> tuple[list[str], ...]:
    """Commands that remove those files below the folders, and their lines from the lists of installed files."""
    listed = ["-execdir", "sed", "-i", r"/\/uv_[a-z]*\.json,/d", "RECORD", ";"]
    return ["find", *folders, "-path", _FILES, *listed], ["find", *folders, "-path", _FILES, "-delete"]
