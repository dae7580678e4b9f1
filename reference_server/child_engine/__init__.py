"""Engines of other projects as child processes: started, watched, restarted and stopped with the server."""
