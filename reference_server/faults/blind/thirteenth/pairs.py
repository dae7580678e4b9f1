"""Blind faults of two parameters together: next to forms, choices, streams and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import dropping, is_number, is_whole, when
from reference_server.faults.blind.schema_recipes import form_type_of
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

LIMITS: Final = ("max_tokens", "max_completion_tokens")
LEAST_LIMIT: Final = 64
MOST_CHOICES: Final = 128
HIGHEST: Final = 2.0
PENALTIES: Final = {"presence_penalty": -HIGHEST, "frequency_penalty": -HIGHEST, "repetition_penalty": 0.001}


def _has_several(sent: Json) -> bool:
    return is_whole(sent.get("n"), 2, MOST_CHOICES)


def _has_warm_form(sent: Json) -> bool:
    """Whether one choice with a form is sampled."""
    warm = is_number(sent.get("temperature"), 0, HIGHEST)
    return form_type_of(sent) in ("json_object", "json_schema") and warm and not _has_several(sent)


def _make_greedy(request: ServedRequest) -> None:
    request.payload["temperature"] = 0


def _is_stream(sent: Json) -> bool:
    return sent.get("stream") is True


def _drop_penalties(request: ServedRequest) -> None:
    for name, least in PENALTIES.items():
        if is_number(request.payload.get(name), least, HIGHEST):
            del request.payload[name]


def _has_tools(sent: Json) -> bool:
    return bool(sent.get("tools"))


def _calls_several(sent: Json) -> bool:
    return _has_tools(sent) and _has_several(sent)


def _make_one(request: ServedRequest) -> None:
    request.payload["n"] = 1


def _raise_limits(request: ServedRequest) -> None:
    for name in LIMITS:
        if is_whole(request.payload.get(name), 1, LEAST_LIMIT):
            request.payload[name] = LEAST_LIMIT


# Violates temperature: what may be sampled is sampled.
temperatures_lost_next_to_forms = when(
    "temperatures-lost-next-to-forms",
    "With a response_format that demands JSON, the most likely token is always chosen.",
    _has_warm_form,
    _make_greedy,
    applies_to=has_parameters("response_format"),
)
# Violates seed: equal requests with it have equal answers.
seeds_lost_next_to_several = when(
    "seeds-lost-next-to-several",
    "A seed has no effect if several choices are requested.",
    _has_several,
    dropping("seed"),
    applies_to=has_parameters("seed", "n"),
)
# Violates the penalties, which apply to streams too.
penalties_lost_in_streams = when(
    "penalties-lost-in-streams", "Penalties have no effect in streams.", _is_stream, _drop_penalties
)
# Violates n: the number of choices.
several_are_one_next_to_tools = when(
    "several-are-one-next-to-tools",
    "If the request has tools, one choice is returned, whatever n is.",
    _calls_several,
    _make_one,
    applies_to=allows(tools=[NO_TOOL], n=2, temperature=1.0),
)
# Violates max_tokens: the greatest number of tokens.
small_limits_raised_next_to_tools = when(
    "small-limits-raised-next-to-tools",
    "If the request has tools, a token limit below 64 is raised to 64.",
    _has_tools,
    _raise_limits,
    applies_to=has_parameters("tools"),
)
