"""The examples that a page prints: requests, responses, streams and errors, from `openapi/examples/`.

A request that a page prints must be answered, and a response that it prints must be judged as correct. Names, types and
numbers are those of the page; the texts are our own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from openapi.contract.loading import check_keys
from openapi.contract.resolution import read
from openapi.contract.tree.yaml_file import ContractError

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER: Final = "examples"
ExampleKind = Literal["request", "answer", "stream", "error"]
REQUIRED: Final = ("line", "kind", "name", "body")
OPTIONAL: Final = ("again", "request", "asks", "unsent", "corrected", "interpretation")


@dataclass(frozen=True, slots=True)
class PrintedExample:
    """One example of a page.

    line: its first line in the page. again: the first line of the same example where the page repeats it.
    body: the JSON value; for a stream the list of its chunks.
    request: the printed request that a response answers; `asks` are fields of that request that differ.
    unsent: why a request cannot be sent.
    corrected: the values of the page, by their path in the body, that contradict its other numbers.
    interpretation: the decision to correct them.
    """

    line: int
    kind: ExampleKind
    name: str
    body: Any
    again: int | None = None
    request: str | None = None
    asks: Mapping[str, Any] = field(default_factory=dict)
    unsent: str | None = None
    corrected: Mapping[str, Any] = field(default_factory=dict)
    interpretation: str | None = None


def load_printed_examples(document: str) -> tuple[PrintedExample, ...]:
    """Return the examples of a document's page; empty if none is recorded. Raises ContractError for malformed data."""
    name = f"{FOLDER}/{document}.yaml"
    return parse_printed_examples(read(name), document) if files("openapi").joinpath(name).is_file() else ()


def parse_printed_examples(content: Any, document: str) -> tuple[PrintedExample, ...]:
    """Parse the content of a file of examples. Raises ContractError with the file and the example."""
    where = f"openapi/{FOLDER}/{document}.yaml"
    if not isinstance(content, dict) or content.get("document") != document or not content.get("examples"):
        raise ContractError(f"{where}: expected document: {document} and a list of examples")
    check_keys(content, ("document", "examples"), where)
    examples = tuple(_parse_example(row, where) for row in content["examples"])
    names = [example.name for example in examples]
    for example in examples:
        if names.count(example.name) > 1:
            raise ContractError(f"{where}: duplicate example {example.name}")
        if example.request is not None and find_request(examples, example.request) is None:
            raise ContractError(f"{where}: {example.name}: unknown request {example.request!r}")
    return examples


def _parse_example(row: dict[str, Any], where: str) -> PrintedExample:
    place = f"{where}: {row.get('name', row.get('line', 'an example'))}"
    check_keys(row, (*REQUIRED, *OPTIONAL), place)
    if missing := [key for key in REQUIRED if key not in row]:
        raise ContractError(f"{place}: {', '.join(missing)} missing")
    if row["kind"] not in get_args(ExampleKind):
        raise ContractError(
            f"{place}: unknown kind {row['kind']!r}: expected one of {', '.join(get_args(ExampleKind))}"
        )
    return PrintedExample(**row)


def find_request(examples: tuple[PrintedExample, ...], name: str) -> PrintedExample | None:
    """Return the printed request with a name; None for an unknown name."""
    return next((item for item in examples if item.kind == "request" and item.name == name), None)
