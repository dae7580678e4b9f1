"""Mutants of the prompt: of whether the model reads all of it, and of the forms of conversations."""
