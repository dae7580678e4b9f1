"""The other half of the proof: what a conforming server may do otherwise is blamed by no check.

Each variation is made on every recorded exchange of every dialect and must leave all findings as they were.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.exchange import Response, Segment
from conformance.mutants.editing import FIRST, Frame, dump, edit_chunks, edit_deltas, edit_frames, edit_text, frames
from conformance.verdict import Outcome
from openapi import sse
from openapi.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from conformance.exchange import Exchange
    from conformance.judgement import Judgement
    from conformance.tests.conftest import Good

EXTRA: dict[str, Any] = {"x_note": "extra", "x_list": [1, {"deep": None}]}


def findings(judgements: Iterable[Judgement]) -> list[str]:
    """What was found, in words. What is observed alone blames nobody."""
    return [
        f"{each.assertion.id}: {each.error or [(found.where, found.expected) for found in each.findings]}"
        for each in judgements
        if each.error or (each.findings and each.assertion.requirement.keyword is not Keyword.MAY)
    ]


def moved(good: Good, judgements: Iterable[Judgement]) -> dict[str, Outcome]:
    """The requirements that came to another outcome than on the good run."""
    before = good.outcomes(good.judgements)
    return {key: outcome for key, outcome in good.outcomes(judgements).items() if outcome != before[key]}


def with_response(exchange: Exchange, edit: Callable[[Response], Response]) -> Exchange:
    """The response changed, where there is one."""
    return exchange if exchange.response is None else replace(exchange, response=edit(exchange.response))


def with_bytes(exchange: Exchange, edit: Callable[[bytes], bytes]) -> Exchange:
    """The segments of a stream changed one by one; what is no stream stays."""

    def change(response: Response) -> Response:
        return replace(response, segments=tuple(Segment(each.at_s, edit(each.data)) for each in response.segments))

    return with_response(exchange, change) if exchange.is_stream else exchange


def with_json(exchange: Exchange, write: Callable[[Any], bytes]) -> Exchange:
    """Every JSON object of the body written anew: the plain one, or that of each event."""
    if exchange.is_stream:
        if not exchange.events:
            return exchange
        return edit_frames(exchange, lambda frames: [_rewritten(frame, write) for frame in frames])
    if not isinstance(exchange.json, dict):
        return exchange
    body = write(exchange.json)
    return with_response(exchange, lambda found: replace(found, segments=(Segment(found.ended_at_s, body),)))


def _rewritten(frame: Frame, write: Callable[[Any], bytes]) -> Frame:
    return frame if frame.chunk is None else frame.saying(write(frame.chunk))


BYTES: dict[str, Callable[[bytes], bytes]] = {
    "lines end in CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "lines end in CR": lambda data: data.replace(b"\n", b"\r"),
    "a comment before every event": lambda data: re.sub(rb"(?m)^data:", b": keep-alive\n\ndata:", data),
    "a comment inside every event": lambda data: re.sub(rb"(?m)^data:", b":\ndata:", data),
    "no space after the colon": lambda data: re.sub(rb"(?m)^data: ", b"data:", data),
    "events have a name": lambda data: re.sub(rb"(?m)^data:", b"event: message\ndata:", data),
    "events have an id": lambda data: re.sub(rb"(?m)^data:", b"id: 7\ndata:", data),
    "events set the time to reconnect": lambda data: re.sub(rb"(?m)^data:", b"retry: 3000\ndata:", data),
    "two blank lines between events": lambda data: data.replace(b"\n\n", b"\n\n\n"),
}


def enlarged(value: Any) -> Any:
    """Unknown members in every object, at every depth."""
    if isinstance(value, dict):
        return {**{name: enlarged(member) for name, member in value.items()}, **EXTRA}
    return [enlarged(item) for item in value] if isinstance(value, list) else value


def reordered(value: Any) -> Any:
    """The members of every object the other way round."""
    if isinstance(value, dict):
        return {name: reordered(value[name]) for name in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


def with_member(name: str, member: Any) -> Callable[[Any], bytes]:
    """Sets a member of every message and delta that says nothing in it; `...` takes it away.

    Calls and thoughts stay: an answer that lost them would be another one.
    """

    def write(value: Any) -> bytes:
        value = json.loads(json.dumps(value))
        for choice in value.get("choices") or ():
            for part in {"message", "delta"} & set(choice):
                if not choice[part].get(name):
                    choice[part].pop(name, None)
                    choice[part].update({} if member is ... else {name: member})
        return dump(value)

    return write


def without_null_reasons(value: Any) -> bytes:
    """finish_reason left out where it is null."""
    value = json.loads(json.dumps(value))
    for choice in value.get("choices") or ():
        if choice.get("finish_reason", "") is None:
            del choice["finish_reason"]
    return dump(value)


JSON: dict[str, Callable[[Any], bytes]] = {
    "unknown members in every object": lambda value: dump(enlarged(value)),
    "members in another order": lambda value: dump(reordered(value)),
    "JSON in ASCII with spaces": lambda value: json.dumps(value, separators=(" , ", " : ")).encode(),
    "JSON over several lines": lambda value: json.dumps(value, indent=1, ensure_ascii=False).encode(),
    "tool_calls absent": with_member("tool_calls", ...),
    "tool_calls null": with_member("tool_calls", None),
    "tool_calls empty": with_member("tool_calls", []),
    "reasoning_content null": with_member("reasoning_content", None),
    "finish_reason absent before the end": without_null_reasons,
}


def byte_by_byte(response: Response) -> Response:
    """The same body, one segment for each byte, spread over the time of the answer."""
    body = b"".join(each.data for each in response.segments)
    step_s = max(response.ended_at_s - response.headers_at_s, 0.0) / max(len(body), 1)
    segments = (Segment(response.headers_at_s + at * step_s, body[at : at + 1]) for at in range(len(body)))
    return replace(response, segments=tuple(segments))


def three_at_a_time(response: Response) -> Response:
    """Three segments arriving as one, with the last of them."""
    groups = [response.segments[at : at + 3] for at in range(0, len(response.segments), 3)]
    segments = (Segment(group[-1].at_s, b"".join(each.data for each in group)) for group in groups)
    return replace(response, segments=tuple(segments))


def with_media_type(edit: Callable[[str], str]) -> Callable[[Response], Response]:
    """The content type written otherwise."""

    def change(response: Response) -> Response:
        pairs = ((name, edit(value) if name == "content-type" else value) for name, value in response.headers)
        return replace(response, headers=tuple(pairs))

    return change


WIRE: dict[str, Callable[[Response], Response]] = {
    "byte by byte": byte_by_byte,
    "several events in one segment": three_at_a_time,
    "header names in capitals": lambda response: replace(
        response, headers=tuple((name.upper(), value) for name, value in response.headers)
    ),
    "a charset without a space": with_media_type(lambda value: f"{value.partition(';')[0]};charset=utf-8"),
    "no charset": with_media_type(lambda value: value.partition(";")[0]),
    "a media type in capitals": with_media_type(str.upper),
    "headers that no document names": lambda response: replace(
        response, headers=(*response.headers, ("x-request-id", "7"), ("set-cookie", "a=b"), ("set-cookie", "c=d"))
    ),
    "another reason phrase": lambda response: replace(response, reason="Fine"),
}


def opened(exchange: Exchange) -> Exchange:
    """One more chunk at the start of a stream, with the role and no text, as newer servers of the vendors send it."""

    def open_choice(chunk: dict[str, Any]) -> None:
        for choice in chunk["choices"]:
            choice["delta"] = {"role": "assistant", "content": ""}
            choice.update({"logprobs": None} if "logprobs" in choice else {})

    return edit_frames(exchange, lambda frames: [frames[0].edited(open_choice), *frames])


def signed(exchange: Exchange) -> Exchange:
    """A byte order mark at the start of a stream."""
    return edit_frames(exchange, lambda frames: [replace(frames[0], raw=b"\xef\xbb\xbf" + frames[0].raw), *frames[1:]])


def pinged(exchange: Exchange) -> Exchange:
    """A comment after `[DONE]`."""
    return edit_frames(exchange, lambda frames: [*frames, replace(frames[-1], raw=b": bye\n\n")])


def in_full(exchange: Exchange) -> Exchange:
    """Cumulative deltas, the last of them with `full_text` beside it."""
    said = ""

    def lengthen(delta: dict[str, Any]) -> None:
        nonlocal said
        said += delta.get("content") or ""
        delta["content"] = said

    longer = edit_deltas(exchange, lengthen)
    return edit_chunks(longer, lambda chunk: chunk.update(full_text=said), slice(-1, None))


def in_one_chunk(exchange: Exchange) -> Exchange:
    """The whole answer in one chunk, as servers send it that search by beam."""
    said, ended = exchange.content(), exchange.finish_reason()
    if exchange.choices[0].tool_calls or exchange.choices[0].reasoning:
        return exchange

    def gather(frames: list[Frame]) -> list[Frame]:
        # The usage-only chunk, where there is one, stays as it is.
        at = max(at for at, frame in enumerate(frames) if (frame.chunk or {}).get("choices"))
        first = (frames[0].chunk or {})["choices"][0]["delta"]

        told = [(frame.chunk or {}).get("choices") for frame in frames]
        entries = [
            entry for choices in told if choices for entry in (choices[0].get("logprobs") or {}).get("content") or ()
        ]

        def fill(chunk: dict[str, Any]) -> None:
            chunk["choices"][0].update(delta={**first, "content": said}, finish_reason=ended)
            chunk["choices"][0].update({"logprobs": {"content": entries}} if entries else {})

        return [frames[at].edited(fill), *frames[at + 1 :]]

    return edit_frames(exchange, gather)


STREAMS: dict[str, Callable[[Exchange], Exchange]] = {
    "an opening chunk with the role": opened,
    "a byte order mark": signed,
    "a comment after the end": pinged,
    "content null in the last delta": lambda exchange: edit_deltas(
        exchange, lambda delta: delta.update(content=delta.get("content") or None)
    ),
}


def with_streams(change: Callable[[Exchange], Exchange]) -> Callable[[Exchange], Exchange]:
    """Changes the streams of one choice that went well."""

    def change_one(exchange: Exchange) -> Exchange:
        fits = exchange.is_stream and exchange.succeeded and len(exchange.choices) == 1
        return change(exchange) if fits else exchange

    return change_one


def _spaced(stop: str | list[str]) -> str | list[str]:
    return stop.replace(" ", "\u2028") if isinstance(stop, str) else [each.replace(" ", "\u2028") for each in stop]


def with_single(change: Callable[[Exchange], Exchange]) -> Callable[[Exchange], Exchange]:
    """Changes the streams of one choice that went well."""
    return with_streams(lambda exchange: change(exchange) if len(exchange.choices) == 1 else exchange)


def is_formed(exchange: Exchange) -> bool:
    """Whether the request demands a form of the answer."""
    sent = exchange.request_json
    if not isinstance(sent, dict):
        return False
    form = sent.get("response_format")
    return "structured_outputs" in sent or (isinstance(form, dict) and form.get("type") != "text")


def separators(exchange: Exchange) -> Exchange:
    """U+2028 in place of every space of a text, and of the stop text that was cut out of it.

    Between the members of JSON it is no blank: a text whose form is demanded stays.
    """
    if is_formed(exchange):
        return exchange

    def write(value: Any) -> bytes:
        value = json.loads(json.dumps(value))
        for choice in value.get("choices") or ():
            for part in {"message", "delta"} & set(choice):
                content = choice[part].get("content")
                choice[part]["content"] = content and content.replace(" ", "\u2028")
            for entry in (choice.get("logprobs") or {}).get("content") or ():
                for each in (entry, *entry["top_logprobs"]):
                    each["token"] = each["token"].replace(" ", "\u2028")
                    each["bytes"] = each["bytes"] and list(bytes(each["bytes"]).replace(b" ", "\u2028".encode()))
        return dump(value)

    sent = exchange.request_json
    if isinstance(sent, dict) and sent.get("stop"):
        stop = sent["stop"]
        spaced = _spaced(stop) if exchange.succeeded else stop
        body = dump({**sent, "stop": spaced})
        exchange = replace(exchange, request=replace(exchange.request, body=body))
    return with_json(exchange, write)


def changed_by(edit: Callable[[bytes], bytes]) -> Callable[[Exchange], Exchange]:
    return lambda exchange: with_bytes(exchange, edit)


def written_by(write: Callable[[Any], bytes]) -> Callable[[Exchange], Exchange]:
    return lambda exchange: with_json(exchange, write)


def carried_by(edit: Callable[[Response], Response]) -> Callable[[Exchange], Exchange]:
    return lambda exchange: with_response(exchange, edit)


VARIATIONS: dict[str, Callable[[Exchange], Exchange]] = {
    **{name: changed_by(edit) for name, edit in BYTES.items()},
    **{name: written_by(write) for name, write in JSON.items()},
    **{name: carried_by(edit) for name, edit in WIRE.items()},
    **{name: with_streams(change) for name, change in STREAMS.items()},
    "U+2028 for spaces": separators,
}


@pytest.mark.parametrize("variation", VARIATIONS)
def test_what_is_allowed_is_not_blamed(good: Good, variation: str) -> None:
    judgements = good.judge(good.changed(VARIATIONS[variation]))
    assert findings(good.judgements) == findings(judgements)
    assert not moved(good, judgements)


def test_every_variation_changes_something_in_every_dialect(good: Good) -> None:
    exchanges = [good.exchanges[key] for key in (("greedy", "streamed"), ("greedy", "plain"))]
    idle = [name for name, vary in VARIATIONS.items() if [vary(each) for each in exchanges] == exchanges]
    assert {"tool_calls absent"} >= set(idle)  # some dialects have none to take away


def test_cumulative_text_is_no_fault_where_the_dialect_knows_it(good: Good) -> None:
    if good.contract.stream.full_text != "optional":
        pytest.skip(f"{good.contract.name} knows no full text")
    changed = good.changed(with_single(in_full))
    assert findings(good.judgements) == findings(good.judge(changed))


def test_a_whole_answer_in_one_chunk_is_not_blamed(good: Good) -> None:
    judgements = good.judge(good.changed(with_single(in_one_chunk)))
    assert findings(good.judgements) == findings(judgements)
    untold = {"stream.arrives-bit-by-bit", "stream.deltas-add-up", "stream.text-not-repeated"}
    assert untold >= set(moved(good, judgements))  # one event tells nothing of that


def test_a_role_in_the_first_delta_alone_is_at_most_a_warning(good: Good) -> None:
    def change(exchange: Exchange) -> Exchange:
        bare = edit_deltas(exchange, lambda delta: delta.pop("role", None))
        return edit_deltas(bare, lambda delta: delta.update(role="assistant"), FIRST)

    expected = {"stream.role-in-every-delta": Outcome.WARN}
    found = moved(good, good.judge(good.changed(with_single(change))))
    assert {key: word for key, word in expected.items() if key in good.contract.requirements} == found


def test_usage_left_out_is_at_most_a_warning_and_what_is_said_of_it_does_not_apply(good: Good) -> None:
    def drop(value: Any) -> bytes:
        return dump({name: member for name, member in value.items() if name != "usage"})

    changed = {
        key: exchange if "stream_options" in (exchange.request_json or {}) else with_json(exchange, drop)
        for key, exchange in good.exchanges.items()
        if isinstance(exchange.request_json, dict)
    }
    found = moved(good, good.judge(changed))
    assert {Outcome.WARN, Outcome.NOT_APPLICABLE} >= set(found.values())
    assert {"answer.usage-present", "stream.usage-with-finish"} & set(good.contract.requirements) == {
        key for key, word in found.items() if word is Outcome.WARN
    }


def deltas(exchange: Exchange) -> list[dict[str, Any]]:
    """The deltas of the first choice of each chunk that has one, as `edit_deltas` counts them."""
    chunks = (frame.chunk or {} for frame in frames(exchange))
    return [chunk["choices"][0]["delta"] for chunk in chunks if chunk.get("choices")]


DRAWN = {
    *("effects.seed-repeats", "effects.top-p-narrows", "effects.top-k-one-is-greedy", "effects.min-p-narrows"),
}
"""Effects that need a server that repeats itself somewhere."""


def test_a_server_whose_greedy_answers_do_not_repeat_is_warned_and_not_failed(good: Good) -> None:
    heard: list[str] = []

    def change(exchange: Exchange) -> Exchange:
        if not exchange.content():
            return exchange
        heard.append(exchange.id)
        # A text whose form is demanded differs in the blanks before it; noughts and ones are no banned words.
        begin = " " * len(heard) if is_formed(exchange) else f"{len(heard):b}! "
        if not exchange.is_stream:
            return edit_text(exchange, lambda text: begin + text)
        texts = [bool(delta.get("content")) for delta in deltas(exchange)]
        at = texts.index(True)  # the thoughts, where there are some, come before it
        return edit_deltas(exchange, lambda delta: delta.update(content=begin + delta["content"]), slice(at, at + 1))

    found = moved(good, good.judge(good.changed(change)))
    assert Outcome.FAIL not in found.values()
    warned = {key for key, word in found.items() if word is Outcome.WARN}
    assert {"sampling.greedy-repeats", "sampling.seed-repeats"} <= warned
    assert {
        "sampling.greedy-repeats",
        "sampling.seed-repeats",
        "choices.seed-repeats",
        "logprobs.make-the-text",
        "relations.shorter-is-a-beginning",
        *DRAWN,
    } >= warned  # entries keep what was said before


def test_a_server_too_fast_to_be_timed_is_not_warned(good: Good) -> None:
    def hasten(response: Response) -> Response:
        segments = tuple(Segment(each.at_s / 1000, each.data) for each in response.segments)
        return replace(response, segments=segments, ended_at_s=response.ended_at_s / 1000)

    found = moved(good, good.judge(good.changed(carried_by(hasten))))
    assert set(found.values()) <= {Outcome.NOT_APPLICABLE}


def test_a_405_with_several_allow_headers_is_not_blamed(good: Good) -> None:
    key = ("get-chat", "main")
    response = good.exchanges[key].response
    assert response is not None
    others = (pair for pair in response.headers if pair[0].lower() != "allow")
    headers = (*others, ("Allow", "OPTIONS"), ("allow", "POST"))
    changed = {key: replace(good.exchanges[key], response=replace(response, status=405, headers=headers))}
    assert findings(good.judgements) == findings(good.judge(changed))


def test_a_server_that_returns_n_of_the_best_of_is_not_blamed(read_good: Callable[[str], Good]) -> None:
    good = read_good("mindie-2.3")
    key = ("choices-best-of", "best-of")
    shorter = with_json(good.exchanges[key], lambda value: dump({**value, "choices": value["choices"][:2]}))
    assert {} == moved(good, good.judge({key: shorter}))


def test_the_encoder_of_the_variations_is_the_one_that_servers_use() -> None:
    assert Frame(0.0, b"").saying(b"{}").raw == sse.encode(b"{}")
