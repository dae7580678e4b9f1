"""Prove the sentences of a dialect with the recorded run of the reference server."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from conformance.plan.capability_use import find_capabilities
from conformance.plan.coverage_map import CoverageMap
from conformance.proof.printed_witnesses import judge_printed
from conformance.proof.sentences.deviation import Deviation, LiveFault
from conformance.proof.sentences.from_contract import derive
from conformance.proof.sentences.proof import BINDING, WitnessTrials, try_counterexample
from conformance.proof.sentences.unusual import UNUSUAL
from conformance.proof.sentences.written import WrittenDeviations, read_deviations
from openapi.contract.contract import Keyword, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.plan.assertion import Assertion
    from conformance.proof.printed_witnesses import PrintedWitness
    from conformance.proof.recorded_run import RecordedRun
    from openapi.contract.sentence import Sentence

Status = Literal["proven", "unproven", "permitted", "undeclared", "excluded"]
NOTHING = WrittenDeviations()


@dataclass(frozen=True, slots=True)
class Shown:
    """A deviation and what it showed: the requirement that reported a counterexample; None for a witness."""

    summary: str
    requirement: str | None = None


@dataclass(frozen=True, slots=True)
class SentenceProof:
    """How a sentence is proven.

    requirements: the binding requirements of its home.
    scenarios: the scenarios that its home judges, those about the fact that a live fault breaks first.
    undeclared: capabilities that the whole sentence is about, and that the reference server does not have.
    live: faults that are still to be shown.
    problems: why it is not proven, each in one line.
    """

    sentence: Sentence
    counterexamples: tuple[Shown, ...] = ()
    witnesses: tuple[Shown, ...] = ()
    live: tuple[LiveFault, ...] = ()
    problems: tuple[str, ...] = ()
    requirements: frozenset[str] = frozenset()
    scenarios: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """`proven`, `unproven`, `permitted` for a judged MAY, `undeclared`, or `excluded` if nothing judges it."""
        if self.problems or self.live:
            return "unproven"
        if self.sentence.home.kind == "excluded":
            return "excluded"
        if self.undeclared:
            return "undeclared"
        return "permitted" if self.sentence.keyword is Keyword.MAY else "proven"

    def with_live(self, shown: tuple[Shown, ...], problems: tuple[str, ...]) -> SentenceProof:
        """Return the proof with the results of its live faults."""
        return replace(
            self,
            counterexamples=(*self.counterexamples, *shown),
            live=(),
            problems=(*self.problems, *problems, *_lacking_counterexample(self.counterexamples + shown, self.problems)),
        )


@dataclass(slots=True)
class _Results:
    """What the deviations of one sentence have shown so far.

    shown_in: the scenarios about the facts that live faults break.
    """

    counterexamples: list[Shown] = field(default_factory=list)
    witnesses: list[Shown] = field(default_factory=list)
    live: list[LiveFault] = field(default_factory=list)
    shown_in: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def prove_sentences(run: RecordedRun) -> tuple[SentenceProof, ...]:
    """Prove every sentence of the run's dialect as far as the recorded run can, in the order of the document."""
    coverage, trials, printed = CoverageMap(run.contract, run.plan), WitnessTrials(run), judge_printed(run.contract)
    return tuple(
        _prove(sentence, coverage, run, trials, printed.get(sentence.id, ())) for sentence in run.contract.sentences
    )


