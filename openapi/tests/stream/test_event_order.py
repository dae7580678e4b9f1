"""The order of events: legal streams break no rule, each rule can be broken alone, and no input raises."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openapi.stream.event_order import (
    CHOICE,
    CHOICE_BREACHES,
    DONE,
    MAX_PER_RULE,
    RULES,
    STREAM,
    STREAM_BREACHES,
    ChoiceState,
    Sign,
    StreamState,
    reports_error,
    walk,
)

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def choice(index: Any = 0, finish: Any = None, **delta: Any) -> dict[str, Any]:
    return {"index": index, "delta": delta, "finish_reason": finish}


def chunk(*choices: Any, **fields: Any) -> str:
    return json.dumps({"object": "chat.completion.chunk", "choices": list(choices), **fields}, ensure_ascii=False)


ROLE = chunk(choice(role="assistant", content=""))
TEXT = chunk(choice(content="He"))
MORE = chunk(choice(content="llo"))
STOP = chunk(choice(finish="stop"))
TOTAL = chunk(usage=USAGE)
GOOD = [ROLE, TEXT, MORE, STOP, TOTAL, DONE]

LEGAL = {
    "role first, usage last": GOOD,
    "no role at all": [TEXT, STOP, DONE],
    "role in every delta, usage with the finish (MindIE)": [
        chunk(choice(role="assistant", content="He")),
        chunk(choice(role="assistant", content="llo")),
        chunk(choice(finish="stop", role="assistant", content=""), usage=USAGE),
        DONE,
    ],
    "first content null, last text with the finish (OVMS)": [
        chunk(choice(role="assistant", content=None), usage=None),
        TEXT,
        chunk(choice(finish="stop", content="llo"), usage=None),
        TOTAL,
        DONE,
    ],
    "usage repeated in a chunk without output": [ROLE, TEXT, STOP, chunk(choice(), usage=USAGE), TOTAL, DONE],
    "usage in every chunk": [chunk(choice(content="a"), usage=USAGE), chunk(choice(finish="stop"), usage=USAGE), DONE],
    "two choices, each with usage at its finish": [
        chunk(choice(0, role="assistant", content="a")),
        chunk(choice(1, role="assistant", content="b")),
        chunk(choice(1, "stop"), usage=USAGE),
        chunk(choice(0, content="c")),
        chunk(choice(0, "length"), usage=USAGE),
        DONE,
    ],
    "usage repeated for one choice while the other continues": [
        chunk(choice(0, "stop", content="a"), choice(1, content="b")),
        chunk(choice(0), usage=USAGE),
        chunk(choice(1, "stop", content="c")),
        DONE,
    ],
    "two choices in one chunk": [
        chunk(choice(0, content="a"), choice(1, content="b")),
        chunk(choice(0, "stop"), choice(1, "stop")),
        DONE,
    ],
    "no text at all": [ROLE, STOP, DONE],
    "extra fields, chunks without choices at the start": [
        chunk(prompt_filter_results=[]),
        chunk(choice(content="a", token_ids=[1], refusal=None), kv=None, error=None),
        chunk({"index": 0, "delta": {}, "finish_reason": "stop", "stop_reason": None, "logprobs": {"content": []}}),
        DONE,
    ],
    "characters that split lines elsewhere": [chunk(choice(content="\u2028\u0085\x1e")), STOP, DONE],
    "only a tool call": [
        chunk(
            choice(tool_calls=[{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}])
        ),
        chunk(choice(tool_calls=[{"index": 0, "function": {"arguments": "{}"}}])),
        chunk(choice(finish="tool_calls")),
        DONE,
    ],
}


@pytest.mark.parametrize("data", LEGAL.values(), ids=LEGAL)
def test_a_legal_stream_breaks_no_rule(data: list[str]) -> None:
    assert walk(data).breaches == ()


# rule: streams that break it alone, and the event at which they do
BROKEN = {
    "done-last": [([ROLE, TEXT, STOP], 3), ([TEXT, STOP, TOTAL], 3)],
    "done-once": [([*GOOD, DONE], 6)],
    "nothing-after-done": [
        ([*GOOD, TOTAL], 6),
        ([*GOOD, TEXT], 6),
        ([*GOOD, "not json"], 6),
        ([*GOOD, chunk(error={"message": "late"})], 6),
        ([ROLE, TEXT, STOP, DONE, TOTAL, DONE][:5], 4),
    ],
    "events-are-json": [
        ([ROLE, TEXT, "[done]", STOP, DONE], 2),
        ([ROLE, TEXT, "", STOP, DONE], 2),
        ([ROLE, '{"choices": [NaN]}', STOP, DONE], 1),
        ([ROLE, '{"choices": [], "x": 1e999}', STOP, DONE], 1),
        ([ROLE, TEXT + TEXT, STOP, DONE], 1),
        ([ROLE, "[" * 100_000, STOP, DONE], 1),
    ],
    "events-are-objects": [
        ([ROLE, "5", STOP, DONE], 1),
        ([ROLE, "null", STOP, DONE], 1),
        ([ROLE, "[[]]", STOP, DONE], 1),
    ],
    "choices-is-a-list": [
        ([ROLE, json.dumps({"choices": None}), STOP, DONE], 1),
        ([ROLE, "{}", STOP, DONE], 1),
        ([ROLE, json.dumps({"choices": {"index": 0}}), STOP, DONE], 1),
        ([ROLE, chunk(None), STOP, DONE], 1),
        ([ROLE, STOP, json.dumps({"usage": USAGE}), DONE], 2),
    ],
    "index-is-an-integer": [
        ([chunk(choice(index, content="a")), STOP, DONE], 0) for index in ("0", None, True, 0.0, -1, [0])
    ]
    + [([json.dumps({"choices": [{"delta": {"content": "a"}}]}), STOP, DONE], 0)],
    "role-first": [
        ([chunk(choice(role="user", content="")), TEXT, STOP, DONE], 0),
        ([TEXT, ROLE, STOP, DONE], 1),
        ([ROLE, TEXT, chunk(choice(role="user", content="a")), STOP, DONE], 2),
    ],
    "one-finish-per-choice": [
        ([ROLE, TEXT, DONE], 3),
        ([ROLE, TEXT, TOTAL, DONE], 4),
        ([ROLE, TEXT, STOP, STOP, DONE], 3),
        ([ROLE, TEXT, chunk(choice(finish="")), DONE], 4),
        ([chunk(choice(0, "stop"), choice(1, content="a")), DONE], 2),
        ([DONE], 1),
        ([TOTAL, DONE], 2),
    ],
    "nothing-after-finish": [
        ([ROLE, STOP, TEXT, DONE], 2),
        ([ROLE, STOP, chunk(choice()), DONE], 2),
        ([ROLE, TEXT, STOP, TOTAL, TEXT, DONE], 4),
        ([ROLE, TEXT, STOP, chunk(choice(content="a", finish="stop")), DONE], 3),
        ([ROLE, TEXT, STOP, chunk(choice(content="a"), usage=USAGE), DONE], 3),
        ([ROLE, TEXT, STOP, chunk(choice(reasoning_content="a")), DONE], 3),
    ],
    "usage-after-finish": [
        ([ROLE, TOTAL, TEXT, STOP, DONE], 2),
        ([ROLE, TEXT, TOTAL, STOP, DONE], 3),
        ([ROLE, TEXT, STOP, TOTAL, chunk(choice(1, "stop", content="late")), DONE], 4),
    ],
    "no-error-event": [
        ([ROLE, TEXT, json.dumps({"error": {"message": "out of memory"}})], 2),
        ([ROLE, TEXT, json.dumps({"error": "out of memory", "error_type": "x"}), DONE], 2),
        ([json.dumps({"object": "error", "message": "no"}), DONE], 0),
        ([ROLE, json.dumps({"code": 701, "message": "balance", "result": None}), DONE], 1),
        ([ROLE, TEXT, chunk(error={"message": "x"}), STOP, TOTAL, DONE], 2),
    ],
}


@pytest.mark.parametrize(("rule", "data", "at"), [(rule, *case) for rule, cases in BROKEN.items() for case in cases])
def test_a_stream_that_breaks_one_rule_has_one_breach_at_the_right_event(rule: str, data: list[str], at: int) -> None:
    breaches = walk(data).breaches
    assert [(breach.rule, breach.at) for breach in breaches] == [(rule, at)]
    assert breaches[0].expected == RULES[rule]
    assert breaches[0].got


def test_every_rule_has_a_stream_that_breaks_it() -> None:
    assert set(BROKEN) == set(RULES)


def test_the_tables_use_only_known_states_signals_and_rules() -> None:
    assert set(STREAM) == set(get_args(StreamState))
    assert {state for row in STREAM.values() for state in row.values()} == set(get_args(StreamState))
    assert {state for state, _ in CHOICE} | set(CHOICE.values()) == set(get_args(ChoiceState))
    assert {sign for _, sign in CHOICE_BREACHES} | {sign for _, sign in CHOICE} | {"usage only"} == set(get_args(Sign))
    assert all(signal in STREAM[state] for state, signal in STREAM_BREACHES)
    assert set(STREAM_BREACHES.values()) | set(CHOICE_BREACHES.values()) < set(RULES)


def test_an_empty_stream_lacks_its_end_mark_and_a_choice() -> None:
    assert [(breach.rule, breach.at) for breach in walk([]).breaches] == [
        ("done-last", 0),
        ("one-finish-per-choice", 0),
    ]


def test_breaches_are_recorded_up_to_a_limit_and_all_counted() -> None:
    result = walk([ROLE, STOP, *[TEXT] * 1000, DONE])
    assert len(result.breaches) == MAX_PER_RULE
    assert result.breach_counts == {"nothing-after-finish": 1000}


def test_a_breach_quotes_a_hostile_event_briefly() -> None:
    data = [chunk({"index": "x" * 10**6}), "y" * 10**6, '{"choices": ' + "[" * 300 + "]" * 300 + "}"]
    assert max(len(breach.got) for breach in walk(data).breaches) < 400


def test_the_content_of_a_stream_is_recorded_with_the_indices_of_its_events() -> None:
    result = walk(GOOD)
    assert [at for at, _ in result.chunks] == [0, 1, 2, 3, 4]
    assert result.usages == ((4, USAGE),)
    assert result.done_at == (5,)
    assert result.errors == ()
    assert result.full_texts == {}
    accumulated = result.choices[0]
    assert (accumulated.content, accumulated.roles, accumulated.finish_reason) == ("Hello", ("assistant",), "stop")
    assert (accumulated.deltas, accumulated.delta_at, accumulated.output_at) == (("He", "llo"), (1, 2), (1, 2))


def test_events_after_done_are_not_read() -> None:
    result = walk([ROLE, TEXT, STOP, DONE, MORE, DONE])
    assert (result.choices[0].content, len(result.chunks), result.done_at) == ("He", 3, (3, 5))


def test_the_first_finish_reason_and_the_last_full_text_are_used() -> None:
    result = walk(
        [chunk(choice(content="a"), full_text="a"), chunk(choice(finish="stop")), chunk(choice(finish="length"))]
    )
    assert (result.choices[0].finish_reason, result.full_texts) == ("stop", {0: "a"})


def test_reasoning_and_tool_calls_count_as_output() -> None:
    def call(index: int, **fields: Any) -> str:
        return chunk(choice(tool_calls=[{"index": index, **fields}]))

    result = walk(
        [
            ROLE,
            chunk(choice(reasoning_content="hm")),
            chunk(choice(reasoning="m", reasoning_content="m")),
            call(0, id="a", type="function", function={"name": "get", "arguments": '{"x":'}),
            call(1, id="b", type="function", function={"name": "put", "arguments": "{}"}),
            call(0, id="", function={"name": None, "arguments": "1}"}),
            chunk(choice(finish="tool_calls")),
            DONE,
        ]
    )
    accumulated = result.choices[0]
    assert (accumulated.reasoning, accumulated.content, accumulated.output_at) == ("hmm", "", (1, 2, 3, 4, 5))
    assert [(call.index, call.ids, call.name, call.arguments) for call in accumulated.tool_calls] == [
        (0, ("a",), "get", '{"x":1}'),
        (1, ("b",), "put", "{}"),
    ]


def test_choices_are_accumulated_by_index_in_any_order() -> None:
    result = walk([chunk(choice(1, content="b"), choice(0, content="a")), chunk(choice(0, "stop", content="A")), DONE])
    assert {index: accumulated.content for index, accumulated in result.choices.items()} == {0: "aA", 1: "b"}


def test_text_is_treated_as_cumulative_only_with_full_text() -> None:
    texts = ["He", "Hello", "Hello"]
    cumulative = [chunk(choice(content=text)) for text in texts[:2]]
    marked = walk([*cumulative, chunk(choice(finish="length", content="Hello"), full_text="Hello"), DONE])
    unmarked = walk([*cumulative, chunk(choice(finish="length", content="Hello")), DONE])
    for result in (marked, unmarked):
        accumulated = result.choices[0]
        assert result.breaches == ()
        assert (accumulated.is_cumulative, accumulated.deltas, accumulated.content_incremental) == (
            True,
            tuple(texts),
            "HeHelloHello",
        )
    assert (marked.full_texts, marked.choices[0].content) == ({0: "Hello"}, "Hello")
    assert (unmarked.full_texts, unmarked.choices[0].content) == ({}, "HeHelloHello")


def test_full_text_belongs_to_the_choices_of_its_chunk() -> None:
    texts = [chunk(choice(index, content=text)) for index, text in ((0, "a"), (1, "x"), (0, "ab"), (1, "xy"))]
    ends = [chunk(choice(0, "stop", content="ab"), full_text="ab"), chunk(choice(1, "stop"), full_text="xy")]
    result = walk([*texts, *ends, DONE])
    assert result.full_texts == {0: "ab", 1: "xy"}
    assert [accumulated.content for accumulated in result.choices.values()] == ["ab", "xy"]


def test_an_answer_of_one_token_is_not_doubled_by_the_last_chunk_of_the_full_text_mode() -> None:
    result = walk([chunk(choice(content="a")), chunk(choice(0, "length", content="a"), full_text="a"), DONE])
    assert result.choices[0].content == "a"


@pytest.mark.parametrize("texts", [[], ["a"], ["a", "a"], ["a", "b"], ["a", "ab", "b"], ["ab", "a"]])
def test_text_that_does_not_grow_is_not_cumulative(texts: list[str]) -> None:
    accumulated = walk([*(chunk(choice(content=text)) for text in texts), chunk(choice(finish="stop"), full_text="ab")])
    assert not accumulated.choices[0].is_cumulative
    assert accumulated.choices[0].content == "".join(texts)


def test_json_oddities_are_reported_and_the_stream_is_read_on() -> None:
    lone = '{"choices": [{"index": 0, "index": 0, "delta": {"content": "\\ud83d"}}]}'
    result = walk([lone, STOP, DONE])
    assert result.breaches == ()
    assert result.oddities == ((0, "lone surrogate \\ud83d"), (0, "duplicate key 'index'"))
    assert result.choices[0].content == "\ufffd"


@pytest.mark.parametrize(
    "value", [None, 1, "error", [], {}, {"error": None}, {"choices": [], "code": 1, "message": ""}]
)
def test_a_value_without_an_error_is_not_an_error(value: object) -> None:
    assert not reports_error(value)


NAMES = (
    *("choices", "index", "delta", "finish_reason", "role", "content", "usage", "error", "full_text", "object", "code"),
    *("tool_calls", "function", "name", "arguments", "id", "reasoning", "message"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=True) | st.sampled_from(["", "0", "stop"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
CHOICES = st.fixed_dictionaries({}, optional={"index": JSON, "delta": JSON, "finish_reason": JSON})
CHUNKS = st.fixed_dictionaries({}, optional={"choices": st.lists(CHOICES | JSON, max_size=2) | JSON, "usage": JSON})


@given(
    st.lists(CHUNKS.map(json.dumps) | JSON.map(json.dumps) | st.text(max_size=5) | st.sampled_from(GOOD), max_size=8)
)
@settings(derandomize=True, max_examples=500, deadline=None)
def test_no_input_raises_and_every_breach_has_a_known_rule_and_a_valid_index(data: list[str]) -> None:
    result = walk(data)
    assert {breach.rule for breach in result.breaches} == set(result.breach_counts) <= set(RULES)
    assert all(0 <= breach.at <= len(data) for breach in result.breaches)
    assert result.done_at == tuple(at for at, text in enumerate(data) if text == DONE)
