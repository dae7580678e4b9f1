"""Results with strings of a server that attacks the reports."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.tests.conftest import Good

HOSTILE = {
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "cdata": "]]> <![CDATA[ </testsuite>",
    "entity": "&lt; &amp; &x; &#0;",
    "escape": "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b31m",
    "workflow": "\n::error file=x::owned\n::stop-commands::x",
    "markdown": "[link](http://evil.example) ![i](http://evil.example/i.png) @everyone #1 | a | b |",
    "fence": "``` `` ` ~~~",
    "rich": "[red]red[/red] [link=http://evil.example]x[/link] [/]",
    "bidi": "\u202eevil\u202c \u2066x\u2069 \u2028 \u2029",
    "surrogate": "half \ud800 and \udfff",
    "nul": "a\x00b\x08c\x7fd\x85e",
    "long": "x" * 100_000,
    "empty": "",
    "end of script": "</script><script>alert(1)</script>",
    "end of style": "</style><style>*{display:none}",
    "template": "{{ 7*7 }} {% raw %} {# x #}",
    "attribute": "\" onmouseover=alert(1) x='",
    "comment": "--><!-- <svg/onload=alert(1)>",
    "address": "javascript:alert(1)",
    "base": "<base href=//evil.example><meta http-equiv=refresh content=0;url=//evil.example>",
    "form": "</details></main><form action=//evil.example><button>x",
}
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def hostile(good: Good, text: str) -> dict[str, Any]:
    """The results with a hostile string wherever a server can put one."""
    content: dict[str, Any] = json.loads(good.results)
    content["target"]["model"] = text
    content["target"]["url"] = f"http://127.0.0.1/{text}"
    for row in content["requirements"][:6]:
        finding = {"where": f"/{text}", "expected": text, "got": text, "scenario": "a", "exchange": f"a/{text}"}
        row.update(note=text, summary=text, findings=[finding] * 30)
    outcomes = ("FAIL", "WARN", "ERROR", "UNTESTABLE", "OBSERVED", "PASS")
    for row, outcome in zip(content["requirements"][:6], outcomes, strict=True):
        row.update(outcome=outcome, fails=outcome in ("FAIL", "UNTESTABLE"))
    return content


def outside_code(page: str) -> str:
    """The parts of a Markdown page outside of code spans, where text can have an effect."""
    return re.sub(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", page)
