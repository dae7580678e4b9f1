"""Map every sentence of a document to the assertions of a plan that test it.

A sentence is dangling if it names a check that does not exist or is not a requirement of the dialect, or a place of the
contract without a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.plan.coverage_map import CoverageMap
from openapi.contract.resolution import resolve
from openapi.contract.sentence import is_place

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from conformance.plan.assertion import Assertion
    from conformance.plan.plan import Plan
    from openapi.contract.contract import Contract, Keyword
    from openapi.contract.sentence import Home, Sentence


@dataclass(frozen=True, slots=True)
class TracedSentence:
    """A sentence and the assertions that test it. `dangling` describes what its home names and does not exist."""

    sentence: Sentence
    assertions: tuple[Assertion, ...]
    dangling: tuple[str, ...]

    @property
    def checks(self) -> tuple[str, ...]:
        """The checks that test it: those that it names, or those whose scenarios are made from its places."""
        return tuple(dict.fromkeys(assertion.check.id for assertion in self.assertions))

    @property
    def requirements(self) -> tuple[str, ...]:
        """The requirements that test it: rows of the report."""
        return tuple(dict.fromkeys(assertion.requirement.id for assertion in self.assertions))

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios that exercise it, in the order of the plan."""
        return tuple(dict.fromkeys(assertion.scenario.id for assertion in self.assertions))

    @property
    def keywords(self) -> tuple[Keyword, ...]:
        """The keywords of the requirements that test it."""
        return tuple(dict.fromkeys(assertion.requirement.keyword for assertion in self.assertions))

    @property
    def is_lost(self) -> bool:
        """Whether it should be tested and is not."""
        return self.sentence.home.kind == "uncovered" or bool(self.dangling)

    @property
    def problem(self) -> str:
        """What is wrong with a lost sentence, on one line."""
        return f"{self.sentence.id}: {'; '.join(self.dangling) or 'neither tested nor excluded'}"


def map_sentences(contract: Contract, plan: Plan, checks: Container[str]) -> tuple[TracedSentence, ...]:
    """Return every sentence of the dialect's document with what tests it, in the order of the document.

    plan: the plan whose assertions test the sentences, made from this contract.
    checks: the ids of all checks.
    """
    tree, coverage = resolve(contract.location), CoverageMap(contract, plan)
    return tuple(
        TracedSentence(
            sentence,
            tuple(find_assertions(sentence.home, coverage)),
            tuple(_dangling(sentence.home, contract, checks, tree)),
        )
        for sentence in contract.sentences
    )


def find_assertions(home: Home, coverage: CoverageMap) -> Iterator[Assertion]:
    """Yield the assertions of a plan that test a sentence with this home."""
    for check in home.checks:
        yield from coverage.find_by_check(check)
    for place in home.places:
        yield from coverage.find_by_path(place)


def _dangling(home: Home, contract: Contract, checks: Container[str], tree: dict[str, Any]) -> Iterator[str]:
    for check in home.checks:
        if check not in checks:
            yield f"unknown check {check}"
        elif check not in contract.requirements:
            yield f"check {check} is not a requirement of {contract.name}"
    for place in home.places:
        if not is_place(tree, place):
            yield f"no value at {place}"
    if home.excluded is not None and not home.excluded.strip():
        yield "excluded without a reason"
