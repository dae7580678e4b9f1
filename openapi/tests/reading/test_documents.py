"""The five pinned documents, if available: every row is read, and every difference has a recorded reason.

The documents belong to their vendors and are not part of the project. Without them the tests use a page of our own and
record this in the test report.
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from openapi.contract.contract import load
from openapi.reading.compare.drift import DriftStatus, compare_page
from openapi.reading.compare.recorded_differences import explain, find_stale
from openapi.reading.facts.facts import read_facts
from openapi.reading.pages.page import read_page
from openapi.tests.reading.test_drift import LINES, changed, facts

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "documents"
ROWS = {  # dialect -> number of rows of its page, counted by hand
    "mindie-2.3": 47,
    "mindie-vllm-1.0": 40 + 21 + 17,
    "mindie-1.0": 40,
    "siliconstorm": 40 + 2 * (21 + 17) + 1,  # its tables of answers appear twice; one table of error codes
    "ovms-2024": 21 + 19 + 11 + 6,
}
NESTED = {
    "mindie-2.3": "messages[].tool_calls[].function",
    "mindie-vllm-1.0": "tools[].function.parameters.additionalProperties",
    "mindie-1.0": "messages[].content[].audio_url",
    "siliconstorm": "messages[].tool_calls[].function.arguments",
    "ovms-2024": "stream_options.include_usage",
}
BOUNDS = {  # dialect -> a range in its page, a changed range, and the parameter
    "mindie-2.3": ("(1e-6, 1.0]", "(1e-6, 2.0]", "top_p"),
    "mindie-vllm-1.0": ("(0, 2147483647]", "(0, 2147483646]", "top_k"),
    "mindie-1.0": ("(0.0, 2.0]", "[0.0, 2.0]", "repetition_penalty"),
    "siliconstorm": ("[0, 18446744073709551615]", "[0, 18446744073709551614]", "seed"),
    "ovms-2024": ("(0, 1]", "[0, 1]", "top_p"),
}


def content_of(dialect: str) -> bytes | None:
    """Return the content of a dialect's document, identified by its hash; None if it is not available."""
    pinned = load(dialect).document.sha256
    contents = (path.read_bytes() for path in sorted(FOLDER.glob("*.txt"))) if FOLDER.is_dir() else ()
    return next((content for content in contents if sha256(content).hexdigest() == pinned), None)


@pytest.mark.parametrize("dialect", ROWS)
def test_every_row_is_read_and_every_difference_is_recorded(
    dialect: str, record_property: Callable[[str, object], None]
) -> None:
    content = content_of(dialect)
    if content is None:
        record_property("originals", f"absent: the document {load(dialect).document.id} is not available")
        assert facts(LINES).rows == len(LINES)
        return
    contract = load(dialect)
    page = read_facts(read_page(content, "page"))
    differences = compare_page(page, contract)
    assert page.unread == ()
    assert page.rows == ROWS[dialect]
    assert NESTED[dialect] in {fact.path for fact in page.facts}
    assert [row.difference for row in explain(differences, dialect) if row.is_drift] == []
    assert find_stale(differences, dialect) == []
    missing = [
        difference
        for difference in differences
        if difference.member == "presence" and difference.status is DriftStatus.ONLY_IN_PAGE
    ]
    assert missing == []


@pytest.mark.parametrize("dialect", BOUNDS)
def test_one_changed_bound_is_the_only_drift(dialect: str, record_property: Callable[[str, object], None]) -> None:
    content = content_of(dialect)
    before, after, path = BOUNDS[dialect]
    if content is None:
        record_property("originals", f"absent: the document {load(dialect).document.id} is not available")
        assert facts(changed("[0.0, 2.0]", "[0.0, 2.5]")).facts != facts(LINES).facts
        return
    text = content.decode()
    row = re.search(rf"^(?:.*>)?{path}(?:<.*| \|)?$", text, re.MULTILINE)
    assert row is not None
    at = text.index(before, row.end())
    copy = text[:at] + after + text[at + len(before) :]
    explained = explain(compare_page(read_facts(read_page(copy.encode(), "copy")), load(dialect)), dialect)
    drifting = [row.difference for row in explained if row.is_drift]
    assert [(row.path, row.member) for row in drifting] == [(path, "range")]
    assert after.replace(".0", "") in str(drifting[0].page).replace("0.000001", "1e-6")
