"""Test that no check reports variations that every document allows.

Each variation changes the recorded exchanges of one dialect, a third of them, and must not change any finding. The
variations of the reference server are replayed; `variations` has those that the reference server cannot produce.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.exchange import Exchange, Response, Segment
from conformance.proof.editing.answers import edit_text
from conformance.proof.editing.responses import dump
from conformance.proof.editing.streams import FIRST, Frame, edit_chunks, edit_deltas, frames
from conformance.report.outcome import Outcome
from conformance.tests.conftest import DIALECTS, PARTS
from conformance.tests.proof import replayed_variations
from conformance.tests.proof.rejudged import judge
from conformance.tests.proof.variations import (
    VARIATIONS,
    carried_by,
    in_full,
    in_one_chunk,
    is_formed,
    with_json,
    with_single,
)
from openapi.contract.contract import Keyword, load
from openapi.stream import sse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.proof.recorded_run import Exchanges
    from conformance.tests.conftest import Good


WITHOUT_CALLS = ("tool-calls-absent", "tool-calls-empty")
"""Variations of which one changes nothing in each dialect, because answers without tool calls are already like that."""
UNSHOWN = (
    *(*WITHOUT_CALLS, "penalties-in-logprobs", "tool-choice-unknown-called"),
    *("composed-by-the-tokenizer", "trimmed-by-the-template", "sanitized-special-tokens"),
    *("first-line-feed-dropped", "large-prompts-begin-late", "media-images-in-front"),
)
"""Variations that no recorded answer of some dialects shows: they concern requests, or times."""


MAY_BE_UNEXERCISED = {
    "refused-in-an-answer": {
        *("errors.body-is-json-object", "errors.envelope-fits", "errors.json-content-type", "errors.envelope-known"),
        *("errors.streamed-as-plain", "errors.envelopes-alike", "errors.names-the-parameter"),
        *("errors.code-of-its-kind", "relations.longest-prompt-answered"),
    },
    "media-no-videos": {
        *("media.videos-told-apart", "media.video-counted", "media.url-videos-told-apart"),
        *("media.whole-video-read", "media.video-in-order"),
    },
    "media-no-audio": {
        *("media.audio-told-apart", "media.audio-counted", "media.url-audio-told-apart", "media.whole-audio-read"),
    },
    "call-arguments-closed-where-cut": {"finish.length-when-call-cut"},
    "odd-orders-of-messages-refused": {"prompt.any-order-survived"},
    "biases-limited": {"effects.bans-heeded", "effects.moderate-bias-heeded"},
    "penalties-in-logprobs": {"effects.penalties-whole"},
    "three-events-a-segment": {"http.coded-stream-in-time", "http.large-stream-in-time"},
    "streams-of-one-choice": {
        *("choices.streamed-as-plain", "usage.streamed-choices-as-plain", "stream.as-many-choices-as-asked"),
        *("effects.kept-beside-others", "finish.beside-as-alone"),
    },
}
"""Requirements that nothing shows where a server makes use of what its document allows, by variation."""


def check_unreported(good: Good, changed: Exchanges) -> None:
    """Check that replaced exchanges change neither a finding nor an outcome."""
    again = judge(good, changed)
    found, moved = again.new_findings, again.moved  # assertions about `again` would print all exchanges, too
    assert [] == found
    assert {} == moved


def take_turn(number: int, dialects: Sequence[str]) -> str:
    """Return the dialect in which the variation of this number is tested."""
    return dialects[number % len(dialects)]


def list_edited() -> list[tuple[str, str, int]]:
    """Return each variation with one of the dialects, and one of the parts of its run."""
    return [(name, take_turn(number, DIALECTS), number % PARTS) for number, name in enumerate(VARIATIONS)]


@pytest.mark.takes_turns
@pytest.mark.parametrize(("variation", "dialect", "part"), list_edited())
def test_variations_are_not_reported(read_good: Callable[[str], Good], variation: str, dialect: str, part: int) -> None:
    good = read_good(dialect).parts[part]
    reason = good.contract.requirements["stream.finish-reason-always-there"]
    if variation == "finish_reason absent before the end" and reason.keyword is not Keyword.MAY:
        pytest.skip(f"{good.contract.name} documents that finish_reason is null before the end")
    check_unreported(good, good.changed(VARIATIONS[variation]))


def list_replayed() -> list[tuple[str, str, int]]:
    """Return each variation of the server with a dialect to which it applies, and the part of its run to try first.

    `chatproof faults run` judges it in two dialects, live.
    """
    pairs = []
    for number, (name, fault) in enumerate(replayed_variations.VARIATIONS.items()):
        fitting = [dialect for dialect in DIALECTS if fault.applies_to(load(dialect))]
        pairs.append((name, take_turn(number, fitting), number % PARTS))
    return pairs


@pytest.mark.takes_turns
@pytest.mark.parametrize(("variation", "dialect", "part"), list_replayed())
def test_variations_of_the_reference_server_are_not_reported(
    read_good: Callable[[str], Good], variation: str, dialect: str, part: int
) -> None:
    parts, fault = read_good(dialect).parts, replayed_variations.VARIATIONS[variation]
    replays = ((good, replayed_variations.replay(good, fault)) for good in (*parts[part:], *parts[:part]))
    shown = next(((good, changed) for good, changed in replays if changed != good.exchanges), None)
    assert shown is not None or variation in UNSHOWN
    good, changed = shown or (parts[part], {})
    again = judge(good, changed)
    found, moved = again.new_findings, again.moved  # assertions about `again` would print all exchanges, too
    assert [] == found
    lost = {requirement for requirement, outcome in moved.items() if outcome is not Outcome.PASS}
    assert MAY_BE_UNEXERCISED.get(variation, set()) >= lost
    assert {Outcome.NOT_EXERCISED, Outcome.PASS} >= set(moved.values())


def test_every_variation_changes_something_in_every_dialect(good: Good) -> None:
    kinds = ("greedy", "streamed"), ("greedy", "plain"), ("refused-both", "refused-plain"), ("key-missing", "main")
    exchanges = [good.exchanges[key] for key in kinds if key in good.exchanges]
    idle = [name for name, vary in VARIATIONS.items() if [vary(exchange) for exchange in exchanges] == exchanges]
    without_key = set() if len(exchanges) == len(kinds) else {"a second authentication scheme"}
    assert without_key >= set(idle)


def test_each_variation_of_absent_tool_calls_changes_some_dialect(goods: list[Good]) -> None:
    for name in WITHOUT_CALLS:
        variation = replayed_variations.VARIATIONS[name]
        assert any(replayed_variations.replay(good, variation) != good.exchanges for good in goods), name


def test_cumulative_text_is_not_reported_if_the_dialect_documents_it(good: Good) -> None:
    if good.contract.stream.full_text != "optional":
        pytest.skip(f"{good.contract.name} does not document full_text")
    part = good.part
    assert [] == judge(part, part.changed(with_single(in_full))).new_findings


def test_a_whole_answer_in_one_chunk_is_not_reported(good: Good) -> None:
    again = judge(good.part, good.part.changed(with_single(in_one_chunk)))
    assert [] == again.new_findings
    not_exercised = {
        *("stream.arrives-bit-by-bit", "stream.deltas-add-up", "stream.text-not-repeated"),
        *("http.coded-stream-in-time", "http.large-stream-in-time"),
    }
    assert not_exercised >= set(again.moved)  # one event does not show it


def test_an_empty_last_delta_is_not_reported(good: Good) -> None:
    def empty_last(exchange: Exchange) -> Exchange:
        def edit(chunk: dict[str, Any]) -> None:
            for choice in chunk["choices"]:
                delta = choice.get("delta") or {}
                if choice.get("finish_reason") and not (delta.get("content") or delta.get("tool_calls")):
                    choice["delta"] = {}

        return edit_chunks(exchange, edit)

    assert [] == judge(good.part, good.part.changed(with_single(empty_last))).new_findings


def test_a_role_in_the_first_delta_alone_is_at_most_a_warning(good: Good) -> None:
    def change(exchange: Exchange) -> Exchange:
        bare = edit_deltas(exchange, lambda delta: delta.pop("role", None))
        return edit_deltas(bare, lambda delta: delta.update(role="assistant"), FIRST)

    expected = {"stream.role-in-every-delta": Outcome.WARN}
    found = judge(good.part, good.part.changed(with_single(change))).moved
    assert {key: word for key, word in expected.items() if key in good.contract.requirements} == found


@pytest.mark.takes_turns
def test_missing_usage_is_at_most_a_warning_and_disables_its_checks(good: Good) -> None:
    def drop(value: Any) -> bytes:
        return dump({name: field for name, field in value.items() if name != "usage"})

    changed = {
        key: exchange if "stream_options" in (exchange.request_json or {}) else with_json(exchange, drop)
        for key, exchange in good.part.exchanges.items()
        if isinstance(exchange.request_json, dict)
    }
    found = judge(good.part, changed).moved
    assert {Outcome.WARN, Outcome.NOT_EXERCISED} >= set(found.values())
    assert {"answer.usage-present", "stream.usage-with-finish"} & set(good.contract.requirements) == {
        key for key, word in found.items() if word is Outcome.WARN
    }


def deltas(exchange: Exchange) -> list[dict[str, Any]]:
    """Return the deltas of the first choice of each chunk with choices, as `edit_deltas` counts them."""
    chunks = (frame.chunk or {} for frame in frames(exchange))
    return [chunk["choices"][0]["delta"] for chunk in chunks if chunk.get("choices")]


DRAWN = {
    *("effects.seed-repeats", "effects.top-p-narrows", "effects.top-k-one-is-greedy", "effects.min-p-narrows"),
}
"""Effects that need a server with some repeatable answers."""


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", ["mindie-2.3", "openai", "vllm"])  # the checks are the same in the others
def test_greedy_answers_that_do_not_repeat_are_a_warning_and_not_a_failure(
    read_good: Callable[[str], Good], dialect: str
) -> None:
    good = read_good(dialect)
    changed_ids: list[str] = []

    def change(exchange: Exchange) -> Exchange:
        if not exchange.content() or (exchange.request_json or {}).get("echo"):  # an echoed message stays
            return exchange
        if not str((exchange.request_json or {}).get("stop", "x")).strip():  # what is added has a blank
            return exchange
        changed_ids.append(exchange.id)
        # Structured output differs in leading spaces; zeros and ones are not banned words.
        begin = " " * len(changed_ids) if is_formed(exchange) else f"{len(changed_ids):b}! "
        if not exchange.is_stream:
            return edit_text(exchange, lambda text: begin + text)
        texts = [bool(delta.get("content")) for delta in deltas(exchange)]
        at = texts.index(True)  # reasoning, if any, comes first
        return edit_deltas(exchange, lambda delta: delta.update(content=begin + delta["content"]), slice(at, at + 1))

    found = judge(good, good.changed(change)).moved
    assert Outcome.FAIL not in found.values()
    warned = {key for key, word in found.items() if word is Outcome.WARN}
    assert {"sampling.greedy-repeats", "sampling.seed-repeats"} <= warned
    assert {
        "sampling.greedy-repeats",
        "sampling.seed-repeats",
        "choices.seed-repeats",
        "choices.beams-repeat",
        "disconnect.answer-stays-whole",
        "effects.kept-in-crowds",
        "logprobs.make-the-text",
        "logprobs.told-when-stopped",
        "relations.shorter-is-a-beginning",
        *DRAWN,
    } >= warned  # the entries still have the old text


@pytest.mark.takes_turns
def test_a_very_fast_server_has_no_timing_warnings(good: Good) -> None:
    def hasten(response: Response) -> Response:
        segments = tuple(Segment(segment.at_s / 1000, segment.data) for segment in response.segments)
        return replace(response, segments=segments, ended_at_s=response.ended_at_s / 1000)

    found = judge(good.part, good.part.changed(carried_by(hasten))).moved
    assert set(found.values()) <= {Outcome.NOT_EXERCISED}


def test_a_405_with_several_allow_headers_is_not_reported(good: Good) -> None:
    key = ("get-chat", "main")
    response = good.exchanges[key].response
    assert response is not None
    others = (pair for pair in response.headers if pair[0].lower() != "allow")
    headers = (*others, ("Allow", "OPTIONS"), ("allow", "POST"))
    changed = {key: replace(good.exchanges[key], response=replace(response, status=405, headers=headers))}
    assert [] == judge(good, changed).new_findings


def test_a_server_that_returns_n_of_best_of_is_warned_not_failed(read_good: Callable[[str], Good]) -> None:
    good = read_good("mindie-2.3")
    key = ("choices-best-of", "best-of")
    shorter = with_json(good.exchanges[key], lambda value: dump({**value, "choices": value["choices"][:2]}))
    assert {"choices.best-of-returns-n": Outcome.WARN} == judge(good, {key: shorter}).moved


def test_log_probabilities_that_include_the_bias_are_not_judged(read_good: Callable[[str], Good]) -> None:
    good = read_good("vllm")
    key = ("bias-in-numbers", "leaning")
    sent: Any = good.exchanges[key].request_json

    def lean(value: Any) -> bytes:
        for entry in value["choices"][0]["logprobs"]["content"]:
            for item in (entry, *entry["top_logprobs"]):
                item["logprob"] += sent["logit_bias"].get(item["token"].removeprefix("token_id:"), 0.0) - 16.0
        return dump(value)

    found = judge(good, {key: with_json(good.exchanges[key], lambda body: lean(json.loads(dump(body))))}).moved
    assert {"effects.logit-bias-whole": Outcome.NOT_EXERCISED} == found


def test_frames_are_encoded_as_servers_encode_events() -> None:
    assert Frame(0.0, b"").with_data(b"{}").raw == sse.encode(b"{}")
