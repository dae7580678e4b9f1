"""Send random schemathesis cases to the reference server: no answer may be a 5xx other than 503, and none may hang.

`tox -e fuzz -- server --cases 10000 --dialect mindie-2.3 --seed 0`
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import httpx

from conformance.plan.scenarios.schemathesis_cases import FEW, MANY, Draw, draw_coverage_bodies, draw_random_cases
from conformance.run.embedded_server import serve
from openapi.contract.contract import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openapi.contract.contract import Contract

BATCH: Final = 200
RANDOM_SHARE: Final = 0.15
"""Share of the cases that schemathesis draws at random."""
CONCURRENCY: Final = 4
LIMITS: Final = ("max_tokens", "max_completion_tokens", "min_tokens")
ANSWER_S: Final = 60.0
"""The longest that an answer to a few tokens may take on a busy machine."""


def draw_bodies(dialect: str, cases: int, seed: int) -> Iterator[list[bytes]]:
    """Yield batches of different request bodies, valid and invalid ones, until there are enough.

    First all cases of schemathesis's coverage phase, then random ones, also those that are not JSON and those that its
    description and our validator judge differently: whatever is sent, the server must answer. A random case takes
    schemathesis a tenth of a second, so most bodies join the fields of two of all these cases.
    """
    contract = load(dialect)
    pool: list[dict[str, Any]] = []
    seen: set[bytes] = set()
    for bodies in chain([draw_coverage_bodies(contract)], _draw_random(contract, cases, seed), _join(pool, seed)):
        pool += [body for body in bodies if isinstance(body, dict)]
        payloads = dict.fromkeys(as_payload(body, contract.default_model) for body in bodies)
        batch = [payload for payload in payloads if payload not in seen][: cases - len(seen)]
        seen.update(batch)
        if batch:
            yield batch
        if len(seen) == cases:
            return


def _draw_random(contract: Contract, cases: int, seed: int) -> Iterator[list[Any]]:
    """Yield batches of random bodies until they are a share of all cases."""
    drawn = 0
    while drawn < cases * RANDOM_SHARE:
        found = draw_random_cases(contract, Draw(0, min(BATCH, cases), seed))
        drawn += len(found)
        seed += 1_000_003
        yield [case.body for case in found]


def _join(pool: list[dict[str, Any]], seed: int) -> Iterator[list[Any]]:
    """Yield bodies with the fields of one case of the pool and some fields of another one, without end."""
    rng = random.Random(seed)
    cases = list(pool)
    while True:
        bodies = []
        for one, other in (rng.sample(cases, 2) for _ in range(BATCH)):
            count = rng.randint(1, max(1, len(other)))
            bodies.append({**one, **{name: other[name] for name in rng.sample(sorted(other), min(count, len(other)))}})
        yield bodies


def as_payload(body: Any, model: str) -> bytes:
    """Return the bytes of a drawn body, for a served model.

    Limits of tokens that are large, null or missing become small: an answer of 4,000 tokens takes minutes and says no
    more about the server than one of two.
    """
    if isinstance(body, bytes):
        return body
    if isinstance(body, dict):
        given = {"max_tokens": None, **body}
        body = given | {name: FEW for name in LIMITS if name in given and _is_large(given[name])}
        body |= {"model": model} if isinstance(body.get("model", ""), str) else {}
    return json.dumps(body, default=repr).encode()


def _is_large(limit: Any) -> bool:
    return limit is None or (type(limit) in (int, float) and limit > MANY)


async def send_bodies(url: str, path: str, bodies: Iterable[bytes], key: str) -> list[tuple[int, bytes]]:
    """Send requests, a few at a time, and return the status of each with its body; 0 without an answer in time."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    slots = asyncio.Semaphore(CONCURRENCY)
    async with httpx.AsyncClient(base_url=url, timeout=ANSWER_S, trust_env=False, headers=headers) as client:

        async def send(body: bytes) -> tuple[int, bytes]:
            async with slots:
                try:
                    async with asyncio.timeout(ANSWER_S):
                        return (await client.post(path, content=body)).status_code, body
                except (httpx.HTTPError, TimeoutError):
                    return 0, body

        return await asyncio.gather(*map(send, bodies))


def is_failure(status: int) -> bool:
    """Return whether a server must not answer so, whatever the request is."""
    return status == 0 or (status >= 500 and status != 503)


def fuzz_dialect(dialect: str, cases: int, seed: int) -> tuple[Counter[int], list[tuple[int, bytes]]]:
    """Send cases to a server of a dialect; return how often each status came, and the failures."""
    contract = load(dialect)
    statuses: Counter[int] = Counter()
    failures: list[tuple[int, bytes]] = []
    begun_s = time.monotonic()
    with serve(contract) as server:
        for bodies in draw_bodies(dialect, cases, seed):
            answered = asyncio.run(send_bodies(server.url, contract.path, bodies, server.key))
            statuses.update(status for status, _ in answered)
            bad = [item for item in answered if is_failure(item[0])]
            for status, body in bad:  # whole: the same seed may draw other cases elsewhere
                print(f"{dialect}: {status or 'no answer'} to {body!r}", flush=True)
            failures += bad
            took_s = time.monotonic() - begun_s
            line = f"{dialect}: {statuses.total()} of {cases} cases in {took_s:.0f} s, {len(failures)} failures"
            print(line, file=sys.stderr, flush=True)
        health = httpx.get(f"{server.url}/health", timeout=ANSWER_S, trust_env=False).status_code
        failures += [(health, b"GET /health")] if health != 200 else []
    return statuses, failures


def main(dialects: Sequence[str], cases: int, seed: int) -> int:
    """Print a table of the statuses by dialect, and the failures."""
    bad = 0
    for dialect in dialects:
        statuses, failures = fuzz_dialect(dialect, cases, seed)
        counts = ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))
        print(f"{dialect:18} {statuses.total():6} cases  {counts}  {len(failures)} failures", flush=True)
        bad += len(failures)
    return 1 if bad else 0
