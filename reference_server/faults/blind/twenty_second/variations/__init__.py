"""Legal variations of the twenty-second set: a correct server with these may not be reported."""
