"""The spec and the base files of suites that are not pytest's: JavaScript tools, C and C++ builds.

Build and runner configuration is nobody's to change: it is laid as the start has it, or, where the solution's tests need
that, as the outcome has it (`Ingredients.manifests`; calibrate.py finds out). Of package.json a submission decides the
fields that grader/package_json.py names.
"""

import posixpath
import re
from collections.abc import Iterator

from blocks.errors import PermanentError
from blocks.grader.package_json import changed_entries, changes_more
from blocks.grader.planting import inverted, plants_in
from blocks.grader.policy import is_manifest, protected_paths
from blocks.grader.spec import GraderSpec
from blocks.path_kinds import PathKind, kind_of
from blocks.recipe import NodeBuild, Recipe
from blocks.trees import File, Tree
from blocks.vectors import StateComparison
from tasks.synthesis.ingredients import Ingredients, digests

_LOADS = re.compile(
    r"(setupFiles(?:AfterEnv|AfterEach)?|globalSetup|globalTeardown|testEnvironment|testRunner|runner|resolver|transform|preset"
    r"|snapshot\w+|testSequencer|environment|require|file|import|loader|node-option|nodeArguments)"
    r"[\"']?\s*[:=]\s*(\[[^\]]{0,2000}\]|\{[^}]{0,2000}\}|[\"'][^\"'\n]{1,300}[\"'])"
)
_IMPORTS = re.compile(r"(?:from\s*|import\s*\(?\s*|require\(\s*)[\"'](\.{1,2}/[^\"'\n]+)[\"']")
_WORDS = re.compile(r"[\"']([^\"'\n]{1,300})[\"']")
_ENDINGS = ("", ".js", ".ts", ".mjs", ".cjs", ".mts", ".cts", ".tsx", ".jsx", "/index.js", "/index.ts")
_PRODUCT = re.compile(r"(^|/)(src|lib|app|source)/")


def runner_suite(ingredients: Ingredients, wanted: StateComparison) -> tuple[GraderSpec, dict[str, File]]:
    """The spec, and the files of base/."""
    recipe = ingredients.recipe
    ids = (*wanted.fail_to_pass, *wanted.pass_to_pass)
    hidden = {path: file for path, file in ingredients.hidden.items() if file.link is None}
    patterns = tuple(f"/{path}" for path in sorted(_protected(ingredients, hidden)))
    draft = GraderSpec(
        fail_to_pass=wanted.fail_to_pass,
        pass_to_pass=wanted.pass_to_pass,
        test_files=_files(recipe, ids),
        hidden=digests(hidden),
        protected_patterns=patterns,
        runner=recipe.runner,
        build=_build(recipe),
        folder=recipe.folder,
        open_fields=_open_fields(ingredients),
        environment=dict(recipe.environment),
        timeout_sec=float(ingredients.timeout_sec),
    )
    opened = _opened(ingredients, draft)
    base = _base(ingredients, draft, hidden, opened)
    tests = {
        path: file for path, file in {**base, **hidden}.items() if path in hidden or path in ingredients.test_paths
    }
    inverted_files = _inverted(tests) if recipe.runner == "native" else ()
    must_fail = ids if ingredients.must_fail is None else tuple(test for test in ids if test in ingredients.must_fail)
    spec = GraderSpec(
        **{
            **{name: getattr(draft, name) for name in draft.__dataclass_fields__},
            "open_paths": tuple(f"/{path}" for path in sorted(opened)),
            "base": digests(base),
            "sentinel_files": _sentinel_files(ingredients, tests, draft.test_files),
            "inverted_files": inverted_files if must_fail else (),
            "must_fail": must_fail if inverted_files else (),
        }
    )
    return spec, base


def manifests_of(ingredients: Ingredients) -> dict[str, File | None]:
    """Build and runner configuration that the outcome changes, as the outcome has it."""
    runner = ingredients.recipe.runner
    loaded = _loaded(ingredients)
    found: dict[str, File | None] = {}
    for path, file in ingredients.change.items():
        if path.rpartition("/")[2] == "package.json" and runner == "node":
            before = ingredients.start.get(path)
            if not changes_more(before.content if before else None, file.content if file else None):
                continue
        elif not is_manifest(path, runner) and path not in loaded:
            continue
        if file is None or file.link is None:
            found[path] = file
    return found


def _build(recipe: Recipe) -> dict[str, object]:
    build = recipe.node if recipe.runner == "node" else recipe.build
    if build is None:
        raise PermanentError(
            f"the recipe of runner {recipe.runner!r} does not say how it is built; run archaeology again"
        )
    document: dict[str, object] = build.model_dump(mode="json")
    return document


def _files(recipe: Recipe, ids: tuple[str, ...]) -> tuple[str, ...]:
    """Files of the ids; those of native runs name programs."""
    if recipe.runner != "node":
        return ()
    return tuple(dict.fromkeys(test.split("::", 1)[0] for test in ids))


