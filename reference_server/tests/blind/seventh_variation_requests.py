"""Requests that show the variations of the seventh set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.sixth_requests import RED_IMAGE, SEVERAL, show
from reference_server.tests.blind.steps import STORY, STREAM, WEATHER, Step, ask, call

REQUESTS: dict[str, list[Step]] = {
    "white-space-surrounds-answers": [ask()],
    "fields-in-another-order": [ask(), STREAM],
    "ids-with-times": [ask(), STREAM],
    "connections-closed": [ask(), STREAM],
    "fields-of-providers": [ask(), STREAM],
    "images-counted-as-one": [show(RED_IMAGE)],
    "unused-fields-missing": [ask()],
    "model-after-a-journey": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "calls-in-single-characters": [call(WEATHER, stream=True)],
    "choices-one-after-another": [SEVERAL],
    "empty-pieces-sent": [STREAM],
    "last-deltas-empty": [STREAM],
}
