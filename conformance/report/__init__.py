"""Findings to outcomes, results.json and the reports made from it."""
