"""Our own mistakes, never the server's."""

from __future__ import annotations


class HarnessError(Exception):
    """The suite itself cannot go on: a wrong setting, an unreadable record, a defect of ours.

    What a server does becomes a `Failure` of its exchange and never this. The message is one line: what is
    wrong, where, and what to do.
    """
