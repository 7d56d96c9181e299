"""Times that would differ from build to build: those a compiler or packer takes, and those uv leaves (`uv_*.json`)."""

from collections.abc import Mapping

BUILD_TIME: Mapping[str, str] = {"SOURCE_DATE_EPOCH": "315619200"}
"""The time that builds are told: 1980-01-02, the first that zip files know (reproducible-builds.org/specs/source-date-epoch).
gcc takes it for __DATE__ and __TIME__."""
_FILES = "*.dist-info/uv_*.json"


def forget_times(*folders: str) -> tuple[list[str], ...]:
    """Commands that remove those files below the folders, and their lines from the lists of installed files."""
    listed = ["-execdir", "sed", "-i", r"/\/uv_[a-z]*\.json,/d", "RECORD", ";"]
    return ["find", *folders, "-path", _FILES, *listed], ["find", *folders, "-path", _FILES, "-delete"]
