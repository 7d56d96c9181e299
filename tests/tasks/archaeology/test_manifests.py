"""What projects declare, by each way of declaring it; and rubbish, which is never an error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from blocks.trees import File
from tasks.archaeology.manifests import Declared, read_manifests
from tests.trees import tree


def declared(files: dict[str, str]) -> Declared:
    found = read_manifests(tree(files))
    assert found is not None
    return found


def test_a_pyproject_with_groups_extras_and_itself() -> None:
    found = declared(
        {
            "pyproject.toml": """
[build-system]
requires = ["hatchling", "hatch-vcs>=0.4"]
build-backend = "hatchling.build"
[project]
name = "Kettle.Lib"
requires-python = ">=3.9"
dynamic = ["version"]
dependencies = ["attrs>=22", "wheel @ https://example.org/wheel.whl", "kettle-lib[yaml]"]
[project.optional-dependencies]
yaml = ["pyyaml"]
docs = ["sphinx"]
test = ["kettle_lib[yaml]", "hypothesis"]
[dependency-groups]
Unit-Test = [{include-group = "BASE"}, "pytest-mock"]
base = ["pytest>=8", {include-group = "unit_test"}]
""",
            "tox.ini": "[testenv]\ndeps = not-asked",
        }
    )
    assert found.name == "Kettle.Lib"
    assert found.requires_python == ">=3.9"
    assert found.runtime == ("attrs>=22", "pyyaml")
    assert found.test == ("pyyaml", "hypothesis", "pytest>=8", "pytest-mock")
    assert found.features == ("pyyaml",)
    assert found.build == ("hatchling", "hatch-vcs>=0.4")
    assert found.build_backend == "hatchling.build"
    assert found.dynamic_version
    assert found.left_out == ("wheel @ https://example.org/wheel.whl",)


def test_a_poetry_project() -> None:
    found = declared(
        {
            "pyproject.toml": """
[build-system]
requires = ["poetry-core"]
[tool.poetry]
name = "kettle"
[tool.poetry.dependencies]
python = "^3.10"
httpx = "^0.27"
old = {version = "~1.2", optional = true}
[tool.poetry.group.test.dependencies]
pytest = "^8.0"
[tool.poetry.group.docs.dependencies]
mkdocs = "*"
[tool.poetry.dev-dependencies]
black = "*"
"""
        }
    )
    assert found.requires_python == ">=3.10,<4"
    assert [str(Requirement(item)) for item in found.runtime] == ["httpx<0.28,>=0.27"]
    assert found.test == ("pytest<9,>=8.0",)


def test_a_setup_cfg_and_a_setup_py() -> None:
    found = declared(
        {
            "setup.cfg": """
[metadata]
name = kettle
[options]
python_requires = >=3.8
install_requires =
    attrs  # a comment
    # another
    importlib-metadata; python_version < "3.8"
[options.extras_require]
testing = pytest
    kettle[more]
more = pyyaml
""",
            "setup.py": "from setuptools import setup\nEXTRA = ['tomli']\nsetup(install_requires=EXTRA, name='other')",
        }
    )
    assert found.name == "kettle"
    assert found.requires_python == ">=3.8"
    assert found.runtime == ("attrs", 'importlib-metadata; python_version < "3.8"', "tomli")
    assert found.test == ("pytest", "pyyaml")
    assert found.build == ("setuptools", "wheel")


def test_a_setup_py_alone_is_read_not_run() -> None:
    found = declared(
        {
            "setup.py": """
import setuptools, sys
raise SystemExit("this module is never run")
NEEDS = ["attrs", "six"]
TESTS = {"tests": ["pytest<9"], "docs": ["sphinx"]}
setuptools.setup(name="kettle", python_requires=">=3.7", install_requires=NEEDS, extras_require=TESTS,
    tests_require=["mock"], version=open("VERSION").read())
