"""A body is parsed to the same value, or refused alike, whether its long strings are taken out or not."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from openapi.stream.strict_json import read_json
from reference_server.errors import ApiError
from reference_server.request import chat_request, long_strings
from reference_server.request.long_strings import lift_long_strings, restore_long_strings

LONG = 12
TEXTS = (
    "",
    "a",
    "short",
    "x" * LONG,
    "y" * 40,
    'with "quotes" and \\ in it',
    "line\nend of a line",
    "ü" * 20,
    "\\" * 15,
)


def _draw(rng: Random, depth: int = 0) -> Any:
    kind = rng.randrange(6 if depth < 3 else 4)
    if kind == 4:
        return [_draw(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 5:
        return {rng.choice(TEXTS): _draw(rng, depth + 1) for _ in range(rng.randrange(4))}
    return rng.choice(TEXTS) if kind else rng.choice([1, -2.5, True, None])


def test_a_body_has_the_same_value_with_its_long_strings_taken_out() -> None:
    rng = Random(1)
    taken = 0
    for _ in range(2000):
        value = _draw(rng)
        body = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1])).encode()
        left, lifted = lift_long_strings(body, LONG)
        taken += len(lifted)
        assert value == restore_long_strings(json.loads(left), lifted)
    assert taken > 200


def test_a_changed_body_is_refused_as_before_or_has_the_same_value() -> None:
    rng = Random(2)
    for _ in range(3000):
        mutated = bytearray(json.dumps([_draw(rng), "z" * 30], ensure_ascii=False).encode())
        for _change in range(rng.randint(1, 3)):
            at = rng.randrange(len(mutated))
            mutated[at : at + rng.randrange(2)] = rng.choice([b'"', b"\\", b"\n", b"\x00", b"{", b":", b",", b"q"])
        whole = read_json(mutated.decode(errors="replace"))
        left, lifted = lift_long_strings(mutated.decode(errors="replace").encode(), LONG)
        reading = read_json(left.decode())
        assert bool(whole.error) == bool(reading.error)
        if not whole.error:
            assert whole.value == restore_long_strings(reading.value, lifted)


def test_a_long_string_of_a_request_is_parsed_and_one_with_a_line_end_is_refused() -> None:
    image = "A" * long_strings.LONG_BYTES
    assert {"image": image} == chat_request.parse_body(json.dumps({"image": image}).encode()).restore()
    with pytest.raises(ApiError, match="not valid JSON"):
        chat_request.parse_body(b'{"image": "' + image.encode() + b'\n"}')


def test_nothing_of_a_short_body_or_of_one_with_many_strings_is_taken_out() -> None:
    many = json.dumps(["b"] * long_strings.MOST_STRINGS + ["c" * 100]).encode()
    assert [(b'["abc"]', {}), (many, {})] == [lift_long_strings(body, 50) for body in (b'["abc"]', many)]
