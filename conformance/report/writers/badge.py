"""Draw the verdict as a badge: an SVG image, or the JSON from which shields.io draws one."""

from __future__ import annotations

import json
from html import escape
from typing import Any, Final

COLOURS: Final = {"conformant": "#2e7d32", "nonconformant": "#c62828", "inconclusive": "#8d6e00"}
CHARACTER_WIDTH: Final = 6.6  # approximate; textLength makes the text fit exactly
PADDING: Final = 8


def write(results: dict[str, Any]) -> str:
    """Return an SVG image: the dialect on the left, the verdict and the share of passed requirements on the right."""
    left, right = _labels(results)
    widths = [round(len(text) * CHARACTER_WIDTH) + 2 * PADDING for text in (left, right)]
    total = sum(widths)
    colour = COLOURS[results["verdict"]]
    title = escape(f"{left}: {right}")
    texts = "".join(
        f'<text x="{at + PADDING}" y="14" textLength="{width - 2 * PADDING}">{escape(text)}</text>'
        for at, width, text in ((0, widths[0], left), (widths[0], widths[1], right))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" aria-label="{title}">'
        f'<title>{title}</title><rect width="{total}" height="20" rx="3" fill="#424242"/>'
        f'<rect x="{widths[0]}" width="{widths[1]}" height="20" rx="3" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{texts}</g></svg>\n'
    )


def write_endpoint(results: dict[str, Any]) -> str:
    """Return the same content as JSON for `https://img.shields.io/endpoint?url=...`."""
    label, message = _labels(results)
    colour = COLOURS[results["verdict"]].removeprefix("#")
    return json.dumps({"schemaVersion": 1, "label": label, "message": message, "color": colour}) + "\n"


def _labels(results: dict[str, Any]) -> tuple[str, str]:
    counts = results["counts"]
    judged = sum(counts[name] for name in ("PASS", "FAIL", "WARN", "UNTESTABLE"))
    return str(results["target"]["dialect"]), f"{results['verdict']} {counts['PASS']}/{judged}"
