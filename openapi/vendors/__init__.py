"""Contracts of other vendors, as dialect files: each extends openai, and is loaded by its path."""
