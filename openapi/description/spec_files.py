"""The committed descriptions, `openapi/specs/`: each dialect as OpenAPI 3.2 and as 3.1, rebuilt or checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi.contract.contract import load
from openapi.contract.resolution import dialect_files
from openapi.description.description import describe, describe_down, text

if TYPE_CHECKING:
    from pathlib import Path

DOWN_SUFFIX = ".oas31.json"


def rendered() -> dict[str, str]:
    """File name -> content, for every dialect: `<dialect>.json` (3.2) and `<dialect>.oas31.json` (3.1)."""
    files: dict[str, str] = {}
    for dialect in dialect_files():
        contract = load(dialect)
        files[f"{dialect}.json"] = text(describe(contract))
        files[f"{dialect}{DOWN_SUFFIX}"] = text(describe_down(contract))
    return files


def build(directory: Path) -> list[Path]:
    """Writes the descriptions into a directory, made if need be, and returns their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, content in rendered().items():
        path = directory / name
        path.write_bytes(content.encode())
        written.append(path)
    return written


def drift(directory: Path) -> list[str]:
    """How a directory differs from what `build` would write there, one line per file. Empty: not at all."""
    expected = rendered()
    found = {path.name: path for path in directory.glob("*.json")}
    lines = [f"{name}: missing" for name in sorted(expected.keys() - found.keys())]
    lines += [f"{name}: no dialect has this name" for name in sorted(found.keys() - expected.keys())]
    lines += [
        f"{name}: differs from the contract"
        for name in sorted(expected.keys() & found.keys())
        if found[name].read_bytes() != expected[name].encode()
    ]
    return lines
