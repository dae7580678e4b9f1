"""Legal variations of the eleventh set: a correct server with these may not be reported."""
