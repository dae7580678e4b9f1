"""Read the written counterexamples and witnesses of sentences, which are in `deviations/*.yaml`.

A file maps the id of a sentence to its `counterexamples` and `witnesses`. Sentences of several documents that state the
same have the same id, and so the same deviations. Each deviation has `server`, what the server does, and one of these:

- edits of the recorded answers, with the conditions of `conformance.proof.sentences.edits`;
- `as`: answers a request as the recorded server answered the same request with parameters `set` or `remove`d;
- `mutant`: the id of a check whose mutant is used;
- `fault`: the name of a fault of the reference server, if only a live server shows the effect.

`documents` limits a deviation to some of the documents that have the sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from conformance.errors import HarnessError
from conformance.proof.mutants.mutant import gather_mutants
from conformance.proof.sentences.deviation import Deviation, LiveFault
from conformance.proof.sentences.edits import CHUNKS, EDITS, EVERY_CHOICE, AnswerEdit, matcher
from conformance.proof.sentences.outcomes import make_outcome, was
from conformance.proof.sentences.substitution import make_substitution
from openapi.contract.resolution import read
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from conformance.exchange import Exchange
    from conformance.proof.mutants.mutant import Mutant
    from conformance.proof.recorded_run import RecordedRun
    from conformance.proof.sentences.deviation import Form
    from conformance.proof.sentences.edits import Scope

FOLDER: Final = Path(__file__).parent / "deviations"
CONDITIONS: Final = ("request", "form", "status", "chunks", "scope")
COMMON: Final = ("server", "documents")
EDIT: Final = (*CONDITIONS, *EDITS)
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "fault": ("fault",),
    "mutant": ("mutant",),
    "outcome": ("outcome", "request"),
    "as": ("as", "request", "form"),
}
"""The keys of each kind of deviation in addition to the common ones; all others are edits."""
OUTCOMES: Final = ("answered", "refused")
FORMS: Final[tuple[Form, ...]] = ("plain", "stream")
SCOPES: Final = ("every", "later")
STATUSES: Final = ("answered", "refused", "any")


@dataclass(frozen=True, slots=True)
class WrittenDeviations:
    """The written deviations of one sentence."""

    counterexamples: tuple[Deviation | LiveFault, ...] = ()
    witnesses: tuple[Deviation | LiveFault, ...] = ()

    def of_document(self, document: str) -> WrittenDeviations:
        """Return the deviations that concern a document."""

        def choose(deviations: tuple[Deviation | LiveFault, ...]) -> tuple[Deviation | LiveFault, ...]:
            return tuple(item for item in deviations if item.documents is None or document in item.documents)

        return WrittenDeviations(choose(self.counterexamples), choose(self.witnesses))


@cache
def read_deviations() -> Mapping[str, WrittenDeviations]:
    """Return the written deviations by sentence. Raises HarnessError with file and place for invalid data."""
    result: dict[str, WrittenDeviations] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        for sentence, row in _load(path).items():
            where = f"{path.name}: {sentence}"
            if sentence in result:
                raise HarnessError(f"{where}: another file has deviations of this sentence; merge them")
            _require_known(row, ("counterexamples", "witnesses"), where)
            result[sentence] = WrittenDeviations(
                tuple(item for entry in row.get("counterexamples", ()) for item in parse_deviation(entry, where)),
                tuple(item for entry in row.get("witnesses", ()) for item in parse_deviation(entry, where)),
            )
    return result


def _load(path: Path) -> dict[str, Any]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) or {}
    except yaml.MarkedYAMLError as error:
        line = 0 if error.problem_mark is None else error.problem_mark.line + 1
        raise HarnessError(f"{path.name}:{line}: not valid YAML: {error.problem}") from error
    if not isinstance(content, dict):
        raise HarnessError(f"{path.name}: invalid content: expected a mapping of sentences to deviations")
    return content


def require_sentences(known: Iterable[str]) -> None:
    """Raise HarnessError if deviations are written for a sentence that no document has."""
    ids = set(known)
    for sentence in read_deviations():
        if sentence not in ids:
            raise HarnessError(f"deviations/*.yaml: unknown sentence {sentence!r}{suggest(sentence, ids)}")


def parse_deviation(row: Mapping[str, Any], where: str) -> Iterator[Deviation | LiveFault]:
    """Yield the deviations of one entry: one for each form of the answer, and one for later choices only."""
    kind = next((kind for kind in KINDS if kind in row), None)
    _require_known(row, (*COMMON, *(EDIT if kind is None else KINDS[kind])), where)
    summary = row.get("server")
    if not summary:
        raise HarnessError(f"{where}: no `server`: say in one sentence what the server does")
    documents = frozenset(row["documents"]) if "documents" in row else None
    for document in sorted(documents or ()):
        _require_one_of(document, tuple(read("documents.yaml")["documents"]), where)
    for deviation in _parse(summary, row, where):
        yield replace(deviation, documents=documents)


def _parse(summary: str, row: Mapping[str, Any], where: str) -> Iterator[Deviation | LiveFault]:
    if "fault" in row:
        yield LiveFault(summary, row["fault"])
    elif "mutant" in row:
        yield _from_mutant(summary, row["mutant"], where)
    elif "outcome" in row:
        matches = _read_request(row, where)
        _require_one_of(row["outcome"], OUTCOMES, where)
        yield make_outcome(summary, row["outcome"], lambda body, _: matches(body))
    elif "as" in row:
        yield from _from_substitution(summary, row, where)
    else:
        yield from _from_edit(summary, row, where)


def _require_known(row: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    if not isinstance(row, dict):
        raise HarnessError(f"{where}: invalid value {row!r}: expected a mapping with {', '.join(known)}")
    for key in row:
        if key not in known:
            raise HarnessError(f"{where}: unknown key {key!r}: expected one of {', '.join(known)}{suggest(key, known)}")


def _require_one_of(value: Any, known: tuple[Any, ...], where: str) -> None:
    if value not in known:
        raise HarnessError(f"{where}: invalid value {value!r}: expected one of {', '.join(filter(None, known))}")


def _read_request(row: Mapping[str, Any], where: str) -> Callable[[Any], bool]:
    """Return the condition on request bodies; without one, every JSON body meets it."""
    try:
        return matcher(row.get("request", True))
    except ValueError as error:
        raise HarnessError(f"{where}: `request` is not a JSON Schema: {str(error).splitlines()[0]}") from error


def _from_edit(summary: str, row: Mapping[str, Any], where: str) -> Iterator[Deviation]:
    edits = {key: row[key] for key in EDITS if key in row}
    if not edits:
        raise HarnessError(f"{where}: {summary!r} changes nothing: expected one of {', '.join(EDITS)}")
    form, status, chunks = row.get("form"), row.get("status", "answered"), row.get("chunks", "all")
    scope = row.get("scope")
    for value, known in ((form, (None, *FORMS)), (status, STATUSES), (chunks, CHUNKS), (scope, (None, *SCOPES))):
        _require_one_of(value, known, where)
    matches = _read_request(row, where) if "request" in row else None
    for path, text in edits.get("append", {}).items():
        if not isinstance(text, str):
            raise HarnessError(f"{where}: {summary!r}: append: {path}: expected a string, got {text!r}; quote it")
    paths = [path for edit in edits.values() if isinstance(edit, dict | list) for path in edit]
    by_choice = "scope" not in row and any(path.startswith(EVERY_CHOICE) for path in paths)
    scopes: list[Scope] = ["every", "later"] if by_choice else [row.get("scope", "every")]
    for one in FORMS if form is None else (form,):
        for scope in scopes:
            name = f"{summary} ({one}{', later choices' if scope == 'later' else ''})"
            yield Deviation(name, one, _editing(AnswerEdit(edits, chunks, scope), one, status, matches))


def _from_substitution(summary: str, row: Mapping[str, Any], where: str) -> Iterator[Deviation]:
    other, matches = row["as"], _read_request(row, where)
    _require_known(other, ("set", "remove"), where)
    _require_one_of(row.get("form"), (None, *FORMS), where)
    for form in FORMS if row.get("form") is None else (row["form"],):
        yield make_substitution(f"{summary} ({form})", form, matches, other.get("set", {}), other.get("remove", ()))


def _editing(
    edit: AnswerEdit, form: str, status: str, matches: Callable[[Any], bool] | None
) -> Callable[[Exchange, RecordedRun], Exchange | None]:
    def change(exchange: Exchange, _: RecordedRun) -> Exchange | None:
        if exchange.response is None or (form == "stream") != exchange.is_stream:
            return None
        if status != "any" and was(exchange) != status:
            return None
        if matches is not None and not matches(exchange.request_json):
            return None
        return edit.apply(exchange)

    return change


def _from_mutant(summary: str, check: str, where: str) -> Deviation:
    mutants = gather_mutants()
    if check not in mutants:
        raise HarnessError(f"{where}: no mutant of check {check!r}{suggest(check, mutants)}")
    return Deviation(f"{summary} ({check})", "any", _mutating(mutants[check]), mutants[check].steps)


def _mutating(mutant: Mutant) -> Callable[[Exchange, RecordedRun], Exchange | None]:
    def change(exchange: Exchange, _: RecordedRun) -> Exchange | None:
        if not fnmatchcase(exchange.scenario, mutant.scenario):
            return None
        try:
            return mutant.change(exchange)
        except (HarnessError, LookupError, TypeError, ValueError, AttributeError):
            return None  # the exchange lacks what the mutant changes

    return change
