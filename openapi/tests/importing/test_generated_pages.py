"""The facts of generated pages come back: those about parameters, answers and errors, in any notation."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from openapi.contract.contract import load
from openapi.contract.parameter import Keyword
from openapi.description.validation import Validator
from openapi.reading.answers.page_answers import UNREAD
from openapi.tests.importing.generated.drawn_page import DrawnPage, draw_page
from openapi.tests.importing.generated.pages import NOTATIONS, write_html, write_markdown
from openapi.tests.importing.importing import imported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract

SEEDS = range(15)
PAGES = [
    *((seed, "html") for seed in SEEDS),
    *((seed, notation) for notation in NOTATIONS for seed in range(5)),
]
STATED_TYPES = {"array of objects": "array", "array of strings": "array"}


@pytest.fixture(params=PAGES, ids=str, scope="module")
def drawn(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[DrawnPage, Contract, list[str]]:
    seed, notation = request.param
    chance = Random(seed)
    page = draw_page(chance)
    is_html = notation == "html"
    text = write_html(page, chance) if is_html else write_markdown(page, chance, NOTATIONS[notation])
    contract, todos = imported(text, tmp_path_factory.mktemp("page"), "page.html" if is_html else "page.md")
    return page, contract, todos


def without_messages(value: Any) -> Iterator[Any]:
    """Yield copies of a body, each without one of the fields that lead to the text of the error."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if "TEXT" in json.dumps(inner):
                yield {key: item for key, item in value.items() if key != name}
                yield from ({**value, name: changed} for changed in without_messages(inner))
    elif isinstance(value, list):
        yield from ([changed] for changed in without_messages(value[0]))


@pytest.mark.takes_turns
def test_every_fact_comes_back_and_only_the_sentence_that_binds_is_left(
    drawn: tuple[DrawnPage, Contract, list[str]],
) -> None:
    page, contract, todos = drawn
    assert {one.name for one in page.parameters} == set(contract.parameters)
    for one in page.parameters:
        parameter = contract.parameters[one.name]
        assert (one.name, one.required) == (one.name, parameter.required)
        assert one.keywords == {key: parameter.schema.get(key) for key in one.keywords}
        assert STATED_TYPES.get(one.kind, one.kind) == parameter.schema.get("type")
        if one.default is not None:
            assert (one.name, one.default) == (one.name, parameter.default)
    assert page.statuses == {kind: contract.errors.kinds[kind].status for kind in page.statuses}
    is_valid = jsonschema_rs.validator_for(contract.errors.schema).is_valid
    assert is_valid(page.body)
    assert [] == [body for body in without_messages(page.body) if is_valid(body)]
    assert [f"{UNREAD}"] == [todo.rpartition(": ")[2] for todo in todos]
    assert page.binding in todos[0]


def test_the_form_of_errors_is_that_of_the_page_and_binds(drawn: tuple[DrawnPage, Contract, list[str]]) -> None:
    page, contract, _ = drawn
    row = contract.requirements["errors.envelope-fits"]
    assert (Keyword.MUST, contract.document.id) == (row.keyword, row.source.partition("#")[0])
    assert "errors.envelope-known" not in contract.requirements
    for kind in contract.errors.kinds:
        status, body = contract.errors.render(kind, "TEXT", "temperature")
        assert jsonschema_rs.validator_for(contract.errors.schema).is_valid(body), (kind, status, body)
        assert "TEXT" in json.dumps(body)
    assert set(page.body) == set(contract.errors.body)


def test_what_a_page_prints_fits_and_nothing_else_is_demanded(drawn: tuple[DrawnPage, Contract, list[str]]) -> None:
    page, contract, _ = drawn
    validator = Validator(contract)
    assert [] == list(validator.problems("ChatCompletion", page.answer))
    others = set(load("openai").schemas["ChatCompletion"]["required"]) - set(page.answer)
    about = {row.source.partition("#")[2].split("/")[1:2][0] for row in response_rows(contract)}
    assert set() == others & about
    for name, kind in (("cost", "number"), ("region", "string")):
        if name in page.answer:
            assert kind == contract.schemas["ChatCompletion"]["properties"][name]["type"]
            assert [] != list(validator.problems("ChatCompletion", {**page.answer, name: []}))


def test_comments_in_a_printed_answer_state_what_its_fields_are(drawn: tuple[DrawnPage, Contract, list[str]]) -> None:
    page, contract, _ = drawn
    fields = contract.schemas["ChatCompletion"]["properties"]
    expected = {name: comment.keywords for name, comment in page.comments.items()}
    assert expected == {name: {key: fields[name].get(key) for key in expected[name]} for name in expected}


def test_the_title_is_the_heading_of_the_page(drawn: tuple[DrawnPage, Contract, list[str]]) -> None:
    _, contract, _ = drawn
    assert ("merlin", "Merlin") == (contract.name, contract.document.title)


def test_the_fields_of_messages_are_those_of_the_sentence(drawn: tuple[DrawnPage, Contract, list[str]]) -> None:
    _, contract, _ = drawn
    validator = Validator(contract)

    def accepts(*messages: dict[str, Any]) -> bool:
        return [] == list(validator.request_problems({"model": "m", "messages": list(messages)}))

    assert [True] * 3 == [accepts({"role": role, "content": "Hi."}) for role in ("system", "user", "assistant")]
    assert [False] * 2 == [accepts({"role": role, "content": "Hi."}) for role in ("developer", "tool")]
    assert [False] * 2 == [accepts({"role": "user", "content": one}) for one in (1, [{"type": "text", "text": "Hi."}])]


def response_rows(contract: Contract) -> list[Any]:
    rows = contract.requirements.values()
    return [row for row in rows if row.source.partition("#")[2].startswith("response/")]


def test_what_a_page_does_not_state_about_behaviour_is_no_must(drawn: tuple[DrawnPage, Contract, list[str]]) -> None:
    """The pages only list parameters, so that no check of what these do can be a MUST."""
    _, contract, _ = drawn
    about = [row for row in contract.requirements.values() if row.parameter is not None]
    assert [] == [row.id for row in about if row.keyword is Keyword.MUST]
