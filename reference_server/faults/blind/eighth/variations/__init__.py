"""Legal variations of the eighth set: a correct server with these may not be reported."""
