"""Deviations: how the answers of a server differ from the recorded ones.

A deviation that breaks a sentence is a counterexample, and one that keeps it is a witness.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange
    from conformance.proof.recorded_run import RecordedRun

Form = Literal["plain", "stream", "any"]
"""Which answers a deviation changes."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """One way in which a server differs.

    summary: what the server does, in one sentence.
    form: the answers that it changes.
    change: returns the changed exchange, or None if the deviation does not affect it.
    steps: a glob; the steps of a scenario that it changes. None: only the step that a check judges.
    lenient: the server answers requests that the recorded server refuses.
    documents: the documents whose sentence it concerns; None: all that have the sentence.
    """

    summary: str
    form: Form
    change: Callable[[Exchange, RecordedRun], Exchange | None]
    steps: str | None = "*"
    lenient: bool = False
    documents: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class LiveFault:
    """A fault of the reference server, for a deviation that only a live server shows."""

    summary: str
    fault: str
    documents: frozenset[str] | None = None
