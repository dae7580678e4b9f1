"""Read `--report KIND=PLACE` options of a load test, and write these reports next to the folder of `--out`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from loadtests.errors import UsageError
from loadtests.report.measured_metrics import write_openmetrics, write_otlp
from openapi.whole_file import write_whole_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

WRITERS: Final[dict[str, Callable[[Mapping[str, Any]], str]]] = {"openmetrics": write_openmetrics, "otlp": write_otlp}
SENT: Final = "otlp"
"""The kind whose place may be the address of a collector."""
TIMEOUT_S: Final = 10.0


def parse_reports(options: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the (kind, place) pairs of the options. Raise UsageError for an unknown kind or an unwritable place."""
    reports = []
    for option in filter(None, options):
        kind, equals, place = option.partition("=")
        if kind not in WRITERS or not equals or not place:
            expected = f"expected KIND=PATH, where KIND is one of {', '.join(WRITERS)}"
            raise UsageError(f"invalid --report {option!r}: {expected}")
        if _is_address(place) and kind != SENT:
            raise UsageError(f"invalid --report {option!r}: only {SENT} is sent to an address: expected a file")
        if not _is_address(place) and not Path(place).absolute().parent.is_dir():
            raise UsageError(f"--report {option}: the folder {Path(place).parent} does not exist")
        reports.append((kind, place))
    return tuple(reports)


def write_extra_reports(reports: Iterable[tuple[str, str]], results: Mapping[str, Any]) -> list[str]:
    """Write each report to its file, or send it to its address; return one line for each that failed."""
    errors = []
    for kind, place in reports:
        text = WRITERS[kind](results)
        try:
            if _is_address(place):
                _post(place, text)
            else:
                write_whole_text(Path(place), text)
        except OSError as error:
            errors.append(f"{kind}={place}: {error.strerror or error}")
    return errors


def _post(address: str, text: str) -> None:
    """Send a report to a collector. Raise OSError if it is not accepted."""
    import httpx  # takes a quarter of a second, which would delay the first request of a test

    headers = {"Content-Type": "application/json"}
    try:
        httpx.post(address, content=text, headers=headers, timeout=TIMEOUT_S).raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise OSError(" ".join(str(error).split())) from error


def _is_address(place: str) -> bool:
    return place.startswith(("http://", "https://"))
