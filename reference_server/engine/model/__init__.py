"""The model on its device: checkpoint, cache and forward passes."""
