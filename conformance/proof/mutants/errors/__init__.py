"""Mutants of error responses."""
