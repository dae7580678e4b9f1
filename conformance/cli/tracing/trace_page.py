"""Write a page with its coverage as text and as HTML: each line, its sentences, and what judges them."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import TYPE_CHECKING, Final

from conformance.plan.traced_page import LINE_KINDS, sentence_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.plan.traced_page import LineKind, TracedPassage
    from conformance.plan.traced_sentences import TracedSentence
    from openapi.contract.contract import Document

MEANINGS: Final[dict[LineKind, str]] = {
    "judged": "checks judge it",
    "schema": "values made from the contract test it",
    "excluded": "not judged, for the reason given",
    "prose": "states nothing that a server could violate",
    "unmapped": "not mapped",
}
STYLE: Final = """
:root{color-scheme:light dark;background:Canvas;color:CanvasText;--line:#8883;--judged:#2e7d32;--schema:#1565c0;--excluded:#a15c00;--prose:#666;--unmapped:#c62828}
body{font:14px/1.5 system-ui,sans-serif;max-width:90rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.4rem;margin:0}
table{border-collapse:collapse;width:100%;table-layout:fixed}
th,td{vertical-align:top;text-align:left;font-weight:400;border-bottom:1px solid var(--line);padding:.25rem .6rem}
thead th{font-weight:600}th:first-child{width:4.5rem}th:nth-child(2){width:42%}
tbody th{text-align:right;font:12px/1.8 ui-monospace,monospace;border-left:4px solid}
td:nth-child(2){font:12.5px/1.6 ui-monospace,monospace;white-space:pre-wrap}
p{margin:0 0 .3rem}small{opacity:.75}code{font:12px ui-monospace,monospace}b{font-weight:600}
.key span{display:inline-block;margin-right:1.5rem}
@media(prefers-color-scheme:dark){:root{--judged:#a5d6a7;--schema:#90caf9;--excluded:#ffcc80;--prose:#aaa;--unmapped:#ff8a80}}
th.judged{border-left-color:var(--judged)}.judged b{color:var(--judged)}
th.schema{border-left-color:var(--schema)}.schema b{color:var(--schema)}
th.excluded{border-left-color:var(--excluded)}.excluded b{color:var(--excluded)}
th.prose{border-left-color:var(--prose)}.prose b{color:var(--prose)}
th.unmapped{border-left-color:var(--unmapped)}.unmapped b{color:var(--unmapped)}
"""  # noqa: E501 - style sheets have long lines


def write_text(passages: Sequence[TracedPassage]) -> Iterator[str]:
    """Yield the lines of each passage, then its sentences, indented."""
    width = max((len(passage.numbers) for passage in passages), default=0)
    for passage in passages:
        for number, text in zip(passage.lines, passage.texts, strict=False):
            yield f"{number:>{width}}  {text}"
        if not passage.texts:
            yield f"{passage.numbers:>{width}}"
        if passage.reason:
            yield f"{'':>{width}}    {passage.reason}"
        for item in passage.sentences:
            sentence = item.sentence
            yield f"{'':>{width}}    {sentence.keyword.value} {sentence.id}: {sentence.says}"
            yield f"{'':>{width}}      {sentence_kind(item)}: {_format_judges(item)}"


def write_html(document: Document, passages: Sequence[TracedPassage], counts: Mapping[LineKind, int]) -> str:
    """Return the page as one self-contained HTML file without scripts, images or connections."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    key = "".join(
        f'<span class="{kind}"><b>{counts[kind]} {kind}</b> <small>{MEANINGS[kind]}</small></span>'
        for kind in LINE_KINDS
    )
    return "\n".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{escape(document.id)}: coverage</title><style>{STYLE}</style></head><body><main>",
            f"<h1>{escape(document.product)}: {escape(document.title)}</h1>",
            f"<p>Document <code>{escape(document.id)}</code>, sha256 <code>{document.sha256}</code>. "
            "Each line of the page, the sentences that it states in our words, and what judges them.</p>",
            f'<p class="key">{key}</p><table><thead><tr><th scope="col">line</th><th scope="col">text</th>'
            '<th scope="col">sentences and what judges them</th></tr></thead><tbody>',
            *(_row(passage) for passage in passages),
            "</tbody></table></main></body></html>",
        )
    )


def _row(passage: TracedPassage) -> str:
    sentences = "".join(_paragraph(item) for item in passage.sentences)
    covered = sentences or f'<p class="{passage.kind}"><b>{escape(passage.reason or "unmapped")}</b></p>'
    texts = "\n".join(escape(text) for text in passage.texts)
    return (
        f'<tr id="line-{passage.lines[0]}"><th scope="row" class="{passage.kind}">{passage.numbers}</th>'
        f"<td>{texts}</td><td>{covered}</td></tr>"
    )


def _paragraph(item: TracedSentence) -> str:
    sentence = item.sentence
    return (
        f'<p class="{sentence_kind(item)}"><b>{sentence.keyword.value} {escape(sentence.id)}</b> '
        f"{escape(sentence.says)}<br><small>{sentence_kind(item)}: {escape(_format_judges(item))}</small></p>"
    )


def _format_judges(item: TracedSentence) -> str:
    home = item.sentence.home
    return home.excluded or ", ".join((*home.checks, *home.places)) or "nothing"
