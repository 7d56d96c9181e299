"""Which kind a path is: the names that stacks give their files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.path_kinds import PathKind, kind_of, split

KINDS = {
    PathKind.TEST: (
        "src/a.test.ts", "src/a.spec.mjs", "src/types.test-d.ts", "test.js", "__tests__/a.jsx",
        "a/__snapshots__/a.snap", "spec/router.js", "src/a_test.js", "packages/a/src/a-test.tsx", "tests/data.json",
        "test_a.py", "tests/test_a.py", "tests/data/x.json", "pkg/test_b.py", "conftest.py", "spec/a.js",
        "ParserTest.cpp", "tests/build/x.py", "tests/README.md", "src/__tests__/a.tsx",
    ),
    PathKind.GENERATED: (
        "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "dist/index.js", "dist/a.js",
        "packages/x/dist/index.js", "build/lib/a.py", "vendor/x.go", "uv.lock", "a.min.js", "proto/a_pb2.py",
        "proto/a_pb2_grpc.py", "x.egg-info/PKG-INFO", "api/schema.generated.ts", "a.js.map",
    ),
    PathKind.CONFIGURATION: (
        "package.json", "packages/a/package.json", "tsconfig.build.json", "vitest.config.mts", ".npmrc",
        "pyproject.toml", "lib/CMakeLists.txt", ".github/workflows/ci.yml", ".circleci/config.yml", ".eslintrc.json",
        ".gitmodules", ".pre-commit-config.yaml", ".devcontainer/devcontainer.json", "Dockerfile",
        "docker/Dockerfile.dev", "docker-compose.yml", "requirements-dev.txt", "requirements/base.in",
        "vite.config.mts", "codecov.yml", "conanfile.txt", ".babelrc.js", ".travis.yml",
    ),
    PathKind.DOCUMENTATION: (
        "README.md", "docs/index.rst", "docs/conf.py", "CHANGES", "HISTORY.rst", "LICENSE", "LICENSE-MIT",
        "licence.txt", "notes.txt", "src/pkg/README.md", "examples/a.py", "AUTHORS", "CHANGELOG.txt",
    ),
    PathKind.SOURCE: (
        "src/latest.ts", "src/contest.js", "src/spec.py", "src/specs/reader.py", "lib/inspect.js", "attest.mjs",
        "src/a.py", "history.py", "news.ts", "changes.cpp", "src/pkg/words.txt", "src/build/__init__.py",
        "lib/dist/x.py", "authors.json", "src/x.toml", "a.h", "licenses.py", "src/build.rs", "security.py",
        "public/index.html",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in KINDS.items() for path in paths])
def test_names_tell_the_kind(kind: PathKind, path: str) -> None:
    assert kind_of(path) is kind


def test_submodules_are_not_written_here() -> None:
    folders = ("extern/gtest", "tests/toml-test")
    assert kind_of("extern/gtest/test/gtest_test.cc", folders) is PathKind.GENERATED
    assert kind_of("extern/gtest/README.md", folders) is PathKind.GENERATED
    assert kind_of("tests/toml-test/README.md", folders) is PathKind.TEST
    assert kind_of("extern/gtest2/src/a.cc", folders) is PathKind.SOURCE


@given(st.lists(st.sampled_from([path for paths in KINDS.values() for path in paths]), unique=True))
def test_a_split_loses_nothing_and_names_nothing_twice(paths: list[str]) -> None:
    found = split(paths)
    parts = [path for part in found.model_dump().values() for path in part]
    assert sorted(parts) == sorted(paths)
    assert all(kind_of(path).value == name for name, part in found.model_dump().items() for path in part)
