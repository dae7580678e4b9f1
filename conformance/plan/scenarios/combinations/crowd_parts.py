"""What a request can have that shows in its own answer, and what may stand next to it: data of the crowded requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.combinations.tasks import CALL, CODE

if TYPE_CHECKING:
    from collections.abc import Mapping

FEW: Final = 12
"""Tokens of an answer that need not be complete."""


def _ask_about_a_city(name: str, description: str) -> dict[str, Any]:
    """Return a tool whose calls are short: a city of two."""
    city = {"type": "string", "enum": ["Rome", "Oslo"]}
    schema = {"type": "object", "properties": {"city": city}, "required": ["city"]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


WEATHER: Final = _ask_about_a_city("get_weather", "Report the weather in a city.")
CLOCK: Final = _ask_about_a_city("get_time", "Report the time in a city.")
NAMED: Final = {"type": "function", "function": {"name": "get_time"}}
STOPS: Final = ["e", "a", "t", "."]
"""Strings one of which is in nearly every answer of a few tokens."""
WORDS: Final = [*"abcdefghijklmnopqrstuvwxyz", "the", "The", "is", "and", "to", "of", "you", "Hello", "Hi", "Anna"]
"""Words that are single tokens of most vocabularies, and of which most answers have one."""
FORMS: Final = frozenset(("form", "object", "choice"))
CALLS: Final = frozenset(("named", "required", "allowed"))
FORCED: Final = frozenset(("endless", "biased", "banned")) | CALLS
"""What decides about the tokens of an answer, so that it need not have the form."""
THOUGHTS: Final = frozenset(("thoughts", "effort"))
"""What lets a model reason, which may use up the tokens of its answer."""


@dataclass(frozen=True, slots=True)
class Part:
    """A few parameters, messages or pieces of content that a request may have.

    values: its parameters. messages: those in front of the question. after: those behind it.
    medium: the file next to the question.
    tokens: the limit that its answer needs. capabilities: what the server must have.
    check: the check that judges the effect in each answer; empty if the part is only there to be next to others.
    hidden_by: the parts next to which an answer does not show the effect.
    apart: the parts that are not sent with it, because together they ask for two answers.
    needs: the parameter without which it says nothing, and some servers refuse it.
    optional: whether a server that has the capabilities may still refuse it, as a model without sound does.
    """

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)
    messages: tuple[Mapping[str, Any], ...] = ()
    after: tuple[Mapping[str, Any], ...] = ()
    medium: str = ""
    question: str = ""
    tokens: int = FEW
    capabilities: frozenset[str] = frozenset()
    check: str = ""
    hidden_by: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    needs: str = ""
    optional: bool = False


def _form(kind: str, **more: Any) -> dict[str, Any]:
    return {"response_format": {"type": kind, **more}}


EFFECTS: Final = (
    Part(
        "stops",
        {"stop": STOPS},
        check="stop.not-in-output",
        # no stop string ends an answer before its least length, or reasoning
        hidden_by=frozenset(("min-tokens",)) | THOUGHTS,
        apart=CALLS,
    ),
    Part(
        "form",
        _form("json_schema", json_schema={"name": "code", "strict": True, "schema": CODE}),
        tokens=48,
        capabilities=frozenset(("structured_output",)),
        check="structured.fits-schema",
        hidden_by=frozenset(("stops",)) | THOUGHTS,
        apart=FORCED | FORMS,
    ),
    Part(
        "object",
        _form("json_object"),
        tokens=16,
        capabilities=frozenset(("structured_output",)),
        check="structured.begins-with-a-brace",
        hidden_by=THOUGHTS,
        apart=FORCED | FORMS,
    ),
    Part(
        "choice",
        {"structured_outputs": {"choice": ["yes, it is", "no, not now"]}},
        capabilities=frozenset(("structured_output",)),
        check="structured.one-of-the-choices",
        hidden_by=frozenset(("stops",)) | THOUGHTS,
        apart=FORCED | FORMS,
    ),
    Part("several", {"n": 2}, capabilities=frozenset(("n",)), check="choices.all-finish"),
    Part(
        "scores",
        {"logprobs": True, "top_logprobs": 2},
        capabilities=frozenset(("logprobs",)),
        check="effects.kept-in-crowds",
        hidden_by=CALLS | THOUGHTS,  # a call and reasoning need not have log-probabilities
    ),
    Part(
        "named",
        {"tools": [WEATHER, CLOCK], "tool_choice": NAMED},
        tokens=32,
        capabilities=frozenset(("tools",)),
        check="tools.named-is-called",
        hidden_by=THOUGHTS,
        apart=FORCED | FORMS,
    ),
    Part(
        "required",
        {"tools": [WEATHER, CLOCK], "tool_choice": "required"},
        tokens=32,
        capabilities=frozenset(("tools",)),
        check="tools.required-calls",
        hidden_by=THOUGHTS,
        apart=FORCED | FORMS,
    ),
    Part(
        "allowed",
        {
            "tools": [WEATHER, CLOCK],
            "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NAMED]}},
        },
        tokens=32,
        capabilities=frozenset(("tools",)),
        check="tools.allowed-are-called",
        hidden_by=THOUGHTS,
        apart=FORCED | FORMS,
        optional=True,
    ),
    Part(
        "thoughts",
        {"chat_template_kwargs": {"enable_thinking": True}},
        question="What is 2 + 3?",
        capabilities=frozenset(("thinking",)),
        check="reasoning.shown-when-on",
        hidden_by=frozenset(("stops", "biased", "banned", "video")) | FORMS | CALLS,  # may hold from the first token on
    ),
    Part(
        "thoughtless",
        {"chat_template_kwargs": {"enable_thinking": False}},
        capabilities=frozenset(("thinking",)),
        check="reasoning.none-when-off",
        hidden_by=frozenset(("effort",)),
    ),
    Part(
        "biased",
        {"logit_bias": {"300": 100}},
        capabilities=frozenset(("logit_bias",)),
        check="effects.kept-in-crowds",
        hidden_by=frozenset(("stops", "tools")) | THOUGHTS,
        apart=frozenset(("banned",)) | FORMS | CALLS,
    ),
    Part(
        "banned",
        {"bad_words": WORDS, "logprobs": True, "top_logprobs": 2},
        capabilities=frozenset(("logprobs",)),
        check="effects.kept-in-crowds",
        hidden_by=THOUGHTS,
        apart=FORMS | CALLS,
    ),
    Part(
        "endless",
        {"ignore_eos": True},
        check="usage.completion-reaches-limit",
        hidden_by=frozenset(("stops", "tools")),
        apart=FORMS | CALLS,
    ),
    Part("uncalled", {"tools": [WEATHER], "tool_choice": "none"}, check="tools.none-calls-nothing"),
    Part("stream", {"stream": True, "stream_options": {"include_usage": True}}, check="stream.usage-on-request"),
)
PAGES: Final = "The quick brown fox jumps over the lazy dog, and the cat looks on. " * 60
"""About 4,000 characters, which servers may read in several steps."""
OTHERS: Final = (
    Part("plain", {"stream": False}),
    Part("tools", {"tools": [WEATHER]}, capabilities=frozenset(("tools",)), apart=frozenset(("uncalled",))),
    Part("instructions", messages=({"role": "system", "content": "Answer in plain words."},)),
    Part(
        "history",
        messages=(
            {"role": "user", "content": "What is the weather in Rome?"},
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "call00001", "content": "sunny, 24 degrees"},
            {"role": "assistant", "content": "It is sunny."},
        ),
        capabilities=frozenset(("tools",)),
    ),
    Part(
        "pages",
        messages=({"role": "user", "content": PAGES}, {"role": "assistant", "content": "I have read it."}),
        apart=frozenset(("allowed",)),  # a model may reason about them until its limit, and the call is not seen
    ),
    Part(
        "result",
        after=(
            {"role": "assistant", "content": "", "tool_calls": [{**CALL, "id": "call00002"}]},
            {"role": "tool", "tool_call_id": "call00002", "content": "cloudy, 9 degrees"},
        ),
        capabilities=frozenset(("tools",)),
    ),
    Part("image", medium="red.jpg", capabilities=frozenset(("media",))),
    Part("video", medium="red.mp4", capabilities=frozenset(("media",)), optional=True),
    Part("audio", medium="low.wav", capabilities=frozenset(("media",)), optional=True),
    Part("effort", {"reasoning_effort": "low"}, capabilities=frozenset(("thinking",))),
    Part("seed", {"seed": 20}),
    Part("top-p", {"top_p": 0.8}),
    Part("top-k", {"top_k": 1}),
    Part("min-p", {"min_p": 0.05}),
    Part("min-tokens", {"min_tokens": 2}),
    Part("presence", {"presence_penalty": 0.6}),
    Part("frequency", {"frequency_penalty": 0.6}),
    Part("repetition", {"repetition_penalty": 1.1}),
    Part("small-bias", {"logit_bias": {"300": 2, "400": -100}}),
    Part("special-tokens", {"skip_special_tokens": False}),
    Part("token-ids", {"return_token_ids": True}),
    Part("interval", {"stream_interval": 3}),
    Part("single-calls", {"parallel_tool_calls": False}, capabilities=frozenset(("tools",)), needs="tools"),
    Part("user", {"user": "chatproof"}),
    Part("labels", {"metadata": {"purpose": "test"}}),
    Part("unstored", {"store": False}),
    Part(
        "prediction",
        {"prediction": {"type": "content", "content": "Hello!"}},
        capabilities=frozenset(("prediction",)),
        # OpenAI's guide to predicted outputs excludes these
        apart=frozenset(("several", "scores", "banned", "presence", "frequency", "tools", "uncalled", "audio")) | CALLS,
        optional=True,
    ),
    Part("verbosity", {"verbosity": "low"}, capabilities=frozenset(("verbosity",))),
    Part("tier", {"service_tier": "auto"}, capabilities=frozenset(("service_tiers",))),
    Part("cache-key", {"prompt_cache_key": "chatproof"}),
    Part("safety", {"safety_identifier": "chatproof"}),
    Part("salt", {"cache_salt": "Zb2mTq0vRk"}),
    Part("session", {"session_id": "chatproof"}),
    Part("priority", {"priority": 1}, capabilities=frozenset(("priority",))),
    Part(
        "prompt-scores",
        {"prompt_logprobs": 1},
        capabilities=frozenset(("prompt_logprobs",)),
        apart=frozenset(("pages",)),  # their list would be longer than the rest of all answers
        optional=True,
    ),
)
"""Parts whose own effects other requests show."""
