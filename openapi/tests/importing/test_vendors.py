"""The contracts in `openapi/vendors` load by name, pin their sources, and contain none of the vendors' sentences."""

from __future__ import annotations

import re
from datetime import date
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from openapi.contract.contract import ContractError, list_all, load, load_file
from openapi.description.reference_page import render_page
from openapi.importing.new_dialect import ImportOptions, import_source
from openapi.importing.request_fields import has_field, list_request_steps
from openapi.importing.source import SourceFile

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


@pytest.mark.parametrize("path", VENDORS, ids=lambda path: path.stem)
def test_a_contract_demands_nothing_about_fields_that_its_requests_lack(path: Path) -> None:
    """An import removes such requirements, so that one of them shows a contract that is older than the requirement."""
    contract = load_file(path)
    lacking = []
    for name, row in contract.requirements.items():
        parameter, *fields = list_request_steps(row.source)
        if fields and parameter in contract.parameters:
            schema = contract.parameters[parameter].schema
            lacking += [] if has_field(schema, fields, contract.schemas) else [name]
    assert [] == lacking


def test_every_contract_is_loaded_and_extended_by_its_name(tmp_path: Path) -> None:
    names = [path.stem for path in VENDORS]
    assert names == list_all()[-len(names) :]
    assert [load_file(path) for path in VENDORS] == [load(name) for name in names]
    child = tmp_path / "child.yaml"
    child.write_text("{id: child, title: A variant, document: none, extends: mistral}\n")
    assert sorted(load("mistral").parameters) == sorted(load(str(child)).parameters)


def test_another_file_may_not_have_the_name_of_a_contract(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("{id: mistral, title: Another one, document: none, extends: openai}\n")
    with pytest.raises(ContractError, match="'mistral' is the name of a built-in dialect"):
        load(str(path))


def test_a_description_written_by_hand_is_the_source_that_its_contract_pins() -> None:
    described = sorted(path for folder in VENDORS[:1] for path in folder.parent.glob("described/*.yaml"))
    assert [path.stem for path in described] == ["deepseek"]
    for path in described:
        assert load(path.stem).document.sha256 == sha256(path.read_bytes()).hexdigest()


def test_a_description_written_by_hand_is_imported_as_its_contract_is_committed() -> None:
    committed = next(path for path in VENDORS if path.stem == "deepseek")
    document = yaml.safe_load(committed.read_text("utf-8"))["document"]
    source = SourceFile("deepseek-openapi.yaml", (committed.parent / "described" / "deepseek.yaml").read_bytes())
    options = ImportOptions(
        "openai",
        date.fromisoformat(document["retrieved"]),
        committed.stem,
        document["title"],
        document["vendor"],
        document["url"],
        quotes=False,
    )
    assert import_source(source, options).text == committed.read_text("utf-8")
