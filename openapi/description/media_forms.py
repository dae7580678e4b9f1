"""The forms in which requests of a dialect contain media: which parts, where in a part, from which sources."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.contract import Contract
    from openapi.schema.json_schema import Schema

Source = Literal["path", "data", "base64", "address"]
KEPT: Final = 16
"""Contracts whose forms are kept; a plan asks for them thousands of times."""


@dataclass(frozen=True, slots=True)
class MediaForm:
    """One form of a media part.

    part_type: the part's `type`.
    path: the fields from the part to the location or the data.
    sources: what the location may be: a path on the server, a data URL, bare base64, or the address of a file.
    formats: file formats that the document lists; empty if it lists none.
    max_bytes: size limit of a file; None if the document states none.
    """

    kind: Literal["image", "video", "audio"]
    part_type: str
    path: tuple[str, ...]
    sources: tuple[Source, ...]
    formats: tuple[str, ...]
    max_bytes: int | None

    def locate(self, part: Mapping[str, Any]) -> str:
        """Return the location, or the data, in a part of this form."""
        value: Any = part
        for name in self.path:
            value = value[name]
        return str(value)

    @property
    def embeds(self) -> bool:
        """Whether a request may contain the file itself."""
        return "data" in self.sources or "base64" in self.sources

    def embed(self, data: bytes, extension: str, media_type: str) -> dict[str, Any]:
        """Return a part with a file inside it, as a data URL or as bare base64."""
        encoded = b64encode(data).decode()
        if "base64" in self.sources:
            return self.part(encoded, format=extension)
        return self.part(f"data:{media_type};base64,{encoded}")

    def part(self, location: str, **siblings: Any) -> dict[str, Any]:
        """Return a part of this form; siblings: fields next to the location."""
        value: Any = location
        for name in reversed(self.path):
            value = {name: value, **(siblings if name == self.path[-1] and len(self.path) > 1 else {})}
        return {"type": self.part_type, **value}


@lru_cache(maxsize=KEPT)
def media_forms(contract: Contract) -> Mapping[str, MediaForm]:
    """Return the forms of a contract by the type of their parts; empty if it has no media."""
    forms = [
        MediaForm(
            kind=node["x-mediaKind"],
            part_type=schema["properties"]["type"]["const"],
            path=path,
            sources=tuple(node["x-mediaSources"]),
            formats=tuple(node.get("x-mediaFormats", ())),
            max_bytes=node.get("x-maxMediaBytes"),
        )
        for schema in contract.schemas.values()
        for path, node in _locations(schema, ())
    ]
    return {form.part_type: form for form in forms}


def most_media(contract: Contract) -> int | None:
    """Return the greatest number of media in a request; None if the document states none."""
    limits = [schema["x-maxMedia"] for schema in contract.schemas.values() if "x-maxMedia" in schema]
    return min(limits, default=None)


def _locations(schema: Schema, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Schema]]:
    for name, node in schema.get("properties", {}).items():
        if "x-mediaKind" in node:
            yield (*path, name), node
        elif isinstance(node, dict):
            yield from _locations(node, (*path, name))
