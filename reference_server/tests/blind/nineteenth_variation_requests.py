"""Requests that show the variations of the nineteenth set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.steps import STORY, STREAM, Step, ask
from reference_server.tests.blind.thirteenth_variation_requests import CALL

REQUESTS: dict[str, list[Step]] = {
    "call-ids-like-answers": [CALL, {**CALL, "stream": True}],
    "pieces-of-text-grow": [ask(STORY, stream=True, max_tokens=40)],
    "provider-fields-are-null": [ask(), STREAM],
    "protocols-offered-in-headers": [ask()],
    "refusals-with-inner-errors": [ask(max_tokens=-1)],
    "model-after-a-phone-call": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
}
