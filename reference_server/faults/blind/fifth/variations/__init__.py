"""Legal variations of the fifth set: a correct server with these may not be reported."""
