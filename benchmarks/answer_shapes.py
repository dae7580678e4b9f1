"""Answers of many shapes and of any size: long texts, many events, many tool calls, and streams that are not valid."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

TEXTS: Final = {
    "letters": "a", "spaces": " ", "line-ends": "\n", "words": "ab ", "digits": "0", "braces": "{", "brackets": "[",
    "quotes": '"', "backslashes": "\\", "backticks": "`", "angles": "<", "thoughts": "<think>", "ends": "</think>",
    "specials": "<|im_start|>", "pipes": "<|", "calls": "<tool_call>", "replaced": "\ufffd", "surrogates": "\U0001f600",
    "combining": "e\u0301", "dashes": "a-", "dots": "a.", "ats": "a@", "nulls": "null,", "chinese": "你好，",
    "data": "data: ", "pairs": '"a": ', "tabs": "\t", "hex": "0xabcdef ", "counting": None,
}  # fmt: skip
"""Texts by the string that they repeat; None: no two words are equal."""
NESTED_TEXTS: Final = ("letters", "spaces", "braces", "quotes", "backslashes", "thoughts", "counting")
"""The texts that thoughts and arguments of tool calls have too."""


def repeat(piece: str | None, size: int) -> str:
    """Return a string of about `size` bytes."""
    if piece is None:
        return " ".join(map(str, range(size // 7)))
    return piece * (size // len(piece.encode()))


def answer(choices: object, **fields: Any) -> bytes:
    """Return a plain answer."""
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    value = {"id": "a-1", "object": "chat.completion", "created": 1790000000, "model": "m", "choices": choices}
    return json.dumps({**value, "usage": usage, **fields}, ensure_ascii=False).encode()


def choice(index: int = 0, **fields: Any) -> dict[str, Any]:
    """Return a choice of a plain answer."""
    message = {"role": "assistant", "content": "Hello!", **fields.pop("message", {})}
    return {"index": index, "message": message, "finish_reason": "stop", **fields}


def call(index: int) -> dict[str, Any]:
    """Return a tool call."""
    return {"index": index, "id": f"c{index}", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def entry(number: int, tops: int = 1) -> dict[str, Any]:
    """Return a log-probability entry."""
    own = {"token": "a", "logprob": -0.5, "bytes": [97]}
    return {**own, "top_logprobs": [{**own, "token": f"a{number + at}"} for at in range(tops)]}


def fill(make: Callable[[int], object], size: int) -> list[Any]:
    """Return as many items as have about `size` bytes together."""
    return [make(number) for number in range(size // len(json.dumps(make(1000))))]


def stream(deltas: Iterable[object], *, chunk: Callable[[object], dict[str, Any]] | None = None) -> bytes:
    """Return a stream with one chunk for each delta."""
    base = {"id": "a-1", "object": "chat.completion.chunk", "created": 1790000000, "model": "m"}
    make = chunk or (lambda delta: {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    chunks = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]},
        *map(make, deltas),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}},
    ]
    events = [f"data: {json.dumps({**base, **item}, ensure_ascii=False)}\n\n" for item in chunks]
    return "".join([*events, "data: [DONE]\n\n"]).encode()


def list_text_shapes(name: str, piece: str | None) -> Iterator[tuple[str, Callable[[int], bytes]]]:
    """Yield the shapes that repeat a string."""
    yield f"text-{name}", lambda size: answer([choice(message={"content": repeat(piece, size)})])
    yield f"stream-{name}", lambda size: stream([{"content": repeat(piece, size)}])
    yield (
        f"error-{name}",
        lambda size: json.dumps({"error": {"message": repeat(piece, size)}}).encode(),
    )
    yield f"raw-{name}", lambda size: repeat(piece, size).encode()
    if name not in NESTED_TEXTS:
        return
    yield (
        f"thinking-{name}",
        lambda size: answer([choice(message={"reasoning_content": repeat(piece, size)})]),
    )
    yield (
        f"arguments-{name}",
        lambda size: answer(
            [choice(message={"tool_calls": [{**call(0), "function": {"name": "f", "arguments": repeat(piece, size)}}]})]
        ),
    )


def list_shapes() -> Iterator[tuple[str, Callable[[int], bytes]]]:
    """Yield the name of each shape, and what makes it of a size."""
    for name, piece in TEXTS.items():
        yield from list_text_shapes(name, piece)
    yield "id", lambda size: answer([choice()], id="a" * size)
    yield "finish-reason", lambda size: answer([choice(finish_reason="a" * size)])
    yield "number", lambda size: answer([choice()], created=1).replace(b'"created": 1', b'"created": 1' + b"0" * size)
    yield "choices", lambda size: answer(fill(choice, size))
    yield "same-choices", lambda size: answer(fill(lambda _: choice(0), size))
    yield "tool-calls", lambda size: answer([choice(message={"tool_calls": fill(call, size)})])
    yield "same-calls", lambda size: answer([choice(message={"tool_calls": fill(lambda _: call(0), size)})])
    yield "logprobs", lambda size: answer([choice(logprobs={"content": fill(entry, size)})])
    yield "top-logprobs", lambda size: answer([choice(logprobs={"content": [entry(0, size // 60)]})])
    yield (
        "prompt-logprobs",
        lambda size: answer([choice()], prompt_logprobs=fill(lambda n: {str(n): {"logprob": -1.0}}, size)),
    )
    yield (
        "token-ids",
        lambda size: answer([choice(token_ids=[*range(size // 7)])], prompt_token_ids=[*range(size // 7)]),
    )
    yield "fields", lambda size: answer([choice()], **{f"field_{at}": at for at in range(size // 20)})
    yield "fields-of-usage", lambda size: answer([choice()], usage={f"f{at}_tokens": at for at in range(size // 20)})
    yield (
        "nested",
        lambda size: answer([choice(message={"content": 1})]).replace(
            b": 1,", b": " + b"[" * size + b"]" * size + b","
        ),
    )
    yield "duplicates", lambda size: b"{" + b'"id": "a", ' * (size // 11) + b'"choices": []}'
    yield "surrogates", lambda size: b'{"id": "' + b"\\ud800" * (size // 6) + b'"}'
    yield (
        "models",
        lambda size: json.dumps(
            {
                "object": "list",
                "data": fill(lambda at: {"id": f"m{at}", "object": "model", "created": 1, "owned_by": "x"}, size),
            }
        ).encode(),
    )
    yield "errors", lambda size: json.dumps({"error": fill(lambda at: {"message": f"m{at}"}, size)}).encode()
    yield "invalid-utf-8", lambda size: b"\xff" * size
    yield "events", lambda size: stream([{"content": "a"}] * (size // 150))
    yield "distinct-events", lambda size: stream({"content": f" {at}"} for at in range(size // 150))
    yield "thoughts", lambda size: stream([{"reasoning_content": "a"}] * (size // 150))
    yield (
        "streamed-arguments",
        lambda size: stream([{"tool_calls": [{"index": 0, "function": {"arguments": "a"}}]}] * (size // 180)),
    )
    yield "streamed-calls", lambda size: stream({"tool_calls": [call(at)]} for at in range(size // 220))
    yield (
        "streamed-choices",
        lambda size: stream(
            range(size // 150),
            chunk=lambda at: {"choices": [{"index": at, "delta": {"content": "a"}, "finish_reason": "stop"}]},
        ),
    )
    yield (
        "choices-in-a-chunk",
        lambda size: stream(
            [0],
            chunk=lambda _: {
                "choices": fill(lambda at: {"index": at, "delta": {"content": "a"}, "finish_reason": None}, size)
            },
        ),
    )
    yield (
        "streamed-logprobs",
        lambda size: stream(
            range(size // 300),
            chunk=lambda _: {
                "choices": [
                    {"index": 0, "delta": {"content": "a"}, "finish_reason": None, "logprobs": {"content": [entry(0)]}}
                ]
            },
        ),
    )
    yield (
        "usages",
        lambda size: stream(
            range(size // 200),
            chunk=lambda at: {
                "choices": [],
                "usage": {"prompt_tokens": at, "completion_tokens": 1, "total_tokens": at},
            },
        ),
    )
    yield "streamed-errors", lambda size: stream(range(size // 100), chunk=lambda at: {"error": {"message": f"e{at}"}})
    yield "after-done", lambda size: stream([]) + b"data: {}\n\n" * (size // 10)
    yield "dones", lambda size: b"data: [DONE]\n\n" * (size // 14)
    yield "comments", lambda size: b": ping\n\n" * (size // 8) + stream([])
    yield "data-lines", lambda size: b"data:\n" * (size // 6) + b"\n" + stream([])
    yield "events-of-no-data", lambda size: b"data:\n\n" * (size // 7)
    yield "carriage-returns", lambda size: stream([{"content": "a"}] * (size // 150)).replace(b"\n", b"\r")
    yield "fields-of-sse", lambda size: b"id: 1\nretry: 2\nevent: x\n" * (size // 24) + b"\n" + stream([])
    yield "no-event-ends", lambda size: b'data: {"a": 1}\n' * (size // 15)
    yield "not-json-events", lambda size: b"data: {\n\n" * (size // 9)
