"""Types of command-line options that several packages have."""
