"""Requests that show the variations of the fifth set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.fourth_requests import SEVERAL
from reference_server.tests.blind.steps import STORY, STREAM, WEATHER, Step, ask, call

REQUESTS: dict[str, list[Step]] = {
    "media-types-in-capitals": [ask(), STREAM, ask(temperature=-1)],
    "call-ids-of-digits": [{**call(WEATHER), "CALL_IDS": True}],
    "empty-call-lists": [ask(), STREAM],
    "details-of-zeros": [ask()],
    "line-ends-vary": [STREAM],
    "chunks-over-several-lines": [STREAM],
    "comments-like-events": [STREAM],
    "nulls-in-deltas": [STREAM],
    "later-choices-first": [SEVERAL],
    "choices-share-chunks": [SEVERAL],
    "deltas-repeated-as-messages": [STREAM],
    "role-naming-model": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
}
