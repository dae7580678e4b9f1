"""References to media in a request, before anything is fetched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openapi.description.media_forms import MediaForm


@dataclass(frozen=True, slots=True)
class MediaReference:
    """One medium of a request.

    where: its place in the body, for messages.
    location: a data URL, base64, a path or a URL, as the form allows; a name that begins alike if the file is inside
        the request and large.
    inside: such a data URL, or base64.
    """

    form: MediaForm
    where: str
    location: str
    inside: memoryview | None = None
