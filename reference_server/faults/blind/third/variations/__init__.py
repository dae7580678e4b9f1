"""Legal variations of the third set: a correct server with these may not be reported."""
