"""Differences of two descriptions: each is told with its effect, and nothing is refused anew without a breaking one."""

from __future__ import annotations

import copy
from functools import cache
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from openapi.contract.contract import load, names
from openapi.description.description import describe, describe_oas31
from openapi.description.differences import DescriptionDifference, Effect, find_differences
from openapi.description.validation import Validator
from openapi.tests.contract.validators import agreed_bodies

if TYPE_CHECKING:
    from collections.abc import Callable

DIALECTS = sorted(set(names().values()))
PAIRS = list(permutations(DIALECTS, 2))
BREAKING, WIDENING, NEUTRAL = Effect.BREAKING, Effect.WIDENING, Effect.NEUTRAL
BASE = describe(load("mindie"))
SCHEMAS = "components/schemas"
PARAMETERS = f"{SCHEMAS}/ChatCompletionRequest/properties"


@cache
def bodies_of(dialect: str) -> list[Any]:
    valid, _ = agreed_bodies(load(dialect), 100)
    return valid


def at(document: Any, place: str) -> Any:
    for step in place.split("/"):
        document = document[step]
    return document


def put(place: str, **members: Any) -> Callable[[Any], None]:
    """Sets members at a place; what ends in an underscore is a Python word otherwise."""

    def change(document: Any) -> None:
        holder, _, name = place.rpartition("/")
        at(document, holder).setdefault(name, {}).update({key.rstrip("_"): value for key, value in members.items()})

    return change


def drop(place: str) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        holder, _, name = place.rpartition("/")
        del at(document, holder)[name]

    return change


