"""Cells as facts: types, ranges, defaults and conditions."""
