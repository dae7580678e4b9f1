"""Which lines of a pinned page state which sentences: the data of `openapi/pages/`.

The text of a page belongs to its vendor and is not part of the project. A page is pinned by its hash, so its line
numbers are stable, and `pages/<document>.yaml` maps each of them: to the sentences that it states, or to the reason why
it states none. The numbers of the empty lines are recorded too, so that only the hash needs the page itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.loading import check_keys
from openapi.contract.resolution import read
from openapi.contract.tree.yaml_file import ContractError
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from openapi.contract.contract import Contract, Document

FOLDER: Final = "pages"
KEYS: Final = {"document", "lines", "empty", "sentences", "prose"}


@dataclass(frozen=True, slots=True)
class PageCoverage:
    """The mapping of one page. `entries` are the lines of each row of the file, with the sentences or the reason."""

    document: str
    lines: int
    empty: frozenset[int]
    entries: tuple[CoverageEntry, ...]

    @property
    def file(self) -> str:
        """The file of the mapping."""
        return f"openapi/{FOLDER}/{self.document}.yaml"

    def find_sentences(self, line: int) -> tuple[str, ...]:
        """Return the ids of the sentences that a line states."""
        return tuple(name for entry in self.entries if entry.contains(line) for name in entry.sentences)

    def find_reason(self, line: int) -> str:
        """Return why a line states no sentence; empty if it states one or is not mapped."""
        return next((entry.reason for entry in self.entries if entry.reason and entry.contains(line)), "")

    def find_lines(self, sentence: str) -> tuple[int, ...]:
        """Return the lines that state a sentence, without empty ones."""
        spans = [span for entry in self.entries if sentence in entry.sentences for span in entry.spans]
        return tuple(line for span in spans for line in span if line not in self.empty)


@dataclass(frozen=True, slots=True)
class CoverageEntry:
    """Some lines with either the sentences that they state or the reason why they state none."""

    spans: tuple[range, ...]
    sentences: tuple[str, ...] = ()
    reason: str = ""

    def contains(self, line: int) -> bool:
        """Return whether it is about a line."""
        return any(line in span for span in self.spans)


@dataclass(frozen=True, slots=True)
class CoverageProblem:
    """Something wrong with a mapping. `line`: of the page; None if the problem is not about a line."""

    line: int | None
    message: str


def mapped_documents() -> tuple[str, ...]:
    """Return the ids of the documents whose pages are mapped."""
    names = (entry.name for entry in files("openapi").joinpath(FOLDER).iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def load_page_coverage(document: str) -> PageCoverage:
    """Return the mapping of a document's page. Raises ContractError if the mapping is missing or malformed."""
    return parse_page_coverage(read(f"{FOLDER}/{document}.yaml"), document)


def parse_page_coverage(row: Any, document: str) -> PageCoverage:
    """Parse the content of a mapping. Raises ContractError with the file and the key."""
    where = f"openapi/{FOLDER}/{document}.yaml"
    if not isinstance(row, dict):
        raise ContractError(f"{where}: invalid mapping: expected {', '.join(sorted(KEYS))}")
    check_keys(row, KEYS, where)
    if missing := sorted(KEYS - set(row)):
        raise ContractError(f"{where}: {', '.join(missing)} missing")
    if row["document"] != document:
        raise ContractError(f"{where}: document: expected {document}, got {row['document']}")
    for key in ("sentences", "prose"):
        if not isinstance(row[key], dict):
            raise ContractError(f"{where}: {key}: expected a mapping, got {row[key]!r}")
    stating = [
        CoverageEntry(
            parse_lines(lines, f"{where}: sentences"), sentences=_names(names, f"{where}: sentences: {lines}")
        )
        for lines, names in row["sentences"].items()
    ]
    silent = [
        CoverageEntry(parse_lines(lines, f"{where}: prose: {reason}"), reason=str(reason))
        for reason, lines in row["prose"].items()
    ]
    empty = {line for span in parse_lines(row["empty"], f"{where}: empty") for line in span}
    return PageCoverage(document, int(row["lines"]), frozenset(empty), (*stating, *silent))


def _names(names: Any, where: str) -> tuple[str, ...]:
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ContractError(f"{where}: expected a list of ids of sentences, got {names!r}")
    return tuple(names)


def parse_lines(value: Any, where: str) -> tuple[range, ...]:
    """Parse line numbers such as `7` or `7, 12-27`, or an empty string. Raises ContractError for anything else."""
    spans = []
    for part in str(value).split(",") if value != "" else ():
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash) and 0 < int(first) <= int(last or first)):
            raise ContractError(f"{where}: invalid lines {part.strip()!r}: expected numbers such as 7 or 12-27")
        spans.append(range(int(first), int(last or first) + 1))
    return tuple(spans)


def find_problems(coverage: PageCoverage, contract: Contract) -> Iterator[CoverageProblem]:
    """Yield what is wrong with the mapping of a contract's document, as far as it shows without the page."""
    known = {sentence.id for sentence in contract.sentences}
    seen: set[int] = set()
    for entry in coverage.entries:
        for span in entry.spans:
            yield from _span_problems(span, coverage, seen)
            seen.update(span)
        for name in entry.sentences:
            if name not in known:
                line = entry.spans[0].start
                yield CoverageProblem(
                    line, f"unknown sentence {name!r}: add it to {contract.name}{suggest(name, known)}"
                )
    for line in range(1, coverage.lines + 1):
        if line not in seen and line not in coverage.empty:
            yield CoverageProblem(line, f"unmapped: add it to sentences or prose in {coverage.file}")
    stated = {name for entry in coverage.entries for name in entry.sentences}
    for sentence in contract.sentences:
        if sentence.id not in stated:
            yield CoverageProblem(None, f"sentence {sentence.id} has no line: add it to sentences")


def _span_problems(span: range, coverage: PageCoverage, seen: Collection[int]) -> Iterator[CoverageProblem]:
    for line in dict.fromkeys((span[0], span[-1])):
        if line > coverage.lines:
            yield CoverageProblem(line, f"out of range: the page has {coverage.lines} lines")
        elif line in coverage.empty:
            yield CoverageProblem(line, "empty: a range begins and ends with a line that has text")
    for line in span:
        if line in seen and line not in coverage.empty:
            yield CoverageProblem(line, "mapped twice: list all its sentences in one entry")


def split_page(content: bytes, document: Document, coverage: PageCoverage) -> tuple[str, ...]:
    """Return the lines of a pinned page. Raises ContractError if it is another page or has other empty lines."""
    digest = sha256(content).hexdigest()
    if digest != document.sha256:
        raise ContractError(f"not the pinned page of {document.id}: expected sha256 {document.sha256}, got {digest}")
    lines = tuple(content.decode("utf-8").split("\n"))
    lines = lines[:-1] if lines[-1] == "" else lines
    empty = {number for number, line in enumerate(lines, 1) if not line.strip()}
    if len(lines) != coverage.lines or empty != coverage.empty:
        raise ContractError(f"{coverage.file}: expected lines: {len(lines)} and empty: {format_lines(sorted(empty))}")
    return lines


def format_lines(numbers: Sequence[int]) -> str:
    """Write sorted line numbers as `parse_lines` reads them."""
    if not numbers:
        return ""
    breaks = [(before, after) for before, after in pairwise(numbers) if after != before + 1]
    starts = [numbers[0], *(after for _, after in breaks)]
    ends = [*(before for before, _ in breaks), numbers[-1]]
    return ", ".join(str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=True))
