"""The gateway: an engine that sends its requests to another server over HTTP."""
