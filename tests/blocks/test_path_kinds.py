"""Which kind a path is: the names that stacks give their files."""

import pytest

from blocks.path_kinds import PathKind, kind_of

KINDS = {
    PathKind.TEST: (
        "src/a.test.ts", "src/a.spec.mjs", "src/types.test-d.ts", "test.js", "__tests__/a.jsx", "a/__snapshots__/a.snap",
        "spec/router.js", "src/a_test.js", "packages/a/src/a-test.tsx", "tests/data.json", "test_a.py",
    ),
    PathKind.SOURCE: ("src/latest.ts", "src/contest.js", "src/spec.py", "src/specs/reader.py", "lib/inspect.js", "attest.mjs"),
    PathKind.CONFIGURATION: ("package.json", "packages/a/package.json", "tsconfig.build.json", "vitest.config.mts", ".npmrc"),
    PathKind.GENERATED: ("package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "dist/index.js"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in KINDS.items() for path in paths])
def test_names_tell_the_kind(kind: PathKind, path: str) -> None:
    assert kind_of(path) is kind
