"""Requests that show the variations of the eighth set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.steps import STORY, STREAM, WEATHER, Step, ask, call

REQUESTS: dict[str, list[Step]] = {
    "answers-indented": [ask()],
    "ids-of-ulids": [ask(), STREAM],
    "caching-forbidden": [ask(), STREAM],
    "fingerprints-differ": [ask(), STREAM],
    "refusals-link-to-help": [ask(max_tokens=-1)],
    "model-after-a-lesson": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "model-after-a-poem": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "six-pieces-in-a-chunk": [STREAM],
    "streams-in-segments": [STREAM],
    "call-ids-of-another-vendor": [call(WEATHER), call(WEATHER, stream=True)],
}
