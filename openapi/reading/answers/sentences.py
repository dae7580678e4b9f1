"""Split passages into sentences, and tell which of them bind a server by a modal verb."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.vocabulary import normalize

if TYPE_CHECKING:
    from collections.abc import Iterator

_END: Final = re.compile(r"(?<=[.!?])[\"')`]*\s+(?=[\"'(`]*[A-Z\d{`\"\u4e00-\u9fff])|(?<=[。！？])")
_SHORTENED: Final = re.compile(r"\b(?:e\.g|i\.e|max|min|vs|approx|no)\.$", re.IGNORECASE)
_MODAL: Final = re.compile(
    r"\b(?:must|shall|always|never|only|at most|at least|cannot|can not|may not|no more than|not exceed)\b"
    r"|必须|不得|不能|仅|只能|只会|总是|始终|永远|最多|至少|不超过",
    re.IGNORECASE,
)


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a passage; a full stop within JSON or an abbreviation ends none."""
    begun = ""
    for piece in _END.split(text):
        begun = f"{begun} {piece}".strip()
        if begun.count("{") <= begun.count("}") and not _SHORTENED.search(begun):
            yield begun
            begun = ""
    if begun:
        yield begun


def is_binding(sentence: str) -> bool:
    """Return whether a sentence has a word by which it binds a server or a client, such as `must` or `never`."""
    return _MODAL.search(normalize(sentence)) is not None
