"""Mutants of the effects of parameters."""
