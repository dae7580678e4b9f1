"""The openai dialect matches the types of the pinned openai package, which the test environment installs."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from openapi.tests.contract.compared_dialects import CONTRACTS

PROJECT = Path(__file__).parents[3] / "pyproject.toml"
VERSION = CONTRACTS["openai"].document.version.rpartition(" ")[2]


def literals(hint: Any) -> set[Any]:
    """Return every literal value of a type, at any depth."""
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    return {value for part in get_args(hint) for value in literals(part)}


@pytest.mark.skipif(not PROJECT.exists(), reason="the tests run outside the repository")
def test_the_test_environment_installs_the_pinned_version() -> None:
    extras = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert f"openai=={VERSION}" in extras["dev"]


def test_parameters_and_their_values_match_the_pinned_types() -> None:
    openai = pytest.importorskip("openai")
    if openai.__version__ != VERSION:
        pytest.skip(f"openai {openai.__version__} is not the pinned {VERSION}")
    from openai.types.chat import ChatCompletion
    from openai.types.chat import completion_create_params as params

    hints = get_type_hints(params.CompletionCreateParamsBase)
    assert sorted({*hints, "stream"}) == sorted(CONTRACTS["openai"].parameters)
    for name in ("reasoning_effort", "service_tier", "verbosity", "prompt_cache_retention"):
        (kind,) = CONTRACTS["openai"].parameters[name].schema["anyOf"]
        assert literals(hints[name]) == set(kind["enum"]), name
    assert literals(hints["modalities"]) == set(CONTRACTS["openai"].parameters["modalities"].schema["items"]["enum"])
    choice = get_args(ChatCompletion.model_fields["choices"].annotation)[0]
    reasons = CONTRACTS["openai"].schemas["Choice"]["properties"]["finish_reason"]["enum"]
    assert literals(choice.model_fields["finish_reason"].annotation) == set(reasons)
