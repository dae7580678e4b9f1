"""Differences of descriptions: each has its effect, and whatever is newly refused has a breaking difference."""

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


def put(place: str, **fields: Any) -> Callable[[Any], None]:
    """Set fields at a place; a trailing underscore, which avoids Python keywords, is removed."""

    def change(document: Any) -> None:
        parent, _, name = place.rpartition("/")
        at(document, parent).setdefault(name, {}).update({key.rstrip("_"): value for key, value in fields.items()})

    return change


def drop(place: str) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        parent, _, name = place.rpartition("/")
        del at(document, parent)[name]

    return change


def at_chat(change: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda document: change(document["paths"]["/v1/chat/completions"]["post"])


def moved(document: Any) -> None:
    document["paths"]["/v3/chat/completions"] = document["paths"].pop("/v1/chat/completions")


def with_another_status(document: Any) -> None:
    responses = document["paths"]["/v1/chat/completions"]["post"]["responses"]
    responses["418"] = responses.pop("413")


def with_another_error_type(document: Any) -> None:
    responses = document["paths"]["/v1/chat/completions"]["post"]["responses"]
    shown = responses["413"]["content"]["application/json"]["examples"]["too_large"]["value"]
    shown["error_type"] = "Teapot"


TEMPERATURE = f"{PARAMETERS}/temperature"
ANSWER = f"{SCHEMAS}/ChatCompletion"
CHOICE = f"{SCHEMAS}/Choice/properties/finish_reason"
RULE = {"x-rule": {"id": "r", "summary": "A rule."}, "x-source": "d#request/seed", "required": ["n"]}
RULES = f"{SCHEMAS}/ChatCompletionRequest/dependentSchemas"
CHANGES: list[tuple[Callable[[Any], None], tuple[Any, ...]]] = [
    (put(TEMPERATURE, maximum=1.0), ("request", "temperature", BREAKING, "maximum", "≤ 2", "≤ 1")),
    (put(TEMPERATURE, maximum=3), ("request", "temperature", WIDENING, "maximum", "≤ 2", "≤ 3")),
    (drop(f"{TEMPERATURE}/maximum"), ("request", "temperature", WIDENING, "maximum", "≤ 2", "none")),
    (put(TEMPERATURE, exclusiveMinimum=0), ("request", "temperature", BREAKING, "minimum", "≥ 0", "> 0")),
    (put(TEMPERATURE, type="number"), ("request", "temperature", BREAKING, "null", "accepted", "refused")),
    (
        put(f"{PARAMETERS}/model", type=["string", "null"]),
        ("request", "model", WIDENING, "null", "refused", "accepted"),
    ),
    (put(TEMPERATURE, type=["integer", "null"]), ("request", "temperature", BREAKING, "type", "number", "integer")),
    (
        put(TEMPERATURE, type=["number", "string", "null"]),
        ("request", "temperature", WIDENING, "type", "", "string"),
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
            "Whether generation continues after the end-of-sequence token.",
            "On and on.",
        ),
    ),
    (put(f"{PARAMETERS}/user", type="string"), ("request", "user", WIDENING, "new", "", "string")),
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
        ("request", "chat_template_kwargs.*", BREAKING, "null", "accepted", "refused"),
    ),
    (
        lambda document: at(document, f"{SCHEMAS}/ChatCompletionRequest/x-rules").append(
            {"id": "w", "summary": "In words.", "x-source": "d#request/seed"}
        ),
        ("rule", "w", NEUTRAL, "new", "", "In words."),
    ),
    (put(RULES, seed=RULE), ("rule", "r", BREAKING, "new", "", "A rule.")),
    (
        put(RULES, seed={**RULE, "x-source": "d#request/unknown"}),
        ("rule", "r", NEUTRAL, "new", "", "A rule."),
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
    (drop(f"{ANSWER}/properties/prefill_time"), ("answer", "prefill_time", BREAKING, "gone", "number", "")),
    (put(f"{ANSWER}/properties/speed", type="number"), ("answer", "speed", WIDENING, "new", "", "number")),
    (put(f"{ANSWER}/properties/id", type="integer"), ("answer", "id", BREAKING, "type", "", "number")),
    (
        put(f"{ANSWER}/properties/id", type=["string", "null"]),
        ("answer", "id", BREAKING, "null", "refused", "accepted"),
    ),
    (
        put(f"{ANSWER}", required=["id", "object", "created", "model"]),
        ("answer", "choices", BREAKING, "presence", "always present", "optional"),
    ),
    (
        put(f"{ANSWER}", required=["id", "object", "created", "model", "choices", "usage"]),
        ("answer", "usage", NEUTRAL, "presence", "optional", "always present"),
    ),
    (
        put(CHOICE, enum=["stop", "length", "tool_calls", "tired"]),
        ("answer", "choices[].finish_reason", WIDENING, "values", "", '"tired"'),
    ),
    (
        put(CHOICE, enum=["stop", "length"]),
        ("answer", "choices[].finish_reason", NEUTRAL, "values", '"tool_calls"', ""),
    ),
    (drop(f"{SCHEMAS}/ErrorEnvelope/properties/error_type"), ("refusal", "error_type", BREAKING, "gone", "string", "")),
    (moved, ("endpoint", "chat", BREAKING, "path", "/v1/chat/completions", "/v3/chat/completions")),
    (
        at_chat(lambda chat: chat.update(security=[{"bearer": []}])),
        ("endpoint", "chat", BREAKING, "auth", "open", "a key"),
    ),
    (put("info/x-stream", role="never"), ("stream", "role", BREAKING, "form", "every-delta", "never")),
    (put("info/x-stream", stop_text="included"), ("stream", "stop_text", BREAKING, "form", "excluded", "included")),
    (put("info/x-stream", opening_chunk=True), ("stream", "opening_chunk", NEUTRAL, "form", "false", "true")),
    (with_another_status, ("refusal", "too_large", BREAKING, "status", "413", "418")),
    (with_another_error_type, ("refusal", "too_large", BREAKING, "error_type", "Request Entity Too Large", "Teapot")),
    (lambda document: document["info"]["x-capabilities"].remove("n"), ("capability", "n", BREAKING, "gone", "", "")),
    (lambda document: document["info"]["x-capabilities"].append("zen"), ("capability", "zen", WIDENING, "new", "", "")),
]


