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
    location: a data URL, base64, a path or a URL, as the form allows.
    """

    form: MediaForm
    where: str
    location: str
