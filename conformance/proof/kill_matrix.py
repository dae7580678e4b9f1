"""The kill matrix: which checks detect which faults. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from conformance.proof.scenario_selection import SAMPLE_SIZE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from conformance.proof.fault_host import HostedFault

INTRODUCTION: Final = """\
# Kill matrix

`chatproof faults run --write docs/kill-matrix.md` writes this page, and `tox -e faults` verifies it.

A fault is a misbehaviour that the reference server shows over a real socket (`chatproof serve --fault NAME`). Each
fault is tested with the plan of the first dialect whose contract covers it. A fault made from a bound of a contract is
tested with every request about its parameter. Other faults are tested with all scenarios that can show them (a fault
of answers: requests that must be answered; a fault of refusals: requests that may be refused), except for generated
requests with long answers.

A check detects a fault if it has a finding that the faultless server does not cause. `*` marks a SHOULD, `°` a MAY,
which is only observed. The page lists the checks that detected a fault when its row was written; one of them must
detect it in every run, as strongly, and others may detect it too. Checks of timing count only for faults that affect
timing. Which checks detect a fault marked `~` depends on chance or on concurrent requests: the page lists those that
always detected it when it was written, and in a later run some check of the same strength must detect it. Variations
are allowed by every document: a MAY may be observed, but no MUST or SHOULD may be reported.
"""

DEPTHS: Final = """\
The rows below are of thorough runs. `chatproof faults depths --write docs/kill-matrix.md` measures what a run of each
`--depth` detects. A fault that violates a MUST fails the run; the others fail it with `--strict`. What a document
allows is only observed, and is not counted here."""


@dataclass(frozen=True, slots=True)
class FaultRow:
    """One fault and the checks that detect it, each with the strength of the violated requirement (M, S or o).

    generated: the fault is made from a bound of a contract, not written by hand.
    benign: a variation that every document allows, for which no requirement may fail.
    shown_by: scenarios that are enough for all of these checks.
    verified_by: the checks that must detect it when the row is verified, with their scenarios; if empty, any one.
    others: how many other scenarios are sent next to them.
    flaky: which checks detect it depends on chance or on concurrent requests; `killers` are those that always did.
    findings: the violated requirements, without consequences of others; 0 if they were not counted.
    """

    name: str
    line: str
    dialect: str
    bugs: tuple[int, ...]
    generated: bool
    killers: Mapping[str, str]
    benign: bool = False
    shown_by: tuple[str, ...] = ()
    verified_by: Mapping[str, str] = field(default_factory=dict)
    others: int = SAMPLE_SIZE
    flaky: bool = False
    findings: int = 0

    @property
    def verifying_checks(self) -> frozenset[str]:
        """The checks by which the row is verified: each of `verified_by`, or without them at least one of `killers`."""
        return frozenset(self.verified_by or self.killers)

    @property
    def verifying_scenarios(self) -> frozenset[str]:
        """The scenarios that are sent when the row is verified, without the sample of others."""
        return frozenset(self.verified_by.values() or self.shown_by)


@dataclass(frozen=True, slots=True)
class KillMatrix:
    """All faults and variations, and all checks.

    `excused` are checks that no fault can violate and faults that no check can detect, each with the reason.
    """

    rows: tuple[FaultRow, ...]
    checks: tuple[str, ...]
    excused: Mapping[str, str]

    @property
    def faults(self) -> tuple[FaultRow, ...]:
        """The rows that a check must detect."""
        return tuple(row for row in self.rows if not row.benign)

    @property
    def variations(self) -> tuple[FaultRow, ...]:
        """The rows for which no requirement may fail."""
        return tuple(row for row in self.rows if row.benign)

    @property
    def survivors(self) -> tuple[str, ...]:
        """The faults that no check detects and that are not excused."""
        return tuple(fault.name for fault in self.faults if not fault.killers and fault.name not in self.excused)

    @property
    def idle(self) -> tuple[str, ...]:
        """The checks that detect no fault and that are not excused."""
        return tuple(check for check in self.checks if not self.killed_by(check) and check not in self.excused)

    @property
    def stale(self) -> tuple[str, ...]:
        """The entries of `excused` that are not needed."""
        detected = {row.name for row in self.rows if row.killers}
        return tuple(name for name in self.excused if name in detected or self.killed_by(name))

    @property
    def score(self) -> float:
        """The share of the faults that a check detects; 1 without faults."""
        return sum(bool(fault.killers) for fault in self.faults) / len(self.faults) if self.faults else 1.0

    def killed_by(self, check: str) -> tuple[str, ...]:
        """Return the faults that a check detects, and the variations that it observes."""
        return tuple(row.name for row in self.rows if check in row.killers)

    @property
    def holds(self) -> bool:
        """Whether every fault is detected and every check detects one."""
        return not (self.survivors or self.idle or self.stale)


def make_row(fault: HostedFault, dialect: str, killers: Mapping[str, str]) -> FaultRow:
    """Make the row of a fault."""
    return FaultRow(fault.name, fault.line, dialect, fault.bugs, fault.parameter is not None, killers, fault.benign)


def merge_rows(first: FaultRow, second: FaultRow) -> FaultRow:
    """Merge the rows of one fault in two dialects."""
    return replace(
        first,
        dialect=f"{first.dialect}, {second.dialect}",
        killers={**second.killers, **first.killers},
        shown_by=tuple(sorted({*first.shown_by, *second.shown_by})),
    )


def to_data(matrix: KillMatrix) -> dict[str, Any]:
    """Return the content of the kill table."""
    rows = {
        row.name: {"line": row.line, "dialect": row.dialect, "killed_by": dict(sorted(row.killers.items()))}
        | ({"benign": True} if row.benign else {})
        | ({"flaky": True} if row.flaky else {})
        | ({"shown_by": list(row.shown_by)} if row.shown_by else {})
        | ({"verified_by": dict(sorted(row.verified_by.items()))} if row.verified_by else {})
        | ({"others": row.others} if row.others != SAMPLE_SIZE else {})
        for row in sorted(matrix.rows, key=lambda row: row.name)
    }
    return {"faults": rows}


def read_rows(data: Mapping[str, Any]) -> tuple[FaultRow, ...]:
    """Return the rows of a kill table, which does not contain the numbers of bugs."""
    return tuple(
        FaultRow(
            name,
            row["line"],
            row["dialect"],
            (),
            ":" in name,
            row["killed_by"],
            row.get("benign", False),
            tuple(row.get("shown_by", ())),
            row.get("verified_by", {}),
            row.get("others", SAMPLE_SIZE),
            row.get("flaky", False),
        )
        for name, row in data["faults"].items()
    )


def add_known_rows(matrix: KillMatrix, table: Mapping[str, Any], existing: Collection[str]) -> KillMatrix:
    """Complete a matrix of some faults with the rows of the kill table for the other existing faults."""
    own = {row.name for row in matrix.rows}
    known = (row for row in read_rows(table) if row.name in existing and row.name not in own)
    return replace(matrix, rows=(*matrix.rows, *known))


def faults_of(table: Mapping[str, Any], check: str) -> list[tuple[str, str]]:
    """Return (fault, line) for each fault that a check detects, those detected by the fewest checks first."""
    detected = [(name, row) for name, row in table["faults"].items() if check in row["killed_by"]]
    detected.sort(key=lambda pair: (pair[1].get("benign", False), len(pair[1]["killed_by"]), pair[0]))
    return [(name, row["line"]) for name, row in detected]


def compare_tables(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the differences between two kill tables, one per line.

    The scenarios that show a fault do not count, nor do checks that detect it in addition. One of the earlier checks is
    enough, if the fault is detected as strongly: on which of two requests another check reports may differ.
    For a flaky fault any check of the same strength is enough, because which request meets a disconnected client or
    concurrent requests differs. What is observed of a variation may differ: its false positives are counted, not listed
    here.
    """
    old, new = before["faults"], after["faults"]
    differences = [f"{name}: removed" for name in old if name not in new]
    for name, row in new.items():
        if name not in old:
            differences.append(f"{name}: new")
        elif changed := [field for field in row if not _is_unchanged(field, old[name], row)]:
            values = ", ".join(f"{field} {old[name].get(field)} -> {row[field]}" for field in changed)
            differences.append(f"{name}: {values}")
    return differences


