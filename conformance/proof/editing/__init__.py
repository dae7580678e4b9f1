"""Edit recorded exchanges. Mutants and tests use these functions to break one thing and leave everything else as it
was.
"""
