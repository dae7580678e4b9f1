"""Test the counterexamples that are derived from the places of a contract which are the homes of sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from conformance.proof.recorded_run import read_recorded_run
from conformance.proof.sentences.deviation import Deviation
from conformance.proof.sentences.from_contract import derive
from conformance.proof.sentences.paths import split_fact
from openapi.contract.contract import load
from openapi.contract.resolution import dialect_files

if TYPE_CHECKING:
    from conformance.proof.recorded_run import RecordedRun

DIALECTS = sorted(name for name in dialect_files() if load(name).sentences)


@pytest.fixture(scope="module", params=DIALECTS)
def recorded(request: pytest.FixtureRequest) -> RecordedRun:
    """The recorded run of each dialect in turn."""
    return read_recorded_run(request.param)


@pytest.mark.takes_turns
def test_every_home_in_a_schema_has_a_counterexample(recorded: RecordedRun) -> None:
    places = {place for sentence in recorded.contract.sentences for place in sentence.home.places}
    in_schemas = sorted(place for place in places if place.startswith("schemas/") and _is_kept(place, recorded))
    assert [] == [place for place in in_schemas if not derive(place, recorded)]


def _is_kept(place: str, recorded: RecordedRun) -> bool:
    """Return whether the narrowed contract still has the schema."""
    return place.split("/")[1] in recorded.contract.schemas


@pytest.fixture(scope="module")
def openai() -> RecordedRun:
    """The recorded run of the dialect with the most schemas in requests."""
    return read_recorded_run("openai")


def affected(place: str, run: RecordedRun) -> dict[str, set[str]]:
    """Return the scenarios whose exchanges each deviation of a place changes, by the outcome that it shows."""
    return {
        deviation.summary: {
            scenario for (scenario, _), exchange in run.exchanges.items() if deviation.change(exchange, run) is not None
        }
        for deviation in derive(place, run)
        if isinstance(deviation, Deviation)
    }


def test_a_field_of_requests_is_broken_only_where_it_is_wrong_or_sent(openai: RecordedRun) -> None:
    wrong, refused = affected("schemas/UserMessage/properties/name", openai).values()
    assert {"messages-name-number-refused"} == wrong
    assert "messages-name-number-refused" not in refused
    assert refused
    assert all(any("name" in item for item in _messages(scenario, "user", openai)) for scenario in refused)


def test_a_field_is_not_broken_in_schemas_with_another_constant(openai: RecordedRun) -> None:
    wrong, _ = affected("schemas/DeveloperMessage/properties/name", openai).values()
    assert set() == wrong


def test_a_required_field_is_broken_by_requests_without_it(openai: RecordedRun) -> None:
    (wrong,) = affected("schemas/ToolFunction/required/name", openai).values()
    assert {"functions-name-missing-refused", "tools-name-missing-refused"} == wrong


def test_a_keyword_is_broken_by_requests_that_violate_this_keyword(openai: RecordedRun) -> None:
    wrong, refused = affected("schemas/ToolFunction/properties/name/pattern", openai).values()
    assert "tools-name-with-space-refused" in wrong
    assert "tools-name-number-refused" not in wrong
    assert refused


def test_a_whole_schema_is_broken_by_problems_anywhere_below_it(openai: RecordedRun) -> None:
    wrong, _ = affected("schemas/Tool", openai).values()
    assert {"tools-name-missing-refused", "tools-type-missing-refused", "tools-strict-text-refused"} <= wrong


def _messages(scenario: str, role: str, run: RecordedRun) -> list[Any]:
    bodies = [exchange.request_json for (name, _), exchange in run.exchanges.items() if name == scenario]
    return [item for body in bodies for item in body["messages"] if item["role"] == role]


FACTS = [
    ("", ((), "")),
    ("type", ((), "type")),
    ("properties/audio/properties/id", (("audio", "id"), "")),
    ("properties/type/type", (("type",), "type")),
    ("properties/items/items/properties/token", (("items", "*", "token"), "")),
    ("required/required", (("required",), "required")),
]


@pytest.mark.parametrize(("fact", "expected"), FACTS)
def test_a_path_below_a_schema_has_fields_and_at_most_one_keyword(
    fact: str, expected: tuple[tuple[str, ...], str]
) -> None:
    assert expected == split_fact(fact)
