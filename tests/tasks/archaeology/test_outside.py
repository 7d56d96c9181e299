"""What a suite needs from outside, and what development containers say: read as data, told to people."""

import pytest

from blocks.trees import File
from blocks.vectors import TestResult, TestStatus, TestVector
from tasks.archaeology.devcontainer import Devcontainer, plain_json, read_devcontainers
from tasks.archaeology.outside import ci_services, outside_needs

CI = """\
jobs:
  test:
    services:
      db: {image: "postgres:16"}
      cache: redis
    steps: [{run: npm test}]
  deploy:
    services: {proxy: {image: nginx}}
    steps: [{run: ./ship}]
"""


def test_services_of_every_place_with_their_images() -> None:
    tree = {
        ".github/workflows/ci.yml": CI,
        ".gitlab-ci.yml": "services: ['mysql:8']\nunit: {services: [{name: 'mongo:7'}, [x]], script: [x]}\n",
        "docker-compose.test.yml": "services:\n  app: {build: .}\n  kafka: {image: 'kafka:3'}\n",
        "docker-compose.yml": "services: {other: {image: x}}\n",
    }
    assert ci_services({path: File(content=text.encode()) for path, text in tree.items()}) == (
        "db (postgres:16)", "cache", "mysql:8", "mongo:7", "kafka (kafka:3)",
    )  # fmt: skip
    for odd in ("jobs: 3", "jobs: {a: {services: [1]}}", "[", "jobs: {a: 1}", "a: &a [*a]"):
        assert ci_services({".github/workflows/ci.yml": File(content=odd.encode())}) == ()


def failing(**details: str) -> TestVector:
    results = {
        f"tests/test_{name}": TestResult(status=TestStatus.FAILED, detail=text) for name, text in details.items()
    }
    return TestVector(results={**results, "tests/test_fine": TestResult(status=TestStatus.PASSED)}, complete=True)


@pytest.mark.parametrize(
    "detail",
    [
        "OSError: [Errno 101] Network is unreachable",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "Error: getaddrinfo EAI_AGAIN example.com",
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='x'): NameResolutionError",
    ],
)
def test_tests_that_need_the_network_are_found_by_having_none(detail: str) -> None:
    (need,) = outside_needs(failing(a=detail, b="AssertionError: assert 1 == 2"), ())
    assert need.symptom == "1 test (tests/test_a) need the network"
    assert "in no set" in need.remedy


def test_a_service_that_is_needed_is_named() -> None:
    details = {
        "a": "psycopg2.OperationalError: could not connect to server",
        "b": "Error: connect ECONNREFUSED ::1:6379",
    }
    (need,) = outside_needs(failing(**details), ("db (postgres:16)",))
    assert need.symptom == (
        "2 tests (tests/test_a, tests/test_b) find no service where they look for one; CI starts db (postgres:16) beside "
        "the tests"
    )
    assert outside_needs(failing(a="AssertionError"), ("db",)) == ()
    assert outside_needs(failing(a="ModuleNotFoundError: No module named 'x'"), ()) == (), "no ENOTFOUND"
    assert outside_needs(TestVector(results={}, complete=True), ()) == ()


DEVCONTAINER = """\
// For people who use it.
{
  "image": "mcr.microsoft.com/devcontainers/python:1-3.11-bullseye", /* "image": "node:14", */
  "features": {
    "ghcr.io/devcontainers/features/node:1": {"version": "20",},
    "ghcr.io/devcontainers-contrib/features/apt-packages:1": {"packages": "libmagic1, gettext"},
  },
  "remoteEnv": {"TZ": "Asia/Tokyo", "N": 3}, // "x": 1
  "runServices": ["db"],
  "onCreateCommand": ["apt-get", "install", "-y", "graphviz"],
  "postCreateCommand": {"one": "pip install -e .", "two": ["echo", "http://x//y"]},
}
"""


def test_a_development_container() -> None:
    found = read_devcontainers({".devcontainer/devcontainer.json": File(content=DEVCONTAINER.encode())})
    assert found == Devcontainer(
        script="apt-get install -y graphviz\npip install -e .\necho http://x//y",
        versions=(("python", "3.11"), ("node", "20")),
        packages=("libmagic1", "gettext"),
        variables=(("TZ", "Asia/Tokyo"),),
        services=("db",),
    )
    assert found.versions_of("python") == ("3.11",)
    build = '{"build": {"args": {"VARIANT": "3.10-bookworm"}}}'
    assert read_devcontainers({".devcontainer/a/devcontainer.json": File(content=build.encode())}).versions_of(
        "python"
    ) == ("3.10",)
    for odd in ("", "[]", "{", '{"image": 3, "features": [], "postCreateCommand": {"a": {"b": "c"}}}', "[" * 9000):
        assert read_devcontainers({".devcontainer.json": File(content=odd.encode())}) == Devcontainer(), odd
    assert plain_json('{"a": "// no, /* none */ ,}", /* x */ "b": [1,],}') == '{"a": "// no, /* none */ ,}",  "b": [1]}'
    assert plain_json("[1, // one\n 2, /* two */ ] // end") == "[1, \n 2  ] "
    assert plain_json(r'{"a\\": "\",]", "b": "/*"}') == r'{"a\\": "\",]", "b": "/*"}'


def test_a_devcontainer_that_could_be_read_in_many_ways() -> None:
    """Comments and strings without end, once for each place where one could begin: read in one pass, and not for ever."""
    for part in ("/*", "/*/", '"\\', ", ", "// ", '"/*', "\\"):
        text = part * 60_000
        assert len(plain_json(text)) <= len(text)
        assert read_devcontainers({".devcontainer.json": File(content=text.encode())}) == Devcontainer()


def test_how_many_devcontainers_are_read() -> None:
    one = File(content=b'{"features": {"x/features/node:1": "20"}}')
    other = File(content=b'{"features": {"x/features/node:1": "18"}}')
    places = [f".devcontainer/{number:03}/devcontainer.json" for number in range(100)]
    assert read_devcontainers({**dict.fromkeys(places, one), places[19]: other}).versions_of("node") == ("20", "18")
    assert read_devcontainers({**dict.fromkeys(places, one), places[20]: other}).versions_of("node") == ("20",)
