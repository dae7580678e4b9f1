"""Legal variations of the fourteenth set: a correct server with these may not be reported."""
