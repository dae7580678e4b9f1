"""Mutants of plain answers."""
