"""Mutants of parameters that leave a number of tokens: they leave others, or more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_choice, edit_every_choice, edit_text
from conformance.proof.editing.logprobs import edit_content
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("effects.top-k-kept", steps="draw-*")
def top_k_leaves_more(exchange: Exchange) -> Exchange:
    """top_k leaves more tokens than it says."""
    return edit_text(exchange, lambda text: f"{text}{exchange.step[-1]}")


def _choose_unlikely(choice: dict[str, Any]) -> None:
    """Let every token be less likely than its alternatives."""
    for entry in choice["logprobs"]["content"]:
        entry["logprob"] = min([entry["logprob"], *(other["logprob"] for other in entry["top_logprobs"])]) - 3.0


@mutant("effects.top-k-ranks", steps="ranked")
def top_k_leaves_unlikely_tokens(exchange: Exchange) -> Exchange:
    """top_k leaves tokens that are less likely than those it says."""
    return edit_choice(exchange, _choose_unlikely)


@mutant("effects.top-p-kept", steps="half-*")
def top_p_is_ignored(exchange: Exchange) -> Exchange:
    """top_p is ignored: unlikely tokens are chosen."""
    return edit_choice(exchange, _choose_unlikely)


def _choose_first(content: list[dict[str, Any]]) -> None:
    """Let each token but the first be the likeliest of three, of which the second reaches half of the probability.

    A first token that is not the likeliest one has no alternatives.
    """
    for entry in content[1:]:
        others = [{"token": token, "logprob": value, "bytes": None} for token, value in (("b", -1.08), ("c", -1.35))]
        entry |= {"logprob": -0.92, "top_logprobs": [{**entry, "logprob": -0.92}, *others]}
    if content[0]["logprob"] < max((item["logprob"] for item in content[0]["top_logprobs"]), default=-math.inf):
        content[0]["top_logprobs"] = []


@mutant("effects.top-p-whole", steps="few")
def top_p_is_lowered(exchange: Exchange) -> Exchange:
    """top_p leaves fewer tokens than it says."""
    return edit_content(exchange, _choose_first)


@mutant("effects.min-p-kept", steps="third-*")
def min_p_is_ignored(exchange: Exchange) -> Exchange:
    """min_p is ignored: unlikely tokens are chosen."""
    return edit_choice(exchange, _choose_unlikely)


@mutant("effects.low-temperature-is-greedy", steps="cold-*")
def low_temperature_is_high(exchange: Exchange) -> Exchange:
    """A low temperature counts as a high one."""
    return edit_text(exchange, lambda text: f"{exchange.step} {text}")


@mutant("effects.temperatures-in-order", steps="*")
def temperatures_are_inverted(exchange: Exchange) -> Exchange:
    """Low temperatures vary answers, and high ones do not."""
    text = exchange.step if exchange.step.startswith("cold") else "Once"
    return edit_every_choice(exchange, lambda choice: choice["message"].update(content=text))
