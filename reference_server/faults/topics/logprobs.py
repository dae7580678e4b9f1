"""Faults in log-probabilities."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import (
    choice_fault,
    choices_of,
    fault,
    has_parameters,
    hooked_fault,
    message_of,
    requires_check,
    sampling_fault,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine import SamplingParams
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

BUTTON = has_parameters("logprobs")
SURE: Final = -0.05


logprobs_empty_text = choice_fault(
    "logprobs-empty-text",
    lambda choice, _request: choice.update(logprobs=""),
    "`logprobs` is an empty string instead of null.",
    bugs=[32],
)


def told_of(name: str, edit: Callable[[Json], object], line: str, **options: Any) -> Fault:
    """Make a fault that edits every entry of log-probabilities."""

    def change(choice: Json, _request: ServedRequest) -> None:
        for entry in (choice.get("logprobs") or {}).get("content") or ():
            edit(entry)

    return choice_fault(name, change, line, **{"applies_to": BUTTON, **options})


def _whole(name: str, edit: Callable[[Json, list[Json]], object], line: str, **options: Any) -> Fault:
    """Make a fault that edits the whole `logprobs` object."""

    def change(choice: Json, _request: ServedRequest) -> None:
        if isinstance(choice.get("logprobs"), dict):
            edit(choice, choice["logprobs"].get("content") or [])

    return choice_fault(name, change, line, applies_to=BUTTON, **options)


def _older(choice: Json, content: list[Json]) -> None:
    choice["logprobs"] = {
        "tokens": [entry["token"] for entry in content],
        "token_logprobs": [entry["logprob"] for entry in content],
        "top_logprobs": None,
        "text_offset": [],
    }


def _shift(_choice: Json, content: list[Json]) -> None:
    request: list[Json] = [
        {name: entry[name] for name in ("logprob", "top_logprobs") if name in entry} for entry in content
    ]
    for entry, other in zip(content, [*request[1:], *request[:1]], strict=True):
        entry.update(other)


def _forget(request: ServedRequest) -> None:
    for name in ("logprobs", "top_logprobs"):
        request.payload.pop(name, None)


def _always(choice: Json, _request: ServedRequest) -> None:
    entry = {"token": "a", "logprob": -1.0, "bytes": [97], "top_logprobs": []}
    if not isinstance(choice.get("logprobs"), dict):
        choice["logprobs"] = {"content": [entry]}


def _alternatives(edit: Callable[[list[Json]], object]) -> Callable[[Json], None]:
    def change(entry: Json) -> None:
        if entry.get("top_logprobs"):
            edit(entry["top_logprobs"])

    return change


logprobs_ignored = hooked_fault(
    "logprobs-ignored", "`logprobs` is ignored.", request=_forget, applies_to=BUTTON, bugs=[103]
)
logprobs_null = _whole(
    "logprobs-null", lambda choice, _content: choice.update(logprobs=None), "Log-probabilities are null.", bugs=[100]
)


def _forget_without_alternatives(choice: Json, request: ServedRequest) -> None:
    if not request.payload.get("top_logprobs"):
        choice["logprobs"] = None


logprobs_null_without_alternatives = choice_fault(
    "logprobs-null-without-alternatives",
    _forget_without_alternatives,
    "Log-probabilities are null if no alternatives are requested.",
    applies_to=has_parameters("top_logprobs"),
    bugs=[163],
)


def _keep_first_only(choice: Json, _request: ServedRequest) -> None:
    if choice["index"] > 0 and choice.get("logprobs"):
        choice["logprobs"] = None


logprobs_of_first_choice_only = choice_fault(
    "logprobs-of-first-choice-only",
    _keep_first_only,
    "Only the first of several choices has log-probabilities.",
    streamed=False,
    applies_to=has_parameters("logprobs", "n"),
)
logprobs_older_form = _whole(
    "logprobs-older-form", _older, "Log-probabilities have the form of the completions API.", bugs=[99]
)
logprobs_unasked = choice_fault(
    "logprobs-unasked",
    _always,
    "Log-probabilities are returned although they were not requested.",
    streamed=False,
    applies_to=BUTTON,
)
logprobs_in_streams = choice_fault(
    "logprobs-in-streams",
    _always,
    "Streams have log-probabilities, although the document says that they have none.",
    plain=False,
    applies_to=requires_check("logprobs.none-in-streams"),
)
logprobs_last_missing = _whole(
    "logprobs-last-missing",
    lambda _choice, content: content and content.pop(),
    "The last token has no log-probability.",
    streamed=False,
    bugs=[104],
)
logprobs_other_text = told_of(
    "logprobs-other-text",
    lambda entry: entry.update(token=entry["token"].strip() + "x", bytes=[120]),
    "The tokens with log-probabilities do not add up to the text.",
    bugs=[104],
)
logprobs_bytes_wrong = told_of(
    "logprobs-bytes-wrong", lambda entry: entry.update(bytes=[0]), "`bytes` does not match the token."
)
logprobs_positive = told_of(
    "logprobs-positive", lambda entry: entry.update(logprob=-entry["logprob"] + 0.5), "Log-probabilities are positive."
)
logprobs_are_shares = told_of(
    "logprobs-are-shares",
    lambda entry: entry.update(logprob=0.75),
    "Probabilities are returned instead of log-probabilities.",
)
logprobs_constant = told_of(
    "logprobs-constant",
    lambda entry: entry.update(logprob=-0.5),
    "Every token has the same log-probability.",
    bugs=[104],
)
logprobs_shifted = _whole(
    "logprobs-shifted",
    _shift,
    "Log-probabilities and alternatives are shifted by one token.",
    streamed=False,
    bugs=[104],
)
logprobs_last_guessed = _whole(
    "logprobs-last-guessed",
    lambda _choice, content: content and content[-1].update(logprob=-1.0),
    "The last token of an answer has the log-probability -1.",
    streamed=False,
)
alternatives_too_few = told_of(
    "alternatives-too-few",
    lambda entry: len(entry["top_logprobs"]) > 1 and entry["logprob"] > SURE and entry["top_logprobs"].pop(),
    "Almost certain tokens have one alternative fewer than requested.",
    applies_to=requires_check("logprobs.as-many-alternatives-as-asked"),
)
alternatives_always_too_few = told_of(
    "alternatives-always-too-few",
    lambda entry: len(entry["top_logprobs"]) > 1 and entry["top_logprobs"].pop(),
    "Every token has one alternative fewer than requested.",
    applies_to=requires_check("logprobs.alternatives-as-asked-or-fewer"),
)
alternatives_too_many = told_of(
    "alternatives-too-many",
    lambda entry: entry["top_logprobs"].append({"token": "zz", "logprob": -99.0, "bytes": [122, 122]}),
    "Every token has one alternative more than requested.",
)
alternatives_missing = told_of(
    "alternatives-missing", lambda entry: entry.update(top_logprobs=[]), "`top_logprobs` is ignored.", bugs=[100]
)
alternatives_reversed = told_of(
    "alternatives-reversed",
    _alternatives(lambda each: each.reverse()),
    "Alternatives are sorted by increasing probability.",
)
alternatives_alike = told_of(
    "alternatives-alike",
    _alternatives(lambda each: each.__setitem__(slice(None), [each[0]] * len(each))),
    "All alternatives are the same token.",
)
alternatives_beyond_one = told_of(
    "alternatives-beyond-one",
    _alternatives(lambda each: [entry.update(logprob=-0.01) for entry in each]),
    "The probabilities of the alternatives add up to more than 1.",
)
chosen_otherwise = told_of(
    "chosen-otherwise",
    lambda entry: entry.update(logprob=entry["logprob"] - 1.5),
    "A token's log-probability differs from that among its alternatives.",
)
logprobs_without_token = told_of(
    "logprobs-without-token", lambda entry: entry.pop("token"), "Entries of log-probabilities have no token."
)


@fault("logprobs-in-first-chunk", "chunk", applies_to=BUTTON)
def logprobs_in_first_chunk(chunk: Json, request: ServedRequest) -> None:
    """Only the first chunk of a stream has log-probabilities."""
    for choice in chunk["choices"]:
        if request.event_index > 1 and isinstance(choice.get("logprobs"), dict):
            choice["logprobs"] = None


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


def _forget_names(choice: Json, _request: ServedRequest) -> None:
    for entry in (choice.get("logprobs") or {}).get("content") or ():
        for item in entry.get("top_logprobs") or ():
            item.update(token="", bytes=[])


alternatives_unnamed = choice_fault(
    "alternatives-unnamed", _forget_names, "The alternatives have neither text nor bytes.", applies_to=BUTTON
)


@fault("streamed-numbers-lower", "chunk", applies_to=BUTTON)
def streamed_numbers_are_lower(chunk: Json, _request: ServedRequest) -> None:
    """The log-probabilities of streams are 3 lower, as if the vocabulary were twenty times as large."""
    for choice in choices_of(chunk):
        for entry in (choice.get("logprobs") or {}).get("content") or ():
            for item in (entry, *(entry.get("top_logprobs") or ())):
                if item.get("logprob") is not None:
                    item["logprob"] -= 3
