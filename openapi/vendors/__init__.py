"""Contracts of other vendors, as dialect files: each extends openai, and is loaded by its name.

`described/` contains descriptions of pages that have no form to import, written by hand.
"""
