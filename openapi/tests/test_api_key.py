"""Test that an API key is read from its environment variable, and that an invalid one is never printed."""

from __future__ import annotations

import pytest

from openapi.api_key import ApiKeyError, read_api_key


def test_the_key_is_the_value_of_the_variable() -> None:
    assert "secret-key" == read_api_key("KEY", {"KEY": "secret-key"})


@pytest.mark.parametrize("variable", [None, ""])
def test_there_is_no_key_without_a_variable(variable: str | None) -> None:
    assert read_api_key(variable, {"": "x"}) is None


@pytest.mark.parametrize("value", ["", "two words", "line\nbreak", "schlüssel", "\x7f"])
def test_an_invalid_key_is_refused_without_printing_it(value: str) -> None:
    with pytest.raises(ApiKeyError, match=r"^--upstream-key-env KEY: ") as error:
        read_api_key("KEY", {"KEY": value}, "--upstream-key-env")
    assert not value or value not in str(error.value)


def test_a_variable_that_is_not_set_is_refused() -> None:
    with pytest.raises(ApiKeyError, match="the environment variable is not set or empty"):
        read_api_key("KEY", {})
