"""Requests that show the variations of the fourteenth set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.steps import SCORED, STORY, STREAM, WEATHER, Step, ask, call

REQUESTS: dict[str, list[Step]] = {
    "alternatives-with-ranks": [SCORED],
    "counts-under-two-names": [ask()],
    "calls-with-signatures": [call(WEATHER), call(WEATHER, stream=True)],
    "json-indented-with-tabs": [ask()],
    "other-protocols-announced": [ask(), STREAM],
    "model-after-a-speech": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
}
