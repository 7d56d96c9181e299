"""The dataset card and the licence page: what people read before they use a release."""

from collections.abc import Mapping, Sequence

from blocks.records import Record
from blocks.templates import render
from tasks.publish.config import CARD_COLUMNS
from tasks.publish.member import Member

HUB_LICENCES = frozenset(
    {"mit", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "isc", "0bsd", "mpl-2.0", "unlicense", "zlib", "bsl-1.0"}
    | {"cc0-1.0", "lgpl-2.1", "lgpl-3.0", "gpl-2.0", "gpl-3.0", "agpl-3.0"}
)
"""Licence ids the Hugging Face hub knows, of those that candidates may have."""


class CardNumber(Record):
    """A number the card states, with the catalog query it is the answer to. The name it goes by is its key."""

    value: int | float | str | None
    sql: str


def dataset_card(
    members: Sequence[Member], *, version: str, content_sha256: str, numbers: Mapping[str, CardNumber]
) -> bytes:
    """README.md of a release: front matter as the Hugging Face hub reads it, tasks, numbers and their queries."""
    return render(
        "dataset-card.md.j2",
        members=members,
        version=version,
        content_sha256=content_sha256,
        numbers=sorted(numbers.items()),
        licence=_hub_licence({member.licence for member in members}),
        size=_size_category(len(members)),
        card_columns=CARD_COLUMNS,
    )


def licences_page(members: Sequence[Member]) -> bytes:
    """LICENSES.md: under which licence each task's source stands, and where that was read."""
    return render("licences.md.j2", members=members)


def _hub_licence(licences: set[str]) -> str:
    """One licence in the hub's spelling (SPDX in lower case, without -only or -or-later), else `other`."""
    known = {licence.lower().removesuffix("-only").removesuffix("-or-later") for licence in licences} & HUB_LICENCES
    return known.pop() if len(licences) == len(known) == 1 else "other"


def _size_category(count: int) -> str:
    """The hub's size buckets."""
    limits = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
    return next((name for limit, name in limits if count < limit), "100K<n<1M")
