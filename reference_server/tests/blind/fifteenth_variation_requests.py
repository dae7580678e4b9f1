"""Requests that show the variations of the fifteenth set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.steps import STORY, STREAM, WEATHER, Step, ask, call

REQUESTS: dict[str, list[Step]] = {
    "events-have-ids": [STREAM],
    "events-begin-with-comments": [STREAM],
    "chunks-spaced": [STREAM],
    "last-chunks-state-a-request": [STREAM],
    "answers-with-citations": [ask(), STREAM],
    "calls-finish-with-their-last-piece": [call(WEATHER, stream=True)],
    "model-after-a-trip": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "model-after-spanish": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
}
