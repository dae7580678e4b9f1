"""Small media files that scenarios send, and their parts in the form of a contract.

`python -m conformance.plan.media.draw` draws the files again; it needs the extra `media`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openapi.description.media_forms import MediaForm, media_forms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi.contract.contract import Contract

TYPES: Final = {
    "jpg": ("image", "image/jpeg"),
    "png": ("image", "image/png"),
    "gif": ("image", "image/gif"),
    "webp": ("image", "image/webp"),
    "mp4": ("video", "video/mp4"),
    "avi": ("video", "video/x-msvideo"),
    "wmv": ("video", "video/x-ms-wmv"),
    "wav": ("audio", "audio/wav"),
    "mp3": ("audio", "audio/mpeg"),
    "flac": ("audio", "audio/flac"),
}
"""The kind and the media type of a file, by the end of its name."""
KEY: Final = "media"
"""The key of a part in a written scenario that stands for a file."""
BY_URL: Final = "url"
"""The key of such a part that is true if the file is behind a URL, not inside the request."""
SIZE: Final = "size"
"""The key of such a part with the size to which the file is padded: `limit` of the contract, or `above` it."""
BY_PATH: Final = "path"
"""The key of such a part that is true if the file is on the server."""
REDIRECT: Final = "redirect"
"""The key of such a part that is true if the URL leads to another one with the file; also the folder of these URLs."""
HOST: Final = "{media-host}"
"""The address of the suite's own server of media, which is known when a request is sent."""
FOLDER: Final = "{media-folder}"
"""The folder of the files on the server, which is known when a request is sent."""
UNBOUND: Final = MediaForm("image", "image_url", ("image_url",), ("path", "data", "address"), (), None)
"""The form without a contract, in which the scenarios are listed."""


@dataclass(frozen=True, slots=True)
class MediaParts:
    """The parts of media files in the forms of one contract; without a contract, any form."""

    contract: Contract | None

    def supports(self, messages: object) -> bool:
        """Return whether the contract has a form for every file in messages, and its size limit if it is used."""
        forms = [(part, self._form(part)) for part in _list_parts(messages)]
        return all(form is not None and (SIZE not in part or form.max_bytes is not None) for part, form in forms)

    def insert(self, messages: Any) -> Any:
        """Return the messages with a part of the contract's form in place of each file."""
        return [
            {**message, "content": [self._part(part) for part in message["content"]]}
            if isinstance(message, dict) and isinstance(message.get("content"), list)
            else message
            for message in messages
        ]

    def _part(self, part: Any) -> Any:
        if not (isinstance(part, dict) and KEY in part):
            return part
        name = part[KEY]
        form = self._form(part) or UNBOUND
        extension = name.rpartition(".")[2]
        if part.get(BY_PATH):
            return form.part(f"{FOLDER}/{name}")
        if part.get(BY_URL):
            above = part.get(SIZE) == "above"
            padded = f"?bytes={(form.max_bytes or 0) + above}" if SIZE in part else ""
            folder = f"{REDIRECT}/" if part.get(REDIRECT) else ""
            return form.part(f"http://{HOST}/{folder}{name}{padded}")
        return form.embed(read_media(name), extension, TYPES[extension][1])

    def _form(self, part: dict[str, Any]) -> MediaForm | None:
        if self.contract is None:
            return UNBOUND
        kind = TYPES[part[KEY].rpartition(".")[2]][0]
        sources = {"address"} if part.get(BY_URL) else {"path"} if part.get(BY_PATH) else {"data", "base64"}
        forms = (form for form in media_forms(self.contract).values() if form.kind == kind)
        return next((form for form in forms if sources & {*form.sources}), None)


def media_folder() -> Path:
    """Return the folder of the files."""
    return Path(str(files(__package__)))


@cache
def read_media(name: str) -> bytes:
    """Return the bytes of a file in this folder."""
    return files(__package__).joinpath(name).read_bytes()


def _list_parts(messages: object) -> Iterator[dict[str, Any]]:
    """Yield the parts of messages that stand for files."""
    turns: Iterable[Any] = messages if isinstance(messages, list) else ()
    for message in turns:
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and KEY in part:
                yield part
