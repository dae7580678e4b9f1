"""Legal variations of the sixth set: a correct server with these may not be reported."""
