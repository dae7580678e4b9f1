"""Requests that show the variations of the sixth set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.sixth_requests import RED_IMAGE, SEVERAL, show
from reference_server.tests.blind.steps import STORY, STREAM, WEATHER, Step, ask, call

REQUESTS: dict[str, list[Step]] = {
    "answers-begin-late": [{**ask(max_tokens=1), "SLOWLY": True}],
    "white-space-precedes-answers": [ask()],
    "plain-answers-in-pieces": [ask()],
    "ids-of-uuids": [ask(), STREAM],
    "headers-of-gateways": [ask(), STREAM],
    "usage-with-times": [ask()],
    "larger-images-counted": [show(RED_IMAGE)],
    "unused-fields-null": [ask()],
    "calls-in-one-piece": [call(WEATHER, stream=True)],
    "choices-finish-together": [SEVERAL],
    "last-chunks-have-text": [STREAM],
    "model-after-a-recipe": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
}
