"""Decide what to send and which checks judge it, before anything is sent."""
