"""The whole set."""

from tests.tasks.qualify.labelled import journeys, origins, outcomes, reasons
from tests.tasks.qualify.labelled.scene import CASES, Labelled

PARTS = (origins, journeys, outcomes, reasons)
ALL: tuple[Labelled, ...] = tuple(CASES)
