"""Legal variations of the twentieth set: a correct server with these may not be reported."""
