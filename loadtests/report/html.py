"""The page: one load test as a self-contained HTML file with charts. Pure.

Nothing is loaded from anywhere and no script runs, which its content policy states; a server's words are escaped.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

from loadtests.report.chart import Axis, Series, lines, waterfall
from loadtests.report.results import quantile, verdict

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
th,td{padding:.2rem .8rem;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}
th:first-child,td:first-child,.text{text-align:left}.text{white-space:normal;overflow-wrap:anywhere;min-width:14rem}
.charts{display:grid;margin-top:1.5rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,560px),1fr));gap:1rem}
figure{margin:0}figcaption{font-weight:600}svg{width:100%;height:auto}text{font:11px system-ui,sans-serif;
fill:var(--dim)}.tick,.title{text-anchor:middle}.label{text-anchor:end}.grid{stroke:var(--grid);stroke-width:.5}
.line{stroke-width:1.6}.dashed{stroke-dasharray:4 3}.mark{stroke:currentColor;stroke-width:1;opacity:.55}
.s0{stroke:var(--s0);fill:var(--s0)}.s1{stroke:var(--s1);fill:var(--s1)}.s2{stroke:var(--s2);fill:var(--s2)}
.s3{stroke:var(--s3);fill:var(--s3)}path.line{fill:none}.wait{fill:var(--s1);opacity:.35}.talk{fill:var(--s0);
opacity:.35}dt{font-weight:600}dd{margin:0 0 .4rem}
@media(max-width:640px){body{margin:1rem auto}text{font-size:17px}.label{font-size:15px}}
"""
"""Colours are mixed from the colour of the text around, so that the page is dark where it stands in a dark one."""
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
UNSEEN: Final = 0.25
"""Percent of values that a chart cannot show: half a point of its height."""
PERCENTILES: Final = ("50", "90", "95", "99", "99.9")


def page(made: dict[str, Any], progress: str = "") -> str:
    """The whole file, from the content of results.json. `progress`: how far a test is that has not ended."""
    title = f"Load test of {made['target']['url']}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main><h1>{escape(title)}</h1>"
        f"{_body(made, progress)}</main></body></html>\n"
    )


def _body(made: dict[str, Any], progress: str) -> str:
    return "".join([_head(made, progress), _verdicts(made), _latencies(made),
                    f'<div class="charts">{_charts(made)}</div>', _failures(made), _definitions(made)])  # fmt: skip


def _head(made: dict[str, Any], progress: str) -> str:
    target, load, counts, rates = made["target"], made["load"], made["counts"], made["rates_per_s"]
    kind = "dim" if progress else "missed" if made["exit_code"] else "met"
    how = f"{load['users']} users" if load["loop"] == "closed" else f"{load['arrivals']} arrivals"
    if load["rate_per_s"]:
        how += f" of {load['rate_per_s']:g}/s"
    return (
        f'<p class="dim">{escape(target["dialect"])}, model {escape(target["model"])}; {escape(how)}, shape '
        f"{escape(load['shape'])}, seed {load['seed']}; {load['measured_s']:g} s measured after {load['warm_up_s']:g} "
        f's of warm-up</p><p class="verdict {kind}">{escape(progress or verdict(made))}</p>'
        f"<p>{counts['requests']} requests, {counts['failures']} failed; {_number(rates['requests'])} answers/s, "
        f"{_number(rates['tokens'])} tokens/s, "
        f"goodput {_number(rates['goodput'])}/s</p>"
    )


def _verdicts(made: dict[str, Any]) -> str:
    rows = [
        (objective["objective"], _number(objective["value"]), "met" if objective["met"] else "missed")
        for objective in made["objectives"]
    ]
    notes = [("in doubt" if doubt["invalid"] else "note", doubt["text"]) for doubt in made["doubts"]]
    return _table("Objectives", ("objective", "measured", ""), rows) + _table(
        "Measurement", ("", ""), notes, words=True
    )


def _latencies(made: dict[str, Any]) -> str:
    rows = [
        (
            name,
            str(row["count"]),
            _number(row["mean"]),
            *(_number(row["percentiles"][percentile]) for percentile in PERCENTILES),
            _number(row["max"]),
        )
        for name, row in made["latencies_ms"].items()
    ]
    return _table(
        "Latencies, ms", ("", "count", "mean", *(f"p{percentile}" for percentile in PERCENTILES), "max"), rows
    )


