"""Usage that does not add up, or comes when it should not."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import orjson

from openapi.stream import sse
from reference_server.faults.decorators import around, at_seams, demands, fault, held_by, knows
from reference_server.faults.fault_middleware import Faulty
from reference_server.faults.hooks import DATA, Seams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, Told

COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def counted(
    name: str,
    edit: Callable[[Json], object],
    line: str,
    *,
    plain: bool = True,
    streamed: bool = True,
    **options: Any,
) -> Fault:
    """A fault of usage, wherever it stands."""

    def change(holder: Json, _told: Told) -> None:
        if isinstance(holder.get("usage"), dict):
            edit(holder["usage"])

    return held_by(name, change, line, plain=plain, streamed=streamed, **options)


def _add(usage: Json, prompt: int = 0, completion: int = 0) -> None:
    usage["prompt_tokens"] += prompt
    usage["completion_tokens"] += completion
    usage["total_tokens"] += prompt + completion


def _to(usage: Json, name: str, value: int) -> None:
    _add(usage, **{name.removesuffix("_tokens"): value - usage[name]})


total_off_by_one = counted(
    "total-off-by-one",
    lambda usage: usage.update(total_tokens=usage["total_tokens"] + 1),
    "`total_tokens` is one more than the sum.",
    bugs=[75],
)
completion_off_by_one = counted(
    "completion-off-by-one",
    lambda usage: _add(usage, completion=1),
    "The last token is counted twice.",
    bugs=[71],
)
completion_one_less = counted(
    "completion-one-less", lambda usage: _add(usage, completion=-1), "The last token is not counted.", bugs=[71]
)
completion_zero = counted(
    "completion-zero", lambda usage: _to(usage, "completion_tokens", 0), "No completion token is counted.", bugs=[71]
)
completion_constant = counted(
    "completion-constant", lambda usage: _to(usage, "completion_tokens", 1), "Every answer counts one token.", bugs=[71]
)
last_batch_counted = counted(
    "last-batch-counted",
    lambda usage: _to(usage, "completion_tokens", (usage["completion_tokens"] - 1) % 3 + 1),
    "Tokens are made three at a time, and only the last of these batches is counted.",
    bugs=[71],
)
prompt_zero = counted(
    "prompt-zero", lambda usage: _to(usage, "prompt_tokens", 0), "No prompt token is counted.", bugs=[73]
)
prompt_constant = counted(
    "prompt-constant", lambda usage: _to(usage, "prompt_tokens", 9), "Every prompt counts 9 tokens.", bugs=[73]
)
prompt_negative = counted(
    "prompt-negative", lambda usage: _to(usage, "prompt_tokens", -5), "`prompt_tokens` is negative.", bugs=[75]
)
counts_are_texts = counted(
    "counts-are-texts",
    lambda usage: usage.update({name: str(usage[name]) for name in COUNTS}),
    "Counts of usage are texts.",
)
counts_are_floats = counted(
    "counts-are-floats",
    lambda usage: usage.update({name: usage[name] + 0.5 for name in COUNTS}),
    "Counts of usage have fractions.",
)
prompt_counted_otherwise_in_streams = counted(
    "prompt-otherwise-in-streams", lambda usage: _add(usage, prompt=1), "Streams count one prompt token more.",
    plain=False, bugs=[74],
)  # fmt: skip
counts_missing = counted("total-missing", lambda usage: usage.pop("total_tokens"), "`total_tokens` is missing.")
batch_sizes_negative = counted(
    "batch-sizes-negative",
    lambda usage: usage.update(batch_size=[-1 for _ in usage.get("batch_size", [])]),
    "Batch sizes are negative.",
    fits=demands("answer.timings-non-negative"),
)
waits_for_no_token = counted(
    "waits-for-no-token",
    lambda usage: usage.update(queue_wait_time=usage.get("queue_wait_time", [])[:-1]),
    "`queue_wait_time` lacks the last token.",
    fits=demands("usage.one-entry-per-token"),
)
cached_beyond_prompt = counted(
    "cached-beyond-prompt",
    lambda usage: usage.update(prompt_tokens_details={"cached_tokens": usage["prompt_tokens"] + 1}),
    "More prompt tokens are cached than there are.",
    fits=demands("usage.details-within-totals"),
)
usage_absent = held_by(
    "usage-absent", lambda answer, _told: answer.pop("usage", None), "Plain answers have no usage.",
    streamed=False, bugs=[77],
)  # fmt: skip
prefill_negative = held_by(
    "prefill-negative", lambda answer, _told: answer.update(prefill_time=-1), "`prefill_time` is negative.",
    streamed=False, fits=demands("answer.timings-non-negative"),
)  # fmt: skip


def _first_choice_only(answer: Json, _told: Told) -> None:
    width = len(answer["choices"])
    if width > 1:
        usage = answer["usage"]
        _to(usage, "completion_tokens", max(1, usage["completion_tokens"] // width))


first_choice_counted = held_by(
    "first-choice-counted", _first_choice_only, "Usage counts the tokens of one choice only.", streamed=False
)


def _drop_options(told: Told) -> None:
    told.sent.pop("stream_options", None)


include_usage_ignored = at_seams(
    "include-usage-ignored", "include_usage is ignored.", request=_drop_options, bugs=[66],
    fits=demands("stream.usage-on-request"),
)  # fmt: skip


@fault("usage-in-every-chunk", "chunk", bugs=[67])
def usage_in_every_chunk(chunk: Json, _told: Told) -> None:
    """Usage comes with every chunk of a stream."""
    if not isinstance(chunk.get("usage"), dict):
        chunk["usage"] = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}


@fault("usage-unasked", "event", bugs=[68], fits=demands("stream.usage-only-on-request"))
def usage_unasked(frame: bytes, told: Told) -> Iterator[bytes]:
    """A chunk of usage comes whether it was asked for or not."""
    if frame.startswith(b"data: {"):
        told.memory["last"] = frame
    elif not told.sent.get("stream_options"):
        chunk = orjson.loads(told.memory["last"].removeprefix(DATA))
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        yield sse.encode(orjson.dumps({**chunk, "choices": [], "usage": usage}))
    yield frame


@fault("usage-absent-elsewhere", "chunk", bugs=[70], fits=demands("stream.usage-null-elsewhere"))
def usage_absent_elsewhere(chunk: Json, _told: Told) -> None:
    """With include_usage the other chunks lack `usage: null`."""
    if chunk.get("usage") is None:
        chunk.pop("usage", None)


@fault("usage-after-finish", "event", fits=demands("stream.usage-with-finish"))
def usage_after_finish(frame: bytes, _told: Told) -> Iterator[bytes]:
    """Usage comes in a chunk of its own after the finish_reason."""
    if b'"finish_reason":"' not in frame or b'"usage":{' not in frame:
        yield frame
        return
    chunk = orjson.loads(frame.removeprefix(DATA))
    usage = chunk.pop("usage")
    yield sse.encode(orjson.dumps(chunk))
    yield sse.encode(orjson.dumps({**chunk, "choices": [], "usage": usage}))


@fault("usage-before-choices-end", "event", fits=demands("stream.usage-on-request"))
def usage_before_choices_end(frame: bytes, told: Told) -> Iterator[bytes]:
    """The chunk of usage comes before the one with the finish_reason."""
    if b'"finish_reason":"' in frame and told.sent.get("stream_options"):
        told.memory["held"] = frame
        return
    yield frame
    if b'"usage":{' in frame and "held" in told.memory:
        yield told.memory.pop("held")


@fault("usage-with-last-choice", "event", fits=demands("stream.usage-on-request"))
def usage_with_last_choice(frame: bytes, told: Told) -> Iterator[bytes]:
    """The usage that was asked for stands in the last chunk with a choice, not in one of its own."""
    if b'"finish_reason":"' in frame and (told.sent.get("stream_options") or {}).get("include_usage"):
        told.memory["held"] = frame
        return
    if "held" in told.memory and frame.startswith(b"data: {"):
        usage = orjson.loads(frame.removeprefix(DATA))["usage"]
        chunk = orjson.loads(told.memory.pop("held").removeprefix(DATA))
        yield sse.encode(orjson.dumps({**chunk, "usage": usage}))
        return
    yield frame


def _room_too(holder: Json, told: Told) -> None:
    limit = told.sent.get("max_tokens")
    if isinstance(holder.get("usage"), dict) and isinstance(limit, int):
        _add(holder["usage"], prompt=limit)


prompt_with_room = held_by(
    "prompt-with-room", _room_too, "prompt_tokens counts the room that max_tokens leaves for the answer.", bugs=[73]
)


@around("prompt-grows-by-itself", bugs=[73])
def prompt_grows_by_itself(app: ASGIApp, contract: Contract) -> ASGIApp:
    """The same prompt counts one token more each time."""
    asked = itertools.count(1)

    def grow(answer: Json, _told: Told) -> None:
        if isinstance(answer.get("usage"), dict):
            _add(answer["usage"], prompt=next(asked))

    return Faulty(app, contract, Seams(answer=grow))


def _prompt_for_each(answer: Json, _told: Told) -> None:
    extra = len(answer["choices"]) - 1
    if extra > 0 and isinstance(answer.get("usage"), dict):
        _add(answer["usage"], prompt=extra * answer["usage"]["prompt_tokens"])


def _first_of_a_stream(chunk: Json, told: Told) -> None:
    several = told.sent.get("n") or 1
    if several > 1 and isinstance(chunk.get("usage"), dict):
        _to(chunk["usage"], "completion_tokens", chunk["usage"]["completion_tokens"] // several)


def _limit_when_stopped(answer: Json, told: Told) -> None:
    stopped = all(choice["finish_reason"] == "stop" for choice in answer["choices"])
    if told.sent.get("stop") and stopped and isinstance(answer.get("usage"), dict):
        _to(answer["usage"], "completion_tokens", told.sent.get("max_tokens") or 64)


prompt_for_each_choice = at_seams(
    "prompt-for-each-choice", "The prompt is counted once for each choice.", answer=_prompt_for_each, fits=knows("n")
)
first_choice_counted_in_streams = at_seams(
    "first-choice-counted-in-streams", "Usage of streams counts the tokens of one choice only.",
    chunk=_first_of_a_stream, fits=knows("n", "stream_options"),
)  # fmt: skip
stopped_counts_the_limit = at_seams(
    "stopped-counts-the-limit", "An answer that a stop text ends counts max_tokens.", answer=_limit_when_stopped
)
