"""Mutants of HTTP at and around the chat endpoint."""
