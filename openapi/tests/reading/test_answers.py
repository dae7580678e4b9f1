"""JSON and statuses in passages of a page, and the sentences that bind a server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openapi.reading.answers.json_text import read_block, read_inline, without_json
from openapi.reading.answers.page_answers import NOT_JSON, UNREAD, PageAnswers, read_answers
from openapi.reading.answers.parameter_sentences import read_parameter_sentences
from openapi.reading.answers.passages import find_passages
from openapi.reading.answers.sentences import is_binding, split_sentences
from openapi.reading.facts.facts import read_facts
from openapi.reading.grammar.interval import format_range
from openapi.reading.pages.page import read_page

TABLE = "| Name | Type |\n|---|---|\n| model | string |\n| temperature | number |\n"
BODY = {"error": {"message": "No."}}


def answers_of(words: str) -> PageAnswers:
    """Return what is read in a page with a table of parameters and these words."""
    text = f"# Owl\n\n## Request\n\n{TABLE}\n{words}\n"
    rows = read_page(text.encode(), "page.md")
    _, passages = read_parameter_sentences(rows, find_passages(text))
    return read_answers(text, rows, passages)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (json.dumps(BODY), [BODY]),
        (json.dumps(BODY, indent=2), [BODY]),
        (f"{json.dumps(BODY)}\n{json.dumps(BODY)}", [BODY, BODY]),
        ('{"a": 1, // how many\n "b": "x//y"}', [{"a": 1, "b": "x//y"}]),
        ('{"a": [1, 2,],}', [{"a": [1, 2]}]),
        (f"HTTP/1.1 400 Bad Request\nContent-Type: application/json\n\n{json.dumps(BODY)}", [BODY]),
        ('data: {"a": 1}\n\ndata: {"a": 2}\n\ndata: [DONE]', [{"a": 1}, {"a": 2}]),
        ("curl https://x -d '{\"a\": 1}'", []),
        ("[1, 2]", []),
    ],
)
def test_the_values_of_a_block_are_read(text: str, values: list[Any]) -> None:
    assert values == [one.value for one in read_block(text)]


def test_what_an_ellipsis_stands_for_is_not_read_as_a_value() -> None:
    (found,) = read_block('{"a": 1, "b": [{"c": 2}, ...], ...}')
    assert ({"a": 1, "b": [{"c": 2}]}, True) == (found.value, found.is_cut)
    (other,) = read_block('{"a": "..."}')
    assert ({"a": "..."}, False) == (other.value, other.is_cut)


def test_an_object_within_a_sentence_is_read_and_left_out_of_its_words() -> None:
    sentence = 'It gets 400 with {"error": {"message": "a {b} c"}} at once.'
    assert [{"error": {"message": "a {b} c"}}] == [one.value for one in read_inline(sentence)]
    assert "It gets 400 with at once." == without_json(sentence)
    assert [None] == [one.value for one in read_inline('{"error": {"message": oops}}')]


def test_sentences_end_at_full_stops_outside_of_json() -> None:
    text = 'A body is {"error": "Not found. Sorry."}. Another one, e.g. `x`, follows. Version 1.5 is older.'
    assert 3 == len(list(split_sentences(text)))


@pytest.mark.parametrize(
    ("words", "part", "status", "is_example"),
    [
        ('## Errors\n\nAn invalid request gets `400` with `{"error": {"message": "No."}}`.', "errors", 400, False),
        ('## Errors\n\nEvery error looks so:\n\n```json\n{"error": {"message": "No."}}\n```', "errors", None, False),
        ('## Errors\n\nFor example:\n\n```\n{"error": {"message": "No."}}\n```', "errors", None, True),
        ('## Failures\n\nThe body:\n\n```\n{"detail": "No."}\n```', "errors", None, False),
        ('## Response\n\n```\n{"id": "1", "choices": []}\n```', "response", None, False),
        ('## Response\n\n```\n{"id": "1", "choices": [{"delta": {}}]}\n```', "stream", None, False),
        ('## More\n\n```\ndata: {"id": "1", "choices": []}\n```', "stream", None, False),
    ],
)
def test_a_printed_value_belongs_to_a_part_of_the_interface(
    words: str, part: str, status: int | None, is_example: bool
) -> None:
    assert [(part, status, is_example)] == [(one.part, one.status, one.is_example) for one in answers_of(words).printed]


@pytest.mark.parametrize(
    "words", ['```\n{"model": "m", "messages": []}\n```', '## Tools\n\n```\n{"name": "f"}\n```', "```\nprint(1)\n```"]
)
def test_requests_and_other_code_are_no_answers(words: str) -> None:
    found = answers_of(words)
    assert ([], []) == (found.printed, found.unread)


def test_a_printed_error_that_is_not_json_is_left_to_a_person() -> None:
    found = answers_of("## Errors\n\n```json\n{'error': 'No.'}\n```\n\n```json\n{\"error\": nope}\n```")
    assert [NOT_JSON, NOT_JSON] == [passage.reason for passage in found.unread]


@pytest.mark.parametrize(
    ("words", "statuses"),
    [
        ("| Code | Meaning |\n|---|---|\n| 400 | Invalid |\n| 429 | Busy |", [(400, "Invalid"), (429, "Busy")]),
        ("| Problem | Status |\n|---|---|\n| Bad key | `401` |", [(401, "Bad key")]),
        ("- `404`: no such model\n- **500** – our fault", [(404, "no such model"), (500, "**our fault")]),
        ("A bad key gets 401, and an unknown model 404.", [(401, "A bad key gets"), (404, "an unknown model")]),
        ("### 422 Unprocessable\n\nA field is wrong.", [(422, "Unprocessable")]),
        ("Keep prompts below 400 tokens.", []),
    ],
)
def test_statuses_are_read_with_the_words_next_to_them(words: str, statuses: list[tuple[int, str]]) -> None:
    found = [(one.status, one.words) for one in answers_of(f"## Errors\n\n{words}").statuses]
    assert [(status, text.strip("* –")) for status, text in statuses] == [
        (status, text.strip("* –")) for status, text in found
    ]


@pytest.mark.parametrize("heading", ["Errors", "When things go wrong", "Notes"])
def test_a_sentence_about_something_wrong_states_statuses_wherever_it_stands(heading: str) -> None:
    found = answers_of(f"## {heading}\n\nA wrong field is answered with 400, a missing key with 401.")
    assert ([400, 401], []) == ([one.status for one in found.statuses], found.unread)


def test_a_sentence_that_names_a_status_and_is_not_understood_is_left_to_a_person() -> None:
    found = answers_of("## Notes\n\nLarge uploads return 413.")
    assert ([], [UNREAD]) == (found.statuses, [passage.reason for passage in found.unread])


@pytest.mark.parametrize("words", ["Order 412 is shipped.", "It has 500 parameters.", "We were founded in 450."])
def test_numbers_elsewhere_are_no_statuses(words: str) -> None:
    assert [] == answers_of(f"## About\n\n{words}").statuses


@pytest.mark.parametrize(
    "sentence",
    [
        *("Clients must send a name.", "It never sleeps.", "Answers are always short.", "Only one is open."),
        *("At most 3 calls run.", "You cannot do that.", "每次最多三个。"),
    ],
)
def test_a_sentence_that_binds_and_is_not_understood_is_left_to_a_person(sentence: str) -> None:
    assert is_binding(sentence)
    found = answers_of(f"## Notes\n\nThis is a fine service. {sentence}")
    assert [(UNREAD, sentence)] == [(passage.reason, passage.text) for passage in found.unread]


def test_a_sentence_about_a_parameter_is_read_wherever_it_stands() -> None:
    text = (
        f"# Owl\n\n## Request\n\n{TABLE}\nThe `temperature` must be between 0 and 1.5. It defaults to 0.5. Be kind.\n"
    )
    rows, passages = read_parameter_sentences(read_page(text.encode(), "page.md"), find_passages(text))
    facts = {fact.path: fact for fact in read_facts(rows, strict=False).facts}
    assert ("0..1.5", 0.5) == (format_range(facts["temperature"].range), facts["temperature"].default)
    assert ["Be kind."] == [one.text for one in passages if one.kind == "words"]
