"""Legal variations of the thirteenth set: a correct server with these may not be reported."""
