"""Every leaf of a request's schema has unusual values, as far as the schema allows them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from conformance.plan.scenarios.combinations.forms import leaf_values
from conformance.plan.scenarios.combinations.forms.writer import FormWriter
from openapi.contract.contract import Keyword, load, names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.plan.scenarios.combinations.forms.writer import FormValue

DIALECTS = sorted(set(names().values()))


def _unusual(dialect: str) -> list[FormValue]:
    return list(FormWriter(load(dialect)).write_unusual())


def _leaves(dialect: str, parameter: str) -> Iterator[Any]:
    """Yield the unusual values in a parameter."""
    for value in _unusual(dialect):
        if value.parameter == parameter:
            yield from (json.loads(leaf) for _, leaf in value.leaves)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_unusual_value_is_allowed_and_should_be_accepted(dialect: str) -> None:
    writer = FormWriter(load(dialect))
    values = list(writer.write_unusual())
    assert {value.keyword for value in values} == {Keyword.SHOULD}
    assert [value for value in values if writer.complete({value.parameter: value.value}) is None] == []


@pytest.mark.parametrize("dialect", ["mindie-2.3", "openai", "siliconstorm", "vllm"])
def test_descriptions_of_tools_are_long_and_have_quotes(dialect: str) -> None:
    texts = [leaf for leaf in _leaves(dialect, "tools") if isinstance(leaf, str) and "Report" in leaf]
    assert max(map(len, texts)) > 2048
    assert any("\u201c" in text for text in texts)


def test_a_string_with_a_limit_and_a_pattern_is_as_long_as_it_may_be() -> None:
    long = max((leaf for leaf in _leaves("vllm", "cache_salt")), key=len)
    assert len(long) == 128
    assert re.fullmatch(r"[^@/\\\x00]*", long)


def test_names_have_dots_where_the_schema_allows_them() -> None:
    dotted = {
        dialect: any("." in leaf for leaf in _leaves(dialect, "tools") if str(leaf).startswith("mcp"))
        for dialect in ("mindie-2.3", "vllm")
    }
    assert dotted == {"mindie-2.3": True, "vllm": True}


def test_numbers_have_fractions_and_signs_where_the_schema_allows_them() -> None:
    found = {dialect: [*next(_leaves(dialect, "logit_bias")).values()] for dialect in ("openai", "vllm")}
    assert any(value != int(value) for value in found["vllm"])
    assert all(type(value) is int for value in found["openai"])
    assert all(min(values) < 0 for values in found.values())


def test_every_free_string_of_a_parameter_has_characters_beyond_latin_1() -> None:
    named = {name: [*_leaves("openai", name)] for name in ("user", "safety_identifier", "prompt_cache_key", "metadata")}
    named |= {name: [*_leaves("vllm", name)] for name in ("request_id", "session_id", "cache_salt")}
    beyond = {name for name, leaves in named.items() if any(ord(char) > 255 for leaf in leaves for char in str(leaf))}
    assert named.keys() == beyond


@pytest.mark.parametrize("dialect", ["mindie-2.3", "siliconstorm", "vllm"])
def test_stop_token_ids_are_in_every_vocabulary(dialect: str) -> None:
    assert [100] == [max(ids) for ids in _leaves(dialect, "stop_token_ids")]


def test_lists_have_equal_items_and_stay_within_their_limit() -> None:
    items = {"type": "integer"}
    (long,) = leaf_values.write_items({"type": "array"}, items, "ids", lambda _: True)
    (short,) = leaf_values.write_items({"type": "array", "maxItems": 2}, items, "ids", lambda value: len(value) <= 2)
    assert (long[0], len(short)) == (long[-1], 2)


def test_a_schema_has_only_keywords_that_are_allowed() -> None:
    def is_valid(schema: Any) -> bool:
        return "$schema" not in schema

    (limited,) = leaf_values.write_leaf({"type": "object"}, "parameters", is_valid, inside=True)
    (free,) = leaf_values.write_leaf({"type": "object"}, "parameters", lambda _: True, inside=True)
    assert free.keys() - limited.keys() == {"$schema"}
