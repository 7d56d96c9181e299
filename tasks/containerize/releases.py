"""Built or installed releases of the project itself: any but one from before the start may hold the fix."""

import re

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

_ARCHIVE = re.compile(r"^(.+?)-v?\d[^/]*\.(whl|tar\.gz|tar\.bz2|tar\.xz|tgz|zip|egg)$")
_METADATA = re.compile(r"^(.*/)?([^/]+?)-(\d[^/]*?)\.(dist-info/METADATA|egg-info/PKG-INFO|egg-info)$")
_CACHE = re.compile(r"(^|/)\.?cache/(uv|pip)/.*/(?P<name>[^/]+)/v?\d[^/]*(/|\.http$|\.msgpack$|$)")


class OwnReleases:
    """Looks for one project's releases in one layer. An editable install of the workspace is no release.

    `before`: the last release that the start commit descends from. What is installed of it, or of one before it, holds no
    fix: test tools stand on such releases of themselves, or bring one along.
    """

    def __init__(self, project: str | None, before: str | None = None) -> None:
        self._before = _version(before)
        self._project = project
        self._name = canonicalize_name(project) if project else None
        self._installed: dict[str, str] = {}
        self._own_install: set[str] = set()

    def see(self, path: str, content: bytes) -> str | None:
        """Look at one file; returns what it gives away at once. What depends on its neighbours comes from `finish`."""
        if self._project is None:
            return None
        folder, _, filename = path.rpartition("/")
        archive = _ARCHIVE.match(filename)
        if archive and self._is_own(archive[1]):
            return f"a built release of {self._project}"
        cached = _CACHE.search(path)
        if cached and self._is_own(cached["name"]):
            return f"a cached release of {self._project}"
        if path.endswith(f"node_modules/{self._project}/package.json"):
            return f"an installed release of {self._project}"
        metadata = _METADATA.match(path)
        if metadata and self._is_own(metadata[2]) and not self._is_before(metadata[3]) and not path.startswith("app/"):
            if "!" in path:
                return f"a release of {self._project} in an archive"
            self._installed[folder] = path
        is_marked = filename == "direct_url.json" and b'"file:///app' in content
        if is_marked or (filename == "INSTALLER" and content == b"envmill\n"):
            self._own_install.add(folder)
        return None

    def finish(self) -> list[tuple[str, str]]:
        """Path and evidence of installed releases that are not the workspace's own install."""
        return [
            (path, f"an installed release of {self._project}")
            for folder, path in self._installed.items()
            if folder not in self._own_install
        ]

    def _is_before(self, version: str) -> bool:
        found = _version(version)
        return found is not None and self._before is not None and found <= self._before

    def _is_own(self, name: str) -> bool:
        return canonicalize_name(name) == self._name


def _version(text: str | None) -> Version | None:
    try:
        return Version(text) if text else None
    except InvalidVersion:
        return None