def at_chat(change: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda document: change(document["paths"]["/v1/chat/completions"]["post"])


def moved(document: Any) -> None:
    document["paths"]["/v3/chat/completions"] = document["paths"].pop("/v1/chat/completions")


def refused_otherwise(document: Any) -> None:
    responses = document["paths"]["/v1/chat/completions"]["post"]["responses"]
    responses["418"] = responses.pop("413")


def recoded(document: Any) -> None:
    responses = document["paths"]["/v1/chat/completions"]["post"]["responses"]
    shown = responses["413"]["content"]["application/json"]["examples"]["too_large"]["value"]
    shown["error_type"] = "Teapot"


TEMPERATURE = f"{PARAMETERS}/temperature"
ANSWER = f"{SCHEMAS}/ChatCompletion"
CHOICE = f"{SCHEMAS}/Choice/properties/finish_reason"
RULE = {"x-rule": {"id": "r", "summary": "Said."}, "x-source": "d#request/seed", "required": ["n"]}
RULES = f"{SCHEMAS}/ChatCompletionRequest/dependentSchemas"
CHANGES: list[tuple[Callable[[Any], None], tuple[Any, ...]]] = [
    (put(TEMPERATURE, maximum=1.0), ("request", "temperature", BREAKING, "maximum", "≤ 2", "≤ 1")),
    (put(TEMPERATURE, maximum=3), ("request", "temperature", WIDENING, "maximum", "≤ 2", "≤ 3")),
    (drop(f"{TEMPERATURE}/maximum"), ("request", "temperature", WIDENING, "maximum", "≤ 2", "none")),
    (put(TEMPERATURE, exclusiveMinimum=0), ("request", "temperature", BREAKING, "minimum", "≥ 0", "> 0")),
    (put(TEMPERATURE, type="number"), ("request", "temperature", BREAKING, "null", "taken", "refused")),
    (put(f"{PARAMETERS}/model", type=["string", "null"]), ("request", "model", WIDENING, "null", "refused", "taken")),
    (put(TEMPERATURE, type=["integer", "null"]), ("request", "temperature", BREAKING, "type", "number", "integer")),
    (
        put(TEMPERATURE, type=["number", "string", "null"]),
        ("request", "temperature", WIDENING, "type", "", "text"),
    ),
    (put(TEMPERATURE, multipleOf=0.5), ("request", "temperature", BREAKING, "multipleOf", "", "0.5")),
    (put(TEMPERATURE, default=0.5), ("request", "temperature", NEUTRAL, "default", "1.0", "0.5")),
    (
        put(f"{PARAMETERS}/ignore_eos", description="On and on."),
        (
            "request",
            "ignore_eos",
            NEUTRAL,
            "text",
            "Whether generation goes on past the end-of-sequence token.",
            "On and on.",
        ),
    ),
    (put(f"{PARAMETERS}/user", type="string"), ("request", "user", WIDENING, "new", "", "text")),
    (drop(f"{PARAMETERS}/seed"), ("request", "seed", BREAKING, "not described", "integer [0, 2^64-1]", "")),
    (
        put(f"{SCHEMAS}/ChatCompletionRequest", required=["model", "messages", "seed"]),
        ("request", "seed", BREAKING, "required", "optional", "required"),
    ),
    (
        put(f"{SCHEMAS}/ToolFunction", required=[]),
        ("request", "tools[].function.name", WIDENING, "required", "required", "optional"),
    ),
    (
        put(f"{SCHEMAS}/ImagePart/properties/image_url", **{"x-mediaFormats": ["PNG"]}),
        ("request", "messages[].content[].image_url", BREAKING, "x-mediaFormats", '"JPG", "JPEG"', ""),
    ),
    (
        put(f"{SCHEMAS}/ToolParameters/properties/required/items", maxLength=9),
        ("request", "tools[].function.parameters.required[]", BREAKING, "maxLength", "none", "≤ 9"),
    ),
    (
        drop(f"{SCHEMAS}/ToolParameters/properties/required/items"),
        ("request", "tools[].function.parameters.required[]", WIDENING, "type", "", "object"),
    ),
    (
        put(f"{PARAMETERS}/chat_template_kwargs", additionalProperties={"type": "string"}),
        ("request", "chat_template_kwargs.*", BREAKING, "null", "taken", "refused"),
    ),
    (
        lambda document: at(document, f"{SCHEMAS}/ChatCompletionRequest/x-rules").append(
            {"id": "w", "summary": "In words.", "x-source": "d#request/seed"}
        ),
        ("rule", "w", NEUTRAL, "new", "", "In words."),
    ),
    (put(RULES, seed=RULE), ("rule", "r", BREAKING, "new", "", "Said.")),
    (
        put(RULES, seed={**RULE, "x-source": "d#request/unheard"}),
        ("rule", "r", NEUTRAL, "new", "", "Said."),
    ),
    (
        drop(f"{RULES}/n"),
        ("rule", "n-needs-temperature", WIDENING, "gone", "n greater than 1 needs a temperature greater than 0.", ""),
    ),
    (
        put(f"{RULES}/n", anyOf=[]),
        (
            "rule",
            "n-needs-temperature",
            BREAKING,
            "changed",
            *["n greater than 1 needs a temperature greater than 0."] * 2,
        ),
    ),
    (drop(f"{ANSWER}/properties/prefill_time"), ("answer", "prefill_time", BREAKING, "gone", "number ≥ 0", "")),
    (put(f"{ANSWER}/properties/speed", type="number"), ("answer", "speed", WIDENING, "new", "", "number")),
    (put(f"{ANSWER}/properties/id", type="integer"), ("answer", "id", BREAKING, "type", "", "number")),
    (put(f"{ANSWER}/properties/id", type=["string", "null"]), ("answer", "id", BREAKING, "null", "refused", "taken")),
    (
        put(f"{ANSWER}", required=["id", "object", "created", "model"]),
        ("answer", "choices", BREAKING, "presence", "always there", "may be absent"),
    ),
    (
        put(f"{ANSWER}", required=["id", "object", "created", "model", "choices", "usage"]),
        ("answer", "usage", NEUTRAL, "presence", "may be absent", "always there"),
    ),
    (
        put(CHOICE, enum=["stop", "length", "tool_calls", "tired"]),
        ("answer", "choices[].finish_reason", WIDENING, "values", "", '"tired"'),
    ),
    (
        put(CHOICE, enum=["stop", "length"]),
        ("answer", "choices[].finish_reason", NEUTRAL, "values", '"tool_calls"', ""),
    ),
    (drop(f"{SCHEMAS}/ErrorEnvelope/properties/error_type"), ("refusal", "error_type", BREAKING, "gone", "text", "")),
    (moved, ("endpoint", "chat", BREAKING, "path", "/v1/chat/completions", "/v3/chat/completions")),
    (
        at_chat(lambda chat: chat.update(security=[{"bearer": []}])),
        ("endpoint", "chat", BREAKING, "auth", "open", "a key"),
    ),
    (put("info/x-stream", role="never"), ("stream", "role", BREAKING, "form", "every-delta", "never")),
    (put("info/x-stream", stop_text="included"), ("stream", "stop_text", BREAKING, "form", "excluded", "included")),
    (put("info/x-stream", opening_chunk=True), ("stream", "opening_chunk", NEUTRAL, "form", "false", "true")),
    (refused_otherwise, ("refusal", "too_large", BREAKING, "status", "413", "418")),
    (recoded, ("refusal", "too_large", BREAKING, "error_type", "Request Entity Too Large", "Teapot")),
    (lambda document: document["info"]["x-capabilities"].remove("n"), ("capability", "n", BREAKING, "gone", "", "")),
    (lambda document: document["info"]["x-capabilities"].append("zen"), ("capability", "zen", WIDENING, "new", "", "")),
]


@pytest.mark.parametrize(("change", "told"), CHANGES, ids=[" ".join(map(str, told))[:80] for _, told in CHANGES])
def test_one_change_is_one_difference_with_its_effect(change: Callable[[Any], None], told: tuple[Any, ...]) -> None:
    changed = copy.deepcopy(BASE)
    change(changed)
    found = find_differences(BASE, changed)
    assert DescriptionDifference(*told) in found
    assert {each for each in found if each.place == told[1] and each.effect is not told[2]} <= {
        each
        for each in found
        if each.what == "type"  # another type: the one that is lost, and the one that is gained
    }


def test_below_what_only_one_side_has_nothing_is_told() -> None:
    changed = copy.deepcopy(BASE)
    drop(f"{PARAMETERS}/tools")(changed)
    assert [difference.place for difference in find_differences(BASE, changed) if difference.place.startswith("tools")] == [
        "tools"
    ]
    assert [difference.what for difference in find_differences(changed, BASE) if difference.place.startswith("tools")] == [
        "new"
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_does_not_differ_from_itself_in_either_version(dialect: str) -> None:
    assert find_differences(describe(load(dialect)), describe_oas31(load(dialect))) == ()


@pytest.mark.parametrize(("before", "after"), PAIRS, ids="-".join)
def test_what_one_takes_and_the_other_refuses_is_told_as_breaking(before: str, after: str) -> None:
    """Values of single parameters, and whole bodies: none is refused without a breaking difference of a request."""
    old, new = load(before), load(after)
    found = [difference for difference in find_differences(describe(old), describe(new)) if difference.effect is BREAKING]
    told = {each.place.partition(".")[0].partition("[")[0] for each in found if each.part == "request"}
    ruled = any(each.part == "rule" for each in found)
    accepts, refuses = Validator(old).request_problems, Validator(new).request_problems
    base = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}]}
    for parameter in old.parameters.values():
        for probe in (*parameter.probes, parameter.null):
            body = {**base, **parameter.needs, parameter.name: probe.value}
            refused = {problem.parameter for problem in refuses(body)}
            if accepts(body) == () and refused:
                assert refused & told or ruled, (parameter.name, probe.value)
    for body in bodies_of(before):
        refused = {problem.parameter for problem in refuses(body)}
        assert not refused or refused & told or ruled, body


