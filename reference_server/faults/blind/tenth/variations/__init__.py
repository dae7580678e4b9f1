"""Legal variations of the tenth set: a correct server with these may not be reported."""
