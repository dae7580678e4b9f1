"""Measure how many findings one fault causes, and whether the report lists the right one first."""
