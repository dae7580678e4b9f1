"""The commands of the suite and its pytest plugin."""