@pytest.mark.parametrize(("before", "after"), PAIRS, ids="-".join)
def test_what_breaks_one_way_widens_the_other_way(before: str, after: str) -> None:
    there, back = (
        {
            (difference.place, difference.what): difference
            for difference in find_differences(*sides)
            if difference.part == "request"
        }
        for sides in (
            (describe(load(before)), describe(load(after))),
            (describe(load(after)), describe(load(before))),
        )
    )
    bounds = {
        key: each for key, each in there.items() if key[1] in ("null", "minimum", "maximum", "maxLength", "maxItems")
    }
    for key, each in bounds.items():
        assert back[key].effect is {BREAKING: WIDENING, WIDENING: BREAKING}[each.effect], key
        assert (back[key].before, back[key].after) == (each.after, each.before)


def test_breaking_ones_come_first() -> None:
    effects = [difference.effect for difference in find_differences(describe(load("mindie")), describe(load("ovms")))]
    assert effects == sorted(effects, key=list(Effect).index)
    assert set(effects) == set(Effect)


def test_known_differences_of_the_documents_are_told() -> None:
    told = {
        (difference.part, difference.place, difference.what): difference
        for difference in find_differences(BASE, describe(load("ovms")))
    }
    assert told["request", "tools", "not supported"].effect is BREAKING
    assert told["request", "stop", "maxItems"].after == "≤ 4"
    assert told["request", "seed", "maximum"].after == "≤ 2^32-1"
    assert told["endpoint", "chat", "path"].after == "/v3/chat/completions"
    assert told["refusal", "invalid_request", "status"].after == "400"
    assert told["stream", "usage", "form"].after == "on-request"
    assert told["request", "diversity_penalty", "new"].effect is WIDENING
    hosted = {
        (difference.part, difference.place, difference.what): difference
        for difference in find_differences(BASE, describe(load("siliconstorm")))
    }
    assert hosted["endpoint", "chat", "auth"].effect is BREAKING
    assert hosted["refusal", "error", "gone"].effect is BREAKING
