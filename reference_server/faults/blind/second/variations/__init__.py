"""Legal variations of the second set: a correct server with these may not be reported."""
