"""Legal variations of the fifteenth set: a correct server with these may not be reported."""
