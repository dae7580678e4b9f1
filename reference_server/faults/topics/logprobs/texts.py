"""Faults in texts that their log-probabilities show: the tokens do not add up to the text."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.decorators import choice_fault, choices_of, hooked_fault, message_of, sampling_fault
from reference_server.faults.topics.logprobs.edits import BUTTON, each_entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine import SamplingParams
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

logprobs_other_text = each_entry(
    "logprobs-other-text",
    lambda entry: entry.update(token=entry["token"].strip() + "x", bytes=[120]),
    "The tokens with log-probabilities do not add up to the text.",
    bugs=[104],
)


def _nothing_told_when_stopped(answer: Json, request: ServedRequest) -> None:
    for choice in answer["choices"]:
        if (
            request.payload.get("stop")
            and choice["finish_reason"] == "stop"
            and isinstance(choice.get("logprobs"), dict)
        ):
            choice["logprobs"]["content"] = choice["logprobs"]["content"][-1:]


logprobs_lost_at_stop = hooked_fault(
    "logprobs-lost-at-stop",
    "An answer that ends at a stop string has only the last log-probability.",
    answer=_nothing_told_when_stopped,
    applies_to=BUTTON,
)


@sampling_fault("end-always-ignored", bugs=[56])
def end_always_ignored(params: SamplingParams) -> SamplingParams:
    """The end-of-sequence token is ignored: every answer runs to max_tokens."""
    return replace(params, ignore_eos=True, max_tokens=params.max_tokens or 64)


def _add_entries(chunk: Json, request: ServedRequest) -> None:
    for choice in choices_of(chunk):
        entries = (choice.get("logprobs") or {}).get("content")
        if entries:
            request.state["entry"] = entries[-1]
        if choice.get("finish_reason") == "stop" and request.payload.get("stop") and "entry" in request.state:
            last = request.state["entry"]
            choice["logprobs"] = {**(choice.get("logprobs") or {}), "content": [*(entries or []), last, last]}


streamed_logprobs_past_the_stop = hooked_fault(
    "streamed-logprobs-past-the-stop",
    "A stream that a stop string ends has the log-probabilities of two further tokens.",
    chunk=_add_entries,
    applies_to=lambda contract: BUTTON(contract) and "logprobs-in-streams" not in contract.rules,
    bugs=[151],
)


def _edited_text(name: str, edit: Callable[[str], str], line: str) -> Fault:
    """Make a fault that converts the text of answers, not their log-probabilities."""

    def change(choice: Json, _request: ServedRequest) -> None:
        if isinstance(message_of(choice).get("content"), str):
            message_of(choice)["content"] = edit(message_of(choice)["content"])

    return choice_fault(name, change, line, applies_to=BUTTON)


text_escaped = _edited_text(
    "text-escaped-for-html", lambda text: html.escape(text, quote=False), "Answers are escaped for HTML."
)
text_on_one_line = _edited_text(
    "text-on-one-line", lambda text: re.sub(r"\s+", " ", text), "Line ends and runs of blanks in answers become blanks."
)
