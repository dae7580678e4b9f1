"""The defaults of a contract that answers can show, and another value of each parameter that gives other answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi.contract.parameter import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openapi.contract.parameter import Parameter
    from openapi.schema.json_schema import Schema

STORY_WORDS: Final = ("the", "e", "a", "o")
"""Strings that occur soon in any English text; OVMS accepts four."""
WEATHER_TOOL: Final[Mapping[str, Any]] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
OTHERS: Final[Mapping[str, tuple[Any, ...]]] = {
    "temperature": (2.0, 0.0),
    "top_p": (0.01, 0.1),
    "top_k": (1, 2),
    "min_p": (1.0, 0.9),
    "seed": (7, 8),
    "n": (2, 3),
    "best_of": (3, 2),
    "use_beam_search": (True,),
    "length_penalty": (-4.0, 4.0),
    "diversity_penalty": (4.0, 2.0),
    "presence_penalty": (2.0, -2.0),
    "frequency_penalty": (2.0, -2.0),
    "repetition_penalty": (2.0, 1.8),
    "stream": (True,),
    "logprobs": (True,),
    "top_logprobs": (3, 2),
    "stop": (list(STORY_WORDS), list(STORY_WORDS[:1])),
    "stop_token_ids": (list(range(5_000)), list(range(300, 4_000))),
    "include_stop_str_in_output": (True, False),
    "ignore_eos": (True,),
    "skip_special_tokens": (False,),
    "max_tokens": (4, 16),
    "max_completion_tokens": (4, 16),
    "tools": ([WEATHER_TOOL],),
    "tool_choice": ("none",),  # a question about the weather is answered by a call anyway
}
"""For each parameter whose default answers show: values that change the answer, the most effective one first."""
CLOSE: Final = 0.05
"""How far from an exclusive bound a value is chosen, as a share of the range or of 1."""


def stated_default(parameter: Parameter) -> Any:
    """Return the value with the effect of leaving a parameter out, or ABSENT if the document states none."""
    return parameter.default_as if parameter.default is ABSENT else parameter.default


def other_values(parameter: Parameter, is_valid: Callable[[Any], bool]) -> tuple[Any, ...]:
    """Return valid values that differ from the default and change the answer, the most effective one first.

    If none of the usual ones is valid, they are the ends of the parameter's range. Empty if answers do not show the
    default.
    """
    default = stated_default(parameter)
    usual = OTHERS.get(parameter.name, ())
    if default is ABSENT or not usual:
        return ()
    ends = sorted(_ends(parameter.schema), key=lambda end: -abs(end - default) if _is_number(default) else 0)
    found = (
        tuple(value for value in values if not _equals(value, default) and is_valid(value)) for values in (usual, ends)
    )
    return next(filter(None, found), ())


def _ends(schema: Schema) -> list[Any]:
    """Return values at the ends of the range of a number."""
    whole = schema.get("type") == "integer"
    ends = [schema[keyword] for keyword in ("minimum", "maximum") if keyword in schema]
    for keyword, sign in (("exclusiveMinimum", 1), ("exclusiveMaximum", -1)):
        if keyword in schema:
            ends.append(schema[keyword] + sign * (1 if whole else CLOSE))
    return ends


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _equals(value: Any, default: Any) -> bool:
    return isinstance(value, bool) is isinstance(default, bool) and bool(value == default)
