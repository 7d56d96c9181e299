import json
from dataclasses import replace

import pytest

from blocks.grader.spec import GraderSpec, SpecError

SPEC = GraderSpec(
    fail_to_pass=("t.py::a",),
    pass_to_pass=("t.py::b",),
    test_files=("t.py",),
    hidden={"t.py": "0" * 64},
    environment={"A": "b"},
    ini_lines=("markers =", "    slow"),
)


def test_it_comes_back_as_it_went() -> None:
    assert GraderSpec.from_json(SPEC.to_json()) == SPEC
    assert GraderSpec.from_json(SPEC.to_json()).to_json() == SPEC.to_json()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("schema_version", 2),
        ("runner", "jest"),
        ("runner", "node"),
        ("build", {"suites": []}),
        ("build", [1]),
        ("sentinel_files", ["other.py"]),
        ("inverted_files", ["other.py"]),
        ("workspace", "app"),
        ("python", ""),
        ("test_files", ["/etc/passwd"]),
        ("test_files", "t.py"),
        ("hidden", {"a/../../b": "0" * 64}),
        ("base", {"a": "0" * 63}),
        ("base", {"a": "g" * 64}),
        ("environment", {"A": 1}),
        ("arguments", [1]),
        ("timeout_sec", 0),
        ("timeout_sec", True),
        ("fail_to_pass", None),
        ("unknown", 1),
    ],
)
def test_what_cannot_be_is_refused_by_name(field: str, value: object) -> None:
    document = {**json.loads(SPEC.to_json()), field: value}
    with pytest.raises(SpecError, match=field):
        GraderSpec.from_json(json.dumps(document))


def test_how_a_tree_is_built_comes_back() -> None:
    build = {"manager": "npm", "suites": [{"tool": "jest", "environment": [["A", "b"]]}]}
    spec = replace(SPEC, runner="node", build=build, sentinel_files=("t.py",), open_fields=("main",))
    assert GraderSpec.from_json(spec.to_json()) == spec


def test_a_spec_that_asks_for_nothing_is_refused() -> None:
    with pytest.raises(SpecError, match="no test is asked for"):
        GraderSpec(fail_to_pass=(), pass_to_pass=(), test_files=())
    for text in ("", "[]", "{}", '{"fail_to_pass": ["a"]}'):
        with pytest.raises(SpecError):
            GraderSpec.from_json(text)
