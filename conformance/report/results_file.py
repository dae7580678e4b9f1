"""Read results files of the current and of older versions of the schema."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs

from conformance.errors import UsageError
from conformance.report.old_verdicts import withdraw_unsupported
from conformance.report.outcome import Outcome
from conformance.report.results import SCHEMA_VERSION, load_schema

if TYPE_CHECKING:
    from pathlib import Path

GZIP: Final = b"\x1f\x8b"
MAX_BYTES: Final = 48 * 1024 * 1024
"""Bytes of a file after unpacking; `chatproof check` writes half of that at most."""
MAX_COST: Final = 180 * 1024 * 1024
"""Estimated memory for reading a file."""
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|([,\[])|(\{)', re.DOTALL)
LONGEST_STRING: Final = 300
OLD_VERSIONS: Final = (1, 2, 3)


def read_results(path: Path) -> dict[str, Any]:
    """Read a results file, plain or gzipped, and return it in the form of the current version.

    A verdict `conformant` of an older version that no judged requirement supports becomes `inconclusive`.
    Raise UsageError for anything else.
    """
    try:
        document: dict[str, Any] = upgrade(json.loads(_read_limited(path)))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except KeyError as error:
        raise UsageError(f"{path}: not a results file of chatproof: missing key {error}") from error
    except json.JSONDecodeError as error:
        reason = f"invalid JSON at line {error.lineno}; the file may be incomplete: copy or write it again"
        raise UsageError(f"{path}: not a results file of chatproof: {reason}") from error
    except EOFError as error:
        reason = "the compressed file is incomplete: copy or write it again"
        raise UsageError(f"{path}: not a results file of chatproof: {reason}") from error
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: not a results file of chatproof: {str(error)[:200]}") from error
    version = document.get("schema_version") if isinstance(document, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        reason = f"it has schema version {version}, and this chatproof reads up to {SCHEMA_VERSION}: update chatproof"
        raise UsageError(f"{path}: {reason}")
    validator = jsonschema_rs.validator_for(load_schema())
    if not validator.is_valid(document):
        # An error holds a copy of the whole document, which takes several times its memory.
        problem = next(iter(validator.iter_errors(_abbreviate(document))))
        place = "/".join(map(str, problem.instance_path)) or "top level"
        raise UsageError(f"{path}: not a results file of chatproof: {place}: {problem.message[:200]}")
    return withdraw_unsupported(document)


def _read_limited(path: Path) -> str:
    """Read a file, and unpack it if it is gzipped. Raises UsageError if reading it would take too much memory."""
    with path.open("rb") as file:
        packed = file.read(len(GZIP)) == GZIP
        file.seek(0)
        with gzip.open(file) if packed else file as source:
            data = source.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        form = " after unpacking" if packed else ""
        raise UsageError(f"{path}: too large: expected at most {MAX_BYTES} bytes{form}, as chatproof writes")
    largest = max(data, default=0)
    width = 4 if largest >= 0xF0 else 2 if largest >= 0xC4 else 1  # bytes that Python needs for each character
    cost = len(data) * (1 + width)  # the bytes and the text
    for token in _TOKEN.finditer(data):
        cost += 200 if token[1] else 350 if token[2] else 0
        if cost > MAX_COST:
            raise UsageError(f"{path}: not a results file of chatproof: it has too many values")
    return data.decode()


def _abbreviate(value: Any) -> Any:
    """Return a JSON value with short strings. No string of a results file has a minimum length above that."""
    if isinstance(value, dict):
        return {name[:LONGEST_STRING]: _abbreviate(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_abbreviate(item) for item in value]
    return value[:LONGEST_STRING] if isinstance(value, str) else value


def upgrade(document: Any) -> Any:
    """Return a results document of an older version in the form of the current one; return any other value unchanged.

    Version 1 has the outcome NOT_APPLICABLE also for requirements that were not exercised. Undeclared capabilities are
    the rows `capability.NAME`, so all other such rows become NOT_EXERCISED. Version 2 calls that outcome NO_OCCASION.

    Version 3 has these new names:
    - `requirements[].interpretation` instead of `reading`
    - `target.capability_origins.NAME.status` instead of `word`
    - `exchanges[].response.stalled_s` instead of `held_up_s`

    Version 4 adds `causes`, `requirements[].causes` and `document`. An older file states neither: every requirement is
    its own cause, and `document` is null.

    Raise KeyError, TypeError or AttributeError for a document that does not fit the version that it states.
    """
    if not isinstance(document, dict) or document.get("schema_version") not in OLD_VERSIONS:
        return document
    version = document["schema_version"]
    new = {**_add_causes(_upgrade_judged(document, version)), "schema_version": SCHEMA_VERSION}
    if "also" in document:
        new["also"] = [_add_causes(_upgrade_judged(other, version)) for other in document["also"]]
    if version > 2:
        return new
    new["exchanges"] = [
        {**exchange, "response": exchange["response"] and _rename(exchange["response"], "held_up_s", "stalled_s")}
        for exchange in document["exchanges"]
    ]
    return new


def _add_causes(judged: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a document that belongs to one dialect with the fields that version 4 added."""
    rows = [{**row, "causes": []} for row in judged["requirements"]]
    return {**judged, "causes": [], "document": None, "requirements": rows}


def _upgrade_judged(judged: dict[str, Any], version: int) -> dict[str, Any]:
    """Return the part of a document that belongs to one dialect in the form of version 3."""
    if version > 2:
        return judged
    rows = [
        {**_rename(row, "reading", "interpretation"), "outcome": _upgrade_outcome(row, version)}
        for row in judged["requirements"]
    ]
    numbers = Counter(row["outcome"] for row in rows)
    target = dict(judged["target"])
    if "capability_origins" in target:
        target["capability_origins"] = {
            name: _rename(origin, "word", "status") for name, origin in target["capability_origins"].items()
        }
    counts = {outcome.value: numbers[outcome] for outcome in Outcome}
    return {**judged, "target": target, "counts": counts, "requirements": rows}


def _upgrade_outcome(row: dict[str, Any], version: int) -> str:
    outcome: str = row["outcome"]
    old = "NO_OCCASION" if version > 1 else "NOT_APPLICABLE"
    return Outcome.NOT_EXERCISED.value if outcome == old and not row["id"].startswith("capability.") else outcome


def _rename(fields: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: value for name, value in fields.items()}
