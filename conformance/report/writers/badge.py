"""A badge: the verdict as a small picture (SVG), for a README, or as what shields.io makes one of."""

from __future__ import annotations

import json
from html import escape
from typing import Any, Final

COLOURS: Final = {"conformant": "#2e7d32", "nonconformant": "#c62828", "inconclusive": "#8d6e00"}
CHARACTER: Final = 6.6  # width of one in the font, roughly; textLength makes it exact
PAD: Final = 8


def write(results: dict[str, Any]) -> str:
    """Dialect on the left; verdict, and how much passed of what was judged, on the right."""
    left, right = _sides(results)
    widths = [round(len(text) * CHARACTER) + 2 * PAD for text in (left, right)]
    total = sum(widths)
    colour = COLOURS[results["verdict"]]
    title = escape(f"{left}: {right}")
    texts = "".join(
        f'<text x="{at + PAD}" y="14" textLength="{width - 2 * PAD}">{escape(text)}</text>'
        for at, width, text in ((0, widths[0], left), (widths[0], widths[1], right))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" aria-label="{title}">'
        f'<title>{title}</title><rect width="{total}" height="20" rx="3" fill="#424242"/>'
        f'<rect x="{widths[0]}" width="{widths[1]}" height="20" rx="3" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{texts}</g></svg>\n'
    )


def endpoint(results: dict[str, Any]) -> str:
    """The same as JSON for `https://img.shields.io/endpoint?url=...`."""
    label, message = _sides(results)
    colour = COLOURS[results["verdict"]].removeprefix("#")
    return json.dumps({"schemaVersion": 1, "label": label, "message": message, "color": colour}) + "\n"


def _sides(results: dict[str, Any]) -> tuple[str, str]:
    counts = results["counts"]
    judged = sum(counts[name] for name in ("PASS", "FAIL", "WARN", "UNTESTABLE"))
    return str(results["target"]["dialect"]), f"{results['verdict']} {counts['PASS']}/{judged}"
