"""Import a source: an OpenAPI description or a page becomes the text of a dialect file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.contract import Contract, ContractError, load, names
from openapi.importing.dialect_text import DialectHead, write_dialect
from openapi.importing.interface_delta import InterfaceDelta
from openapi.importing.openapi_interface import is_description, read_interface
from openapi.importing.page_interface import read_page_interface
from openapi.importing.page_title import find_title
from openapi.importing.source import parse_mapping
from openapi.reading.answers.page_answers import read_answers
from openapi.reading.answers.parameter_sentences import read_parameter_sentences
from openapi.reading.answers.passages import find_passages
from openapi.reading.facts.facts import cells_line, read_facts
from openapi.reading.pages.page import read_page
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import date

    from openapi.importing.source import SourceFile

MOST_COMMON: Final = "openai"
"""The dialect that most vendors resemble."""
_BLOCK: Final = re.compile(r"^(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<content>.*?)^(?P=fence)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to import: the dialect to extend, the identity of the new one, and the chat operation to choose.

    extends: None for the built-in dialect that lacks the fewest parameters of the source.
    sections: words of the headings of a page below which parameters are read; empty for those about chat completions.
    partial: whether the source describes only what differs from the extended dialect, whose other parameters are kept.
    quotes: whether the file may contain words of the source: descriptions of defaults, and what is not understood.
    """

    extends: str | None
    retrieved: date
    id: str | None = None
    title: str | None = None
    vendor: str | None = None
    url: str | None = None
    path: str | None = None
    sections: tuple[str, ...] = ()
    partial: bool = False
    quotes: bool = True


@dataclass(frozen=True, slots=True)
class ImportedDialect:
    """The text of a dialect file, and how much of the source is in it.

    chosen: why this dialect is extended, if none was asked for.
    sentences: of the facts that the source states about parameters.
    prose: passages without a word that hints at a fact.
    """

    text: str
    chosen: str
    parameters: int
    sentences: int
    todos: int
    prose: int

    @property
    def summary(self) -> str:
        """What was understood, and what is left to a person, in one line."""
        parameters, sentences = (
            format_quantity(self.parameters, "parameter"),
            format_quantity(self.sentences, "sentence"),
        )
        left = f"{format_quantity(self.todos, 'to-do')}, {format_quantity(self.prose, 'passage')} of prose"
        return f"{self.chosen}{parameters} and {sentences} understood, {left} without a hint of a fact"


def import_source(source: SourceFile, options: ImportOptions) -> ImportedDialect:
    """Return a dialect file. Raises ContractError, in one line, for a source that cannot be read."""
    asked = load(options.extends) if options.extends is not None else None
    text = _decode(source)
    document = _find_description(text)
    if document is not None:
        interface = read_interface(document, source.name, options.path)
        base = asked or _find_closest(interface.parameters)
        what = f"OpenAPI {document.get('openapi')}"
    else:
        rows = read_page(source.content, source.name, options.sections)
        whole, passages = read_parameter_sentences(rows, find_passages(text, options.sections))
        facts = read_facts(whole, strict=False)
        stated = {fact.path for fact in facts.facts if fact.part == "request" and fact.supported}
        base = asked or _find_closest(stated)
        answers = read_answers(text, rows, passages)
        interface = read_page_interface(facts, answers, base, options.title or find_title(text) or source.name, text)
        what = f"{facts.form}, {format_quantity(facts.rows, 'row')}, {cells_line(facts)}"
    if options.partial:
        interface.mentioned |= set(base.parameters)
    if not options.quotes:
        interface.leave_out_words()
    title = options.title or interface.title
    delta = InterfaceDelta(interface, base.location)
    name = options.id or _identifier(title)
    pin = _pin(source, options, name, title, interface.version)
    comments = [f"{title}. Imported by `chatproof dialect new` from {source.name}:", f"{what}."]
    head = DialectHead(comments, name, title, pin, base.name if base.is_built_in else base.location, options.quotes)
    return ImportedDialect(
        write_dialect(head, delta.tree, delta.sentences, delta.todos, interface.prose),
        "" if asked else _explain_choice(base, interface.parameters),
        len(interface.parameters),
        len(delta.sentences),
        len(set(delta.todos)),
        len(set(interface.prose)),
    )


def _find_closest(parameters: Collection[str]) -> Contract:
    """Return the built-in dialect that lacks the fewest of these parameters; if several do, openai or the first one."""
    contracts = [load(name) for name in sorted(set(names().values()), key=lambda name: (name != MOST_COMMON, name))]
    return min(contracts, key=lambda contract: len(_list_lacking(contract, parameters)))


def _list_lacking(contract: Contract, parameters: Collection[str]) -> list[str]:
    return sorted({name for name in parameters if "." not in name and "[" not in name} - contract.parameters.keys())


def _explain_choice(base: Contract, parameters: Collection[str]) -> str:
    lacking = _list_lacking(base, parameters)
    which = f"lacks only {', '.join(lacking)}" if lacking else "has all of its parameters"
    return f"it extends {base.name}, which {which} (--extends chooses another dialect); "


def _find_description(text: str) -> Mapping[str, Any] | None:
    """Return the OpenAPI description in a file: the whole of it, or a block of a page; None without a description."""
    document = parse_mapping(text) if not text.lstrip().startswith("<") else None
    if is_description(document):
        return document
    for block in _BLOCK.finditer(text):
        document = parse_mapping(block["content"]) if "openapi" in block["content"] else None
        if is_description(document):
            return document
    return None


def _pin(source: SourceFile, options: ImportOptions, name: str, title: str, version: str) -> dict[str, Any]:
    return {
        "id": f"{name.removesuffix('-api')}-api",
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
    name = re.sub(r"[^a-z0-9.]+", "-", title.lower()).strip("-.")
    return name if name not in ("", "api") else "imported"
