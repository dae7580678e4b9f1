"""Faults and legal variations by an author who has read neither the checks nor the scenarios.

They measure how much of what its authors did not foresee the suite detects: `chatproof faults run --origin blind`. A
module contains the faults of one group. Each one is based on a public report, which `sources.yaml` cites.
"""
