"""A release: Harbor tasks, indexes for the tools that read them, trajectories, and what people need to know.

The version ends in a hash of the content: what depends on the day (version, card, indexes that name the version) is
left out of that hash, so that the same content makes the same release, whenever it is published.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from blocks.errors import PermanentError
from blocks.records import Record, ReleaseMemberRow
from blocks.trees import File, Tree, digest
from tasks.publish.card import CardNumber, dataset_card, licences_page
from tasks.publish.digest import task_digest
from tasks.publish.environment import PackageLoader
from tasks.publish.harbor import harbor_task
from tasks.publish.indexes import checksums, dataset_toml, json_file, manifest, registry
from tasks.publish.member import Member
from tasks.publish.trajectories import trajectory_files


class Removal(Record):
    """A tombstone: what left the dataset. Holds an id and no content."""

    task_id: str
    candidate_id: str
    removed_on: date
    reason: str = "withdrawn"


@dataclass(frozen=True)
class Release:
    """A release before it is written."""

    version: str
    content_sha256: str
    tree: Tree
    members: tuple[ReleaseMemberRow, ...]


def release(
    members: Sequence[Member],
    package: PackageLoader,
    organisation: str,
    *,
    day: date,
    numbers: Mapping[str, CardNumber],
    removals: Sequence[Removal] = (),
) -> Release:
    """Everything of one release.

    Args:
        members: admitted environments, in any order.
        package: gives the bytes of a distribution by sha256 and file name.
        organisation: the `org` of all names.
        day: of publication; the first part of the version.
        numbers: what the card states, each with the query it is the answer to.
        removals: everything that was published once and withdrawn.

    Raises:
        PermanentError: a member may not be published, two have the same id, or one of them was withdrawn.
    """
    ordered = sorted(members, key=lambda member: member.task_id)
    _refuse_clashes(ordered, removals)
    tasks = {member.task_id: harbor_task(member, package, organisation) for member in ordered}
    content: dict[str, File] = {
        f"harbor/tasks/{task_id}/{path}": file for task_id, tree in tasks.items() for path, file in tree.items()
    }
    content |= trajectory_files(ordered)
    content["LICENSES.md"] = File(content=licences_page(ordered))
    content["removals.json"] = json_file([removal.model_dump(mode="json") for removal in _sorted(removals)])
    content_sha256 = digest(content)
    version = release_version(content_sha256, day)
    digests = {task_id: task_digest(tree) for task_id, tree in tasks.items()}
    tree = {
        **content,
        "harbor/registry.json": registry(ordered, version),
        "harbor/dataset.toml": dataset_toml(digests, version, organisation),
        "README.md": File(
            content=dataset_card(ordered, version=version, content_sha256=content_sha256, numbers=numbers)
        ),
    }
    tree["manifest.json"] = manifest(tree, ordered, digests, version, content_sha256)
    tree["SHA256SUMS"] = checksums(tree)
    rows = tuple(_row(member, version, digests[member.task_id]) for member in ordered)
    return Release(version=version, content_sha256=content_sha256, tree=tree, members=rows)


def release_version(content_sha256: str, day: date) -> str:
    """`<YYYY.MM.DD>-<first 8 hex digits of the content's hash>`."""
    return f"{day:%Y.%m.%d}-{content_sha256[:8]}"


def _refuse_clashes(members: Sequence[Member], removals: Sequence[Removal]) -> None:
    counts = Counter(member.task_id for member in members)
    doubled = sorted(task_id for task_id, count in counts.items() if count > 1)
    if doubled:
        raise PermanentError(f"two members have the task id {doubled[0]}; publish one of them")
    gone = {removal.candidate_id for removal in removals}
    for member in members:
        if member.candidate.candidate_id in gone:
            raise PermanentError(f"candidate {member.candidate.candidate_id} was withdrawn; it is not published again")


def _sorted(removals: Sequence[Removal]) -> list[Removal]:
    return sorted(removals, key=lambda removal: (removal.removed_on, removal.task_id))


def _row(member: Member, version: str, value: str) -> ReleaseMemberRow:
    return ReleaseMemberRow(
        candidate_id=member.candidate.candidate_id,
        environment_id=member.environment.environment_id,
        verifier_id=member.verifier.verifier_id,
        version=version,
        task_digest=value,
        path=f"harbor/tasks/{member.task_id}",
    )
