"""Legal variations of the eighteenth set: a correct server with these may not be reported."""
