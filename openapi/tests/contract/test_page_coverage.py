"""Every line of a pinned page states sentences or has a reason why it states none."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import openapi
from openapi.contract.contract import load
from openapi.contract.page.page_coverage import (
    PageCoverage,
    find_problems,
    format_lines,
    load_page_coverage,
    mapped_documents,
    parse_lines,
    parse_page_coverage,
    split_page,
)
from openapi.contract.tree.yaml_file import ContractError

if TYPE_CHECKING:
    from openapi.contract.contract import Contract

DIALECTS = ("mindie-1.0", "mindie-2.3", "mindie-vllm-1.0", "ovms-2024", "siliconstorm")
DOCUMENTS = Path(openapi.__file__).parents[2] / "shared" / "documents"  # next to a working copy; not in the repository


def problems(coverage: PageCoverage, contract: Contract) -> list[tuple[int | None, str]]:
    return [(problem.line, problem.message) for problem in find_problems(coverage, contract)]


def test_the_pages_of_the_five_documents_are_mapped() -> None:
    assert mapped_documents() == tuple(sorted(load(dialect).document.id for dialect in DIALECTS))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_line_and_every_sentence_is_mapped(dialect: str) -> None:
    contract = load(dialect)
    assert problems(load_page_coverage(contract.document.id), contract) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_mapping_is_that_of_the_pinned_page(dialect: str) -> None:
    document = load(dialect).document
    contents = [path.read_bytes() for path in sorted(DOCUMENTS.glob("*.txt"))]
    pages = [content for content in contents if sha256(content).hexdigest() == document.sha256]
    if not pages:
        pytest.skip(f"no page of {document.id} in {DOCUMENTS}")
    coverage = load_page_coverage(document.id)
    assert len(split_page(pages[0], document, coverage)) == coverage.lines


def contract_of(*names: str) -> Contract:
    """A contract with the given sentences only."""
    contract = load("ovms-2024")
    model, *_ = contract.sentences
    return replace(contract, sentences=tuple(replace(model, id=name) for name in names))


ROW: dict[str, Any] = {
    "document": "d",
    "lines": 5,
    "empty": "2, 4",
    "sentences": {"1-3": ["a"]},
    "prose": {"heading": 5},
}


def test_a_complete_mapping_has_no_problem() -> None:
    coverage = parse_page_coverage(ROW, "d")
    assert problems(coverage, contract_of("a")) == []
    assert [coverage.find_sentences(line) for line in (1, 3, 5)] == [("a",), ("a",), ()]
    assert coverage.find_lines("a") == (1, 3)
    assert (coverage.find_reason(5), coverage.find_reason(1)) == ("heading", "")


WRONG: dict[str, tuple[dict[str, Any], tuple[str, ...], tuple[int | None, str]]] = {
    "unmapped": ({"prose": {}}, ("a",), (5, "unmapped: add it to sentences or prose in openapi/pages/d.yaml")),
    "mapped twice": (
        {"prose": {"heading": 5, "link": 1}},
        ("a",),
        (1, "mapped twice: list all its sentences in one entry"),
    ),
    "out of range": ({"prose": {"heading": "5-6"}}, ("a",), (6, "out of range: the page has 5 lines")),
    "empty": (
        {"sentences": {"1-4": ["a"]}},
        ("a",),
        (4, "empty: a range begins and ends with a line that has text"),
    ),
    "unknown": (
        {"sentences": {"1-3": ["a", "choise"]}},
        ("a", "choice"),
        (1, "unknown sentence 'choise': add it to ovms-2024. Did you mean 'choice'?"),
    ),
    "without a line": ({}, ("a", "b"), (None, "sentence b has no line: add it to sentences")),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_mapping_is_reported_with_its_line(kind: str) -> None:
    changes, names, problem = WRONG[kind]
    assert problem in problems(parse_page_coverage({**ROW, **changes}, "d"), contract_of(*names))


MALFORMED: dict[str, tuple[Any, str]] = {
    "no mapping": ([], "invalid mapping: expected document, empty, lines, prose, sentences"),
    "missing key": ({"document": "d"}, "empty, lines, prose, sentences missing"),
    "unknown key": ({**ROW, "senteces": {}}, "unknown key senteces: expected one of document, empty,"),
    "other document": ({**ROW, "document": "e"}, "document: expected d, got e"),
    "lines": ({**ROW, "prose": {"heading": "7-5"}}, "prose: heading: invalid lines '7-5': expected numbers such as 7"),
    "ids": ({**ROW, "sentences": {1: "a"}}, "sentences: 1: expected a list of ids of sentences, got 'a'"),
    "section": ({**ROW, "prose": []}, r"prose: expected a mapping, got \[\]"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_mapping_is_an_error_of_one_line(kind: str) -> None:
    row, message = MALFORMED[kind]
    with pytest.raises(ContractError, match=message) as caught:
        parse_page_coverage(row, "d")
    assert str(caught.value).startswith("openapi/pages/d.yaml: ")
    assert "\n" not in str(caught.value)


def test_another_page_than_the_pinned_one_is_refused() -> None:
    coverage = parse_page_coverage(ROW, "d")
    content = b"one\n\nthree\n\nfive\n"
    document = replace(load("ovms-2024").document, sha256=sha256(content).hexdigest())
    assert split_page(content, document, coverage) == ("one", "", "three", "", "five")
    with pytest.raises(ContractError, match=r"not the pinned page of ovms-2024\.4: expected sha256 "):
        split_page(content + b"six", document, coverage)
    with pytest.raises(ContractError, match="expected lines: 5 and empty: 2, 4"):
        split_page(content, document, replace(coverage, empty=frozenset({2})))


@pytest.mark.parametrize(("numbers", "text"), [([], ""), ([7], "7"), ([1, 2, 3, 5, 7, 8], "1-3, 5, 7-8")])
def test_line_numbers_are_written_as_they_are_read(numbers: list[int], text: str) -> None:
    assert format_lines(numbers) == text
    assert not numbers or [number for span in parse_lines(text, "") for number in span] == numbers
