"""The documents of vendors, pinned by their content."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from openapi.contract.resolution import NO_DOCUMENT, read
from openapi.contract.tree.yaml_file import ContractError

if TYPE_CHECKING:
    from openapi.contract.tree.delta import Tree

Kind = Literal["page", "none"]


@dataclass(frozen=True, slots=True)
class Document:
    """A vendor's document, pinned by its hash. `page`: where it is published; `sha256`: of the pinned bytes.

    A dialect without a document has one of the kind `none`: its own file, which states its facts.
    """

    id: str
    vendor: str
    product: str
    version: str
    title: str
    language: str
    page: str
    sha256: str
    kind: Kind = "page"
    retrieved: str = ""  # the date on which an own dialect read the page


@dataclass(frozen=True, slots=True)
class PinnedDocument:
    """The keys of `document` in a dialect file outside this package, with their defaults. `sha256`: of its bytes."""

    id: str
    vendor: str
    title: str
    url: str
    retrieved: str
    sha256: str
    version: str = "undated"
    language: str = "en"
    product: str = ""


def documents() -> dict[str, Document]:
    """Return the pinned documents of this package by id."""
    return {key: Document(id=key, **row) for key, row in read("documents.yaml")["documents"].items()}


def find_document(tree: Tree) -> Document:
    """Return the document of a resolved tree: one that its file pins, else one of this package.

    Raises ContractError for an unknown document, and for a pin with a missing, unknown or empty key.
    """
    identity = tree["document"]
    if identity in tree.get("pins", {}):
        return parse_pin(identity, tree["pins"][identity])
    known = documents()
    if identity not in known:
        raise ContractError(
            f"document: unknown document {identity!r}: expected a mapping that pins one, the word none, "
            f"or one of {', '.join(known)}"
        )
    return known[identity]


def parse_pin(identity: str, row: Any) -> Document:
    """Parse the document that a dialect file pins. Raises ContractError for a missing, unknown or empty key."""
    if row.get("kind") == NO_DOCUMENT:
        title = row["title"]
        return Document(identity, title, title, "none", "the dialect file", "en", "", row["sha256"], kind="none")
    keys = {field.name: field.default for field in fields(PinnedDocument)}
    if unknown := sorted(set(row) - set(keys)):
        raise ContractError(f"document/{unknown[0]}: unknown key: expected one of {', '.join(keys)}")
    missing = [key for key, default in keys.items() if default is MISSING and key != "id" and not row.get(key)]
    if missing:
        raise ContractError(f"document: {', '.join(missing)} missing: pin the document, or write `document: none`")
    pin = PinnedDocument(identity, **{key: str(value) for key, value in row.items()})
    return Document(
        id=pin.id,
        vendor=pin.vendor,
        product=pin.product or pin.title,
        version=pin.version,
        title=pin.title,
        language=pin.language,
        page=pin.url,
        sha256=pin.sha256,
        retrieved=pin.retrieved,
    )
