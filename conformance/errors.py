"""Our own mistakes and the user's, never the server's."""

from __future__ import annotations


class HarnessError(Exception):
    """The suite itself cannot go on: a defect of ours, an unreadable record. Exit code 5.

    What a server does becomes a `Failure` of its exchange and never this. The message is one line: what is
    wrong, where, and what to do.
    """


class UsageError(HarnessError):
    """A setting is wrong: an address, a name, a pattern. Exit code 2."""


class Unreachable(HarnessError):
    """Nothing could be judged: no connection, no TLS, or the key is refused. Exit code 3."""


class NobodyThere(Unreachable):
    """Nothing takes connections at the address: the server may be still starting."""

    def told(self, option: str) -> str:
        """The line, with the option by which such a server is waited for."""
        return f"{self}; {option} S waits for a server that is still starting"
