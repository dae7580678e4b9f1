"""Legal variations of the sixteenth set: a correct server with these may not be reported."""
