"""Secrets such as the API key, and the marks that replace them in records; `redaction` finds them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from conformance.errors import HarnessError, UsageError
from openapi.secret_search import SHORTEST

if TYPE_CHECKING:
    from conformance.scenario import Alteration

REDACTED: Final = "[REDACTED]"
"""Replaces a key: safe inside JSON, an event stream, a header and a query string."""
BEGINNING: Final = "[REDACTED-4]"
"""Replaces the beginning of a key: the key without its last four characters."""
CUT: Final = 4
"""How many characters an alteration cuts off or adds."""
MARK: Final = re.compile(r"\[REDACTED(?:-4|-(?P<variable>HEADER_[A-Z0-9_]+))?\]")
"""Matches what replaces a secret: the marks of the key, or that of a secret header with the shell variable of its
value. Servers choose model names, so a mark must not name a variable that contains anything else.
"""


class Secret:
    """An API key or the value of a header; only `reveal` returns it.

    `mark` replaces it where it is redacted. Raises UsageError for a key that is too short or that is not printable
    ASCII without spaces. The value of a header may have spaces and has been checked when it was parsed.
    """

    __slots__ = ("_mark", "_value")

    def __init__(self, value: str, mark: str = REDACTED) -> None:
        if len(value) < SHORTEST:
            raise UsageError(
                f"the API key is too short: expected at least {SHORTEST} characters, got {len(value)}; an echo of it"
                " could not be distinguished from ordinary text: use a longer key, or none if the server needs none"
            )
        if not re.fullmatch(r"[!-~]+" if mark in (REDACTED, BEGINNING) else r"[ -~]+", value):
            raise UsageError("invalid API key: expected printable ASCII characters without spaces")
        self._value = value
        self._mark = mark

    def __repr__(self) -> str:
        return f"Secret({REDACTED!r})"

    def __reduce__(self) -> str:
        raise HarnessError("a secret cannot be pickled")

    def reveal(self) -> str:
        """Return the value, to be used in its header only."""
        return self._value

    def altered(self, alteration: Alteration) -> str:
        """Return a wrong key with the same beginning, to be used in the Authorization header only."""
        # Four characters: in base64, the last character alone may change without changing the decoded bytes.
        end = "0000" if not self._value.endswith("0000") else "1111"
        match alteration:
            case "other-end":
                return self._value[:-CUT] + end
            case "shorter":
                return self._value[:-CUT]
            case "longer":
                return self._value + end

    @property
    def mark(self) -> str:
        """The string that replaces the secret."""
        return self._mark

    @property
    def beginning(self) -> Secret | None:
        """The beginning of altered keys, as secret as the key; None if it is too short to be redacted."""
        return Secret(self._value[:-CUT], BEGINNING) if len(self._value) >= SHORTEST + CUT else None


def header_mark(name: str) -> str:
    """Return the mark that replaces the value of a secret header."""
    return f"[REDACTED-HEADER_{re.sub('[^0-9A-Za-z]', '_', name).upper()}]"


def is_redacted(text: str | bytes) -> bool:
    """Return whether the string contains the mark of a secret."""
    return MARK.search(text.decode("latin-1") if isinstance(text, bytes) else text) is not None


def alteration_in(text: str) -> Alteration | None:
    """Return how the key in a recorded header had been altered; None if it had not."""
    if BEGINNING in text:
        return "shorter" if text.endswith(BEGINNING) else "other-end"
    return "longer" if is_redacted(text) and not text.endswith("]") else None  # it may be part of a secret header
