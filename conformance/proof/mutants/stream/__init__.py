"""Mutants of streams."""
