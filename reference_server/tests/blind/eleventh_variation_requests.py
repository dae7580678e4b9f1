"""Requests that show the variations of the eleventh set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.eleventh_requests import WRONG_KEY
from reference_server.tests.blind.sixth_requests import SUM, THINK
from reference_server.tests.blind.steps import STORY, STREAM, Step, ask

REQUESTS: dict[str, list[Step]] = {
    "policies-in-headers": [ask(), STREAM],
    "deprecations-announced": [ask(), STREAM],
    "challenges-in-detail": [WRONG_KEY],
    "refusals-point-at-fields": [ask(max_tokens=-1)],
    "models-on-a-page": [{"METHOD": "GET", "PATH": "models"}],
    "ids-are-numbers-of-answers": [ask(), STREAM],
    "greedy-answers-kept": [ask()] * 2,
    "model-after-a-meal": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "model-after-a-riddle": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "model-after-a-plan": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "pieces-in-uneven-groups": [STREAM],
    "thoughts-sent-at-once": [ask(SUM, chat_template_kwargs=THINK, stream=True, max_tokens=60)],
}
