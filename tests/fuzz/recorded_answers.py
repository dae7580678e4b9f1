"""Judge recorded runs in which some answers are changed: no check may fail by an error of its own.

The changes are those of the mutated server, without its connections, so thousands of answers take seconds.
`tox -e fuzz -- recorded --responses 20000 --seed 0`
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from conformance.proof.editing.responses import with_body
from conformance.proof.recorded_run import read_recorded_run
from tests.fuzz.mutated_server import BODY_CHANGES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.exchange import Exchange

ROOTS: Final = (b"", b"null", b"[]", b"5", b'""', b"{}", b'{"choices": 5}', b'{"choices": [5]}', b"data: [DONE]\n\n")
"""Bodies without anything that an answer has."""
SHARES: Final = (0.1, 0.3, 0.7, 0.05)
"""Of the answers that are changed: checks of several answers fail if one is wrong, others only if many are."""


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


def main(dialects: Sequence[str], responses: int, seed: int) -> int:
    """Judge changed runs of the dialects in turn until there are enough answers; print the errors."""
    done, runs, errors = 0, 0, Counter[str]()
    while done < responses:
        dialect = dialects[runs % len(dialects)]
        count, found = find_errors(dialect, seed + runs, SHARES[runs % len(SHARES)])
        done, runs, errors = done + count, runs + 1, errors + found
        for error in found:
            print(f"recorded with seed {seed + runs - 1} of {dialect}: {error}", flush=True)
        print(f"recorded --seed {seed + runs - 1} {dialect}: {done} answers", file=sys.stderr, flush=True)
    print(f"recorded {done} answers in {runs} runs, {errors.total()} errors", flush=True)
    return 1 if errors else 0
