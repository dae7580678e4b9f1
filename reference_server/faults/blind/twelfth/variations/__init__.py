"""Legal variations of the twelfth set: a correct server with these may not be reported."""
