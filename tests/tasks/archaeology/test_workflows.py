"""What CI, tox, nox, hatch and images say, read as data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.trees import File
from tasks.archaeology.commands import Commands, read_script
from tasks.archaeology.python_names import python_names
from tasks.archaeology.workflows import Automation, read_automation

CI = """\
on: push
env:
  TZ: Asia/Tokyo
  SECRET: ${{ secrets.TOKEN }}
jobs:
  lint:
    steps: [{run: "pip install ruff yamllint && ruff check"}]
  tests:
    services: {db: {image: "postgres:16"}}
    strategy:
      matrix:
        python-version: [3.9, "3.10", '3.13-dev', pypy3.10]
        include: [{python-version: "3.12"}]
    steps:
      - uses: actions/setup-python@v5
        with: {python-version: "${{ matrix.python-version }}"}
      - run: |
          sudo apt-get update && sudo apt-get install -y --no-install-recommends \\
              libxml2-dev gettext python3-dev postgresql-client $EXTRA
          python -m pip install -U pip tox "responses>=0.20" -r requirements/ci.txt -e '.[test]' git+https://example.com/x
          DJANGO_SETTINGS_MODULE=x coverage run -m pytest --cov=kettle -n 4 -p no:warnings -o asyncio_mode=auto tests
"""


def read(**files: str) -> Automation:
    tree = {name: File(content=text.encode()) for name, text in files.items()}
    return read_automation(tree, python_names())


def test_only_the_job_that_runs_tests_counts() -> None:
    found = read(**{".github/workflows/ci.yml": CI, ".github/workflows/docs.yaml": CI.replace("pytest", "sphinx")})
    assert found.pythons == ("3.9", "3.10", "3.13", "3.12"), "3.10 is no number"
    assert found.environment == (("TZ", "Asia/Tokyo"),)
    assert found.commands == Commands(
        system_packages=("libxml2-dev", "gettext"),
        requirements=("responses>=0.20", ".[test]"),
        requirement_files=("requirements/ci.txt",),
        arguments=("-p", "no:warnings", "-o", "asyncio_mode=auto"),
        from_root=True,
    )


def test_the_other_places() -> None:
    found = read(
        **{
            "tox.ini": "[testenv]\nsetenv =\n  LANG = de_DE.UTF-8\n  FOO = 1\n"
            "commands =\n  pytest --import-mode=importlib {posargs}\n",
            "noxfile.py": "import nox\n@nox.session(python=['3.9', '3.11'])\ndef tests(session):\n"
            "    session.install('freezegun', 'nox', '-r', 'dev.txt')\n    session.run('pytest')\n",
            "pyproject.toml": "[tool.hatch.envs.test.scripts]\ntest = 'python -m unittest discover -p \"*tests.py\"'\n",
            "Dockerfile": "FROM x\nRUN --mount=type=cache apt-get update && \\\n  apt-get install -y libmagic1 curl\n"
            "RUN pip install flask\n",
            ".devcontainer/devcontainer.json": '// a\n{"postCreateCommand": "sudo apt install -y graphviz"}',
        }
    )
    assert found.pythons == ("3.9", "3.11")
    assert found.environment == (("LANG", "de_DE.UTF-8"),)
    assert found.commands == Commands(
        system_packages=("libmagic1", "graphviz"),
        requirements=("freezegun",),
        requirement_files=("dev.txt",),
        arguments=("--import-mode=importlib",),
        test_files=("*tests.py",),
        from_root=True,
    )


TRAVIS = """\
language: python
python: ["3.6", 3.10]
services: [redis-server]
addons: {apt: {packages: [libxml2-dev, python3-dev]}}
install: pip install -r requirements/ci.txt responses
script:
- pytest --import-mode=importlib
"""
GITLAB = """\
image: registry.example.org/library/python:3.11-slim
before_script: [apt-get update && apt-get install -y libpq-dev]
unit:
  services: ["postgres:16", {name: "redis:7", alias: cache}]
  variables: {TZ: Asia/Tokyo}
  script: [pip install freezegun, python -m pytest]
deploy: {script: [twine upload], image: "python:3.9"}
"""
README = """\
# Kettle
Use `apt install` with care: apt-get install is not for everyone.

    $ sudo apt-get install -y libmagic1 \\
        gettext

```sh
apt install graphviz && pip install kettle
```
"""


def test_older_and_other_places() -> None:
    travis = read(**{".travis.yml": TRAVIS})
    assert (travis.pythons, travis.services) == (("3.6", "3.10"), ("redis-server",))
    assert travis.commands == Commands(
        system_packages=("libxml2-dev",),
        requirements=("responses",),
        requirement_files=("requirements/ci.txt",),
        arguments=("--import-mode=importlib",),
    )
    gitlab = read(**{".gitlab-ci.yml": GITLAB})
    assert (gitlab.pythons, gitlab.environment) == (("3.11",), (("TZ", "Asia/Tokyo"),))
    assert gitlab.commands == Commands(system_packages=("libpq-dev",), requirements=("freezegun",), from_root=True)
    assert read(**{"README.md": README}).commands == Commands(system_packages=("libmagic1", "gettext", "graphviz"))
    assert read(**{"notes/README.md": README}) == Automation()


def test_images_name_a_python_where_nothing_else_does() -> None:
    found = read(Dockerfile="FROM --platform=x docker.io/library/python:3.9-slim AS base\nFROM node:18\nRUN true\n")
    assert (found.pythons, found.image_pythons) == ((), ("3.9",))
    assert read(Dockerfile="FROM mypython:3.9\n").image_pythons == ()


BOMB = "a: &a [1,1]\n" + "\n".join(f"k{n}: &k{n} [*a,*a]" for n in range(50))


@pytest.mark.parametrize(
    "text", [BOMB, "[" * 5000, "jobs: [1]", "jobs: {a: {steps: {run: pytest}}}", "\t", "- pytest", "jobs: {a: 3}", "\0"]
)
def test_what_is_no_workflow_says_nothing(text: str) -> None:
    assert read(**{".github/workflows/a.yml": text, "tox.ini": text, "noxfile.py": text}) == Automation()


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200))
def test_no_script_is_too_odd(script: str) -> None:
    found = read_script(f"pip install {script}\napt-get install {script}\npytest {script}", python_names())
    assert all(name.isascii() and " " not in name for name in found.system_packages)
