"""Kills: the requirements that a server violates because of a fault."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from conformance.judge.judgement import Judgement

STRENGTHS: Final = {Keyword.MUST: "M", Keyword.SHOULD: "S", Keyword.MAY: "o"}
TIMING_CHECKS: Final = frozenset(
    {
        *("stream.arrives-bit-by-bit", "sse.events-arrive-singly", "sse.keep-alive-in-silence"),
        *("sse.closed-after-done", "disconnect.place-freed", "parallel.served-together", "http.coded-stream-in-time"),
        "http.large-stream-in-time",
    }
)
"""Checks whose result depends on how fast the server and this machine are."""


@dataclass(frozen=True, slots=True)
class Kill:
    """A violated requirement: the check that found it, and its strength (M for MUST, S for SHOULD, o for MAY).

    `description` is the first finding on one line. `scenarios` are those with a finding, in the order of the plan.
    `causes` are the requirements whose violation explains this one, if that was asked for.
    """

    check: str
    requirement: str
    strength: str
    description: str
    scenarios: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()

    @property
    def is_finding(self) -> bool:
        """Whether a report shows it by itself: neither a MAY nor a consequence of another violation."""
        return self.strength != "o" and not self.causes


def find_kills(judgements: Iterable[Judgement]) -> list[Kill]:
    """Return one kill for every requirement with a finding."""
    kills: dict[str, Kill] = {}
    for judgement in judgements:
        if not judgement.findings:
            continue
        requirement, scenario = judgement.assertion.requirement, judgement.assertion.scenario.id
        if (known := kills.get(requirement.id)) is not None:
            kills[requirement.id] = replace(known, scenarios=tuple(dict.fromkeys((*known.scenarios, scenario))))
            continue
        first = judgement.findings[0]
        description = f"{scenario}: {first.where}: expected {first.expected}, got {first.got}"
        strength = STRENGTHS[requirement.keyword]
        kills[requirement.id] = Kill(judgement.assertion.check.id, requirement.id, strength, description, (scenario,))
    return list(kills.values())


def strongest_by_check(kills: Collection[Kill], *, timed: bool) -> dict[str, str]:
    """Return, for each check, the strength of the strongest requirement by which it detects a fault.

    Timing checks count only if the fault itself affects timing (`timed`). For all other faults they are left out,
    because the speed of a busy machine is not caused by the fault.
    """
    strengths: dict[str, str] = {}
    for strength in ("o", "S", "M"):
        strengths |= {kill.check: strength for kill in kills if kill.strength == strength}
    return {check: strength for check, strength in strengths.items() if timed or check not in TIMING_CHECKS}
