"""Blind faults that show now and then: the first use of a seed, reasons, and refusals that are pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import every, is_whole, per_server
from reference_server.faults.decorators import choices_of, has_parameters
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

LARGEST_SEED: Final = 2**31 - 1
LENGTH_EVERY: Final = 5
PAGE_EVERY: Final = 4
REFUSED: Final = 400
PAGE: Final = b"<html><head><title>400 Bad Request</title></head><body><h1>400 Bad Request</h1></body></html>"


def _learn_seeds() -> Hooks:
    """Set the seed after the first sample. Violates seed: equal requests with it have equal answers."""
    known: set[int] = set()

    def learn(request: ServedRequest) -> None:
        seed = request.payload.get("seed")
        if isinstance(seed, int) and is_whole(seed, 0, LARGEST_SEED) and seed not in known:
            known.add(seed)
            request.payload["seed"] = LARGEST_SEED - seed

    return Hooks(request=learn)


def _say_length() -> Hooks:
    """Compare with the wrong limit. Violates finish_reason: stop, if the model has ended the answer."""
    is_turn = every(LENGTH_EVERY)

    def choose(request: ServedRequest) -> None:
        request.state["hit"] = is_turn()

    def say(response: Json, request: ServedRequest) -> None:
        for choice in choices_of(response) if request.state.get("hit") else ():
            if choice.get("finish_reason") == "stop":
                choice["finish_reason"] = "length"

    return Hooks(request=choose, answer=say, chunk=say)


def _send_pages() -> Hooks:
    """Let a proxy answer. Violates the form of a refusal, which is JSON."""
    is_turn = every(PAGE_EVERY)

    def send(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
        if head.status < REFUSED or not is_turn():
            return body
        head.headers["content-type"] = "text/html"
        return PAGE

    return Hooks(refusal=send)


first_use_of_a_seed_differs = per_server(
    "first-use-of-a-seed-differs",
    "The first answer with a seed differs from all later ones with it.",
    _learn_seeds,
    applies_to=has_parameters("seed"),
)
every_fifth_answer_says_length = per_server(
    "every-fifth-answer-says-length",
    "Every fifth answer has the finish reason length, even if it has ended on its own.",
    _say_length,
)
every_fourth_refusal_is_a_page = per_server(
    "every-fourth-refusal-is-a-page", "Every fourth refusal is a page of a proxy instead of JSON.", _send_pages
)
