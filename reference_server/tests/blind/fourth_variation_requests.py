"""Requests that show the variations of the fourth set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.fourth_requests import SEVERAL, THINK, USAGE
from reference_server.tests.blind.steps import SAMPLED, STREAM, WEATHER, Step, ask, call

UNLIKELY = {**SAMPLED, "temperature": 2.0, "logprobs": True, "top_logprobs": 20, "max_tokens": 60}

REQUESTS: dict[str, list[Step]] = {
    "empty-chunks-with-stops": [ask(stream=True, stop=["xyz"])],
    "roles-in-every-delta": [STREAM],
    "choices-in-turn": [SEVERAL],
    "ends-told-together": [SEVERAL],
    "fingerprints-added": [ask(), STREAM],
    "call-ids-with-names": [call(WEATHER)],
    "thoughts-under-both-names": [ask("What is 2 and 2?", chat_template_kwargs=THINK, max_tokens=60)],
    "unlikely-tokens-floored": [UNLIKELY],
    "long-refusals": [ask(max_tokens=-1)],
    "hidden-thoughts-counted": [ask(max_tokens=200), {**STREAM, "max_tokens": 200, "stream_options": USAGE}],
    "versions-in-model-names": [ask(), STREAM],
    "many-models-listed": [{"METHOD": "GET", "PATH": "models"}],
}