def _prove(
    sentence: Sentence,
    coverage: CoverageMap,
    run: RecordedRun,
    trials: WitnessTrials,
    printed: tuple[PrintedWitness, ...],
) -> SentenceProof:
    if sentence.home.kind == "excluded":
        return SentenceProof(sentence)
    results = _Results()
    written = read_deviations().get(sentence.id, NOTHING).of_document(run.contract.document.id)
    assertions = [item for check in sentence.home.checks for item in coverage.find_by_check(check)]
    groups = []
    places, undeclared = _split_places(sentence, run)
    if undeclared and not (places or sentence.home.checks):
        return SentenceProof(sentence, undeclared=undeclared)
    for place in places:
        about_place, derived = coverage.find_by_path(place), derive(place, run)
        assertions += about_place
        groups.append((derived, about_place))
        if not (derived or written.counterexamples or sentence.keyword is Keyword.MAY):
            results.problems.append(f"no rule derives a counterexample from {place}; write one")
    groups.append((list(written.counterexamples), assertions))
    if sentence.keyword is Keyword.MAY:
        _try_permitted([item for items, _ in groups for item in items], assertions, run, results)
    else:
        for group, judged_by in groups:
            _try_group(group, judged_by, run, results)
        if not results.live:
            results.problems.extend(_lacking_counterexample(tuple(results.counterexamples), tuple(results.problems)))
    for witness in printed:
        results.witnesses.append(Shown(f"the {witness.kind} that the page prints in line {witness.line}"))
        results.problems += [f"a printed {witness.kind} is reported: {complaint}" for complaint in witness.complaints]
    _try_witnesses([*written.witnesses, *UNUSUAL], assertions, trials, results)
    if not results.witnesses and sentence.keyword is not Keyword.MAY:
        results.problems.append("no witness changes an exchange that its checks judge")
    binding = [item for item in assertions if item.requirement.keyword in BINDING]
    return SentenceProof(
        sentence,
        tuple(results.counterexamples),
        tuple(results.witnesses),
        tuple(results.live),
        tuple(results.problems),
        frozenset(item.requirement.id for item in binding),
        tuple(dict.fromkeys((*results.shown_in, *(item.scenario.id for item in binding)))),
    )


def _split_places(sentence: Sentence, run: RecordedRun) -> tuple[list[str], tuple[str, ...]]:
    """Return the places that the reference server shows, and the undeclared capabilities of the others."""
    contract, places, undeclared = load(run.contract.name), [], set()
    for place in sentence.home.places:
        if missing := find_capabilities(place, contract) - run.declaration.declared:
            undeclared |= missing
        else:
            places.append(place)
    return places, tuple(sorted(undeclared))


def _try_group(
    group: list[Deviation | LiveFault], assertions: list[Assertion], run: RecordedRun, results: _Results
) -> None:
    """Try the counterexamples from one source; at least one must change an exchange."""
    unaffected = []
    for deviation in group:
        if isinstance(deviation, LiveFault):
            results.live.append(deviation)
            results.shown_in += [item.scenario.id for item in assertions]
            continue
        trial = try_counterexample(deviation, assertions, run)
        if trial.reported:
            results.counterexamples.append(Shown(deviation.summary, trial.reported[0][0]))
        elif trial.changed:
            results.problems.append(f"not reported by its checks: {deviation.summary}")
        else:
            unaffected.append(deviation.summary)
    if unaffected and len(unaffected) == len(group):
        results.problems.append(f"no exchange of the recorded run shows it: {unaffected[0]}")


def _try_permitted(
    deviations: list[Deviation | LiveFault], assertions: list[Assertion], run: RecordedRun, results: _Results
) -> None:
    """A permission: a server that answers what others refuse is not reported by its home."""
    for deviation in deviations:
        if isinstance(deviation, Deviation) and deviation.lenient:
            trial = try_counterexample(deviation, assertions, run)
            if trial.reported:
                results.problems.append(f"permitted, but reported by {trial.reported[0][0]}: {deviation.summary}")
            elif trial.changed:
                results.witnesses.append(Shown(deviation.summary))


def _try_witnesses(
    witnesses: list[Deviation | LiveFault], assertions: list[Assertion], trials: WitnessTrials, results: _Results
) -> None:
    for deviation in witnesses:
        if isinstance(deviation, LiveFault):
            results.problems.append(f"a fault cannot be a witness: {deviation.fault}")
            continue
        trial = trials.try_witness(deviation, assertions)
        if trial.reported:
            requirement, finding = trial.reported[0]
            results.problems.append(f"a witness is reported by {requirement}: {deviation.summary}: {finding}")
        elif trial.changed:
            results.witnesses.append(Shown(deviation.summary))


def _lacking_counterexample(counterexamples: tuple[Shown, ...], problems: tuple[str, ...]) -> Iterator[str]:
    if not counterexamples and not problems:
        yield "no counterexample; write one in conformance/proof/sentences/deviations"
