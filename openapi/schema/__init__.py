"""JSON Schema as the contract uses it: problems, fields, value ranges, and a short notation."""
