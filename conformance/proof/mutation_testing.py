"""Proving: every fault and every variation tried, a few at a time, and what came of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conformance.check import gather
from conformance.errors import HarnessError
from conformance.proof import fault_run as trial
from conformance.proof import kill_matrix as matrices
from conformance.proof.kill_table import EXCUSED
from conformance.proof.scenario_selection import ALL, OTHERS, again, all_of, enough, everything

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from conformance.proof.fault_host import Host, Shown
    from conformance.proof.fault_run import Bench, Kill
    from conformance.proof.kill_matrix import Matrix

AT_ONCE = 3  # trials: the engine makes their tokens together
TRIES = 3  # of a fault that others name than before, before that is said: a busy machine decides about some
ELSEWHERE = 40  # scenarios that a variation is shown to in the second dialect, besides those that observe it


@dataclass(frozen=True, slots=True)
class Proof:
    """The matrix, and what the innocent are blamed for, in words. dialects: whose faultless server was judged."""

    matrix: Matrix
    blamed: tuple[str, ...]
    dialects: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every fault is named, every check names one, and nobody else is blamed."""
        return self.matrix.holds and not self.blamed


@dataclass(frozen=True, slots=True)
class Trial:
    """What is shown where. first: the variation is shown in this dialect first."""

    fault: Shown
    dialect: str
    first: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a trial. shown_by, restless: as of a row of the matrix."""

    kills: frozenset[Kill]
    killers: Mapping[str, str]
    shown_by: tuple[str, ...]
    restless: bool = False


async def prove(
    host: Host,
    shown: Sequence[Shown],
    dialects: Sequence[str],
    tell: Callable[[str], None],
    *,
    whole: bool,
    before: Mapping[str, matrices.Trialled],
) -> Proof:
    """Tries faults and variations in the first of these dialects that speaks to each.

    A variation is also tried in one of the others, in turn. whole: all dialects are judged without a fault, and checks
    that name nothing count. before: rows of faults that are shown to what showed them before; others are shown to
    everything, and what is enough to repeat it is found out. tell: hears of every step.
    """
    tasks = [trial_ for place, each in enumerate(shown) for trial_ in _trials(each, dialects, place)]
    benches: dict[str, Bench] = {}
    blamed: list[str] = []
    for name in dialects:
        if whole or any(each.dialect == name for each in tasks):
            tell(f"judging the faultless server in {name}")
            benches[name] = await trial.bench(host, name)
            blamed += [*_innocent(f"the faultless server in {name}", benches[name].blamed), *benches[name].errors]
    free = asyncio.Semaphore(AT_ONCE)
    done = 0

    async def one(task: Trial) -> Outcome:
        nonlocal done
        async with free:
            try:
                outcome = await _tried(host, benches[task.dialect], task, before.get(task.fault.name))
            except HarnessError as error:  # a judge of ours broke: told with all else that is wrong
                blamed.append(str(error))
                outcome = Outcome(frozenset(), {}, ())
        done += 1
        found = f"{len(outcome.killers)} checks name it" if outcome.killers else "nobody names it"
        tell(f"{done} of {len(tasks)} shown; last: {task.fault.name} in {task.dialect}, {found}")
        return outcome

    outcomes = await asyncio.gather(*(one(each) for each in tasks))
    rows: dict[str, matrices.Trialled] = {}
    for task, outcome in zip(tasks, outcomes, strict=True):
        name = task.fault.name
        if task.fault.benign:
            blamed += _innocent(f"the variation {name} in {task.dialect}", outcome.kills)
        row = matrices.trialled(task.fault, task.dialect, outcome.killers)
        row = replace(row, shown_by=outcome.shown_by, restless=outcome.restless)
        rows[name] = matrices.joined(rows[name], row) if name in rows else row
    return Proof(partial(tuple(rows.values()), whole=whole), tuple(blamed), tuple(benches))


async def _tried(host: Host, made: Bench, task: Trial, before: matrices.Trialled | None) -> Outcome:
    """Shows a fault to what showed it before, else to everything, and then to less until that is not enough."""
    fault = task.fault
    timed = fault.patience_s is not None
    if before is not None:
        asking = again(fault.name, before.shown_by, ELSEWHERE if fault.benign else OTHERS)
        if fault.benign and task.first:
            asking = everything
        kills: frozenset[Kill] = frozenset()
        for _ in range(TRIES):
            found = await trial.attempt(host, made, fault, asking)
            kills = kills | found if before.restless else found
            killers = strongest(kills, timed=timed)
            if fault.benign or matrices.repeats(before, killers):
                break
        return Outcome(kills, killers, before.shown_by, before.restless)
    kills = await trial.attempt(host, made, fault)
    killers = strongest(kills, timed=timed)
    if fault.benign:
        return Outcome(kills, killers, enough(kills, killers))
    always = killers
    for shown_by in (enough(kills, killers), all_of(kills, killers)):
        repeated = await _repeated(host, made, fault, shown_by)
        always = _both(always, repeated)
        if repeated == killers and not fault.restless:
            return Outcome(kills, killers, shown_by, restless=timed)
    if always:
        return Outcome(kills, always, all_of(kills, killers), restless=True)
    repeated = await _repeated(host, made, fault, (ALL,))
    return Outcome(kills, _both(killers, repeated), (ALL,), restless=bool(killers))


async def _repeated(host: Host, made: Bench, fault: Shown, shown_by: tuple[str, ...]) -> dict[str, str]:
    kills = await trial.attempt(host, made, fault, again(fault.name, shown_by))
    return strongest(kills, timed=fault.patience_s is not None)


def _both(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """Checks that name a fault both times, and as bindingly."""
    return {check: strength for check, strength in one.items() if other.get(check) == strength}


def partial(rows: tuple[matrices.Trialled, ...], *, whole: bool) -> Matrix:
    """A matrix; of a part, in which checks may be idle, unless it is whole."""
    return matrices.Matrix(rows, tuple(sorted(gather())) if whole else (), EXCUSED if whole else {})


def _trials(fault: Shown, dialects: Sequence[str], place: int) -> list[Trial]:
    """Where a fault is tried."""
    found = [name for name in dialects if name in fault.dialects]
    others = found[1:]
    first = Trial(fault, found[0], first=True)
    return [first, Trial(fault, others[place % len(others)], first=False)] if fault.benign and others else [first]


def _innocent(who: str, kills: Collection[Kill]) -> list[str]:
    """What somebody is blamed for who did nothing wrong; what is only observed is no blame."""
    return [f"{who}: {kill.requirement}: {kill.words}" for kill in kills if kill.strength != "o"]


def strongest(kills: Collection[Kill], *, timed: bool) -> dict[str, str]:
    """Check -> how binding the most binding requirement is by which it names a fault.

    timed: the fault plays with time. Checks that go by the clock are left out for all others: how fast a busy machine
    answers is not their doing.
    """
    found: dict[str, str] = {}
    for strength in ("o", "S", "M"):
        found |= {kill.check: strength for kill in kills if kill.strength == strength}
    return {check: strength for check, strength in found.items() if timed or check not in trial.TIMED}
