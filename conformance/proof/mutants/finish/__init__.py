"""Mutants of finish reasons."""
