"""Requests that show the variations of the twenty-first set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.steps import STORY, STREAM, WEATHER, Step, ask, call

REQUESTS: dict[str, list[Step]] = {
    "blanks-after-commas-and-colons": [ask(), STREAM],
    "services-named-in-headers": [ask()],
    "calls-with-short-ids": [call(WEATHER), call(WEATHER, stream=True)],
    "refusals-in-chinese": [ask(temperature=-1)],
    "providers-named-in-answers": [ask(), STREAM],
    "model-after-a-garden": [
        ask(STORY, max_tokens=60),
        ask("Tell me about you.", max_tokens=60),
        ask(STORY, temperature=1.0, seed=5, max_tokens=60),
    ],
}
