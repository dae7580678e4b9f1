"""Mutants of answers that differ although they must be the same."""
