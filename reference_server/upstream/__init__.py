"""The gateway: an engine that is another server, asked over HTTP in its own words."""
