"""Faults that are generated from a contract: from its bounds, its defaults, and pairs of parameters and requests."""
