"""render: answers and chunks have the form of the documents' examples, and say all that was generated."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from openapi.contract import load, names
from openapi.stream import walk
from openapi.validation import Validator
from reference_server.engine import Delta, Prompt, RankedLogprob, SamplingParams, TokenLogprob
from reference_server.offer import served
from reference_server.render import ChunkWriter, Heading, completion, usage
from reference_server.telling import DISGUISE, Telling
from reference_server.tests.scripted import deltas

if TYPE_CHECKING:
    from collections.abc import Iterable

DIALECTS = sorted(set(names().values()))
MINDIE = [name for name in DIALECTS if load(name).stream.usage == "with-finish"]
TEXTS = ("The", " ", "end", ".", "")
CAPPED = ("The", " ", "end")


def heading(dialect: str) -> Heading:
    prefix = load(dialect).answer.id_prefix
    return Heading(None if prefix is None else f"{prefix}8", 1_729_614_610, "tiny")


def stream_of(
    dialect: str,
    said: Iterable[Delta],
    params: SamplingParams | None = None,
    *,
    full_text: bool = False,
    usage: bool = False,
    telling: Telling | None = None,
) -> list[dict[str, Any]]:
    params = params or SamplingParams()
    counted = SimpleNamespace(prompt_tokens=54)
    told = telling or Telling(usage=usage)
    writer = ChunkWriter(load(dialect), heading(dialect), counted, params, full_text=full_text, telling=told)
    opening = list(writer.opening())
    return [*opening, *(chunk for delta in said for chunk in writer.add(delta)), *writer.closing()]


def chunks(
    dialect: str, texts: tuple[str, ...] = TEXTS, reason: Any = "stop", *, full_text: bool = False, usage: bool = False
) -> list[dict[str, Any]]:
    return stream_of(dialect, deltas(texts, reason), full_text=full_text, usage=usage)


def content(chunk: dict[str, Any]) -> str:
    text: str = chunk["choices"][0]["delta"]["content"]
    return text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_and_every_chunk_fit_the_description(dialect: str) -> None:
    validator = Validator(served(load(dialect), bearer=False))
    assert validator.problems("ChatCompletion", completion(load(dialect), heading(dialect), 9, deltas(TEXTS))) == ()
    for asked in (True, False):
        for chunk in chunks(dialect, usage=asked):
            assert validator.problems("ChatCompletionChunk", chunk) == ()


def test_an_answer_of_mindie_llm_has_the_members_of_its_examples() -> None:
    assert completion(load("mindie-2.3"), heading("mindie-2.3"), 9, deltas(("Hello", "!", ""))) == {
        "id": "endpoint_common_8",
        "object": "chat.completion",
        "created": 1_729_614_610,
        "model": "tiny",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello!", "tool_calls": []},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 9,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens": 3,
            "total_tokens": 12,
            "batch_size": [2, 2, 2],
            "queue_wait_time": [500, 500, 500],
        },
        "prefill_time": 2.0,
        "decode_time_arr": [2.0, 2.0],
    }


def test_usage_counts_a_head_that_all_choices_found_once() -> None:
    heads = [replace(delta, index=index, cached_tokens=0 if at else 5) for index in range(2)
             for at, delta in enumerate(deltas(TEXTS))]  # fmt: skip
    for dialect in ("mindie-2.3", "openai"):
        usage = completion(load(dialect), heading(dialect), 9, heads)["usage"]
        assert (usage["prompt_tokens"], usage["prompt_tokens_details"]) == (9, {"cached_tokens": 5})


def test_an_answer_of_openvino_model_server_has_the_members_of_its_example() -> None:
    assert completion(load("ovms"), heading("ovms"), 22, deltas(("How", "", ""))) == {
        "choices": [
            {
                "finish_reason": "stop",
                "index": 0,
                "logprobs": None,
                "message": {"content": "How", "role": "assistant"},
            }
        ],
        "created": 1_729_614_610,
        "model": "tiny",
        "object": "chat.completion",
        "usage": {"completion_tokens": 3, "prompt_tokens": 22, "total_tokens": 25},
    }


@pytest.mark.parametrize("dialect", MINDIE)
def test_a_stream_of_mindie_has_a_chunk_for_each_token_and_ends_with_an_empty_one(dialect: str) -> None:
    written = chunks(dialect)
    assert len(written) == len(TEXTS)
    assert "".join(map(content, written)) == "The end."
    assert {chunk["choices"][0]["delta"]["role"] for chunk in written} == {"assistant"}
    assert [chunk["choices"][0]["finish_reason"] for chunk in written] == [None] * 4 + ["stop"]
    assert ["usage" in chunk for chunk in written] == [False] * 4 + [True]
    assert content(written[-1]) == ""
    assert list(written[0]) == ["id", "object", "created", "model", "choices"]
    assert list(written[-1]) == ["id", "object", "created", "model", "usage", "choices"]
    assert written[-1]["usage"] == completion(load(dialect), heading(dialect), 54, deltas(TEXTS))["usage"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_text_of_a_last_token_is_not_lost(dialect: str) -> None:
    written = [chunk for chunk in chunks(dialect, CAPPED, "length", usage=True) if chunk["choices"]]
    assert "".join(map(content, written)) == "The end"
    assert len(written) == len(CAPPED) + 1 + load(dialect).stream.opening_chunk
    assert (content(written[-1]), written[-1]["choices"][0]["finish_reason"]) == ("", "length")


@pytest.mark.parametrize("dialect", MINDIE)
@pytest.mark.parametrize(("texts", "reason", "whole"), [(TEXTS, "stop", "The end."), (CAPPED, "length", "The end")])
def test_in_full_text_mode_every_chunk_repeats_the_text_so_far(
    dialect: str, texts: tuple[str, ...], reason: str, whole: str
) -> None:
    written = chunks(dialect, texts, reason, full_text=True)
    assert [content(chunk) for chunk in written] == ["".join(texts[: at + 1]) for at in range(len(texts))]
    assert ["full_text" in chunk for chunk in written] == [False] * (len(texts) - 1) + [True]
    assert written[-1]["full_text"] == whole
    assert list(written[-1]) == ["id", "object", "created", "model", "full_text", "usage", "choices"]


def test_openvino_model_server_sends_usage_alone_and_only_on_request() -> None:
    asked, unasked = chunks("ovms", usage=True), chunks("ovms")
    assert [chunk["usage"] for chunk in asked[:-1]] == [None] * (len(asked) - 1)
    assert (asked[-1]["choices"], asked[-1]["usage"]["completion_tokens"]) == ([], len(TEXTS))
    assert [chunk for chunk in unasked if "usage" in chunk] == []
    assert ["role" in chunk["choices"][0]["delta"] for chunk in unasked] == [True] + [False] * (len(unasked) - 1)
    assert list(unasked[0]) == ["choices", "created", "model", "object"]
    assert [chunk for chunk in unasked if "id" in chunk] == []


def test_a_dialect_that_knows_no_stream_options_sends_usage_once() -> None:
    assert chunks("mindie", usage=True) == chunks("mindie")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_order_of_the_chunks_is_legal(dialect: str) -> None:
    for asked in (True, False):
        events = [*(json.dumps(chunk) for chunk in chunks(dialect, usage=asked)), "[DONE]"]
        assert walk(events).breaches == ()


CAFE = TokenLogprob(
    "caf\ufffd",
    b"caf\xc3",
    -0.25,
    (TokenLogprob("caf\ufffd", b"caf\xc3", -0.25), TokenLogprob("<|end|>", None, -math.inf)),
)
END = TokenLogprob("<|end|>", None, -1.5)
NAMED = {"token": "caf\ufffd", "logprob": -0.25, "bytes": [99, 97, 102, 195]}
HIDDEN = {"token": "<|end|>", "logprob": -9999.0, "bytes": None}


def several(*texts: tuple[str, ...]) -> list[Delta]:
    """Choices that grow side by side, one delta of each at a time; each token has 2 ms more than the one before."""
    said = [[replace(delta, index=index) for delta in deltas(each)] for index, each in enumerate(texts)]
    longest = max(map(len, said))
    return [each[at] for at in range(longest) for each in said if at < len(each)]


def scored() -> list[Delta]:
    first, last = deltas(("", ""))
    return [replace(first, logprob=CAFE), replace(last, logprob=END)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_choice_has_its_own_text_reason_and_place_and_usage_counts_them_all(dialect: str) -> None:
    said = several(("one", ""), ("two", ".", ""), ("",))
    answer = completion(load(dialect), heading(dialect), 9, said)
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert [choice["message"]["content"] for choice in answer["choices"]] == ["one", "two.", ""]
    assert [choice["finish_reason"] for choice in answer["choices"]] == ["stop"] * 3
    assert (answer["usage"]["completion_tokens"], answer["usage"]["total_tokens"]) == (6, 15)
    assert Validator(served(load(dialect), bearer=False)).problems("ChatCompletion", answer) == ()
    assert [len(answer["usage"].get(name, said)) for name in ("batch_size", "queue_wait_time")] == [6, 6]
    if "decode_time_arr" in answer:
        assert len(answer["decode_time_arr"]) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_of_several_choices_is_legal_and_says_what_the_answer_says(dialect: str) -> None:
    said = several(("one", "", "more", ""), ("two", ".", ""), ("",))
    chunks = stream_of(dialect, said, SamplingParams(n=3), usage=True)
    found = walk([*map(json.dumps, chunks), "[DONE]"])
    assert found.breaches == ()
    assert [found.choices[index].content for index in range(3)] == ["onemore", "two.", ""]
    assert {len(chunk["choices"]) for chunk in chunks} <= {0, 1}
    roles = [found.choices[index].roles for index in range(3)]
    if load(dialect).stream.role == "first-delta":
        assert roles == [("assistant",)] * 3
    if load(dialect).stream.opening_chunk:
        assert [chunk["choices"][0]["index"] for chunk in chunks[:3]] == [0, 1, 2]
    completion_tokens = [usage["completion_tokens"] for _, usage in found.usages]
    assert completion_tokens == ([1, 3, 4] if load(dialect).stream.usage == "with-finish" else [8])


def test_answers_known_only_at_the_end_come_in_one_chunk_each_and_a_last_one() -> None:
    said = [*deltas(("one", "", "more", "")), *(replace(delta, index=1) for delta in deltas(("two", ".")))]
    for params in (SamplingParams(n=2, beam_search=True), SamplingParams(n=2, best_of=3)):
        chunks = stream_of("mindie", said, params)
        assert [content(chunk) for chunk in chunks] == ["onemore", "", "two.", ""]
        assert [chunk["choices"][0]["index"] for chunk in chunks] == [0, 0, 1, 1]
        assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, "stop"] * 2
        assert [chunk["usage"]["completion_tokens"] for chunk in chunks[1::2]] == [4, 2]
        whole = stream_of("mindie", said, params, full_text=True)
        assert [(content(chunk), chunk["full_text"]) for chunk in whole] == [("onemore", "onemore"), ("two.", "two.")]


def test_full_texts_of_several_choices_are_their_own() -> None:
    chunks = stream_of("mindie", several(("a", "b", ""), ("x", "y")), SamplingParams(n=2), full_text=True)
    texts = [(chunk["choices"][0]["index"], content(chunk), chunk.get("full_text")) for chunk in chunks]
    assert texts == [(0, "a", None), (1, "x", None), (0, "ab", None), (1, "xy", "xy"), (0, "ab", "ab")]


@pytest.mark.parametrize("dialect", ["mindie", "ovms", "openai"])
def test_every_token_is_named_with_its_bytes_and_alternatives(dialect: str) -> None:
    answer = completion(load(dialect), heading(dialect), 9, scored())
    found = answer["choices"][0]["logprobs"]
    end = {**HIDDEN, "logprob": -1.5, "top_logprobs": []}
    assert found["content"] == [{**NAMED, "top_logprobs": [NAMED, HIDDEN]}, end]
    assert {name: found[name] for name in found if name != "content"} == (
        {"refusal": None} if dialect == "openai" else {}
    )
    assert Validator(served(load(dialect), bearer=False)).problems("ChatCompletion", answer) == ()
    json.dumps(answer, allow_nan=False)


def test_a_stream_names_every_token_once_where_its_text_is() -> None:
    params = SamplingParams(logprobs=2)
    chunks = stream_of("mindie", scored(), params)
    told = [chunk["choices"][0]["logprobs"] for chunk in chunks]
    assert [[each["token"] for each in one["content"]] for one in told] == [["caf\ufffd"], ["<|end|>"]]
    capped = [replace(delta, text=text) for delta, text in zip(scored(), ("a", "b"), strict=True)]
    told = [chunk["choices"][0]["logprobs"] for chunk in stream_of("mindie", capped, params)]
    assert [one and len(one["content"]) for one in told] == [1, 1, None]
    whole = stream_of("mindie", capped, replace(params, beam_search=True))
    assert [one and len(one["content"]) for one in (c["choices"][0]["logprobs"] for c in whole)] == [2, None]
    assert [chunk for chunk in chunks_without_logprobs() if "logprobs" in chunk["choices"][0]] == []


def chunks_without_logprobs() -> list[dict[str, Any]]:
    return stream_of("mindie", deltas(TEXTS))


def thoughtful() -> list[Delta]:
    thoughts = ("hm", ", so", "", "", "")
    return [
        replace(delta, reasoning=each) for delta, each in zip(deltas(("", "", "y", "es", "")), thoughts, strict=True)
    ]


@pytest.mark.parametrize(("dialect", "member"), [("mindie", "reasoning_content"), ("vllm", "reasoning")])
def test_a_thought_stands_beside_the_answer_by_the_name_of_the_dialect(dialect: str, member: str) -> None:
    answer = completion(load(dialect), heading(dialect), 9, thoughtful())
    assert answer["choices"][0]["message"].items() >= {"role": "assistant", "content": "yes", member: "hm, so"}.items()
    assert Validator(load(dialect)).problems("ChatCompletion", answer) == ()
    chunks = stream_of(dialect, thoughtful())
    found = walk([*map(json.dumps, chunks), "[DONE]"])
    assert found.breaches == ()
    assert (found.choices[0].reasoning, found.choices[0].content) == ("hm, so", "yes")
    assert {name for chunk in chunks for name in chunk["choices"][0]["delta"]} == {"role", "content", member}
    for chunk in chunks:
        assert Validator(load(dialect)).problems("ChatCompletionChunk", chunk) == ()


def test_full_texts_repeat_the_thought_too() -> None:
    chunks = stream_of("mindie", thoughtful(), full_text=True)
    thoughts = [chunk["choices"][0]["delta"].get("reasoning_content") for chunk in chunks]
    assert thoughts == ["hm", *["hm, so"] * 4]
    assert (chunks[-1]["full_text"], content(chunks[-1])) == ("yes", "yes")
    found = walk([*map(json.dumps, chunks), "[DONE]"])
    assert (found.choices[0].reasoning, found.choices[0].content) == ("hm, so", "yes")


def test_an_answer_without_thought_has_no_member_for_it() -> None:
    answer = completion(load("mindie"), heading("mindie"), 9, deltas(TEXTS))
    assert "reasoning_content" not in answer["choices"][0]["message"]


def test_usage_counts_the_tokens_that_a_delta_stands_for_and_says_nothing_that_nobody_measured() -> None:
    said = [Delta("Hello", -1, None, None, None, None, tokens=3), Delta("", -1, "stop", None, None, 0.5, tokens=0)]
    answer = completion(load("mindie-2.3"), heading("mindie-2.3"), 9, said)
    assert answer["usage"] == {
        "prompt_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens": 3,
        "total_tokens": 12,
    }
    assert (answer["prefill_time"], "decode_time_arr" in answer) == (500.0, False)


TOLD = Prompt((5, 6), "<s>Hello", (None, (RankedLogprob(6, "Hello", -0.5, 2), RankedLogprob(9, "Bye", -0.25, 1))))


def told(dialect: str, telling: Telling, params: SamplingParams | None = None) -> tuple[Any, list[dict[str, Any]]]:
    """The answer and the stream of the same deltas; the first one holds the prompt, the last one a stop text."""
    first, *others = deltas(TEXTS)
    said = [replace(first, prompt=TOLD), *others[:-1], replace(others[-1], stop_reason="the end")]
    answer = completion(load(dialect), heading(dialect), 54, said, telling)
    return answer, stream_of(dialect, said, params, telling=telling)


def test_what_is_told_on_request_fits_the_description() -> None:
    every = Telling(usage=True, every_usage=True, token_ids=True, prompt_text=True, weight_versions=True)
    validator = Validator(served(load("vllm"), bearer=False))
    answer, stream = told("vllm", every)
    assert validator.problems("ChatCompletion", answer) == ()
    assert [validator.problems("ChatCompletionChunk", chunk) for chunk in stream] == [()] * len(stream)


def test_tokens_and_the_prompt_are_told_once_each() -> None:
    answer, stream = told("vllm", Telling(token_ids=True, prompt_text=True))
    assert ([5, 6], "<s>Hello") == (answer["prompt_token_ids"], answer["prompt_text"])
    assert {"6": {"logprob": -0.5, "rank": 2, "decoded_token": "Hello"}} == {
        key: value for key, value in answer["prompt_logprobs"][1].items() if key == "6"
    }
    assert answer["choices"][0]["token_ids"] == [7, 8, 9, 10, 11]
    assert [[5, 6]] == [chunk["prompt_token_ids"] for chunk in stream if "prompt_token_ids" in chunk]
    assert [7, 8, 9, 10, 11] == [token for chunk in stream for token in chunk["choices"][0]["token_ids"]]
    assert not any("prompt_logprobs" in chunk for chunk in stream)


def test_the_end_is_told_with_the_finish_reason() -> None:
    answer, stream = told("vllm", Telling(weight_versions=True))
    assert answer["choices"][0]["stop_reason"] == "the end"
    assert [None] * (len(stream) - 1) + ["the end"] == [chunk["choices"][0].get("stop_reason") for chunk in stream]
    span = [{"version": "tiny", "start": 0, "end": 5}]
    assert answer["choices"][0]["weight_versions"] == span == stream[-1]["choices"][0]["weight_versions"]
    assert "stop_reason" not in told("openai", Telling())[0]["choices"][0]


@pytest.mark.parametrize("interval", [1, 2, 3, 4, 100])
def test_so_many_tokens_stand_in_a_chunk_at_least_and_nothing_is_lost(interval: int) -> None:
    _, stream = told("vllm", Telling(interval=interval, token_ids=True), SamplingParams())
    counts = [len(chunk["choices"][0]["token_ids"]) for chunk in stream[1:]]
    assert sum(counts) == 5
    assert all(count >= interval for count in counts[:-2] if count)
    assert "".join(TEXTS) == "".join(map(content, stream))
    assert stream[-1]["choices"][0]["finish_reason"] == "stop"


def test_usage_so_far_stands_in_every_chunk() -> None:
    _, stream = told("vllm", Telling(usage=True, every_usage=True))
    counts = [chunk["usage"]["completion_tokens"] for chunk in stream]
    assert [0, 1, 2, 3, 4, 5, 5] == counts
    assert {54} == {chunk["usage"]["prompt_tokens"] for chunk in stream}
    assert all(chunk["usage"]["total_tokens"] == 54 + chunk["usage"]["completion_tokens"] for chunk in stream)


def test_obfuscated_chunks_of_short_texts_have_one_size() -> None:
    _, stream = told("openai", Telling(obfuscation=True))
    sizes = {len(json.dumps(content(chunk))) + len(chunk["obfuscation"]) for chunk in stream}
    assert sizes == {DISGUISE}


def test_a_tier_is_told_in_every_part() -> None:
    head = replace(heading("openai"), tier="flex")
    answer = completion(load("openai"), head, 9, deltas(TEXTS))
    assert answer["service_tier"] == "flex"
    writer = ChunkWriter(
        load("openai"), head, SimpleNamespace(prompt_tokens=9), SamplingParams(), full_text=False, telling=Telling()
    )
    assert [chunk["service_tier"] for chunk in writer.opening()] == ["flex"]


def test_predicted_tokens_are_counted_where_something_was_predicted() -> None:
    said = [
        replace(delta, predicted=came) for delta, came in zip(deltas(TEXTS), (True, False, True, False), strict=False)
    ]
    counts = usage(load("openai"), 9, said)["completion_tokens_details"]
    assert counts == {"accepted_prediction_tokens": 2, "rejected_prediction_tokens": 0}
    assert "completion_tokens_details" not in usage(load("openai"), 9, deltas(TEXTS))


def test_thoughts_that_are_not_shown_are_counted() -> None:
    thoughts = ("Hm", "m", "", "")
    pairs = zip(deltas(("", "", "Yes", "")), thoughts, strict=True)
    said = [replace(delta, reasoning=thought) for delta, thought in pairs]
    usage = {"reasoning_tokens": 2}
    for dialect, telling in (("openai", Telling()), ("vllm", Telling(reasoning=False))):
        answer = completion(load(dialect), heading(dialect), 9, said, telling)
        assert "Hm" not in json.dumps(answer)
        assert usage == answer["usage"]["completion_tokens_details"]
        assert "Hm" not in json.dumps(stream_of(dialect, said, telling=telling))
    assert completion(load("vllm"), heading("vllm"), 9, said)["choices"][0]["message"]["reasoning"] == "Hmm"


def test_log_probabilities_name_tokens_by_id_on_request() -> None:
    token = TokenLogprob("a", b"a", -1.0, (TokenLogprob("b", b"b", -0.5, (), 98),), 97)
    said = [replace(deltas(("a",))[0], logprob=token)]
    for telling, called in ((Telling(), ("a", "b")), (Telling(tokens_as_ids=True), ("token_id:97", "token_id:98"))):
        entry = completion(load("vllm"), heading("vllm"), 9, said, telling)["choices"][0]["logprobs"]["content"][0]
        assert called == (entry["token"], entry["top_logprobs"][0]["token"])


def test_an_echo_stands_once_before_every_choice() -> None:
    answer, stream = told("vllm", Telling(echo="Once "))
    assert answer["choices"][0]["message"]["content"] == "Once The end."
    assert "".join(map(content, stream)) == "Once The end."
    assert content(stream[0]) == "Once "