def _charts(made: dict[str, Any]) -> str:
    parts = [_distribution(made, name) for name in ("TTFT", "ITL") if name in made["latencies_ms"]]
    seconds = made["seconds"]
    if len(seconds) > 1:
        parts += [_over_time(seconds, "ttft_ms", "TTFT"), _over_time(seconds, "gap_ms", "ITL"), _rates(seconds)]
    if made.get("search"):
        parts.append(rate_goodput(made["search"]["steps"]))
    if made["worst_streams"]:
        rows = [(f"{stream['sent_s']:.1f} s", stream["marks_ms"], stream["end_ms"]) for stream in made["worst_streams"]]
        parts.append(waterfall("Longest waits, by when they were sent; a tick for each event", rows))
    return "".join(parts)


def _distribution(made: dict[str, Any], name: str) -> str:
    """The share of values up to each latency; the planned one beside it shows what waiting to be sent hides. The axis
    begins where there is something to see: a few tiny values would take most of a logarithmic one."""
    drawn = [each for each in (name, f"{name} planned") if each in made["latencies_ms"]]
    shares, values = {}, []
    for each in drawn:
        buckets = made["latencies_ms"][each]["buckets"]
        total, below, points = sum(count for _, count in buckets), 0, []
        for value, count in buckets:
            at = max(value, 0.001)
            points += [(at, below / total * 100), (at, (below + count) / total * 100)]
            below += count
        shares[each] = points
        values += [at for at, share in points if share >= UNSEEN] or [at for at, _ in points]
    x = Axis.over("ms", values, logarithmic=True)
    series = [
        Series(each, [(max(at, x.least), share) for at, share in points], dashed=each != name)
        for each, points in shares.items()
    ]
    return lines(f"{name}: share of values up to a latency", x, Axis("%", 0, 100), series)


def _over_time(seconds: Sequence[dict[str, Any]], key: str, name: str) -> str:
    series = []
    for share in (0.5, 0.95, 0.99):
        points = [(float(second["at_s"]), quantile([tuple(pair) for pair in second[key]], share)) for second in seconds]
        series.append(Series(f"p{share * 100:g}", points))
    values = [value for series_item in series for _, value in series_item.points if value is not None]
    x = Axis.over("s", [second["at_s"] for second in seconds])
    return lines(f"{name} over time", x, Axis.over("ms", values, zero=True), series)


def _rates(seconds: Sequence[dict[str, Any]]) -> str:
    answered = [
        {**second, "answers": second["answers"] - second["failures"]} for second in seconds
    ]  # as in answers/s above
    series = [
        Series(name, [(float(each["at_s"]), float(each[key])) for each in answered], dashed=name == "sent")
        for name, key in (("answers", "answers"), ("good", "good"), ("failed", "failures"), ("sent", "sent"))
    ]
    values = [value for series_item in series for _, value in series_item.points if value is not None]
    x = Axis.over("s", [second["at_s"] for second in seconds])
    return lines("Requests of each second", x, Axis.over("/s", values, zero=True), series)


def rate_goodput(steps: Sequence[dict[str, Any]]) -> str:
    """Goodput at each rate that a search tried; the dashed line is where all would be good."""
    ordered = sorted((float(step["rate_per_s"]), float(step["goodput_per_s"])) for step in steps)
    ends = [0.0, max(rate for rate, _ in ordered)]
    series = [Series("goodput", ordered), Series("all good", [(end, end) for end in ends], dashed=True)]
    return lines(
        "Goodput by rate", Axis.over("requests/s", ends), Axis.over("good/s", ends, zero=True), series
    )  # fmt: skip


def _failures(made: dict[str, Any]) -> str:
    failed = [(failure["kind"], str(failure["count"]), failure["first"]) for failure in made["failures"]]
    broken = [(finding["rule"], str(finding["count"]), finding["first"]) for finding in made["conformance"]["findings"]]
    return _table("Failed requests", ("kind", "count", "first"), failed, words=True) + _table(
        f"Broken under load, of {made['conformance']['streams_judged']} streams judged",
        ("rule", "count", "first"),
        broken,
        words=True,
    )


def _definitions(made: dict[str, Any]) -> str:
    items = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in made["definitions"].items()
    )  # fmt: skip
    return f"<h2>Definitions</h2><dl>{items}</dl>"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, words: bool = False) -> str:
    """`words`: the last column holds sentences."""
    if not rows:
        return ""

    def line(tag: str, cells: Sequence[str]) -> str:
        kinds = ["" for _ in cells[:-1]] + [' class="text"' if words else ""]
        inner = (f"<{tag}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    lines_ = "".join(line("td", row) for row in rows)
    return (
        f'<h2>{escape(title)}</h2><div class="table"><table><thead>{line("th", heads)}</thead><tbody>{lines_}</tbody>'
        "</table></div>"
    )


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4g}"
