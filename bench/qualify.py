"""Precision and recall of the qualifiers on the labelled candidates (tests/tasks/qualify/labelled).

    python -m bench.qualify [--wrong]

`rules` is judged as it stands. A verdict counts as an alarm where it is not a pass; precision is the share of alarms that are
right, recall the share of candidates that should not pass and do not. `exact` is the share of answers that are right in decision
and reason. A false pass lets a candidate through that must not; origin and disqualifier must have none.
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from blocks.records import Decision, Qualifier
from tasks.qualify.aggregate import qualify
from tasks.qualify.verdict import Verdict
from tests.tasks.qualify.kettle import Kettle
from tests.tasks.qualify.labelled.all import ALL

AIM_TOP1 = 0.9
_STRICT = (Qualifier.ORIGIN, Qualifier.DISQUALIFIER)


@dataclass
class Tally:
    """Counts of one qualifier."""

    cases: int = 0
    exact: int = 0
    alarms: int = 0
    right_alarms: int = 0
    should: int = 0
    false_passes: int = 0

    def line(self, name: str) -> str:
        """One row of the table."""
        precision = self.right_alarms / self.alarms if self.alarms else 1.0
        recall = self.right_alarms / self.should if self.should else 1.0
        return f"| {name} | {self.cases} | {self.exact / self.cases:.3f} | {precision:.3f} | {recall:.3f} | {self.false_passes} |"


def said(verdict: Verdict) -> str:
    """The verdict as labels are written."""
    return "pass" if verdict.decision is Decision.PASS else f"{verdict.decision}:{verdict.reason_code}"


def main() -> int:
    """Judge the whole set; ends with 1 where an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wrong", action="store_true", help="Also print every answer that is not the label.")
    options = parser.parse_args()
    tallies: dict[Qualifier, Tally] = defaultdict(Tally)
    first = found = 0
    with tempfile.TemporaryDirectory() as folder:
        kettle = Kettle(Path(folder) / "kettle")
        for labelled in ALL:
            scene = labelled.make(kettle.copy(Path(folder) / labelled.name))
            for verdict in qualify(scene.session, scene.repository, scene.settings, scene.around):
                right = labelled.right[verdict.qualifier]
                if right == "-":
                    continue
                _count(tallies[verdict.qualifier], said(verdict), right)
                if options.wrong and said(verdict) != right:
                    print(f"{labelled.name} {verdict.qualifier}: {said(verdict)}, right is {right}: {verdict.message}")
                if verdict.qualifier is Qualifier.OUTCOME and scene.outcome:
                    found += 1
                    first += bool(verdict.outcomes) and verdict.outcomes[0].commit in scene.outcome
    print(f"{len(ALL)} candidates, judged by rules\n")
    print("| qualifier | judged | exact | precision | recall | false passes |\n|---|---|---|---|---|---|")
    for qualifier in Qualifier:
        print(tallies[qualifier].line(qualifier.value))
    print(f"\nright outcome ranked first: {first} of {found} ({first / found:.1%})")
    false = sum(tallies[qualifier].false_passes for qualifier in _STRICT)
    return 0 if not false and first / found >= AIM_TOP1 else 1


def _count(tally: Tally, answer: str, right: str) -> None:
    tally.cases += 1
    tally.exact += answer == right
    tally.alarms += answer != "pass"
    tally.should += right != "pass"
    tally.right_alarms += answer != "pass" and right != "pass"
    tally.false_passes += answer == "pass" and right != "pass"


if __name__ == "__main__":
    sys.exit(main())
