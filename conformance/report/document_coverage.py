"""Count how many sentences of a document a run judged, and what happened to the others.

A sentence is judged if one of the requirements that test it was judged. The numbers add up to the sentences of the
document.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.capability_use import find_capabilities
from conformance.plan.coverage_map import CoverageMap
from conformance.plan.traced_sentences import find_assertions
from conformance.report.outcome import UNJUDGED, Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from conformance.plan.plan import Plan
    from conformance.report.requirement_row import RequirementRow
    from openapi.contract.contract import Contract
    from openapi.contract.sentence import Sentence

STATES: Final = ("judged", "not_exercised", "not_declared", "not_sent", "excluded")
"""What can happen to a sentence.

not_exercised: its condition did not occur, or the answers did not show it. not_declared: it is about a capability that
the server does not declare. not_sent: the user or the budget left it out. excluded: no test is possible.
"""
NOT_SEEN: Final = (*UNJUDGED, Outcome.UNTESTABLE, Outcome.ERROR)


def count_sentences(
    contract: Contract, plan: Plan, rows: Collection[RequirementRow], sent: Collection[str], *, exhausted: bool
) -> dict[str, Any]:
    """Return the number of sentences in each state, and by capability those of undeclared ones.

    contract: the contract of the dialect, with all capabilities.
    sent: the requirements for which at least one request was sent.
    exhausted: whether the run ended early.
    """
    coverage, by_id = CoverageMap(plan.contract, plan), {row.id: row for row in rows}
    states: Counter[str] = Counter()
    capabilities: Counter[str] = Counter()
    for sentence in contract.sentences:
        names = dict.fromkeys(assertion.requirement.id for assertion in find_assertions(sentence.home, coverage))
        tested = [by_id[name] for name in names if name in by_id]
        state = _state(sentence, contract, plan, tested, sent, exhausted=exhausted)
        states[state] += 1
        if state == "not_declared":
            capabilities.update(set(_undeclared(sentence, contract, plan)))
    return {
        "sentences": len(contract.sentences),
        **{state: states[state] for state in STATES},
        "undeclared_capabilities": {name: capabilities[name] for name in contract.capabilities if capabilities[name]},
    }


def _state(
    sentence: Sentence,
    contract: Contract,
    plan: Plan,
    tested: Collection[RequirementRow],
    sent: Collection[str],
    *,
    exhausted: bool,
) -> str:
    if sentence.home.kind in ("excluded", "uncovered"):
        return "excluded"
    if any(row.outcome not in NOT_SEEN and not row.note.startswith("not seen") for row in tested):
        return "judged"
    if tested:
        return "not_sent" if exhausted and not any(row.id in sent for row in tested) else "not_exercised"
    if any(_undeclared(sentence, contract, plan)):
        return "not_declared"
    if plan.partial:
        return "not_sent"
    inapplicable = {requirement.id for requirement in plan.inapplicable}
    return "not_declared" if inapplicable.intersection(sentence.home.checks) else "not_exercised"


def _undeclared(sentence: Sentence, contract: Contract, plan: Plan) -> Iterator[str]:
    """Yield the capabilities that a sentence is about and that the server does not declare."""
    names: Mapping[str, None] = dict.fromkeys(
        name
        for name in (
            *(
                contract.requirements[check].capability
                for check in sentence.home.checks
                if check in contract.requirements
            ),
            *(name for place in sentence.home.places for name in sorted(find_capabilities(place, contract))),
        )
        if name is not None
    )
    yield from (name for name in names if name not in plan.contract.capabilities)
