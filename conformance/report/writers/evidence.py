"""Make the evidence of a finding: the command that repeats the request, and the beginning of the answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_COMMAND: Final = 1500
"""Characters; a longer command is replaced by one that reads the request from the results."""
UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line and paragraph separators, bidirectional controls and lone surrogates."""


def neutralize(text: str, longest: int) -> str:
    """Return the text without unsafe characters, cut to the given length."""
    safe = UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)
    return safe if len(safe) <= longest else f"{safe[:longest]}..."


class ExchangeIndex:
    """Finds exchanges of results.json by their id. They are not all converted at the same time."""

    def __init__(self, exchanges: Sequence[Mapping[str, Any]]) -> None:
        self._exchanges = exchanges
        self._places = {exchange["id"]: at for at, exchange in enumerate(exchanges)}

    def __getitem__(self, identity: str) -> Mapping[str, Any]:
        """Return the exchange with an id."""
        return self._exchanges[self._places[identity]]


def repeat_commands(results: dict[str, Any]) -> dict[str, str]:
    """Return the shell command that repeats each exchange, on one line, by the id of the exchange."""
    return {exchange["id"]: _repeat_command(exchange) for exchange in results["exchanges"]}


def _repeat_command(exchange: Mapping[str, Any]) -> str:
    line = str(exchange["curl"]).replace(" |\n", " | ").replace(" \\\n  ", " ")
    if len(line) > LONGEST_COMMAND or "\n" in line or UNSAFE.search(line):
        return f"chatproof replay results.json --id {exchange['id']}"
    return line


def answer_excerpt(exchange: Mapping[str, Any], longest: int) -> str:
    """Return the status and the beginning of the answer, or the reason why it is missing."""
    response, failure = exchange["response"], exchange["failure"]
    if response is None:
        return f"no answer: {failure['detail']}" if failure else "no answer"
    text = ""
    for _, data in response["segments"]:
        text += data if isinstance(data, str) else f"[{len(data['base64'])} base64 characters that are not UTF-8]"
        if len(text) > longest:
            break
    cut = f"\n(cut: {failure['detail']})" if failure else ""
    return neutralize(f"{response['status']}\n{text}", longest) + cut
