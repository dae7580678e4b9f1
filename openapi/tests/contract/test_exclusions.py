"""Test that a binding sentence is only excluded by category, or with an attempt."""

from __future__ import annotations

from typing import Any

import pytest

from openapi.contract.contract import ContractError, load
from openapi.contract.loading import parse_sentence
from openapi.contract.parameter import Keyword
from openapi.contract.sentence import NOT_YET, Category

DOCUMENTED = ("mindie-2.3", "mindie-vllm-1.0", "mindie-1.0", "siliconstorm", "ovms-2024")


def row(keyword: str = "MUST", **home: Any) -> dict[str, Any]:
    """Return the row of a sentence with this home."""
    return {"id": "a", "says": "it says", "source": "#a", "keyword": keyword, "home": home}


@pytest.mark.parametrize(
    ("home", "message"),
    [
        ({"excluded": "a reason"}, "sentences/a: excluded without a category: add one of operator setting, "),
        ({"excluded": "a reason", "category": "attempted"}, "sentences/a: excluded without an attempt: add what was "),
        ({"excluded": "a reason", "category": "attempted", "attempt": " "}, "sentences/a: excluded without an attempt"),
        ({"excluded": "a reason", "category": "luck"}, "sentences/a: unknown category 'luck': expected one of "),
        ({"check": "a.b", "category": "advice"}, "sentences/a: invalid home: category and attempt are for excluded"),
        (
            {"check": "a.b", "excluded": "a reason"},
            "sentences/a: invalid home: expected one of check, schema, excluded",
        ),
    ],
)
def test_an_invalid_exclusion_is_refused_in_one_line(home: dict[str, Any], message: str) -> None:
    with pytest.raises(ContractError) as refused:
        parse_sentence(row(**home))
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_a_permission_needs_no_category() -> None:
    assert parse_sentence(row("MAY", excluded="a reason")).home.category is None


def test_an_attempt_is_kept() -> None:
    home = parse_sentence(row(excluded="a reason", category="attempted", attempt="a request was refused")).home
    assert (home.category, home.attempt) == (Category.ATTEMPTED, "a request was refused")


@pytest.mark.parametrize("dialect", DOCUMENTED)
def test_no_binding_sentence_of_the_documents_waits_for_a_check(dialect: str) -> None:
    waiting = [
        sentence.id
        for sentence in load(dialect).sentences
        if sentence.keyword is not Keyword.MAY and (sentence.home.excluded or "").startswith(NOT_YET)
    ]
    assert waiting == []
