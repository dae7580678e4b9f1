"""Legal variations of the ninth set: a correct server with these may not be reported."""
