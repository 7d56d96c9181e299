"""Qualify: four qualifiers judge a candidate at the same time."""
