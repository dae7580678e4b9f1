"""Help for users of the command line: explanations of requirements, and completion of words."""
