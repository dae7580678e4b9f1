"""Decide outcomes, build results.json, and write the reports that are made from it."""
