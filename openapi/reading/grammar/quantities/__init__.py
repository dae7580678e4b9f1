"""Read amounts: a number with the unit that is counted, of a value or of each of its elements."""
