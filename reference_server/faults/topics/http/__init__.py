"""Faults in HTTP around the chat endpoint."""
