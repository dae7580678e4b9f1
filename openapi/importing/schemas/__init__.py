"""Schemas of descriptions, and how they fit those of a dialect."""
