"""Judge one server, from its address to the report; used by the command line and by the pytest plugin."""
