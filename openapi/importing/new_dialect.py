"""Import a source: an OpenAPI description or a page becomes the text of a dialect file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from openapi.contract.contract import ContractError, load
from openapi.importing.dialect_text import DialectHead, write_dialect
from openapi.importing.interface_delta import InterfaceDelta
from openapi.importing.openapi_interface import is_description, read_interface
from openapi.importing.source import parse_mapping

if TYPE_CHECKING:
    from datetime import date
    from pathlib import PurePath

    from openapi.importing.source import SourceFile


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to import: the dialect to extend, the identity of the new one, and the chat operation to choose."""

    extends: str
    retrieved: date
    id: str | None = None
    vendor: str | None = None
    url: str | None = None
    path: str | None = None


def import_source(source: SourceFile, options: ImportOptions) -> str:
    """Return the text of a dialect file. Raises ContractError, in one line, for a source that cannot be read."""
    base = load(options.extends)
    text = _decode(source)
    document = parse_mapping(text)
    if document is None or not is_description(document):
        raise ContractError(f"{source.name}: not an OpenAPI description")
    interface = read_interface(document, source.name, options.path)
    delta = InterfaceDelta(interface, base.name)
    name = options.id or _identifier(interface.title)
    head = DialectHead(
        [f"{interface.title}, imported from {source.name}."],
        name,
        interface.title,
        _pin(source, options, name, interface.title, interface.version),
        base.name,
    )
    return write_dialect(head, delta.tree, delta.sentences, delta.todos)


def _pin(source: SourceFile, options: ImportOptions, name: str, title: str, version: str) -> dict[str, Any]:
    return {
        "id": f"{name}-api",
        "vendor": options.vendor or title,
        "title": title,
        "version": version,
        "language": "en",
        "url": options.url or source.url or source.name,
        "retrieved": options.retrieved.isoformat(),
        "sha256": sha256(source.content).hexdigest(),
    }


def _decode(source: SourceFile) -> str:
    try:
        return source.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.content[: error.start].count(b"\n") + 1
        raise ContractError(f"{source.name}: line {line}: invalid encoding: expected UTF-8") from None


def _identifier(title: str) -> str:
    """Return a title as an identifier, such as `acme-chat-api`."""
    return re.sub(r"[^a-z0-9.]+", "-", title.lower()).strip("-.") or "imported"
