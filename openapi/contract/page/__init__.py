"""What is recorded of the pages of vendors: which sentences their lines state, and the examples that they print."""
