"""Mutants of token counts."""
