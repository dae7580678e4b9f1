"""Faults in the values of log-probabilities, and in the tokens that they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import choices_of, fault
from reference_server.faults.topics.logprobs.edits import BUTTON, each_entry, whole_object

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _shift(_choice: Json, content: list[Json]) -> None:
    request: list[Json] = [
        {name: entry[name] for name in ("logprob", "top_logprobs") if name in entry} for entry in content
    ]
    for entry, other in zip(content, [*request[1:], *request[:1]], strict=True):
        entry.update(other)


logprobs_bytes_wrong = each_entry(
    "logprobs-bytes-wrong", lambda entry: entry.update(bytes=[0]), "`bytes` does not match the token."
)
logprobs_positive = each_entry(
    "logprobs-positive", lambda entry: entry.update(logprob=-entry["logprob"] + 0.5), "Log-probabilities are positive."
)
logprobs_are_shares = each_entry(
    "logprobs-are-shares",
    lambda entry: entry.update(logprob=0.75),
    "Probabilities are returned instead of log-probabilities.",
)
logprobs_constant = each_entry(
    "logprobs-constant",
    lambda entry: entry.update(logprob=-0.5),
    "Every token has the same log-probability.",
    bugs=[104],
)
logprobs_shifted = whole_object(
    "logprobs-shifted",
    _shift,
    "Log-probabilities and alternatives are shifted by one token.",
    streamed=False,
    bugs=[104],
)
logprobs_last_guessed = whole_object(
    "logprobs-last-guessed",
    lambda _choice, content: content and content[-1].update(logprob=-1.0),
    "The last token of an answer has the log-probability -1.",
    streamed=False,
)
logprobs_without_token = each_entry(
    "logprobs-without-token", lambda entry: entry.pop("token"), "Entries of log-probabilities have no token."
)


@fault("streamed-numbers-lower", "chunk", applies_to=BUTTON)
def streamed_numbers_are_lower(chunk: Json, _request: ServedRequest) -> None:
    """The log-probabilities of streams are 3 lower, as if the vocabulary were twenty times as large."""
    for choice in choices_of(chunk):
        for entry in (choice.get("logprobs") or {}).get("content") or ():
            for item in (entry, *(entry.get("top_logprobs") or ())):
                if item.get("logprob") is not None:
                    item["logprob"] -= 3
