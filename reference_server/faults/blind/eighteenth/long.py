"""Blind faults of long texts: characters at the borders of blocks, and prompts without a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import refusing, text_length, when
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

BLOCK_BYTES: Final = 1_024
LONG: Final = 3_000
LIMITS: Final = ("max_tokens", "max_completion_tokens")


def _decode_blocks(request: ServedRequest) -> None:
    """Decode each block of a body. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        data = message["content"].encode(errors="surrogatepass")
        blocks = [data[at : at + BLOCK_BYTES] for at in range(0, len(data), BLOCK_BYTES)]
        message["content"] = "".join(block.decode(errors="replace") for block in blocks)


def _is_long_without_limit(sent: Json) -> bool:
    return text_length(sent) > LONG and all(sent.get(name) is None for name in LIMITS)


characters_break_between_blocks = hooked_fault(
    "characters-break-between-blocks",
    "Characters of a message that lie across a border of 1,024 bytes become replacement characters.",
    request=_decode_blocks,
)
# Violates max_tokens, which is optional.
long_prompts_without_limits_refused = when(
    "long-prompts-without-limits-refused",
    "A conversation of more than 3,000 characters is refused if the request does not limit the tokens.",
    _is_long_without_limit,
    refusing("max_tokens must be at least 1, got -160"),
)
