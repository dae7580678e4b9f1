"""Legal variations of the twenty-first set: a correct server with these may not be reported."""
