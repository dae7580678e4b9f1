"""Loading of all media of a request: read, fetch, decode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.errors import ApiError
from reference_server.media.address import is_web_url
from reference_server.media.base64_source import is_data_url, read_base64, read_data_url
from reference_server.media.decoding import MediaDecoder
from reference_server.media.fetch import fetch
from reference_server.media.limits import FORMATS, MediaError, MediaLimits
from reference_server.media.local_file import is_local, read_local_file
from reference_server.media.reference import MediaReference

if TYPE_CHECKING:
    from reference_server.engine.media import Media, MediaNeeds
    from reference_server.settings import MediaSources


class MediaLoader:
    """Loads the media of requests for one model."""

    def __init__(self, needs: MediaNeeds, sources: MediaSources, limits: MediaLimits | None = None) -> None:
        self._needs = needs
        self._sources = sources
        self._limits = limits or MediaLimits()
        self._decoder = MediaDecoder(needs, self._limits)

    def load_all(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the messages with decoded media in place of references; raise ApiError that names the part."""
        budget = _PixelBudget(self._limits.pixels)
        return [
            {**message, "content": [self._load_part(part, budget) for part in message["content"]]}
            if isinstance(message.get("content"), list)
            else message
            for message in messages
        ]

    def close(self) -> None:
        """End the processes that decode."""
        self._decoder.close()

    def _load_part(self, part: dict[str, Any], budget: _PixelBudget) -> dict[str, Any]:
        reference = part.get("media")
        if not isinstance(reference, MediaReference):
            return part
        try:
            media = self._load(reference)
            budget.take(media)
            return {"type": reference.form.kind, "media": media}
        except MediaError as error:
            reason = str(error)
        # Raised here, the error does not keep the frames in which the bytes of the file are.
        raise ApiError("invalid_request", f"{reference.where}: {reason}", param="messages")

    def _load(self, reference: MediaReference) -> Media:
        form = reference.form
        if form.kind not in self._needs.kinds:
            raise MediaError(f"the model does not take {form.kind} content")
        return self._decoder.decode(form.kind, self._read(reference), form.formats or FORMATS[form.kind])

    def _read(self, reference: MediaReference) -> bytes:
        form, location = reference.form, reference.location
        limit = form.max_bytes or self._limits.file_bytes
        if "base64" in form.sources:
            return read_base64(reference.inside or location, limit)
        if is_data_url(location):
            return read_data_url(reference.inside or location, limit)
        if is_web_url(location):
            return fetch(location, self._sources.domains, limit, self._limits)
        if is_local(location):
            return read_local_file(location, self._sources.root, limit)
        raise MediaError("expected a data URL, an http or https URL, or an absolute path")


class _PixelBudget:
    """The pixels that all media of a request may have together; only pictures of their own size can exceed it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0

    def take(self, media: Media) -> None:
        """Count the pictures of a medium; raise MediaError if they are too many."""
        count, height, width, _ = media.frames.shape
        self._taken += count * height * width
        if self._taken > self._limit:
            raise MediaError(
                f"the media up to here have {self._taken} pixels: at most {self._limit} are allowed in a request"
            )
