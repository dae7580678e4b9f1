"""Requests that show the seventeenth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

import struct
import zlib
from typing import Any

from reference_server.tests.blind.eleventh_requests import formed
from reference_server.tests.blind.media_files import BLUE, GREEN, RED, SIDE, image, png
from reference_server.tests.blind.sixth_requests import SCORES, say, show
from reference_server.tests.blind.steps import (
    HISTORY,
    LONG,
    SAMPLED,
    STORY,
    STREAM,
    WEATHER,
    Step,
    ask,
    call,
    form,
    tool,
)
from reference_server.tests.blind.tenth_requests import closed, drawn

LIKED = 400
BIASED: dict[str, Any] = ask(STORY, logit_bias={str(LIKED): 100})
LIMITED: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
MAY_CALL: dict[str, Any] = {
    "type": "allowed_tools",
    "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "get_weather"}}]},
}
INSTRUCTED = [
    {"role": "system", "content": "You always answer with a number."},
    {"role": "developer", "content": "Be kind."},
    {"role": "user", "content": STORY},
]
BEGUN: list[dict[str, Any]] = [
    {"role": "user", "content": STORY},
    {"role": "assistant", "content": "There was a dog.\n\n"},
]
THE_DOGS: list[Step] = [ask("What is" + " the" * count + " dog?") for count in range(16)]
FAR = {**closed(), "required": ["a"], "additionalProperties": {"type": "boolean"}}


def chunk(kind: bytes, data: bytes) -> bytes:
    """Return a chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def indexed(*colours: tuple[int, ...]) -> bytes:
    """Return a PNG of stripes, as indexes of a palette with these colours."""
    rows = b"".join(b"\0" + bytes(column * len(colours) // SIDE for column in range(SIDE)) for _ in range(SIDE))
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 3, 0, 0, 0)
    palette = b"".join(map(bytes, colours))
    chunks = ((b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in chunks)


WIDE = image(png(lambda _row, column: RED if SIDE <= column < 2 * SIDE else BLUE, 3 * SIDE, SIDE))
STRIPES = image(indexed(RED, GREEN, BLUE))

REQUESTS: dict[str, list[Step]] = {
    "penalties-start-over-after-preemption": [ask(STORY, frequency_penalty=2.0, max_tokens=60, ignore_eos=True)],
    "biases-end-after-the-first-token": [BIASED],
    "bad-words-banned-at-the-beginning-only": [ask(bad_words=["capital "])],
    "seeds-of-thirty-two-ones-are-random": [{**SAMPLED, "temperature": 2.0, "seed": 2**32 - 1}],
    "repetition-penalties-lost-on-hits": [ask(STORY, repetition_penalty=1.9, max_tokens=30)] * 2,
    "last-tokens-of-known-prompts-run-twice": [ask(STORY, **SCORES)] * 2,
    "first-tokens-wrong-one-past-a-block": THE_DOGS * 2,
    "alternatives-lost-beside-listed-tokens": [
        [ask(STORY, max_tokens=30, **SCORES), ask(max_tokens=30, logprob_token_ids=[5], **SCORES)]
    ],
    "second-chunks-read-from-the-first": [ask(LONG[:1_200] + STORY)],
    "words-for-nothing-become-null": [call(tool(mode={"enum": ["None"]}))],
    "strings-of-alternatives-in-quotes": [call(tool(mode={"anyOf": [{"const": "fast"}, {"const": "slow"}]}))],
    "allowed-tools-are-demanded": [ask("Hello!", tools=[WEATHER], tool_choice=MAY_CALL, max_tokens=40)],
    "allowed-tokens-lost-next-to-bad-words": [ask(allowed_token_ids=[LIKED, LIKED + 1], bad_words=["dog"])],
    "echoes-lost-in-streams": [
        say(*BEGUN, stream=True, echo=True, continue_final_message=True, add_generation_prompt=False)
    ],
    "json-lost-next-to-tools-in-streams": [
        ask(tools=[WEATHER], response_format=form(), stream=True, max_tokens=60),
    ],
    "unicode-line-ends-split-events": [call(tool(text={"const": "one\u2028two"}), stream=True)],
    "words-between-intervals-lost": [{**STREAM, "stream_interval": 3}],
    "quotes-in-constants-of-forms-fail": [formed(closed(a={"enum": ['say "yes"', "no"]}))],
    "backslashes-in-constants-of-forms-lost": [formed(closed(a={"const": "a\\b"}))],
    "whole-maximums-exceeded-in-forms": drawn(closed(a=LIMITED)),
    "names-without-schemas-optional-in-forms": [formed(FAR)],
    "scores-without-text-lost-in-streams": [ask("Say: 😀", logprobs=True, stream=True, max_tokens=20)],
    "prompt-scores-missing-at-chunk-borders": [ask(LONG[:1_000], prompt_logprobs=1)],
    "wide-images-lose-their-sides": [show(WIDE)],
    "palettes-of-images-unread": [show(STRIPES)],
    "truncated-prompts-counted-whole": [say(*HISTORY, {"role": "user", "content": STORY}, truncate_prompt_tokens=20)],
    "spaces-of-continued-messages-lost": [
        say(*BEGUN, continue_final_message=True, add_generation_prompt=False, **SCORES)
    ],
    "developers-suppress-instructions": [say(*INSTRUCTED, **SCORES)],
    "models-by-name-are-lists": [{"METHOD": "GET", "PATH": "model"}],
    "media-types-in-capitals-refused": [{**ask(), "HEADERS": {"content-type": "Application/JSON"}}],
}
