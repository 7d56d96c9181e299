"""The dataset card and the licence page: what people read before they use a release."""

from collections.abc import Mapping, Sequence

from blocks.records import Record
from blocks.templates import render
from tasks.publish.config import CARD_COLUMNS
from tasks.publish.member import Member


class CardNumber(Record):
    """A number the card states, with the catalog query it is the answer to. The name it goes by is its key."""

    value: int | float | str | None
    sql: str


def dataset_card(
    members: Sequence[Member], *, version: str, content_sha256: str, numbers: Mapping[str, CardNumber]
) -> bytes:
    """README.md of a release: front matter as the Hugging Face hub reads it, tasks, numbers and their queries."""
    licences = sorted({member.licence for member in members})
    return render(
        "dataset-card.md.j2",
        members=members,
        version=version,
        content_sha256=content_sha256,
        numbers=sorted(numbers.items()),
        licence=licences[0].lower() if len(licences) == 1 else "other",
        size=_size_category(len(members)),
        card_columns=CARD_COLUMNS,
    )


def licences_page(members: Sequence[Member]) -> bytes:
    """LICENSES.md: under which licence each task's source stands, and where that was read."""
    return render("licences.md.j2", members=members)


def _size_category(count: int) -> str:
    """The hub's size buckets."""
    limits = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
    return next((name for limit, name in limits if count < limit), "100K<n<1M")