@pytest.mark.parametrize(
    ("change", "expected"), CHANGES, ids=[" ".join(map(str, expected))[:80] for _, expected in CHANGES]
)
def test_one_change_is_one_difference_with_its_effect(change: Callable[[Any], None], expected: tuple[Any, ...]) -> None:
    changed = copy.deepcopy(BASE)
    change(changed)
    differences = find_differences(BASE, changed)
    assert DescriptionDifference(*expected) in differences
    others = {other for other in differences if other.place == expected[1] and other.effect is not expected[2]}
    assert {other.what for other in others} <= {"type"}  # a changed type is two differences: one lost, one gained


def test_fields_inside_a_field_that_only_one_side_has_are_not_reported() -> None:
    changed = copy.deepcopy(BASE)
    drop(f"{PARAMETERS}/tools")(changed)
    assert [
        difference.place for difference in find_differences(BASE, changed) if difference.place.startswith("tools")
    ] == ["tools"]
    assert [
        difference.what for difference in find_differences(changed, BASE) if difference.place.startswith("tools")
    ] == ["new"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_both_versions_of_a_dialect_have_no_differences(dialect: str) -> None:
    assert find_differences(describe(load(dialect)), describe_oas31(load(dialect))) == ()


@pytest.mark.takes_turns
@pytest.mark.parametrize(("before", "after"), PAIRS, ids="-".join)
def test_newly_refused_requests_have_a_breaking_difference(before: str, after: str) -> None:
    """This holds for values of single parameters and for whole bodies."""
    old, new = load(before), load(after)
    differences = find_differences(describe(old), describe(new))
    breaking = [difference for difference in differences if difference.effect is BREAKING]
    reported = {row.place.partition(".")[0].partition("[")[0] for row in breaking if row.part == "request"}
    new_rule = any(row.part == "rule" for row in breaking)
    accepts, refuses = Validator(old).request_problems, Validator(new).request_problems
    base = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}]}
    for parameter in old.parameters.values():
        for probe in (*parameter.probes, parameter.null):
            body = {**base, **parameter.companions(probe.value), parameter.name: probe.value}
            refused = {problem.parameter for problem in refuses(body)}
            if accepts(body) == () and refused:
                assert refused & reported or new_rule, (parameter.name, probe.value)
    for body in bodies_of(before):
        refused = {problem.parameter for problem in refuses(body)}
        assert not refused or refused & reported or new_rule, body


@pytest.mark.parametrize(("before", "after"), PAIRS, ids="-".join)
def test_a_breaking_bound_is_widening_in_the_other_direction(before: str, after: str) -> None:
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
        key: row for key, row in there.items() if key[1] in ("null", "minimum", "maximum", "maxLength", "maxItems")
    }
    for key, row in bounds.items():
        assert back[key].effect is {BREAKING: WIDENING, WIDENING: BREAKING}[row.effect], key
        assert (back[key].before, back[key].after) == (row.after, row.before)


def test_breaking_differences_come_first() -> None:
    effects = [difference.effect for difference in find_differences(describe(load("mindie")), describe(load("ovms")))]
    assert effects == sorted(effects, key=list(Effect).index)
    assert set(effects) == set(Effect)


def test_known_differences_of_the_documents_are_found() -> None:
    ovms = {
        (difference.part, difference.place, difference.what): difference
        for difference in find_differences(BASE, describe(load("ovms")))
    }
    assert ovms["request", "tools", "not supported"].effect is BREAKING
    assert ovms["request", "stop", "maxItems"].after == "≤ 4"
    assert ovms["request", "seed", "maximum"].after == "none"
    assert ovms["endpoint", "chat", "path"].after == "/v3/chat/completions"
    assert ovms["refusal", "invalid_request", "status"].after == "400"
    assert ovms["stream", "usage", "form"].after == "on-request"
    assert ovms["request", "diversity_penalty", "new"].effect is WIDENING
    siliconstorm = {
        (difference.part, difference.place, difference.what): difference
        for difference in find_differences(BASE, describe(load("siliconstorm")))
    }
    assert siliconstorm["endpoint", "chat", "auth"].effect is BREAKING
    assert siliconstorm["refusal", "error", "gone"].effect is BREAKING
