"""The contracts in `openapi/vendors` load, pin their sources, and contain none of the vendors' sentences."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from openapi.contract.contract import load_file
from openapi.description.reference_page import render_page

VENDORS = sorted(Path(str(files("openapi") / "vendors")).glob("*.yaml"))


@pytest.mark.parametrize("path", VENDORS, ids=lambda path: path.stem)
def test_a_contract_loads_and_traces_its_facts_to_its_own_document(path: Path) -> None:
    contract = load_file(path)
    assert path.stem == contract.name
    assert re.fullmatch(r"[0-9a-f]{64}", contract.document.sha256)
    assert re.fullmatch(r"2026-\d\d-\d\d", contract.document.retrieved)
    own = [item for item in contract.parameters.values() if item.source.startswith(f"{contract.document.id}#")]
    stated = {sentence.source.partition("#request/")[2] for sentence in contract.sentences}
    assert stated <= {item.name for item in own}
    assert contract.document.sha256 in render_page(contract)


@pytest.mark.parametrize("path", VENDORS, ids=lambda path: path.stem)
def test_a_todo_names_the_place_and_does_not_quote(path: Path) -> None:
    own_words = (
        *("words that are not", "described", "inherited", "not a valid value", "is left out", "set errors/kinds"),
        *("not allowed", "no other fields", "add rules", "contains itself", "does the server need a key", "new, but"),
        *("in parameters/", "deprecated", "other chat operations", "schema of an event", "is both"),
    )
    quoting = [todo for todo in load_file(path).todo if not any(words in todo for words in own_words)]
    assert [] == quoting
