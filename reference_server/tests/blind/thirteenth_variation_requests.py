"""Requests that show the variations of the thirteenth set: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.steps import STORY, STREAM, WEATHER, Step, ask, call
from reference_server.tests.blind.twelfth_requests import MODELS

CALL: dict[str, Any] = {**call(WEATHER), "CALL_IDS": True}

REQUESTS: dict[str, list[Step]] = {
    "call-ids-name-their-function": [CALL, {**CALL, "stream": True}],
    "native-reasons-stated": [ask(), STREAM],
    "models-with-permissions": [MODELS],
    "first-chunks-state-a-region": [STREAM],
    "refusals-state-a-time": [ask(max_tokens=-1)],
    "pieces-without-text-between-others": [STREAM],
    "model-after-german": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "model-after-code": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
}
