"""Legal variations of the nineteenth set: a correct server with these may not be reported."""
