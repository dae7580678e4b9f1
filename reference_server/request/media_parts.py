"""Media parts of messages: references in place of them, before anything is fetched."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from openapi.description.media_forms import media_forms, most_media
from reference_server.errors import ApiError
from reference_server.media.reference import MediaReference
from reference_server.request.sampling import content_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from openapi.contract.contract import Contract

UNSUPPORTED_PARTS = frozenset({"file"})
"""Types of parts that belong to media in some contracts, and that this server does not read."""


class MediaPartReader:
    """Reads the content of messages for one contract."""

    def __init__(self, contract: Contract) -> None:
        self._forms = media_forms(contract)
        self._most = most_media(contract)

    def read_content(
        self, content: str | Sequence[Mapping[str, Any]], where: str, files: Mapping[str, memoryview]
    ) -> str | list[dict[str, Any]]:
        """Return content without media as one string, otherwise as parts; raise ApiError for an unsupported part.

        files: large files inside the request, by the names that stand for them.
        """
        if isinstance(content, str):
            return content
        for at, part in enumerate(content):
            kind = part.get("type")
            if kind in UNSUPPORTED_PARTS or not (kind in self._forms or _has_text(part)):
                words = f"{where}[{at}]: parts of the type {kind} are not supported: remove it"
                raise ApiError("invalid_request", words, param="messages")
        if not any(part.get("type") in self._forms for part in content):
            return content_text(content)
        return [self._read_part(part, f"{where}[{at}]", files) for at, part in enumerate(content)]

    def hold_all(self, body: Mapping[str, Any], names: Collection[str]) -> bool:
        """Return whether every name stands for a medium inside the request, in the form of the contract."""
        return bool(names) and {*names} <= {*self._list_locations(body.get("messages"))}

    def _list_locations(self, messages: object) -> Iterator[str]:
        for message in messages if isinstance(messages, list) else ():
            content = message.get("content") if isinstance(message, dict) else None
            for part in content if isinstance(content, list) else ():
                if isinstance(part, dict):
                    with suppress(LookupError, TypeError):  # not a medium, or in another form
                        yield self._forms[part["type"]].locate(part)

    def check_count(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Raise ApiError if the messages, as read, contain more media than the contract allows."""
        count = sum(
            isinstance(part.get("media"), MediaReference)
            for message in messages
            if isinstance(message["content"], list)
            for part in message["content"]
        )
        if self._most is not None and count > self._most:
            words = f"messages: {count} images, videos and audio files: at most {self._most} are allowed"
            raise ApiError("invalid_request", words, param="messages")

    def _read_part(self, part: Mapping[str, Any], where: str, files: Mapping[str, memoryview]) -> dict[str, Any]:
        form = self._forms.get(part.get("type", "text"))
        if form is None:
            return {"type": "text", "text": content_text([part])}
        location = form.locate(part)
        reference = MediaReference(form, f"{where}.{'.'.join(form.path)}", location, files.get(location))
        return {"type": form.kind, "media": reference}


def _has_text(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("refusal" if part.get("type") == "refusal" else "text"), str)


def has_media(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether any message, as read, contains media."""
    return any(isinstance(message["content"], list) for message in messages)
