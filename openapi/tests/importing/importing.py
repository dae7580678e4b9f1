"""Helpers that import a source and load the dialect file that results."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from openapi.contract.contract import Contract, load_file
from openapi.contract.tree.yaml_file import parse
from openapi.importing.new_dialect import ImportOptions, import_source
from openapi.importing.source import SourceFile
from openapi.reading.compare.contract_facts import contract_facts
from openapi.reading.facts.fact import ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OPTIONS = ImportOptions("openai", date(2026, 11, 25))


def description(parameters: dict[str, Any], *, version: str = "3.1.0", **others: Any) -> dict[str, Any]:
    """Return a description whose request has these parameters, next to `model` and `messages`."""
    components = others.pop("components", {})
    properties = {"model": {"type": "string"}, "messages": {"type": "array", "items": {}}, **parameters}
    request = {"type": "object", "required": ["model", "messages"], "properties": properties, **others}
    content = {"application/json": {"schema": request}}
    return {
        "openapi": version,
        "info": {"title": "Acme API", "version": "7"},
        "servers": [{"url": "https://api.acme.test/v1"}],
        "security": [{"key": []}],
        "paths": {"/chat/completions": {"post": {"requestBody": {"content": content}}}},
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}, "schemas": components},
    }


def imported(
    source: dict[str, Any] | str, folder: Path, name: str = "source.json", *, extends: str | None = OPTIONS.extends
) -> tuple[Contract, list[str]]:
    """Import a source, and return the contract of the dialect file and its to-dos."""
    text = source if isinstance(source, str) else json.dumps(source)
    written = import_source(SourceFile(name, text.encode()), replace(OPTIONS, extends=extends)).text
    path = folder / "acme.yaml"
    number = 1
    while path.exists():  # a loaded file is kept for its path
        number += 1
        path = folder / f"acme{number}.yaml"
    path.write_text(written, encoding="utf-8")
    return load_file(path), parse(written, str(path)).get("todo", [])


def differences(one: Contract, other: Contract) -> Iterator[tuple[str, str, str, Any, Any]]:
    """Yield every attribute of a parameter or field that two contracts state differently."""
    left, right = contract_facts(one), contract_facts(other)
    for key in {**left, **right}:
        if key[0] == "errors":
            continue
        if key not in left or key not in right:
            yield *key, "presence", key in left, key in right
            continue
        for attribute in ATTRIBUTES:
            values = [getattr(facts[key].fact, attribute) for facts in (left, right)]
            if attribute == "nullable" and key[0] == "request" and key[1] in one.parameters:
                values = [contract.parameters[key[1]].null.expect for contract in (one, other)]
            if values[0] != values[1]:
                yield *key, attribute, *values
