"""What is left to do in a dialect file: facts without a source, a sentence or a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from conformance.cli.tracing.trace_command import trace_sentences

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from conformance.run.session.conclusion import RunOutcome
    from openapi.contract.contract import Contract

MOST: Final = 12
"""How many names a line lists."""


def list_lost_sentences(contract: Contract) -> list[str]:
    """Return a line for each sentence that is neither tested nor excluded, or names something that does not exist."""
    return [f"sentence {item.problem}" for item in trace_sentences(contract) if item.is_lost]


def list_todos(contract: Contract, outcome: RunOutcome) -> Iterator[str]:
    """Yield what is left to do, one thing a line. outcome: of the run against the reference server."""
    yield from contract.todo
    document, parents = contract.document, contract.parents
    if document.kind == "none":
        yield "document: none: every fact of the file is its author's statement; pin the page that states it"
    if not contract.sentences:
        yield "sentences: none, so nothing is traced: state the normative sentences of the document in your own words"
    own = {
        name
        for name, parameter in contract.parameters.items()
        if document.id in map(_document, (parameter.source, *parameter.cited.values()))
    }
    stated = {sentence.source.partition("/")[2].partition("/")[0] for sentence in contract.sentences}
    if contract.sentences and (silent := sorted(own - stated)):
        yield f"parameters without a sentence of the document: {_names(silent)}"
    for parent_document, parent in parents.items():
        inherited = [
            name for name, parameter in contract.parameters.items() if _document(parameter.source) == parent_document
        ]
        if inherited:
            yield f"parameters by analogy with {parent}, at most SHOULD: {_names(inherited)}"
        rows = [row for row in contract.requirements.values() if _document(row.source) == parent_document]
        if rows:
            yield f"requirements by analogy with {parent}, at most SHOULD: {len(rows)}"
    if undeclared := sorted(set(contract.capabilities) - set(outcome.prepared.declaration.declared)):
        yield f"capabilities that the reference server does not have, so they were not judged: {_names(undeclared)}"
    if uncovered := [row.id for row in outcome.prepared.plan.uncovered]:
        yield f"requirements that no request exercises: {_names(uncovered)}"


def _document(source: str) -> str:
    return source.partition("#")[0]


def _names(names: Collection[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - MOST} more" if len(listed) > MOST else ""
    return f"{', '.join(listed[:MOST])}{more}"
