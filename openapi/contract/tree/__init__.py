"""The tree of a dialect: strict YAML, deltas, inheritance, and the files that an outside dialect brings with it."""
