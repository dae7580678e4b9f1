"""The examples that the pages print are recorded with the names, types and numbers of the page."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import openapi
from openapi.contract.contract import load
from openapi.contract.interpretations import interpretations
from openapi.contract.page.page_coverage import load_page_coverage
from openapi.contract.page.printed_examples import load_printed_examples, parse_printed_examples
from openapi.contract.tree.yaml_file import ContractError
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract

DIALECTS = ("mindie-2.3", "mindie-vllm-1.0", "ovms-2024", "siliconstorm")  # mindie-1.0 prints none
DOCUMENTS = Path(openapi.__file__).parents[2] / "shared" / "documents"  # next to a working copy; not in the repository
TEXTS = ("content", "text", "full_text", "description", "message")
RUN_OF_WORDS = 8


@pytest.fixture(params=DIALECTS)
def contract(request: pytest.FixtureRequest) -> Contract:
    """Each dialect whose page prints examples."""
    return load(request.param)


@pytest.fixture
def page(contract: Contract) -> str:
    """The pinned page; skip the test without it."""
    contents = [path.read_bytes() for path in sorted(DOCUMENTS.glob("*.txt"))]
    pages = [content for content in contents if sha256(content).hexdigest() == contract.document.sha256]
    if not pages:
        pytest.skip(f"no page of {contract.document.id} in {DOCUMENTS}")
    return pages[0].decode()


def printed_objects(page: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield every JSON object on the page that is a request or a response, with its first line."""
    at, decoder = 0, json.JSONDecoder()
    while (start := page.find("{", at)) >= 0:
        try:
            value, end = decoder.raw_decode(page, start)
        except ValueError:
            at = start + 1
            continue
        is_whole = isinstance(value, dict) and "model" in value
        at = end if is_whole else start + 1
        if is_whole:
            yield page.count("\n", 0, start) + 1, value


def without_texts(value: Any, key: str = "") -> Any:
    """Replace the texts of a value, which are our own, by an empty string."""
    if isinstance(value, dict):
        return {name: without_texts(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [without_texts(item, key) for item in value]
    return "" if isinstance(value, str) and key in TEXTS else value


def with_printed_numbers(body: Any, corrected: Any) -> Any:
    """Put back the numbers of the page that were corrected."""
    body = json.loads(json.dumps(body))
    for path, value in corrected.items():
        *steps, last = path.split("/")
        node = body
        for step in steps:
            node = node[step]
        node[last] = value
    return body


def test_every_json_object_that_the_page_prints_is_an_example(contract: Contract, page: str) -> None:
    recorded = []
    for example in load_printed_examples(contract.document.id):
        bodies = example.body if example.kind == "stream" else [example.body]
        recorded += [without_texts(with_printed_numbers(body, example.corrected)) for body in bodies]
    missing = [line for line, value in printed_objects(page) if without_texts(value) not in recorded]
    assert missing == []


def test_examples_begin_where_the_page_prints_them(contract: Contract, page: str) -> None:
    at = {line for line, _ in printed_objects(page)}
    for example in load_printed_examples(contract.document.id):
        lines = {example.line, *([example.again] if example.again else [])}
        if lines <= at:
            continue
        assert "{" in page.splitlines()[example.line - 1] or "(" in page.splitlines()[example.line - 1], example.name


def test_the_lines_of_examples_state_sentences(contract: Contract) -> None:
    coverage = load_page_coverage(contract.document.id)
    for example in load_printed_examples(contract.document.id):
        assert coverage.find_sentences(example.line), example.name


def test_the_contract_allows_every_printed_request(contract: Contract) -> None:
    validator = Validator(contract)
    for example in load_printed_examples(contract.document.id):
        if example.kind == "request":
            assert [str(problem) for problem in validator.request_problems(example.body)] == [], example.name


def test_a_correction_has_an_interpretation(contract: Contract) -> None:
    for example in load_printed_examples(contract.document.id):
        assert bool(example.corrected) == (example.interpretation is not None), example.name
        assert example.interpretation is None or example.interpretation in interpretations()


def texts_of(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from texts_of(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item, key)
    elif isinstance(value, str) and key in TEXTS:
        yield value


def test_texts_are_our_own(contract: Contract, page: str) -> None:
    words = re.findall(r"\w+", page.lower())
    theirs = {tuple(words[at : at + RUN_OF_WORDS]) for at in range(len(words) - RUN_OF_WORDS + 1)}
    for example in load_printed_examples(contract.document.id):
        for text in texts_of(example.body):
            ours = re.findall(r"\w+", text.lower())
            runs = {tuple(ours[at : at + RUN_OF_WORDS]) for at in range(len(ours) - RUN_OF_WORDS + 1)}
            assert not runs & theirs, (example.name, text)


ROW: dict[str, Any] = {"line": 1, "kind": "request", "name": "a", "body": {}}


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([], "expected document: d and a list of examples"),
        ([{**ROW, "lin": 1}], "a: unknown key lin"),
        ([{"line": 1, "kind": "request"}], "1: name, body missing"),
        ([{**ROW, "kind": "reply"}], "a: unknown kind 'reply': expected one of request, answer, stream, error"),
        ([ROW, ROW], "duplicate example a"),
        ([ROW, {**ROW, "kind": "answer", "name": "b", "request": "c"}], "b: unknown request 'c'"),
    ],
)
def test_malformed_examples_are_an_error_of_one_line(examples: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ContractError, match=message) as caught:
        parse_printed_examples({"document": "d", "examples": examples}, "d")
    assert str(caught.value).startswith("openapi/examples/d.yaml: ")
