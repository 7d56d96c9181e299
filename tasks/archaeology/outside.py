"""What a suite needs from outside its container, which it does not get: services that CI starts, and the network.

Tests that need either are found by having none: they fail in every state, are in no set, and are named for people.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from blocks.trees import Tree
from blocks.vectors import TestStatus, TestVector
from tasks.archaeology.documents import WORKFLOW, read_yaml

_COMPOSE = re.compile(r"^(docker-)?compose([.-](test|tests|ci))\.ya?ml$")
_TESTS = re.compile(r"test|tox|nox|check|jest|mocha|coverage", re.I)
_UNREACHED = re.compile(
    r"Network is unreachable|Name or service not known|Temporary failure in name resolution|nodename nor servname"
    r"|getaddrinfo|\bEAI_AGAIN\b|\bENOTFOUND\b|\bENETUNREACH\b|Could not resolve host|No address associated with hostname"
    r"|NameResolutionError|Failed to establish a new connection|UnknownHost",
    re.I,
)
_REFUSED = re.compile(
    r"Connection refused|ECONNREFUSED|could not connect to server|Can't connect to|connection to server at|NoBrokersAvailable"
    r"|ServerSelectionTimeoutError|Error \d+ connecting to|ConnectError|No servers found",
    re.I,
)


@dataclass(frozen=True)
class Need:
    """An obstacle that nothing here gets around."""

    symptom: str
    remedy: str


def outside_needs(vector: TestVector, services: Sequence[str]) -> tuple[Need, ...]:
    """What failing tests said they could not reach."""
    failed = {test: one.detail for test, one in vector.results.items() if one.status is TestStatus.FAILED}
    network = [test for test, detail in failed.items() if _UNREACHED.search(detail)]
    refused = [test for test, detail in failed.items() if _REFUSED.search(detail) and test not in network]
    needs = []
    if network:
        needs.append(
            Need(f"{_some(network)} need the network", "there is none: they fail in every state and are in no set")
        )
    if refused:
        known = f"; CI starts {', '.join(services)} beside the tests" if services else ""
        needs.append(
            Need(
                f"{_some(refused)} find no service where they look for one{known}"[:600],
                "no service is started: they fail in every state and are in no set",
            )
        )
    return tuple(needs)


def ci_services(tree: Tree) -> tuple[str, ...]:
    """Services that CI jobs, GitLab's pipelines and compose files for tests start, each with its image."""
    found: dict[str, None] = {}
    for path in sorted(tree):
        document = (
            read_yaml(tree, path) if WORKFLOW.match(path) or _COMPOSE.match(path) or path == ".gitlab-ci.yml" else None
        )
        if not isinstance(document, dict):
            continue
        if WORKFLOW.match(path):
            jobs = document.get("jobs")
            for job in jobs.values() if isinstance(jobs, dict) else ():
                if isinstance(job, dict) and _TESTS.search(str(job.get("steps"))):
                    found |= dict.fromkeys(_named(job.get("services")))
        elif path == ".gitlab-ci.yml":
            for job in [document, *document.values()]:
                found |= dict.fromkeys(_listed(job.get("services") if isinstance(job, dict) else None))
        else:
            found |= dict.fromkeys(name for name in _named(document.get("services")) if "(" in name)
    return tuple(found)


def _named(services: object) -> Iterator[str]:
    """Services by name, as GitHub and compose have them; the image where it is said."""
    for name, service in services.items() if isinstance(services, dict) else ():
        image = service.get("image") if isinstance(service, Mapping) else None
        yield f"{_plain(name)} ({_plain(image)})" if isinstance(image, str) and image else _plain(name)


def _listed(services: object) -> Iterator[str]:
    """Services as GitLab lists them: an image, or a mapping with its name."""
    for service in services if isinstance(services, list) else ():
        name = service.get("name") if isinstance(service, dict) else service
        if isinstance(name, str) and name:
            yield _plain(name)


def _plain(text: object) -> str:
    return "".join(letter for letter in str(text)[:100] if letter.isprintable())


def _some(tests: Sequence[str]) -> str:
    return f"{len(tests)} test{'s' * (len(tests) > 1)} ({', '.join(sorted(tests)[:3])[:200]})"
