"""Requests that show the variations of the fifth set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.fourth_requests import SEVERAL, SUM
from reference_server.tests.blind.steps import STREAM, WEATHER, Step, ask, call

REQUESTS: dict[str, list[Step]] = {
    "media-types-in-capitals": [ask(), STREAM, ask(temperature=-1)],
    "call-ids-of-digits": [call(WEATHER)],
    "empty-call-lists": [ask(), STREAM],
    "details-of-zeros": [ask()],
    "line-ends-vary": [STREAM],
    "chunks-over-several-lines": [STREAM],
    "comments-like-events": [STREAM],
    "nulls-in-deltas": [STREAM],
    "later-choices-first": [SEVERAL],
    "choices-share-chunks": [SEVERAL],
    "table-model": [ask(SUM, max_tokens=30)],
    "role-naming-model": [ask(SUM, max_tokens=30)],
}
