"""Machine-readable indexes of a release: Harbor's registry and dataset manifest, our manifest, checksums."""

import hashlib
import json
from collections.abc import Mapping, Sequence

import tomli_w

from blocks.trees import File, Tree
from tasks.publish.config import description, envmill_version
from tasks.publish.member import Member

DATASET = "envmill"


def registry(members: Sequence[Member], version: str) -> File:
    """Harbor's registry.json (models/registry.py); paths are relative to harbor/, where it lies."""
    dataset = {
        "name": DATASET,
        "version": version,
        "description": f"{len(members)} verified environments made from opted-in coding-agent sessions.",
        "tasks": [{"name": member.task_id, "path": f"tasks/{member.task_id}"} for member in members],
        "metrics": [{"type": "mean", "kwargs": {}}],
    }
    return json_file([dataset])


def dataset_toml(digests: Mapping[str, str], version: str, organisation: str) -> File:
    """Harbor's dataset.toml (models/dataset/manifest.py), schema 1.0."""
    document = {
        "schema_version": "1.0",
        "dataset": {
            "name": f"{organisation}/{DATASET}",
            "version": version,
            "description": "Verified environments made from opted-in coding-agent sessions.",
            "keywords": ["envmill", "coding"],
            "authors": [{"name": organisation}],
        },
        "tasks": [{"name": f"{organisation}/{task_id}", "digest": value} for task_id, value in sorted(digests.items())],
    }
    return File(content=tomli_w.dumps(document).encode())


def manifest(
    tree: Tree, members: Sequence[Member], digests: Mapping[str, str], version: str, content_sha256: str
) -> File:
    """manifest.json: the tasks with their ids and images, and every file so far with its sha256."""
    return json_file(
        {
            "schema_version": 1,
            "version": version,
            "content_sha256": content_sha256,
            "envmill_version": envmill_version(),
            "tasks": [
                {
                    "id": member.task_id,
                    "path": f"harbor/tasks/{member.task_id}",
                    "digest": digests[member.task_id],
                    "description": description(member),
                    "candidate_id": member.candidate.candidate_id,
                    "environment_id": member.environment.environment_id,
                    "verifier_id": member.verifier.verifier_id,
                    "tier": member.verifier.tier,
                    "grade": member.verifier.grade,
                    "licence": member.licence,
                    "image": member.environment.image,
                    "image_id": member.environment.image_id,
                }
                for member in members
            ],
            "files": {
                path: {"sha256": _sha256(file), "size_bytes": len(file.content)} for path, file in sorted(tree.items())
            },
        }
    )


def checksums(tree: Tree) -> File:
    """SHA256SUMS, as `sha256sum --check` reads it."""
    return File(content="".join(f"{_sha256(tree[path])}  {path}\n" for path in sorted(tree)).encode())


def json_file(document: object) -> File:
    """A document as readable JSON, for people and for diffs."""
    return File(content=(json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())


def _sha256(file: File) -> str:
    return hashlib.sha256(file.content).hexdigest()
