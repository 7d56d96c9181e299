"""Poetry's notation; expected values are those of python-poetry.org/docs/dependency-specification, by hand."""

import pytest
from packaging.specifiers import SpecifierSet

from tasks.archaeology.poetry import poetry_python, poetry_requirements, specifier


@pytest.mark.parametrize(
    ("constraint", "lowest", "below"),
    [
        ("^1.2.3", "1.2.3", "2.0.0"),
        ("^1.2", "1.2.0", "2.0.0"),
        ("^1", "1.0.0", "2.0.0"),
        ("^0.2.3", "0.2.3", "0.3.0"),
        ("^0.0.3", "0.0.3", "0.0.4"),
        ("^0.0", "0.0.0", "0.1.0"),
        ("^0", "0.0.0", "1.0.0"),
        ("~1.2.3", "1.2.3", "1.3.0"),
        ("~1.2", "1.2.0", "1.3.0"),
        ("~1", "1.0.0", "2.0.0"),
        ("1.*", "1.0.0", "2.0.0"),
        ("1.2.*", "1.2.0", "1.3.0"),
        (">= 1.2, < 1.5", "1.2", "1.5"),
        (">=1.2 <1.5", "1.2", "1.5"),
        ("^1.0 || ^2.0", "2.0", "3.0"),
        ("^1.0|^2.0", "2.0", "3.0"),
    ],
)
def test_ranges(constraint: str, lowest: str, below: str) -> None:
    found = SpecifierSet(specifier(constraint))
    assert found.contains(lowest) and found.contains(f"{lowest}.1" if lowest.count(".") < 2 else lowest + ".post1")
    assert not found.contains(below)
    if "*" not in constraint:
        assert not found.contains(f"{lowest}.dev1"), "a bound below the lowest version"


@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        ("*", ""),
        ("", ""),
        ("1.2.3", "==1.2.3"),
        ("==1.2.3", "==1.2.3"),
        ("=1.2.3", "==1.2.3"),
        ("!= 1.5", "!=1.5"),
        ("> 1", ">1"),
        ("~=1.4", "~=1.4"),
        (">=1.2,!=1.3", ">=1.2,!=1.3"),
        ("^rubbish", ""),
        ("^", ""),
    ],
)
def test_as_written(constraint: str, said: str) -> None:
    assert specifier(constraint) == said


def test_dependency_tables() -> None:
    table = {
        "dependencies": {
            "python": ">=3.9,<4",
            "plain": "^1.2",
            "any": "*",
            "rich": {"version": "~13.1", "extras": ["jupyter", "x"], "markers": "sys_platform == 'linux'"},
            "left": {"version": "^1", "optional": True},
            "local": {"path": "../local"},
            "split": [{"version": "<2", "python": "<3.8"}, {"version": ">=2", "python": ">=3.8.1,<4.0"}],
        }
    }
    assert poetry_requirements(table) == (
        "plain>=1.2,<2",
        "any",
        "rich[jupyter,x]>=13.1,<13.2 ; (sys_platform == 'linux')",
        'split<2 ; python_version < "3.8"',
        'split>=2 ; python_full_version >= "3.8.1" and python_version < "4.0"',
    )
    assert poetry_python(table) == ">=3.9,<4"
    assert poetry_python({}) is None
    assert poetry_python({"dependencies": {"python": "*"}}) is None
