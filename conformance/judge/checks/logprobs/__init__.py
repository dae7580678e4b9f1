"""Log-probabilities: the form of the entries, their alternatives and their values."""
