"""Errors of the suite and of its user; what the server under test does is never one of them."""

from __future__ import annotations


class HarnessError(Exception):
    """The suite cannot continue, because of a bug in the suite or an unreadable record. Exit code 5.

    Failures of the server under test are recorded as the `Failure` of an exchange instead. The message is one line:
    what is wrong, where, and what to do.
    """


class UsageError(HarnessError):
    """A setting is invalid: an address, a name, a pattern. Exit code 2."""


class Unreachable(HarnessError):
    """The server cannot be judged: no connection, no TLS, a wrong URL, or it refuses the key or model. Exit code 3."""


class ServerNotListening(Unreachable):
    """No server accepts connections at the address; it may still be starting."""

    def with_hint(self, option: str) -> str:
        """Return the message, with the option that waits for such a server."""
        return f"{self}; check the host and the port; {option} TIME waits for a server that is still starting"
