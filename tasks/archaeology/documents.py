"""The repository's own YAML and JSON as plain data: texts, lists, mappings; bounded, and nothing of it is believed to fit."""

import re
from collections.abc import Mapping

import yaml

from blocks.trees import Tree

WORKFLOW = re.compile(r"^\.github/workflows/[^/]+\.ya?ml$")
"""Paths of GitHub's CI workflows."""
_MOST_BYTES = 200_000
_MOST_NODES = 20_000


def read_yaml(tree: Tree, path: str) -> object:
    """A document of texts, lists and mappings: no types, so that 3.10 stays 3.10, and no anchors, which can multiply."""
    file = tree.get(path)
    if file is None or file.link is not None or len(file.content) > _MOST_BYTES:
        return None
    text = file.content.decode("utf-8", "replace")
    try:
        for number, event in enumerate(yaml.parse(text, Loader=yaml.BaseLoader)):
            if number > _MOST_NODES or isinstance(event, yaml.AliasEvent):
                return None
        return yaml.load(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError):
        return None


def mapping(value: object) -> Mapping[str, object]:
    """The mapping it is, its keys as text; empty where it is none."""
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}


def sequence(value: object) -> list[object]:
    """The list it is; empty where it is none."""
    return value if isinstance(value, list) else []
