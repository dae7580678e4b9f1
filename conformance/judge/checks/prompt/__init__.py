"""Checks of the prompt: whether the model reads all of it, and the forms that conversations may have."""
