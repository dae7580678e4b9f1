"""Blind faults of two parameters together: what is lost next to tools, choices, temperatures and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import dropping, is_number, is_whole, refusing, when
from reference_server.faults.blind.thought_recipes import thinks, turn_thinking_off
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import has_parameters
from reference_server.upstream.kind import NO_STOPS_WITH_TOOLS

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json

LIMITS: Final = ("max_tokens", "max_completion_tokens")
SMALL: Final = 64
MOST_CHOICES: Final = 128
LEAST_TEMPERATURE: Final = 0.000_001
HIGHEST: Final = 2.0


def _has_tools(sent: Json) -> bool:
    return bool(sent.get("tools"))


def _has_several(sent: Json) -> bool:
    return is_whole(sent.get("n"), 2, MOST_CHOICES)


def _has_warm_beams(sent: Json) -> bool:
    return sent.get("use_beam_search") is True and is_number(sent.get("temperature"), LEAST_TEMPERATURE, HIGHEST)


def _works_on_tools(sent: Json) -> bool:
    return _has_tools(sent) and sent.get("reasoning_effort") not in (None, "none")


def _thinks_briefly(sent: Json) -> bool:
    return thinks(sent) and any(is_whole(sent.get(name), 1, SMALL) for name in LIMITS)


def _stops_with_tools(contract: Contract) -> bool:
    return has_parameters("stop", "tools")(contract) and NO_STOPS_WITH_TOOLS not in contract.rules


# Violates bad_words, which apply to each choice.
bad_words_lost_next_to_several = when(
    "bad-words-lost-next-to-several",
    "bad_words has no effect if several choices are requested.",
    _has_several,
    dropping("bad_words"),
    applies_to=has_parameters("bad_words", "n"),
)
# Violates stop: its strings end any text.
stops_lost_next_to_tools = when(
    "stops-lost-next-to-tools",
    "Stop strings have no effect if the request has tools.",
    _has_tools,
    dropping("stop", "include_stop_str_in_output"),
    applies_to=_stops_with_tools,
)
# Violates response_format, which an answer without a call has.
forms_lost_next_to_tools = when(
    "forms-lost-next-to-tools",
    "A response_format has no effect if the request has tools.",
    _has_tools,
    dropping("response_format"),
    applies_to=has_parameters("response_format", "tools"),
)
# Violates use_beam_search, which does not depend on the temperature.
beams_lost_next_to_temperatures = when(
    "beams-lost-next-to-temperatures",
    "use_beam_search has no effect if the temperature is above 0.",
    _has_warm_beams,
    dropping("use_beam_search"),
    applies_to=allows(use_beam_search=True, temperature=0.8),
)
# Violates reasoning_effort: every request may have one.
efforts_refused_next_to_tools = when(
    "efforts-refused-next-to-tools",
    "A request with tools and a reasoning_effort is refused.",
    _works_on_tools,
    refusing("function tools with reasoning_effort are not supported"),
    applies_to=allows(tools=[NO_TOOL], reasoning_effort="low"),
)
# Violates enable_thinking: the model thinks if it is true.
small_limits_turn_thinking_off = when(
    "small-limits-turn-thinking-off",
    "Reasoning is turned off if the token limit is 64 or less.",
    _thinks_briefly,
    turn_thinking_off,
    applies_to=has_parameters("chat_template_kwargs"),
)
