"""Make faults of media: of the decoded media in the messages that an engine gets, or of the files in a request."""

from __future__ import annotations

import io
from base64 import b64decode, b64encode
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from openapi.description.media_forms import media_forms
from reference_server.engine.media import Media
from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from openapi.contract.contract import Contract
    from reference_server.engine import Engine
    from reference_server.engine.media import MediaKind
    from reference_server.faults.hooks import Json, ServedRequest

    MessagesEdit = Callable[[list[Json]], list[Json]]

BASE64_MARK: Final = ";base64,"


class MediaEngine:
    """An engine that gets other messages than the request contains."""

    def __init__(self, engine: Engine, edit: MessagesEdit) -> None:
        self._engine = engine
        self._edit = edit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def encode_chat(
        self,
        messages: list[Json],
        tools: list[Json] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the prompt of the edited messages."""
        return self._engine.encode_chat(self._edit(messages), tools, template_kwargs)


def takes(kind: MediaKind) -> Callable[[Contract], bool]:
    """Apply a fault to dialects whose requests may contain files of a kind."""
    return lambda contract: any(form.kind == kind and form.embeds for form in media_forms(contract).values())


def media_fault(name: str, line: str, make: Callable[[], MessagesEdit], *, kind: MediaKind = "image") -> Fault:
    """Make a fault of messages with decoded media. `make` is called once for each server."""
    return Fault(
        name,
        line,
        takes(kind),
        lambda app, _contract: app,
        lambda engine: MediaEngine(engine, make()),
        affects="requests",
    )


def change_media(change: Callable[[Media], Media]) -> Callable[[], MessagesEdit]:
    """Return an edit of messages that changes each medium."""

    def change_part(part: Json) -> Json:
        return {**part, "media": change(part["media"])} if isinstance(part.get("media"), Media) else part

    return lambda: lambda messages: change_parts(messages, lambda parts: [change_part(part) for part in parts])


def change_parts(messages: list[Json], change: Callable[[list[Json]], list[Json]]) -> list[Json]:
    """Return messages in which the parts of each message with several parts are changed."""
    return [
        {**message, "content": change(message["content"])} if isinstance(message.get("content"), list) else message
        for message in messages
    ]


def with_frames(media: Media, frames: NDArray[np.uint8]) -> Media:
    """Return a medium with other pictures."""
    return replace(media, frames=frames, digest=_digest(media, frames.tobytes()))


def with_samples(media: Media, samples: NDArray[np.float32]) -> Media:
    """Return a medium with other sound."""
    return replace(media, samples=samples, digest=_digest(media, samples.tobytes()))


def _digest(media: Media, data: bytes) -> bytes:
    return blake2b(media.kind.encode() + data, digest_size=32).digest()


def media_parts(request: ServedRequest) -> Iterator[tuple[Json, str]]:
    """Yield the parts of a request that are media, as sent, with their location or data."""
    forms = media_forms(request.contract)
    for message in messages_of(request.payload):
        for part in message["content"] if isinstance(message.get("content"), list) else ():
            if isinstance(part, dict) and (form := forms.get(str(part.get("type")))) is not None:
                try:
                    yield part, form.locate(part)
                except (LookupError, TypeError):  # another form than the contract's
                    continue


def counts_media(request: ServedRequest) -> int:
    """Return the number of media in a request."""
    return sum(1 for _ in media_parts(request))


def picture_in(location: str) -> Any:
    """Return the picture in a data URL, as an image of Pillow; None for another location or another file."""
    from PIL import Image

    head, mark, data = location.partition(BASE64_MARK)
    if not mark or not head.startswith("data:"):
        return None
    try:
        return Image.open(io.BytesIO(b64decode(data)))
    except (ValueError, OSError, Image.DecompressionBombError):
        return None


def replace_file(request: ServedRequest, part: Json, file: bytes, media_type: str) -> None:
    """Replace the file in a part by another one."""
    form = media_forms(request.contract)[part["type"]]
    part.update(form.part(f"data:{media_type};base64,{b64encode(file).decode()}"))
