"""Legal variations of the seventh set: a correct server with these may not be reported."""
