"""Proving: every fault and every variation tried, a few at a time, and what came of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.check import gather
from conformance.proof import matrix as matrices
from conformance.proof import trial
from conformance.proof.ledger import EXCUSED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from conformance.proof.host import Host, Shown
    from conformance.proof.matrix import Matrix
    from conformance.proof.trial import Bench, Kill

AT_ONCE = 3  # trials: the engine makes their tokens together


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


async def prove(
    host: Host, shown: Sequence[Shown], dialects: Sequence[str], tell: Callable[[str], None], *, whole: bool
) -> Proof:
    """Tries faults and variations in the first of these dialects that speaks to each.

    A variation is also tried in one of the others, in turn. whole: all dialects are judged without a fault, and checks
    that name nothing count. tell: hears of every step.
    """
    tasks = [(each, where) for place, each in enumerate(shown) for where in _places(each, dialects, place)]
    benches: dict[str, Bench] = {}
    blamed: list[str] = []
    for name in dialects:
        if whole or any(where == name for _, where in tasks):
            tell(f"judging the faultless server in {name}")
            benches[name] = await trial.bench(host, name)
            blamed += [*_innocent(f"the faultless server in {name}", benches[name].blamed), *benches[name].errors]
    free = asyncio.Semaphore(AT_ONCE)
    done = 0

    async def one(fault: Shown, where: str) -> frozenset[Kill]:
        nonlocal done
        async with free:
            kills = await trial.attempt(host, benches[where], fault)
        done += 1
        tell(f"{done} of {len(tasks)} shown; last: {fault.name} in {where}")
        return kills

    found = await asyncio.gather(*(one(fault, where) for fault, where in tasks))
    rows: dict[str, matrices.Trialled] = {}
    for (fault, where), kills in zip(tasks, found, strict=True):
        if fault.benign:
            blamed += _innocent(f"the variation {fault.name} in {where}", kills)
        row = matrices.trialled(fault, where, strongest(kills, timed=fault.patience_s is not None))
        rows[fault.name] = matrices.joined(rows[fault.name], row) if fault.name in rows else row
    return Proof(partial(tuple(rows.values()), whole=whole), tuple(blamed), tuple(benches))


def partial(rows: tuple[matrices.Trialled, ...], *, whole: bool) -> Matrix:
    """A matrix; of a part, in which checks may be idle, unless it is whole."""
    return matrices.Matrix(rows, tuple(sorted(gather())) if whole else (), EXCUSED if whole else {})


def _places(fault: Shown, dialects: Sequence[str], place: int) -> list[str]:
    """The dialects in which a fault is tried."""
    found = [name for name in dialects if name in fault.dialects]
    others = found[1:]
    return [found[0], others[place % len(others)]] if fault.benign and others else found[:1]


def _innocent(who: str, kills: Collection[Kill]) -> list[str]:
    """What somebody is blamed for who did nothing wrong; what is only observed is no blame."""
    return [f"{who}: {each.requirement}: {each.words}" for each in kills if each.strength != "o"]


def strongest(kills: Collection[Kill], *, timed: bool) -> dict[str, str]:
    """Check -> how binding the most binding requirement is by which it names a fault.

    timed: the fault plays with time. Checks that go by the clock are left out for all others: how fast a busy machine
    answers is not their doing.
    """
    found: dict[str, str] = {}
    for strength in ("o", "S", "M"):
        found |= {each.check: strength for each in kills if each.strength == strength}
    return {check: strength for check, strength in found.items() if timed or check not in trial.TIMED}
