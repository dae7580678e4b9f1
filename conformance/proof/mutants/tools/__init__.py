"""Mutants of tool calls."""