def _protected(ingredients: Ingredients, hidden: Tree) -> set[str]:
    """Paths of the start tree, beyond those that are always protected for the runner."""
    links = {path for path, file in ingredients.start.items() if file.link is not None}
    paths = {*ingredients.test_paths, *ingredients.removed_tests, *ingredients.manifests, *_loaded(ingredients)}
    if ingredients.recipe.node is not None and ingredients.recipe.runner == "node":
        paths |= _package_files(ingredients)
    return {path for path in paths - set(hidden) - links if path.isprintable() and not re.search(r"[*?]", path)}


def _package_files(ingredients: Ingredients) -> set[str]:
    """package.json of every package of the start, and of every folder that a suite or a hidden test looks up through."""
    assert ingredients.recipe.node is not None
    folders = {posixpath.normpath(suite.folder) for suite in ingredients.recipe.node.suites}
    folders |= {posixpath.dirname(path) or "." for path in ingredients.hidden}
    above = {"/".join(folder.split("/")[:depth]) for folder in folders for depth in range(1, folder.count("/") + 2)}
    looked = {"package.json", *(f"{folder}/package.json" for folder in above if folder not in ("", "."))}
    return looked | {path for path in _pristine(ingredients) if path.rpartition("/")[2] == "package.json"}


def _opened(ingredients: Ingredients, spec: GraderSpec) -> set[str]:
    """Paths that would be protected, that the outcome changes, and that are neither tests nor configuration: product."""
    closed = protected_paths(ingredients.change, spec)
    return {
        path
        for path in closed
        if not is_manifest(path, spec.runner)
        and kind_of(path) is not PathKind.TEST
        and path not in ingredients.manifests
        and path not in ingredients.test_paths
        and "node_modules" not in path.split("/")
        and path.rpartition("/")[2] != "package.json"
    }


def _base(ingredients: Ingredients, spec: GraderSpec, hidden: Tree, opened: set[str]) -> dict[str, File]:
    """What a submission may not decide about; nothing that the build made, which it makes again."""
    closed = protected_paths(ingredients.start, spec) & _pristine(ingredients)
    closed -= set(hidden) | set(ingredients.removed_tests) | opened
    base = {path: file for path, file in ingredients.start.items() if path in closed and file.link is None}
    for path, file in ingredients.manifests.items():
        if file is None:
            base.pop(path, None)
        else:
            base[path] = file
    return base


def _pristine(ingredients: Ingredients) -> set[str]:
    return set(ingredients.start if ingredients.pristine is None else ingredients.pristine)


def _open_fields(ingredients: Ingredients) -> tuple[str, ...]:
    names: set[str] = set()
    for path, file in ingredients.change.items():
        before = ingredients.start.get(path)
        if path.rpartition("/")[2] == "package.json" and before is not None and file is not None:
            names |= changed_entries(before.content, file.content)
    return tuple(sorted(names))


def _sentinel_files(ingredients: Ingredients, tests: Tree, named: tuple[str, ...]) -> tuple[str, ...]:
    """Files that get tests that must fail: of JavaScript those with tests that are asked for."""
    runner = ingredients.recipe.runner
    paths = set(named) & set(tests) if runner == "node" else set(tests)
    paths = paths or set(ingredients.hidden) & set(tests)
    return tuple(sorted(path for path in paths - ingredients.silent if plants_in(runner, path, _text(tests[path]))))


def _inverted(tests: Tree) -> tuple[str, ...]:
    return tuple(sorted(path for path, file in tests.items() if inverted(path, _text(file)) is not None))


def _loaded(ingredients: Ingredients) -> set[str]:
    """Files of the start that JavaScript runner configuration loads by relative path; product files are left out."""
    if ingredients.recipe.runner != "node" or ingredients.recipe.node is None:
        return set()
    found = set(_named_by_options(ingredients.start, ingredients.recipe.node))
    for path, file in ingredients.start.items():
        if is_manifest(path, "node") and path in _pristine(ingredients) and file.link is None:
            found |= set(_named_by_text(ingredients.start, path, _text(file)))
    return {
        path
        for path in found
        if path in _pristine(ingredients) and not _PRODUCT.search(path) and not is_manifest(path, "node")
    }


def _named_by_text(tree: Tree, path: str, text: str) -> Iterator[str]:
    folder = posixpath.dirname(path)
    words = [word for _, chunk in _LOADS.findall(text) for word in _WORDS.findall(chunk)]
    for word in [*words, *_IMPORTS.findall(text)]:
        yield from _resolved(tree, folder, word)


def _named_by_options(tree: Tree, build: NodeBuild) -> Iterator[str]:
    for suite in build.suites:
        for word in (*suite.arguments, *suite.node_arguments):
            if word.startswith(("./", "../")) or "=" in word or not word.startswith("-"):
                yield from _resolved(tree, suite.folder, word.rpartition("=")[2])


def _resolved(tree: Tree, folder: str, word: str) -> Iterator[str]:
    plain = word.replace("<rootDir>", ".").lstrip("/") if word.startswith("<rootDir>") else word
    where = posixpath.normpath(posixpath.join(folder, plain))
    for ending in _ENDINGS:
        if where + ending in tree:
            yield where + ending
            return


def _text(file: File) -> str:
    return file.content.decode("utf-8", "surrogateescape")
