"""The committed descriptions are the ones that the contract gives today, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

from openapi_spec_validator import validate

import openapi
from openapi.contract.contract import names
from openapi.description.spec_files import build, drift

SPECS = Path(openapi.__file__).parent / "specs"
DIALECTS = sorted(set(names().values()))


def test_rebuilding_gives_the_committed_bytes(tmp_path: Path) -> None:
    written = build(tmp_path)
    assert sorted(path.name for path in written) == sorted(path.name for path in SPECS.iterdir())
    for path in written:
        assert path.read_bytes() == (SPECS / path.name).read_bytes(), f"{path.name}: run `chatproof spec build`"
    assert drift(SPECS) == []


def test_there_are_two_versions_of_each_dialect_and_both_are_valid() -> None:
    for dialect in DIALECTS:
        for suffix, version in ((".json", "3.2.0"), (".oas31.json", "3.1.1")):
            document = json.loads((SPECS / f"{dialect}{suffix}").read_text(encoding="utf-8"))
            assert document["openapi"] == version
            validate(document)


def test_drift_names_what_is_missing_changed_or_too_much(tmp_path: Path) -> None:
    build(tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder"
    (folder / "mindie-1.0.json").unlink()
    (folder / "ovms-2024.json").write_text("{}")
    (folder / "stranger.json").write_text("{}")
    assert drift(folder) == [
        "mindie-1.0.json: missing",
        "stranger.json: no dialect has this name",
        "ovms-2024.json: differs from the contract",
    ]
