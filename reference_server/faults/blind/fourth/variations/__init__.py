"""Legal variations of the fourth set: a correct server with these may not be reported."""
