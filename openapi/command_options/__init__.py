"""Types of command-line options that several packages have, and the file and variables that set options."""
