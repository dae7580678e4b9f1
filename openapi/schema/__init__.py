"""JSON Schema as the contract uses it: problems, members, ranges, short notation."""
