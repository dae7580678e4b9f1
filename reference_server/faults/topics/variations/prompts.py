"""Variations in how prompts are read, which every document allows."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import variation
from reference_server.faults.hooks import Refusal
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import ServedRequest

CONTEXT_CHARACTERS: Final = 12_000
SLOW_CHARACTERS: Final = 2_000
PREFILL_S: Final = 0.3
SPECIAL: Final = re.compile(r"<\|[a-z_]+\|>|</?s>|\[/?INST\]")


def _prepared(name: str, prepare: Callable[[str], str], line: str, **options: Any) -> Fault:
    """Make a variation of how the text of messages is prepared for the model."""

    def change(request: ServedRequest) -> None:
        for message in text_messages(request):
            message["content"] = prepare(message["content"]) or message["content"]

    return variation(name, line, request=change, **options)


def _refuse_long(request: ServedRequest) -> None:
    characters = sum(len(message["content"]) for message in text_messages(request))
    if characters > CONTEXT_CHARACTERS:
        raise Refusal(
            "invalid_request", f"the prompt has {characters} characters: the context takes {CONTEXT_CHARACTERS}"
        )


async def _after_prefill(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    if len(request.body) > SLOW_CHARACTERS and not request.state.get("began"):
        request.state["began"] = True
        await asyncio.sleep(PREFILL_S)
    yield body


prompts_composed = _prepared(
    "composed-by-the-tokenizer",
    lambda text: unicodedata.normalize("NFC", text),
    "The tokenizer composes characters and their accents.",
    bugs=[171],
)
prompts_trimmed = _prepared(
    "trimmed-by-the-template", str.strip, "The chat template trims white space around messages.", bugs=[172]
)
special_tokens_removed = _prepared(
    "sanitized-special-tokens",
    lambda text: SPECIAL.sub("", text),
    "Special tokens in messages are removed.",
    bugs=[173],
)
first_line_end_dropped = _prepared(
    "first-line-feed-dropped",
    lambda text: text.removeprefix("\n"),
    "The chat template drops a line end at the start of a message.",
)
context_of_characters = variation(
    "context-of-12000-characters", "Longer prompts are refused with 4xx, streamed or not.", request=_refuse_long
)
long_prompts_take_time = variation(
    "large-prompts-begin-late", "Answers to large requests begin later.", pieces=_after_prefill, timeout_s=20
)
