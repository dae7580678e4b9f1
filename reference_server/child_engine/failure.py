"""Failures of child engines, for the operator."""


class EngineProgramError(Exception):
    """An engine cannot be started as configured, or ended; the message is one line."""
