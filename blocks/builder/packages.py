"""The package store: every fetched distribution once, under its hash, so that an offline rebuild is the normal build."""

import hashlib
from collections.abc import Iterable

from blocks.errors import PermanentError
from blocks.lake import ObjectStore
from blocks.recipe import Package
from blocks.trees import File


def package_key(package: Package) -> str:
    """Key of a package in the store."""
    return f"packages/{package.sha256}/{package.filename}"


def keep_package(store: ObjectStore, name: str, version: str, filename: str, content: bytes) -> Package:
    """Store one distribution and say what it is."""
    package = Package(name=name, version=version, filename=filename, sha256=hashlib.sha256(content).hexdigest())
    store.put_if_absent(package_key(package), content)
    return package


def load_package(store: ObjectStore, package: Package) -> bytes:
    """The distribution's bytes.

    Raises:
        PermanentError: the stored bytes are not what the hash says.
    """
    content = store.get(package_key(package))
    if hashlib.sha256(content).hexdigest() != package.sha256:
        raise PermanentError(
            f"package {package.filename}: the stored bytes do not match its hash; remove {package_key(package)}"
        )
    return content


def wheelhouse(store: ObjectStore, packages: Iterable[Package]) -> dict[str, File]:
    """The packages as a flat tree of files."""
    return {package.filename: File(content=load_package(store, package)) for package in packages}
