"""Media files for the server under test."""
