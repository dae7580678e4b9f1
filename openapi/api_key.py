"""Read an API key from an environment variable, for every command that takes one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

VISIBLE_ASCII: Final = re.compile(r"[!-~]+")


class ApiKeyError(ValueError):
    """The environment variable contains no valid key. The message is one line that never contains the value."""


def read_api_key(variable: str | None, environment: Mapping[str, str], option: str = "--api-key-env") -> str | None:
    """Return the key in an environment variable, or None if no variable is named.

    option: the command-line option that names the variable, for messages. Raises ApiKeyError.
    """
    if not variable:
        return None
    key = environment.get(variable, "")
    if not key:
        raise ApiKeyError(f"{option} {variable}: the environment variable is not set or empty")
    if not VISIBLE_ASCII.fullmatch(key):
        raise ApiKeyError(f"{option} {variable}: invalid API key: expected printable ASCII characters without spaces")
    return key
