"""What the dialect of a page has about answers, chunks and errors, and what stays that of the extended dialect."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from openapi.contract.contract import Keyword, load
from openapi.description.validation import Validator
from openapi.tests.importing.importing import imported

if TYPE_CHECKING:
    from pathlib import Path

TABLE: Final = "| Name | Type | Required |\n|---|---|---|\n| model | string | yes |\n| messages | array | yes |\n"
CHOICE: Final = {"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}
ANSWER: Final = {"id": "a", "model": "m", "choices": [CHOICE]}
CHUNK: Final = {"id": "a", "choices": [{"index": 0, "delta": {"content": "H"}, "finish_reason": None}]}


def page(words: str, rows: str = "") -> str:
    return f"# Rail\n\n## Request\n\n{TABLE}{rows}\n{words}\n"


def block(value: Any) -> str:
    return f"```json\n{json.dumps(value, indent=1)}\n```"


def required(contract: Any, name: str) -> list[str]:
    return list(contract.schemas[name]["required"])


def test_an_answer_that_a_page_prints_has_no_other_required_fields(tmp_path: Path) -> None:
    contract, todos = imported(page(f"## Response\n\n{block(ANSWER)}"), tmp_path, "page.md")
    assert (["id", "model", "choices"], []) == (required(contract, "ChatCompletion"), todos)
    assert not {"answer.object-named", "answer.created-now", "answer.usage-present"} & set(contract.requirements)
    assert {"answer.id-given", "finish.stop-when-stopped"} <= set(contract.requirements)


def test_chunks_of_which_a_page_says_nothing_lack_what_its_answers_lack(tmp_path: Path) -> None:
    contract, _ = imported(page(f"## Response\n\n{block(ANSWER)}"), tmp_path, "page.md")
    assert ["id", "model", "choices"] == required(contract, "ChatCompletionChunk")
    assert not {"stream.object-named", "stream.created-now"} & set(contract.requirements)
    whole = {**ANSWER, "created": 1, "object": "chat.completion"}
    other, _ = imported(
        page(f"## Response\n\n{block(whole)}\n\n## Stream\n\n```\ndata: {json.dumps(CHUNK)}\n```"), tmp_path, "page.md"
    )
    assert ["id", "choices"] == required(other, "ChatCompletionChunk")
    assert set(required(load("openai"), "ChatCompletion")) == set(required(other, "ChatCompletion"))


def test_an_answer_that_a_page_cuts_short_leaves_nothing_out(tmp_path: Path) -> None:
    cut = json.dumps(ANSWER)[:-1] + ", ...}"
    contract, _ = imported(page(f"## Response\n\n```json\n{cut}\n```"), tmp_path, "page.md")
    assert required(load("openai"), "ChatCompletion") == required(contract, "ChatCompletion")


def test_an_alternative_that_an_answer_does_not_show_keeps_its_required_fields(tmp_path: Path) -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f"}}]
    choice = {**CHOICE, "message": {**CHOICE["message"], "tool_calls": calls}}  # type: ignore[dict-item]
    contract, _ = imported(page(f"## Response\n\n{block({**ANSWER, 'choices': [choice]})}"), tmp_path, "page.md")
    assert ["id", "type", "custom"] == required(contract, "CustomToolCall")


def test_a_printed_value_of_another_type_fits(tmp_path: Path) -> None:
    printed = {**ANSWER, "id": 7, "created": "today"}
    contract, _ = imported(page(f"## Response\n\n{block(printed)}"), tmp_path, "page.md")
    validator = Validator(contract)
    assert [] == list(validator.problems("ChatCompletion", printed))
    assert ["/id"] == [problem.where for problem in validator.problems("ChatCompletion", {**printed, "id": "a"})]


def test_a_printed_value_states_its_type_and_no_list_of_values(tmp_path: Path) -> None:
    contract, _ = imported(page(f"## Response\n\n{block(ANSWER)}"), tmp_path, "page.md")
    says = {sentence.source.partition("#")[2]: sentence for sentence in contract.sentences}
    finish = says["response/choices/finish_reason"]
    assert "choices[].finish_reason of an answer is a string" == finish.says
    assert ("schemas/Choice/properties/finish_reason/type",) == finish.home.places


def test_a_sentence_limits_the_only_field_of_its_name(tmp_path: Path) -> None:
    words = f"## Response\n\n{block(ANSWER)}\n\nThe `finish_reason` must be `stop` or `length`."
    contract, todos = imported(page(words), tmp_path, "page.md")
    assert (["stop", "length"], []) == (contract.schemas["Choice"]["properties"]["finish_reason"]["enum"], todos)


@pytest.mark.parametrize(
    ("words", "keyword"),
    [
        ('All errors have the body `{"error": {"message": "No."}}`.', Keyword.MUST),
        (f"Every error has this form:\n\n{block({'error': {'message': 'No.'}})}", Keyword.MUST),
        ("| Field | Type |\n|---|---|\n| error | object |\n| error.message | string |", Keyword.MUST),
        ('An invalid request gets `400` with `{"error": {"message": "No."}}`.', Keyword.SHOULD),
        (f"For example:\n\n{block({'error': {'message': 'No.'}})}", Keyword.SHOULD),
    ],
)
def test_a_form_for_all_errors_binds_and_an_example_is_a_should(words: str, keyword: Keyword, tmp_path: Path) -> None:
    contract, todos = imported(page(f"## Errors\n\n{words}"), tmp_path, "page.md")
    validator = Validator(contract)
    assert ([], []) == (todos, list(validator.problems("ErrorEnvelope", {"error": {"message": "x"}})))
    assert [] != list(validator.problems("ErrorEnvelope", {"error": {}}))
    row = contract.requirements["errors.envelope-fits"]
    assert (contract.document.id, keyword) == (row.source.partition("#")[0], row.keyword)


def test_a_page_without_errors_keeps_those_of_the_extended_dialect_by_analogy(tmp_path: Path) -> None:
    contract, _ = imported(page(""), tmp_path, "page.md")
    assert load("openai").errors == contract.errors
    assert Keyword.SHOULD is contract.requirements["errors.envelope-fits"].keyword
    assert "errors.envelope-known" in contract.requirements


def test_a_kind_that_a_page_does_not_state_follows_invalid_requests(tmp_path: Path) -> None:
    contract, _ = imported(page("## Errors\n\nA bad parameter gets 422, a missing key 403."), tmp_path, "page.md")
    statuses = {name: kind.status for name, kind in contract.errors.kinds.items()}
    assert {422} == {statuses[name] for name in ("invalid_request", "invalid_json", "prompt_too_long")}
    assert ((403, 403), (404, 429)) == (
        (statuses["unauthorized"], statuses["invalid_key"]),
        (statuses["unknown_model"], statuses["overloaded"]),
    )


def test_a_status_of_no_kind_is_left_to_a_person(tmp_path: Path) -> None:
    _, todos = imported(page("## Errors\n\n- `402`: pay first\n- `400`: a field is wrong"), tmp_path, "page.md")
    assert 1 == len(todos)
    assert "status 402 is that of no kind of error" in todos[0]


CODES: Final = "| Code | Meaning |\n|---|---|\n| bad_field | A field is wrong |\n| no_key | The key is missing |"


@pytest.mark.parametrize("name", ["code", "type"])
def test_the_codes_of_a_table_are_those_of_the_field_that_prints_one(name: str, tmp_path: Path) -> None:
    body = {"error": {"message": "No.", name: "no_key"}}
    contract, todos = imported(page(f"## Errors\n\n{CODES}\n\nThe body:\n\n{block(body)}"), tmp_path, "page.md")
    error = contract.errors.schema["properties"]["error"]
    assert (["bad_field", "no_key"], []) == (error["properties"][name]["enum"], todos)
    assert ["error"] == list(contract.errors.schema["properties"])


def test_codes_of_which_no_field_is_known_are_left_to_a_person(tmp_path: Path) -> None:
    contract, todos = imported(page(f"## Errors\n\n{CODES}"), tmp_path, "page.md")
    assert load("openai").errors.schema == contract.errors.schema
    assert 1 == len(todos)
    assert "the codes bad_field, no_key" in todos[0]


def test_a_parameter_that_is_not_supported_is_none_of_the_dialect(tmp_path: Path) -> None:
    rows = "| tools | array | no |\n"
    contract, _ = imported(page("", rows), tmp_path, "page.md")
    assert "tools" in contract.parameters
    text = page("").replace("| Required |\n|---|---|---|", "| Required | Notes |\n|---|---|---|---|")
    text = text.replace("| yes |\n", "| yes | |\n").replace(
        "| messages | array | yes | |\n", "| messages | array | yes | |\n| tools | array | no | Not supported. |\n"
    )
    other, todos = imported(text, tmp_path, "page.md")
    assert (("tools",), False, []) == (other.unsupported, "tools" in other.parameters, todos)


def test_a_null_that_the_stated_type_leaves_out_is_neither_demanded_nor_a_default(tmp_path: Path) -> None:
    rows = "| stop | array of strings | no |\n| seed | integer or null | no |\n"
    contract, _ = imported(page("", rows), tmp_path, "page.md")
    stop, seed = contract.parameters["stop"], contract.parameters["seed"]
    assert (Keyword.MAY, Keyword.MUST) == (stop.null.keyword, seed.null.keyword)
    assert load("openai").parameters["stop"].default is None
    assert stop.default is not None


def test_a_limit_of_each_sequence_limits_a_single_one(tmp_path: Path) -> None:
    words = "| stop | string or array of strings | no | {} |\n"
    for says, single in (
        ("No more than two sequences of up to 32 characters each", 32),
        ("A list of at most 2 elements of up to 32 characters each", None),
    ):
        text = page("").replace("| Required |\n|---|---|---|", "| Required | Notes |\n|---|---|---|---|")
        text = text.replace("| yes |\n", "| yes | |\n").replace(
            "| messages | array | yes | |\n", "| messages | array | yes | |\n" + words.format(says)
        )
        contract, _ = imported(text, tmp_path, "page.md")
        string, array = contract.parameters["stop"].schema["anyOf"]
        assert (single, 32, 2) == (string.get("maxLength"), array["items"]["maxLength"], array["maxItems"])
