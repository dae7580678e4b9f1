"""The committed descriptions are identical to those built from the contract, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

from openapi_spec_validator import validate

import openapi
from openapi.contract.contract import names
from openapi.description.spec_files import check_specs, write_specs

SPECS = Path(openapi.__file__).parent / "specs"
DIALECTS = sorted(set(names().values()))


def test_rebuilding_produces_the_committed_bytes(tmp_path: Path) -> None:
    written = write_specs(tmp_path)
    assert sorted(path.name for path in written) == sorted(path.name for path in SPECS.iterdir())
    for path in written:
        assert path.read_bytes() == (SPECS / path.name).read_bytes(), f"{path.name}: run `chatproof spec build`"
    assert check_specs(SPECS) == []


def test_each_dialect_has_two_valid_versions() -> None:
    for dialect in DIALECTS:
        for suffix, version in ((".json", "3.2.0"), (".oas31.json", "3.1.1")):
            document = json.loads((SPECS / f"{dialect}{suffix}").read_text(encoding="utf-8"))
            assert document["openapi"] == version
            validate(document)


def test_the_check_names_missing_changed_and_unknown_files(tmp_path: Path) -> None:
    write_specs(tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder"
    (folder / "mindie-1.0.json").unlink()
    (folder / "ovms-2024.json").write_text("{}")
    (folder / "unknown.json").write_text("{}")
    assert check_specs(folder) == [
        "mindie-1.0.json: missing",
        "unknown.json: unknown dialect",
        "ovms-2024.json: differs from the contract",
    ]
