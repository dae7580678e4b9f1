"""The faults that are written down, one module per topic."""
