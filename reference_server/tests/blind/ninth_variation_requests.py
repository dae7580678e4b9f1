"""Requests that show the variations of the ninth set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.steps import STORY, STREAM, WEATHER, Step, ask, call

REQUESTS: dict[str, list[Step]] = {
    "answers-spaced": [ask()],
    "ids-with-replicas": [ask(), STREAM],
    "pages-allowed": [ask(), STREAM],
    "tiers-stated": [ask(), STREAM],
    "refusals-name-a-class": [ask(max_tokens=-1)],
    "model-after-a-match": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "model-after-a-joke": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "three-pieces-in-a-chunk": [STREAM],
    "blank-lines-in-segments": [STREAM],
    "call-ids-of-hashes": [call(WEATHER), call(WEATHER, stream=True)],
}
