"""To-dos: what an import did not understand and a person has to decide."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Todo:
    """One statement of a source that is not in the dialect file.

    subject: the parameter or part of the interface, such as `temperature` or `endpoint`.
    place: where the source states it: a line, or a JSON pointer.
    text: what is stated there, or what is missing.
    quoted: whether the text contains words of the source.
    """

    subject: str
    place: str
    text: str
    quoted: bool = True

    def without_quotes(self) -> str:
        """Format without the words of the source, which are its vendor's."""
        return f"{self.subject} ({shorten(self.place)}): words that are not understood"

    def __str__(self) -> str:
        return f"{self.subject} ({shorten(self.place)}): {' '.join(self.text.split())}"


def shorten(pointer: str) -> str:
    """Shorten a JSON pointer to what tells its place: the named schema, or the body of the operation."""
    pointer = re.sub(r"^#/paths/[^/]+/post/requestBody/content/[^/]+/schema", "request body", pointer)
    pointer = re.sub(r"^#/paths/[^/]+/post/responses/(\w+)/content/[^/]+/\w+", r"response \1", pointer)
    return re.sub(r"^#/components/schemas/|/description$", "", pointer).replace("/properties/", "/")
