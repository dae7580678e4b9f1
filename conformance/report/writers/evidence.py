"""Evidence: what a report shows beside a finding: the command that repeats the request, and the answer's beginning."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_COMMAND: Final = 1500
"""Characters; a longer command is replaced by the one that takes the request from the results."""
HIDDEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def inert(text: str, longest: int) -> str:
    """A text without the characters that act or hide, no longer than that."""
    shown = HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
    return shown if len(shown) <= longest else f"{shown[:longest]}..."


def commands(results: dict[str, Any]) -> dict[str, str]:
    """The shell command of each exchange, on one line."""
    return {exchange["id"]: _command(exchange) for exchange in results["exchanges"]}


def _command(exchange: Mapping[str, Any]) -> str:
    line = str(exchange["curl"]).replace(" |\n", " | ").replace(" \\\n  ", " ")
    if len(line) > LONGEST_COMMAND or "\n" in line or HIDDEN.search(line):
        return f"chatproof replay results.json --id {exchange['id']}"
    return line


def answer(exchange: Mapping[str, Any], longest: int) -> str:
    """Status and beginning of the answer; why there is none."""
    response, failure = exchange["response"], exchange["failure"]
    if response is None:
        return f"no answer: {failure['detail']}" if failure else "no answer"
    text = ""
    for _, data in response["segments"]:
        text += data if isinstance(data, str) else f"[{len(data['base64'])} base64 characters that are not UTF-8]"
        if len(text) > longest:
            break
    cut = f"\n(cut: {failure['detail']})" if failure else ""
    return inert(f"{response['status']}\n{text}", longest) + cut
