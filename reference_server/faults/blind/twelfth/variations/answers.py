"""Variations of answers: ids, headers, fields of choices and models, numbers, refusals, and other models."""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.body_recipes import editing_messages
from reference_server.faults.blind.frame_recipes import replacing_call_ids
from reference_server.faults.blind.gateway_recipes import models_fault
from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import choices_of, has_parameters, variation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-"
ID_LENGTH: Final = 21
WORDS: Final = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron")
LANGUAGES: Final = {
    "content-language": "en, fr",
    "accept-ranges": "none",
    "permissions-policy": "interest-cohort=()",
    "priority": "u=3, i",
}
PRICES: Final = {
    "pricing": {"prompt": "0.0000002", "completion": "0.0000006", "image": None},
    "capabilities": {"vision": False, "tools": True, "languages": ["en", "fr"]},
    "aliases": [],
}
SCORE: Final = re.compile(rb'("logprob":-?\d+\.\d+)(?=[,}])')
PADDING: Final = rb"\g<1>0000"


def _shorten_ids(response: Json, _request: ServedRequest) -> None:
    if isinstance(response.get("id"), str):
        digest = sha256(response["id"].encode()).digest()
        response["id"] = "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:ID_LENGTH])


def _name_call(call_id: str) -> str:
    """Return an id of words."""
    digest = sha256(call_id.encode()).digest()
    return "-".join(["call", *(WORDS[byte % len(WORDS)] for byte in digest[:6]), str(digest[6])])


def _state_languages(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers |= LANGUAGES


def _state_seeds(response: Json, request: ServedRequest) -> None:
    response["prompt"] = []
    for choice in choices_of(response):
        choice["seed"] = request.payload.get("seed") or 1


def _price_models(listed: Json) -> None:
    for model in listed["data"]:
        model |= PRICES


def _pad_numbers(body: bytes, _request: ServedRequest) -> bytes:
    return SCORE.sub(PADDING, body)


def _pad_numbers_of_events(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    yield _pad_numbers(frame, request)


def _copy_status(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    head.headers["x-apisix-upstream-status"] = str(head.status)
    return body


use_words = replacing_call_ids(_name_call)

ids_of_21_characters = variation(
    "ids-of-21-characters",
    "Ids of answers have 21 letters, digits, dashes and underscores, without a prefix.",
    answer=_shorten_ids,
    chunk=_shorten_ids,
    applies_to=has_own_ids,
)
call_ids_of_words = variation(
    "call-ids-of-words",
    "Ids of calls consist of words and a number.",
    answer=use_words,
    chunk=use_words,
    applies_to=has_parameters("tools"),
)
languages_in_headers = variation(
    "languages-in-headers", "Headers state languages, a priority and a policy.", head=_state_languages
)
seeds_stated = variation(
    "seeds-stated",
    "Choices state a seed, and answers have an empty list of prompts.",
    answer=_state_seeds,
    chunk=_state_seeds,
    applies_to=has_own_ids,
)
models_with_prices = replace(
    models_fault("models-with-prices", "Models are listed with prices and capabilities.", _price_models), benign=True
)
scores_padded_with_zeros = variation(
    "scores-padded-with-zeros",
    "Log-probabilities end with zeros.",
    plain=_pad_numbers,
    event=_pad_numbers_of_events,
    applies_to=has_parameters("logprobs"),
)
refusals_name_an_upstream = variation(
    "refusals-name-an-upstream",
    "Messages of refusals begin with the name of a server behind a gateway.",
    refusal=editing_messages(lambda message: f"Upstream error from Region-2: {message}"),
)
statuses_of_refusals_in_headers = variation(
    "statuses-of-refusals-in-headers", "Refusals have their status in a header too.", refusal=_copy_status
)
model_after_an_order = model_after(
    "model-after-an-order",
    "The model answers after a conversation about an order.",
    "I want two boxes of tea.",
    "Two boxes of tea. Do you want milk too?",
    "No, thank you.",
    "Fine. That is 8 euros.",
)
model_after_a_letter = model_after(
    "model-after-a-letter",
    "The model answers after a conversation about a letter.",
    "Write a short letter to Anna.",
    "Dear Anna, I hope you are well. Yours, Tom",
)
model_after_french = model_after(
    "model-after-french",
    "The model answers after a conversation in French.",
    "Bonjour! Quelle est la capitale de la France?",
    "La capitale de la France est Paris.",
)
