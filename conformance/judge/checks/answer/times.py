"""Checks of `created` over the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from conformance.check import Context, Finding, NotExercised, series
from conformance.judge.answer_fields import read_created

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

MOST_BACKWARDS_S: Final = 1
"""How much less a later `created` may be: servers round it, and set it at the start or at the end of an answer."""
SAME_FOR_S: Final = 5.0
"""After this time `created` must be another one."""


@series("answer.created-moves-on", scenario="anchors")
def created_moves_on(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """`created` follows the time: it is not the same many seconds later, and not less in a later answer.

    Only answers are compared of which one was complete before the other was requested.
    """
    times = [
        (name, exchange.started_s, exchange.started_s + exchange.response.ended_at_s, created)
        for name, exchange in exchanges.items()
        if exchange.succeeded and exchange.response is not None and (created := read_created(exchange)) is not None
    ]
    if len(times) < 2:
        raise NotExercised("fewer than two answers have `created`")
    times.sort(key=lambda item: item[1])
    for at, (name, _started_s, ended_s, created) in enumerate(times):
        later = [item for item in times[at + 1 :] if item[1] >= ended_s]
        for other, started_s, _ended_s, later_created in later:
            if later_created < created - MOST_BACKWARDS_S:
                yield Finding(f"/{other}/created", f"at least {created}, as in {name}", f"{later_created}")
                return
            if later_created == created and started_s - ended_s >= SAME_FOR_S:
                expected = f"another time than in {name}, {started_s - ended_s:.0f} s before"
                yield Finding(f"/{other}/created", expected, f"{later_created}")
                return
