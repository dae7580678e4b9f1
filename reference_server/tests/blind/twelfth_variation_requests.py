"""Requests that show the variations of the twelfth set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.sixth_requests import SCORES, SUM
from reference_server.tests.blind.steps import STORY, STREAM, WEATHER, Step, ask, call
from reference_server.tests.blind.twelfth_requests import MODELS, THINKING

REQUESTS: dict[str, list[Step]] = {
    "ids-of-21-characters": [ask(), STREAM],
    "call-ids-of-words": [{**call(WEATHER), "CALL_IDS": True}, {**call(WEATHER, stream=True), "CALL_IDS": True}],
    "languages-in-headers": [ask(), STREAM],
    "seeds-stated": [ask(seed=5), STREAM],
    "models-with-prices": [MODELS],
    "scores-padded-with-zeros": [ask(**SCORES), {**STREAM, **SCORES}],
    "refusals-name-an-upstream": [ask(max_tokens=-1)],
    "statuses-of-refusals-in-headers": [ask(max_tokens=-1)],
    "model-after-an-order": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "model-after-a-letter": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "model-after-french": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "spaces-in-chunks-of-their-own": [STREAM],
    "first-pieces-sent-at-once": [STREAM],
    "empty-thoughts-beside-text": [ask(SUM, stream=True, max_tokens=60, **THINKING)],
}
