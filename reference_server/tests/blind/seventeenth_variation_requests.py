"""Requests that show the variations of the seventeenth set: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.steps import STORY, STREAM, WEATHER, Step, ask, call

CALL: dict[str, Any] = {**call(WEATHER), "CALL_IDS": True}

REQUESTS: dict[str, list[Step]] = {
    "call-ids-with-signatures": [CALL, {**CALL, "stream": True}],
    "descriptions-linked-in-headers": [ask()],
    "choices-state-metrics": [ask(), STREAM],
    "pieces-in-halves": [STREAM],
    "model-after-portuguese": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "model-after-a-forecast": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
}
