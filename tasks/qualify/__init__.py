"""Qualify: four qualifiers decide whether a candidate is worth rebuilding.

`origin.py`, `journey.py`, `outcome.py` and `disqualify.py` each collect deterministic evidence and have it judged; they
know nothing of each other and may run at the same time. `aggregate.py` puts the four verdicts together.
"""
