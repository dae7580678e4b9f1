"""Requests that show the variations of the twenty-second set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.sixth_requests import SCORES
from reference_server.tests.blind.steps import STORY, STREAM, Step, ask, call, tool

REQUESTS: dict[str, list[Step]] = {
    "slashes-escaped-in-arguments": [call(tool(path={"enum": ["/var/log"]}))],
    "headers-of-azure": [ask(), STREAM],
    "timings-in-every-chunk": [STREAM],
    "scores-with-offsets": [ask(**SCORES), {**STREAM, **SCORES}],
    "refusals-in-french": [ask(temperature=-1)],
    "model-after-a-market": [
        ask(STORY, max_tokens=60),
        ask("Tell me about you.", max_tokens=60),
        ask(STORY, temperature=1.0, seed=5, max_tokens=60),
    ],
}