"""
        }
    )
    assert (found.name, found.requires_python) == ("kettle", ">=3.7")
    assert found.runtime == ("attrs", "six")
    assert found.test == ("mock", "pytest<9")


def test_requirements_files_and_what_they_include() -> None:
    found = declared(
        {
            "requirements.txt": "-r requirements/base.txt\nflask==3.0 --hash=sha256:aa \\\n    --hash=sha256:bb\n-c limits.txt\n",
            "requirements/base.txt": "attrs # why\n--index-url https://example.org/simple\n-r ../requirements.txt\n",
            "requirements/test.txt": "-r base.txt\npytest\n-e .[fast]\ngit+https://example.org/x.git\n",
            "limits.txt": "never==1",
            "pyproject.toml": "[project]\nname='kettle'\noptional-dependencies={fast=['orjson']}",
        }
    )
    assert found.runtime == ("flask==3.0", "attrs")
    assert set(found.test) == {"flask==3.0", "attrs", "pytest", "orjson"}
    assert found.left_out == ("git+https://example.org/x.git",)


def test_tox_comes_before_what_developers_use() -> None:
    files = {
        "setup.py": "setup(name='kettle')",
        "requirements-dev.txt": "black",
        "tox.ini": "[testenv]\ndeps =\n    pytest\n    py27: mock\n    -r{toxinidir}/more.txt\n    {env:X}",
        "more.txt": "six",
    }
    assert declared(files).test == ("pytest", "mock", "six")
    assert declared({**files, "tox.ini": ""}).test == ("black",)


def test_no_manifest_is_none() -> None:
    assert read_manifests(tree({"package.json": "{}", "src/a.py": ""})) is None


@pytest.mark.parametrize("name", ["--index-url=https://example.org", "../../etc", "a\nb", "", "x y"])
def test_a_name_that_is_none(name: str) -> None:
    text = "[project]\nname = " + '"' + name.replace("\n", "\\n") + '"'
    assert declared({"pyproject.toml": text}).name is None


def test_build_requirements_are_requirements() -> None:
    found = declared(
        {"pyproject.toml": "[build-system]\nrequires = ['setuptools\\n', 'x\\n--index-url y', \"a\\n-r b\"]"}
    )
    assert not any("\n" in item for item in (*found.build, *found.runtime))


def test_endless_declarations_end() -> None:
    levels = 60
    groups = "\n".join(
        f'g{n} = [{{include-group = "g{n + 1}"}}, {{include-group = "g{n + 1}"}}]' for n in range(levels)
    )
    chain = "\n".join(f'c{n} = [{{include-group = "c{n + 1}"}}]' for n in range(3000))
    includes = "-r requirements.txt\n-r a.txt\n" * 200
    found = declared(
        {
            "pyproject.toml": f"[dependency-groups]\n{groups}\n{chain}\ng{levels} = ['pytest']\ntest=[{{include-group='g0'}}]",
            "requirements.txt": includes,
            "a.txt": includes,
        }
    )
    assert found.test == ("pytest",)


RUBBISH = [
    "a = " + "1" * 5000,
    "a = " + "[" * 20000,
    "[project]\ndependencies = 5\nname = []\ndynamic = 'version'\noptional-dependencies = [1]",
    "[project]\ndependencies = [1, {}, 'x y z', 'ok']\n[build-system]\nrequires = ['not a requirement!!', 7]",
    "[dependency-groups]\ntest = [{include-group = 7}, {}, [[]]]",
    "[tool.poetry]\ndependencies = [1]\n[tool.poetry.group]\ntest = 5\n[tool.hatch]\nenvs = 'x'",
    "[tool.poetry.dependencies]\nx = {version = 5}\ny = [1, {version = '^'}]\nz = {version='1', extras=[[1]], python='||'}",
    "\0\0",
    "\ufeff[project]",
]


@pytest.mark.parametrize("text", RUBBISH)
def test_rubbish_in_toml(text: str) -> None:
    read_manifests(tree({"pyproject.toml": text}))


@pytest.mark.parametrize(
    "text",
    ["(" * 5000, "-" * 50000 + "1", "1+" * 50000 + "1", "\0", "setup(**x, *y, name=1, extras_require={**z, 1: 2})"],
)
def test_rubbish_in_setup_py(text: str) -> None:
    read_manifests(tree({"setup.py": text}))


@given(
    st.dictionaries(
        st.sampled_from(
            ["pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "requirements.txt", "test-requirements.txt"]
        ),
        st.one_of(
            st.binary(max_size=60),
            st.lists(
                st.sampled_from(
                    [
                        "[project]",
                        "[options]",
                        "[testenv]",
                        "deps =",
                        "  x",
                        "=",
                        "name = 'a'",
                        "[tool.poetry]",
                        "%(x)s",
                        "\r",
                        "-r x",
                        ":",
                    ]
                ),
                max_size=8,
            ).map(lambda lines: "\n".join(lines).encode()),
        ),
    )
)
def test_nothing_makes_it_raise(files: dict[str, bytes]) -> None:
    found = read_manifests({path: File(content=content) for path, content in files.items()})
    for item in (*found.runtime, *found.test, *found.build, *found.features) if found else ():
        Requirement(item)


def test_what_the_hooks_of_hatch_ask_for_is_a_build_requirement() -> None:
    found = declared(
        {
            "pyproject.toml": "[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'\n"
            "[tool.hatch.build.hooks.custom]\ndependencies = ['babel']\n[tool.hatch.build.hooks.vcs]\nversion-file = 'x'\n"
        }
    )
    assert found.build == ("hatchling", "babel")
