"""Legal variations of the seventeenth set: a correct server with these may not be reported."""
