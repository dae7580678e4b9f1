"""Where the server under test finds the media files of the suite, and the requests that name these places."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from conformance.plan.media import FOLDER, HOST

HOST_MARK: Final = HOST.encode()
FOLDER_MARK: Final = FOLDER.encode()
PATTERNS: Final = {HOST_MARK: rb'[^"/?]+/[^"/?]+', FOLDER_MARK: rb'(?:[^"\\]|\\.)*'}


@dataclass(frozen=True, slots=True)
class MediaPlaces:
    """The places of the media files for the server under test.

    host: host, port and path of their URLs; "" if the server cannot fetch them.
    folder: their folder on the server, as paths in requests name it, without a slash at the end.
    """

    host: str = ""
    folder: str = ""

    def fill(self, payload: bytes) -> bytes:
        """Return a request body with these places in place of the marks."""
        folder = json.dumps(self.folder)[1:-1].encode()
        return payload.replace(HOST_MARK, self.host.encode()).replace(FOLDER_MARK, folder)


NO_PLACES: Final = MediaPlaces()
"""A server that finds no media files of the suite outside of requests."""


def is_payload(body: bytes, payload: bytes) -> bool:
    """Return whether a request body is this payload, with any places in place of the marks."""
    if HOST_MARK not in payload and FOLDER_MARK not in payload:
        return body == payload
    pattern = re.escape(payload)
    for mark, places in PATTERNS.items():
        pattern = pattern.replace(re.escape(mark), places)
    return re.fullmatch(pattern, body) is not None
