"""Write or check the committed descriptions in `openapi/specs/`: each dialect as OpenAPI 3.2 and 3.1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi.contract.contract import load
from openapi.contract.resolution import dialect_files
from openapi.description.description import describe, describe_oas31, to_json

if TYPE_CHECKING:
    from pathlib import Path

OAS31_SUFFIX = ".oas31.json"


def render_specs() -> dict[str, str]:
    """Render the descriptions of every dialect by file name: `<dialect>.json` and `<dialect>.oas31.json`."""
    files: dict[str, str] = {}
    for dialect in dialect_files():
        contract = load(dialect)
        files[f"{dialect}.json"] = to_json(describe(contract))
        files[f"{dialect}{OAS31_SUFFIX}"] = to_json(describe_oas31(contract))
    return files


def write_specs(directory: Path) -> list[Path]:
    """Write the descriptions into a directory, which is created if necessary, and return their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, content in render_specs().items():
        path = directory / name
        path.write_bytes(content.encode())
        written.append(path)
    return written


def check_specs(directory: Path) -> list[str]:
    """Compare a directory with what `write_specs` would write; return one line per file that differs."""
    expected = render_specs()
    existing = {path.name: path for path in directory.glob("*.json")}
    lines = [f"{name}: missing" for name in sorted(expected.keys() - existing.keys())]
    lines += [f"{name}: unknown dialect" for name in sorted(existing.keys() - expected.keys())]
    lines += [
        f"{name}: differs from the contract"
        for name in sorted(expected.keys() & existing.keys())
        if existing[name].read_bytes() != expected[name].encode()
    ]
    return lines
