"""Write one load test as a self-contained HTML report with charts. Does no I/O.

The report loads nothing and runs no script, as its content security policy states; the texts of a server are escaped.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

from loadtests.report.chart import Axis, Series, draw_lines, draw_waterfall
from loadtests.report.results import describe_load, describe_verdict, quantile
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

STYLE: Final = """
:root{color-scheme:light dark;background:Canvas;color:CanvasText}body{margin:2rem auto;max-width:1340px;padding:0 1rem}
:root,:host{font:15px/1.5 system-ui,sans-serif}:host{display:block}
main{--dim:color-mix(in srgb,currentColor 65%,transparent);--grid:color-mix(in srgb,currentColor 18%,transparent);
--s0:color-mix(in srgb,#1f7cf0 85%,currentColor);--s1:color-mix(in srgb,#dd6a12 85%,currentColor);
--s2:color-mix(in srgb,#259a45 85%,currentColor);--s3:color-mix(in srgb,#9566ee 85%,currentColor)}
h1{font-size:1.4rem;margin:0;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{margin:.3rem 0}
.dim{color:var(--dim)}a{color:inherit}.verdict{font-weight:600}.met{color:var(--s2)}.missed{color:var(--s1)}
.table{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th{font-weight:400}thead th{font-weight:600}
th,td{padding:.2rem .8rem;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}
th:first-child,.text{text-align:left}.text{white-space:normal;overflow-wrap:anywhere;min-width:14rem}
.charts{display:grid;margin-top:1.5rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,560px),1fr));gap:1rem}
figure{margin:0}figcaption{font-weight:600}svg{width:100%;height:auto}text{font:11px system-ui,sans-serif;
fill:var(--dim)}.tick,.title{text-anchor:middle}.label{text-anchor:end}.grid{stroke:var(--grid);stroke-width:.5}
.line{stroke-width:1.6}.dashed{stroke-dasharray:4 3}.mark{stroke:currentColor;stroke-width:1;opacity:.55}
.s0{stroke:var(--s0);fill:var(--s0)}.s1{stroke:var(--s1);fill:var(--s1)}.s2{stroke:var(--s2);fill:var(--s2)}
.s3{stroke:var(--s3);fill:var(--s3)}path.line{fill:none}.wait{fill:var(--s1);opacity:.35}.talk{fill:var(--s0);
opacity:.35}dt{font-weight:600}dd{margin:0 0 .4rem}
@media(max-width:640px){body{margin:1rem auto}text{font-size:17px}.label{font-size:15px}}
"""
"""Colours are mixed with the colour of the surrounding text, so that the report is dark in a dark page."""
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
MIN_VISIBLE: Final = 0.25
"""The least percentage of values that a chart can show: half a point of its height."""
PERCENTILES: Final = ("50", "90", "95", "99", "99.9")


def render_report(results: dict[str, Any], progress: str = "") -> str:
    """Return the whole file from the content of results.json. progress: of a test that has not ended."""
    title = f"Load test of {results['target']['url']}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main><h1>{escape(title)}</h1>"
        f"{_render_body(results, progress)}</main></body></html>\n"
    )


def _render_body(results: dict[str, Any], progress: str) -> str:
    return "".join(
        [
            _render_head(results, progress),
            _render_verdicts(results),
            _render_latencies(results),
            f'<div class="charts">{_render_charts(results)}</div>',
            _render_failures(results),
            _render_definitions(results),
        ]
    )


def _render_head(results: dict[str, Any], progress: str) -> str:
    target, load, counts, rates = results["target"], results["load"], results["counts"], results["rates_per_s"]
    kind = "dim" if progress else "missed" if results["exit_code"] else "met"
    return (
        f'<p class="dim">{escape(target["dialect"])}, model {escape(target["model"])}; {escape(describe_load(load))}, '
        f"shape {escape(load['shape'])}, seed {load['seed']}; {load['measured_s']:g} s measured after "
        f"{load['warm_up_s']:g} s of warm-up</p>"
        f'<p class="verdict {kind}">{escape(progress or describe_verdict(results))}</p>'
        f"<p>{format_quantity(counts['requests'], 'request')}, {counts['failures']} failed; "
        f"{_format_number(rates['requests'])} answers/s, {_format_number(rates['tokens'])} tokens/s, "
        f"goodput {_format_number(rates['goodput'])}/s</p>"
    )


def _render_verdicts(results: dict[str, Any]) -> str:
    rows = [
        (objective["objective"], _format_number(objective["value"]), "met" if objective["met"] else "missed")
        for objective in results["objectives"]
    ]
    notes = [("in doubt" if doubt["invalid"] else "note", doubt["text"]) for doubt in results["doubts"]]
    return _render_table("Objectives", ("objective", "measured", "result"), rows) + _render_table(
        "Measurement", ("kind", "note"), notes, wrap=True
    )


def _render_latencies(results: dict[str, Any]) -> str:
    rows = [
        (
            name,
            str(row["count"]),
            _format_number(row["mean"]),
            *(_format_number(row["percentiles"][percentile]) for percentile in PERCENTILES),
            _format_number(row["max"]),
        )
        for name, row in results["latencies_ms"].items()
    ]
    return _render_table(
        "Latencies, ms", ("latency", "count", "mean", *(f"p{percentile}" for percentile in PERCENTILES), "max"), rows
    )


def _render_charts(results: dict[str, Any]) -> str:
    parts = [_draw_distribution(results, name) for name in ("TTFT", "ITL") if name in results["latencies_ms"]]
    seconds = results["seconds"]
    if len(seconds) > 1:
        parts += [
            _draw_over_time(seconds, "ttft_ms", "TTFT"),
            _draw_over_time(seconds, "gap_ms", "ITL"),
            _draw_rates(seconds),
        ]
    if results.get("search"):
        parts.append(draw_goodput(results["search"]["steps"]))
    if results["worst_streams"]:
        rows = [
            (f"{stream['sent_s']:.1f} s", stream["marks_ms"], stream["end_ms"]) for stream in results["worst_streams"]
        ]
        parts.append(draw_waterfall("Streams with the longest waits, by time of sending; one tick per event", rows))
    return "".join(parts)


def _draw_distribution(results: dict[str, Any], name: str) -> str:
    """Draw the share of values up to each latency, also from the planned time, which includes the wait before sending.

    The axis begins at the first visible share: a few tiny values would take most of a logarithmic axis.
    """
    drawn = [row for row in (name, f"{name} planned") if row in results["latencies_ms"]]
    shares, values = {}, []
    for row in drawn:
        buckets = results["latencies_ms"][row]["buckets"]
        total, below, points = sum(count for _, count in buckets), 0, []
        for value, count in buckets:
            at = max(value, 0.001)
            points += [(at, below / total * 100), (at, (below + count) / total * 100)]
            below += count
        shares[row] = points
        values += [at for at, share in points if share >= MIN_VISIBLE] or [at for at, _ in points]
    x = Axis.over("ms", values, logarithmic=True)
    series = [
        Series(row, [(max(at, x.least), share) for at, share in points], dashed=row != name)
        for row, points in shares.items()
    ]
    return draw_lines(f"{name}: share of values up to each latency", x, Axis("%", 0, 100), series)


def _draw_over_time(seconds: Sequence[dict[str, Any]], key: str, name: str) -> str:
    series = []
    for share in (0.5, 0.95, 0.99):
        points = [(float(second["at_s"]), quantile([tuple(pair) for pair in second[key]], share)) for second in seconds]
        series.append(Series(f"p{share * 100:g}", points))
    values = [value for series_item in series for _, value in series_item.points if value is not None]
    x = Axis.over("s", [second["at_s"] for second in seconds])
    return draw_lines(f"{name} over time", x, Axis.over("ms", values, zero=True), series)


def _draw_rates(seconds: Sequence[dict[str, Any]]) -> str:
    answered = [{**second, "answers": second["answers"] - second["failures"]} for second in seconds]  # as in answers/s
    series = [
        Series(name, [(float(second["at_s"]), float(second[key])) for second in answered], dashed=name == "sent")
        for name, key in (("answers", "answers"), ("good", "good"), ("failed", "failures"), ("sent", "sent"))
    ]
    values = [value for series_item in series for _, value in series_item.points if value is not None]
    x = Axis.over("s", [second["at_s"] for second in seconds])
    return draw_lines("Requests per second over time", x, Axis.over("/s", values, zero=True), series)


def draw_goodput(steps: Sequence[dict[str, Any]]) -> str:
    """Draw the goodput at each rate that a search tried; the dashed line is where all answers would be good."""
    ordered = sorted((float(step["rate_per_s"]), float(step["goodput_per_s"])) for step in steps)
    ends = [0.0, max(rate for rate, _ in ordered)]
    series = [Series("goodput", ordered), Series("ideal", [(end, end) for end in ends], dashed=True)]
    return draw_lines(
        "Goodput by request rate", Axis.over("requests/s", ends), Axis.over("good/s", ends, zero=True), series
    )  # fmt: skip


def _render_failures(results: dict[str, Any]) -> str:
    failed = [(failure["kind"], str(failure["count"]), failure["first"]) for failure in results["failures"]]
    checked = results["conformance"]
    violated = [(finding["rule"], str(finding["count"]), finding["first"]) for finding in checked["findings"]]
    return _render_table("Failed requests", ("kind", "count", "first"), failed, wrap=True) + _render_table(
        f"Rules violated, in {format_quantity(checked['streams_judged'], 'checked stream')}",
        ("rule", "count", "first"),
        violated,
        wrap=True,
    )


def _render_definitions(results: dict[str, Any]) -> str:
    items = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in results["definitions"].items()
    )  # fmt: skip
    return f"<h2>Definitions</h2><dl>{items}</dl>"


def _render_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, wrap: bool = False) -> str:
    """Return a table with a heading, or nothing without rows. wrap: the last column has long texts.

    The keyboard can scroll a table that is wider than the screen.
    """
    if not rows:
        return ""

    kinds = ["" for _ in heads[:-1]] + [' class="text"' if wrap else ""]
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for kind, name in zip(kinds, heads, strict=True))
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds[1:], row[1:], strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f'<h2>{escape(title)}</h2><div class="table" tabindex="0" role="group" aria-label="{escape(title)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _format_number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4g}"
