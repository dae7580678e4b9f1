"""Requests that show the variations of the tenth set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.steps import STORY, STREAM, WEATHER, Step, ask, call

REQUESTS: dict[str, list[Step]] = {
    "cookies-set": [ask(), STREAM],
    "timings-in-headers": [ask(), STREAM],
    "costs-stated": [ask()],
    "character-sets-stated": [ask(), ask(max_tokens=-1)],
    "ids-of-generations": [ask(), STREAM],
    "refusals-in-several-lines": [ask(max_tokens=-1)],
    "model-after-a-quarrel": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "model-after-a-list": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "model-after-a-journal": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "texts-in-single-characters": [STREAM],
    "lines-sent-one-by-one": [STREAM],
    "call-ids-in-base64": [{**call(WEATHER), "CALL_IDS": True}],
}
