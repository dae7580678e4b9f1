"""Faults and legal variations by authors who have read neither the checks nor the scenarios.

They measure how much of what the authors of the checks did not foresee the suite detects. Each folder is a set with an
origin of that name: `chatproof faults run --origin first`. A module of it contains the faults of one group. Each fault
is based on a public report, which the set's `sources.yaml` cites.
"""