def _is_unchanged(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    if name == "killed_by":
        flaky = before.get("flaky", False)
        return after.get("benign", False) or _is_detected_in_part(before[name], after[name], flaky=flaky)
    return name in ("shown_by", "verified_by", "others", "flaky") or bool(before.get(name) == after[name])


def confirms(before: FaultRow, killers: Mapping[str, str]) -> bool:
    """Return whether the checks that detected a fault still do; if it is flaky, any check of the same strength."""
    return _is_detected_as(before.killers, killers, flaky=before.flaky)


def confirms_in_part(before: FaultRow, killers: Mapping[str, str]) -> bool:
    """Return whether the checks by which a row is verified still detect the fault.

    Without such checks one of the row's is enough, if the fault is detected as strongly; if it is flaky, any check.
    """
    if before.verified_by:
        return {check: before.killers[check] for check in before.verified_by}.items() <= killers.items()
    return _is_detected_in_part(before.killers, killers, flaky=before.flaky)


def _is_detected_in_part(before: Mapping[str, str], after: Mapping[str, str], *, flaky: bool) -> bool:
    return _is_as_strong(before, after) and (flaky or bool(before.items() & after.items()))


def _is_detected_as(before: Mapping[str, str], after: Mapping[str, str], *, flaky: bool) -> bool:
    """Return whether a fault is detected as before. Other checks may detect it too: new scenarios show more of it."""
    return _is_as_strong(before, after) if flaky else before.items() <= after.items()


def _is_as_strong(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    return bool(after) and _strength_rank(after) <= _strength_rank(before)


def _strength_rank(killed_by: Mapping[str, str]) -> int:
    """Return the rank of the strongest requirement of a row; 0 is the strongest."""
    return min(map("MSo".index, killed_by.values()), default=3)


def render(matrix: KillMatrix, notes: Collection[str], depths: Sequence[str] = ()) -> str:
    """Return the matrix as Markdown, with the notes below its figures, and the lines of the table of depths."""
    killed = sum(bool(fault.killers) for fault in matrix.faults)
    able = sum(bool(matrix.killed_by(check)) for check in matrix.checks)
    lines = [
        INTRODUCTION,
        f"- {killed} of {len(matrix.faults)} faults are detected: mutation score {matrix.score:.1%}",
        f"- {able} of {len(matrix.checks)} checks detect a fault",
        *(f"- {note}" for note in notes),
        "",
        *((DEPTHS, "", *depths, "") if depths else ()),
    ]
    for title, ids in (("Undetected faults", matrix.survivors), ("Checks that detect nothing", matrix.idle)):
        if ids:
            lines += [f"{title}: {', '.join(f'`{name}`' for name in ids)}", ""]
    if matrix.excused:
        lines += ["Excused:", ""]
        lines += [f"- `{name}`: {reason}" for name, reason in matrix.excused.items()]
        lines += [""]
    lines += ["## Checks", "", "| check | faults | those that the fewest checks detect |", "|---|---|---|"]
    table = to_data(matrix)
    for check in matrix.checks:
        names = [name for name, _line in faults_of(table, check)]
        lines.append(f"| `{check}` | {len(names)} | {', '.join(f'`{name}`' for name in names[:3])} |")
    for title, part in (
        ("Faults", [fault for fault in matrix.faults if not fault.generated]),
        ("Faults made from bounds", [fault for fault in matrix.faults if fault.generated]),
        ("Variations", matrix.variations),
    ):
        lines += [
            "",
            f"## {title}",
            "",
            "| name | behaviour of the server | dialect | detected by |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| `{row.name}` | {_escape_cell(row.line)} | {row.dialect} | {_format_killers(row)} |"
            for row in sorted(part, key=lambda row: row.name)
        ]
    return "\n".join(lines) + "\n"


def _format_killers(row: FaultRow) -> str:
    marks = {"M": "", "S": "*", "o": "°"}
    checks = ", ".join(f"`{check}`{marks[strength]}" for check, strength in sorted(row.killers.items()))
    return f"{checks} ~" if row.flaky else checks


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|")
