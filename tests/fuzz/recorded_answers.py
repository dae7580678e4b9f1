"""Judge recorded runs in which some answers are changed: no check may fail by an error of its own.

The changes are those of the mutated server, without its connections, so thousands of answers take seconds.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from conformance.proof.editing.responses import with_body
from conformance.proof.recorded_run import read_recorded_run
from tests.fuzz.mutated_server import BODY_CHANGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.exchange import Exchange

ROOTS: Final = (b"", b"null", b"[]", b"5", b'""', b"{}", b'{"choices": 5}', b'{"choices": [5]}', b"data: [DONE]\n\n")
"""Bodies that are no answer at all."""


def change_answers(recorded: Mapping[tuple[str, str], Exchange], seed: int, share: float) -> dict[Any, Exchange]:
    """Return a share of the answered exchanges with changed bodies: half of them by parts, half as a whole."""
    rng = random.Random(seed)
    changed = {}
    for key, exchange in recorded.items():
        if exchange.response is None or not exchange.body or rng.random() > share:
            continue
        body = exchange.body if rng.random() < 0.5 else rng.choice(ROOTS)
        if body is exchange.body:
            for _ in range(rng.choice((1, 1, 2, 4))):
                body = rng.choice(BODY_CHANGES)(body, rng)
        changed[key] = with_body(exchange, body)
    return changed


def find_errors(dialect: str, seed: int, share: float = 0.3) -> tuple[int, Counter[str]]:
    """Judge a recorded run of a dialect with changed answers; return how many, and the errors of checks."""
    run = read_recorded_run(dialect)
    changed = change_answers(run.exchanges, seed, share)
    judgements = run.judge(changed)
    return len(changed), Counter(judgement.error for judgement in judgements if judgement.error is not None)
