"""Requests that show the variations of the eighteenth set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.steps import STORY, STREAM, WEATHER, Step, ask, call

REQUESTS: dict[str, list[Step]] = {
    "comments-within-events": [STREAM],
    "dispositions-in-headers": [ask(), STREAM],
    "digests-in-headers": [ask()],
    "validators-in-headers": [ask()],
    "call-ids-with-times": [{**call(WEATHER), "CALL_IDS": True}, {**call(WEATHER, stream=True), "CALL_IDS": True}],
    "model-after-dutch": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
}
