"""Settings that the operator of a server chooses, as opposed to what the contract demands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MEBIBYTE = 2**20
MEDIA_BODY_LIMIT_BYTES = 60 * MEBIBYTE
"""Limit of a request body if the model takes media: 40 MiB as base64, and the messages."""
BODY_LIMIT_BYTES = 8 * MEBIBYTE
"""Default limit of a request body: twice the 4 Mi characters that the documents allow in messages.

In ASCII every allowed request fits. In other scripts a character takes up to 4 bytes, or 6 when escaped, so this limit
applies from 1.4 Mi characters on, which is still far more than any served context. A larger limit would delay every
request in flight: Python's JSON parser takes about a second for 8 MiB of the worst kind, and blocks everything else.
"""


@dataclass(frozen=True, slots=True)
class MediaSources:
    """Where media may come from, in addition to the request itself.

    root: folder of local files; None: local paths are refused.
    domains: hosts of URLs, by name or address; an address that is not public has to be named itself.
    """

    root: Path | None = None
    domains: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one server.

    model: model name that requests must use and responses contain.
    api_key: key that every request must carry, except requests for the public pages; None: no key is required.
    full_text: use MindIE's full-text mode, in which every chunk of a stream contains the whole text so far.
    lacking: capabilities to refuse by name, although the server and the model have them.
    max_in_flight: maximum number of requests being read, waiting or answered; one more is refused as overloaded.
    body_limit_bytes: maximum size of a request body.
    media: where media of requests may come from.
    origins: origins whose pages may read responses in a browser (`https://host:port`, or `*` for all).
    """

    model: str
    api_key: str | None = None
    full_text: bool = False
    lacking: frozenset[str] = frozenset()
    max_in_flight: int = 80
    body_limit_bytes: int = BODY_LIMIT_BYTES
    origins: tuple[str, ...] = ()
    media: MediaSources = MediaSources()
