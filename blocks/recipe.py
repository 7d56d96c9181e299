"""How a state is rebuilt: what archaeology finds, what containerize builds from, what is published with it."""

from blocks.records import Record


class Package(Record):
    """One fetched distribution, kept in the package store under its hash."""

    name: str
    version: str
    filename: str
    sha256: str


class NativeBuild(Record):
    """How a C or C++ tree is built and tested. The runner knows each system; these are what differs between projects."""

    system: str
    """cmake, meson, autotools or make."""
    folder: str = "."
    """Folder of the manifest, relative to the workspace."""
    options: tuple[str, ...] = ()
    """For cmake, meson setup or configure; `NAME=value` for make."""
    targets: tuple[str, ...] = ()
    """Of make and autotools: the targets that run the tests."""
    vendored: tuple[tuple[str, str], ...] = ()
    """Folders of the tree that are submodules, each with the folder of the image that stands in for it; empty where none
    does: the folder is then there and empty, as in a checkout without submodules."""


class NodeCommand(Record):
    """A build command of a JavaScript project, and the folder it runs in, relative to the workspace."""

    argv: tuple[str, ...]
    folder: str = "."


class NodeSuite(Record):
    """One start of one test tool."""

    tool: str
    """jest, vitest, mocha, ava, bun, or `node` for node's own test runner."""
    folder: str = "."
    arguments: tuple[str, ...] = ()
    node_arguments: tuple[str, ...] = ()
    """Options of node itself."""
    environment: tuple[tuple[str, str], ...] = ()


class NodeBuild(Record):
    """How a JavaScript tree is made ready and tested. `folder`s and links are relative to the workspace."""

    manager: str
    """npm, pnpm, yarn, berry or bun; with its version, e.g. `pnpm@9.15.9`."""
    links: tuple[str, ...] = ()
    """Folders `.../node_modules` that are links into the dependencies outside the workspace."""
    native: tuple[str, ...] = ()
    """Folders below the dependencies whose install scripts compile something; they run without a network."""
    commands: tuple[NodeCommand, ...] = ()
    """Built before each run of the tests, in this order."""
    suites: tuple[NodeSuite, ...] = ()


class Recipe(Record):
    """Runtime versions, packages and commands that rebuild both states of a candidate."""

    stack: str
    """`python`, `node` or `cpp`."""
    runtime: str
    """Runtime version, e.g. `3.11`; for `cpp` the Debian release."""
    system_packages: tuple[str, ...] = ()
    """Debian packages; for `cpp` everything beyond the runtime, as `name=version`."""
    requirements: tuple[str, ...] = ()
    """The union of what the start and the end state declare, as requirement strings, without the project itself."""
    packages: tuple[Package, ...] = ()
    """What the requirements resolved to as of the date."""
    as_of: str
    """Nothing released after this moment is used (RFC 3339). For `cpp` `debian RELEASE`: packages of Debian have no dates,
    so they are as the release has them when they are fetched, and kept from then on."""
    project_name: str | None = None
    project_version: str | None = None
    """The version given to tools that ask Git for it (setuptools-scm and the like)."""
    last_release: str | None = None
    """The last release that the start commit descends from, where a tag tells."""
    folder: str = "."
    """Folder of the project, relative to the workspace: where its manifest lies, where it is installed from and where its
    tests are started. Every path and test id elsewhere stays relative to the workspace. For `cpp` see NativeBuild."""
    install: str = "editable"
    """`editable`: the project's own build backend ran; `develop`: its setup.py did, because the backend knows no editable
    install; `path`: the source folders were put on the path; `none`: every run builds it anew."""
    source_roots: tuple[str, ...] = (".",)
    """Folders, relative to the workspace, that hold importable packages."""
    ini_lines: tuple[str, ...] = ()
    """The project's own pytest configuration, without what a verifier decides; lines below `[pytest]`, their paths
    relative to `folder`."""
    arguments: tuple[str, ...] = ()
    """Options the project gives pytest, without those a verifier decides; paths relative to `folder`."""
    environment: tuple[tuple[str, str], ...] = ()
    """Environment variables the tests need."""
    runner: str = "pytest"
    """Runner of the grader's `observe`."""
    build: NativeBuild | None = None
    """For the runner `native`."""
    node: NodeBuild | None = None
    """For the runner `node`."""
    installer: Package | None = None
    """pip, for the published Dockerfile, where the runtime's own is too old for it (Python 3.9)."""


class Vendored(Record):
    """What a runtime image is made from beyond Debian's packages, for the published Dockerfile."""

    packages: tuple[Package, ...] = ()


RUNTIME = "runtime.json"
"""Name of the object, a `Vendored`, that containerize leaves where there is any."""


class Paths(Record):
    """Which paths are what: of the start tree and of the solution. Each sorted."""

    test_paths: tuple[str, ...]
    """Test files of the start tree."""
    source_paths: tuple[str, ...]
    """Source files the solution changes."""
    configuration_paths: tuple[str, ...]
    """Manifests and configuration the solution changes."""
    removed_tests: tuple[str, ...]
    """Test files the outcome deletes."""
    documentation_paths: tuple[str, ...] = ()
    """Documentation the solution changes."""
    generated_paths: tuple[str, ...] = ()
    """Generated and locked files the solution changes, and files of submodules."""
