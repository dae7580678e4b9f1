"""Requests that show the variations of the twentieth set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.steps import STORY, STREAM, Step, ask, call, tool

PATH = call(tool(path={"enum": ["/etc/hosts"]}))

REQUESTS: dict[str, list[Step]] = {
    "slashes-escaped-in-json": [PATH, {**PATH, "stream": True}],
    "ids-begin-with-the-model": [ask(), STREAM],
    "reports-collected": [ask()],
    "choices-with-confidence": [ask(), STREAM],
    "chunks-numbered": [STREAM],
    "model-after-a-visit": [ask(STORY, max_tokens=30), ask(max_tokens=30)],
}
