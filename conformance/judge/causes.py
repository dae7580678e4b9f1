"""Find the requirements that fail only as a consequence of others that fail.

A requirement A explains a finding of a requirement B if A has a finding on one of the same exchanges, and one of these
holds:

- same field: both findings are about the same field, whatever the index of the choice or event.
- presupposition: A's check declares that its findings invalidate a view of the exchange (`Check.invalidates`), and B's
  check has read this view. What a check reads is recorded while it judges, not declared. A finding about a single field
  invalidates what that field contains, and what is assembled from all events.

On other exchanges, A explains a finding of B with the same evidence, unless A is weaker than B:

- same value: A has a finding about the same field, which contains the same value.
- same error: the exchange was answered with an error that the request does not explain, and A has a finding on an
  exchange with the same error.

B is a consequence only if every finding of B is explained, so that an independent failure is never shown as one. A
requirement that could not be tested is treated in the same way, with the exchanges that show nothing as its findings.

If the requirements explain one another, a MUST is the cause rather than a SHOULD, and the requirement of a parameter
rather than a general one that no other parameter breaks. If requests fail only among others, as their answers alone
show, load is the cause.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

from conformance.judge.evidence.failed_requirement import gather_failure, select_failing
from conformance.judge.evidence.liveness import CANARY, JUDGED_BY, LOST, explain_unsent
from conformance.judge.evidence.load_failures import ALL_ANSWERED, LOAD_FAILURES
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.exchange import Exchange
    from conformance.judge.evidence.failed_requirement import ErrorKey, Evidence, FailedRequirement, ValueKey
    from conformance.judge.judgement import Judgement
    from openapi.contract.contract import Contract
    from openapi.description.validation import Validator

RANKS: Final = {Keyword.MUST: 0, Keyword.SHOULD: 1, Keyword.MAY: 2}

Explanations: TypeAlias = "Mapping[str, Counter[frozenset[str]]]"
"""For each requirement that fails, the requirements that explain one of its findings, and of how many findings."""

Causes = dict[str, tuple[str, ...]]
"""The causes of each requirement that fails as a consequence, as ids of requirements. The first explains the most."""


def find_causes(
    judgements: Iterable[Judgement],
    recorded: Mapping[tuple[str, str], Exchange],
    contract: Contract,
    validator: Validator,
    model: str,
) -> Causes:
    """Return the causes of every requirement that fails as a consequence. A cause is never itself a consequence."""
    grouped: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        if judgement.assertion.requirement.keyword is not Keyword.MAY:
            grouped.setdefault(judgement.assertion.requirement.id, []).append(judgement)
    failures = [
        gather_failure(failing, recorded, contract, validator, model)
        for group in grouped.values()
        if (failing := select_failing(group))
    ]
    explained_by = _explain(failures)
    explains = {
        failure.requirement: sum(
            all(failure.requirement in names for names in explained_by[other.requirement]) for other in failures
        )
        for failure in failures
    }
    ranked = sorted(
        failures,
        key=lambda failure: (-explains[failure.requirement], not failure.has_findings, RANKS[failure.keyword]),
    )
    roots: list[str] = []
    explained: set[str] = set()
    for failure in ranked:
        if failure.requirement not in explained:
            roots.append(failure.requirement)
            explained = _find_explained(roots, explained_by)
    for root in reversed(roots):  # a consequence that explains more than its cause comes before it
        others = [other for other in roots if other != root]
        if len(_find_explained(others, explained_by)) == len(failures):
            roots = others
    roots = _prefer_keywords(roots, failures, explained_by, explains)
    roots = _prefer_parameters(roots, failures, explained_by, explains)
    if any(scenario == LOAD_FAILURES for scenario, _ in recorded):
        for root in roots:
            if ALL_ANSWERED in _consequences_of(root, roots, explained_by):
                roots = _replace_root(roots, root, [ALL_ANSWERED], explained_by, explains)
    attributed = _attribute(roots, explained_by)
    return {name: causes for name, causes in attributed.items() if name not in roots}


def _prefer_keywords(
    roots: list[str],
    failures: Sequence[FailedRequirement],
    explained_by: Explanations,
    explains: Mapping[str, int],
) -> list[str]:
    """Return the roots, with the strongest requirement in place of a weaker one that it explains as well.

    A refusal that should name the parameter is not the cause of a request that must not be refused.
    """
    ranks = {failure.requirement: RANKS[failure.keyword] for failure in failures}
    for root in roots:
        stronger = [name for name in _consequences_of(root, roots, explained_by) if ranks[name] < ranks[root]]
        roots = _replace_root(roots, root, stronger, explained_by, explains)
    return roots


def _prefer_parameters(
    roots: list[str],
    failures: Sequence[FailedRequirement],
    explained_by: Explanations,
    explains: Mapping[str, int],
) -> list[str]:
    """Return the roots, with the requirement of a parameter in place of a general one that only this parameter breaks.

    A server that refuses a parameter refuses every request that contains it: the parameter is the cause of the refused
    requests, not their consequence. If the probes of several parameters fail with them, none of these is the cause.
    """
    parameters = {failure.requirement: failure.parameter for failure in failures}
    for root in roots:
        own = [name for name in _consequences_of(root, roots, explained_by) if parameters[name] is not None]
        if parameters[root] is None and len({parameters[name] for name in own}) == 1:
            roots = _replace_root(roots, root, own, explained_by, explains)
    return roots


def _consequences_of(root: str, roots: Sequence[str], explained_by: Explanations) -> list[str]:
    return [name for name, causes in _attribute(roots, explained_by).items() if causes[0] == root and name != root]


def _replace_root(
    roots: list[str],
    root: str,
    candidates: Sequence[str],
    explained_by: Explanations,
    explains: Mapping[str, int],
) -> list[str]:
    """Return the roots with one of them replaced by the candidate that explains it and most others.

    Unchanged if no candidate explains it, or if a failure would be left without a cause.
    """
    able = [name for name in candidates if all(name in names for names in explained_by[root])]
    best = max(able, key=lambda name: explains[name], default=root)
    changed = [best if name == root else name for name in roots]
    return changed if len(_find_explained(changed, explained_by)) == len(explained_by) else roots


def attribute_lost(judgements: Iterable[Judgement], exhausted: str | None) -> Causes:
    """Return the death of the server as the cause of the requirements that only lost or unsent requests exercise."""
    shown: dict[str, bool] = {}
    died = False
    for judgement in judgements:
        requirement = judgement.assertion.requirement.id
        died = died or (judgement.assertion.scenario.id == CANARY and bool(judgement.findings))
        unseen = judgement.unobserved in (LOST, explain_unsent(exhausted)) and not judgement.exchanges
        shown[requirement] = shown.get(requirement, False) or not unseen
    return {name: (JUDGED_BY,) for name, is_shown in shown.items() if died and not is_shown}


def _find_explained(roots: Sequence[str], explained_by: Explanations) -> set[str]:
    """Return the roots and what they explain, also by way of other consequences."""
    explained = set(roots)
    left = [name for name in explained_by if name not in explained]
    progress = bool(roots)
    while progress:
        new = [name for name in left if not any(names.isdisjoint(explained) for names in explained_by[name])]
        explained.update(new)
        left = [name for name in left if name not in explained]
        progress = bool(new)
    return explained


def _attribute(roots: Sequence[str], explained_by: Explanations) -> Causes:
    """Return the roots that explain each requirement, also by way of other consequences; a root explains itself."""
    causes: Causes = {root: (root,) for root in roots}
    places = {root: place for place, root in enumerate(roots)}
    progress = bool(roots)
    while progress:
        progress = False
        for name, explanations in explained_by.items():
            if name not in causes and not any(names.isdisjoint(causes) for names in explanations):
                used: Counter[str] = Counter()
                for names, findings in explanations.items():
                    for root in {cause for other in names for cause in causes.get(other, ())}:
                        used[root] += findings
                causes[name] = tuple(sorted(used, key=lambda root: (-used[root], places[root])))
                progress = True
    return causes


def _explain(failures: Sequence[FailedRequirement]) -> Explanations:
    """Return which other failures explain the findings of each failure."""
    by_exchange: dict[str, list[tuple[str, Evidence]]] = {}
    by_key: dict[ErrorKey | ValueKey, set[str]] = {}
    for failure in failures:
        for evidence in failure.evidence if failure.has_findings else ():
            for exchange in evidence.exchanges:
                by_exchange.setdefault(exchange, []).append((failure.requirement, evidence))
            for key in evidence.keys:
                by_key.setdefault(key, set()).add(failure.requirement)
    ranks = {failure.requirement: RANKS[failure.keyword] for failure in failures}
    explained: dict[str, Counter[frozenset[str]]] = {}
    for failure in failures:
        explanations: Counter[frozenset[str]] = Counter()
        explained[failure.requirement] = explanations
        for evidence in failure.evidence:
            names = {
                name for key in evidence.keys for name in by_key.get(key, ()) if ranks[name] <= RANKS[failure.keyword]
            }
            for exchange in evidence.exchanges:
                candidates = by_exchange.get(exchange, [])
                names |= {name for name, own in candidates if name not in names and own.explains(evidence, exchange)}
            explanations[frozenset(names - {failure.requirement})] += 1
    return explained
