"""Blind faults of literal text in messages: quotes that change, and data that is cut."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

STRAIGHT: Final = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
DATA: Final = re.compile(r"(data:[\w.+-]+/[\w.+-]+;base64,)[A-Za-z0-9+/=]+")


def _straighten(request: ServedRequest) -> None:
    """Simplify typography. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = message["content"].translate(STRAIGHT)


def _cut_data(request: ServedRequest) -> None:
    """Shorten what a model need not read. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = DATA.sub(r"\1...", message["content"])


curly_quotes_straightened = hooked_fault(
    "curly-quotes-straightened",
    "Curly quotes and apostrophes in a message become straight ones.",
    request=_straighten,
)
data_urls_in_text_cut = hooked_fault(
    "data-urls-in-text-cut",
    "Of a data URL in the text of a message, only what precedes the data reaches the model.",
    request=_cut_data,
)
