"""Requests that show the variations of the sixteenth set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.steps import STORY, STREAM, Step, ask

REQUESTS: dict[str, list[Step]] = {
    "headers-of-a-cdn": [ask(), STREAM],
    "events-are-messages": [STREAM],
    "no-space-after-the-colon": [STREAM],
    "usage-with-all-details": [ask()],
    "characters-counted-in-headers": [ask()],
    "refusals-in-german": [ask(max_tokens=-1)],
    "model-after-italian": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
    "model-after-a-shopping-list": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
}
