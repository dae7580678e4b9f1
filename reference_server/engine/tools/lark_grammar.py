"""Parts of grammars in llguidance's variant of Lark, for one vocabulary."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ANYTHING = r"(.|\n)*"
ESCAPES = {chr(code): rf"\u{code:04x}" for code in (*range(0x20), 0x7F)} | {'"': r"\"", "\\": r"\\"}
# Characters with a special meaning in a regular expression, or that end it.
REGEX_SPECIAL = re.compile(r"([\\/.*+?()\[\]{}|^$])")


class LarkBuilder:
    """Builder of terminals and rules. tokens: ids of the control tokens by their text.

    No text in a grammar matches a control token: to allow one, the grammar must refer to its id.
    """

    def __init__(self, tokens: Mapping[str, int]) -> None:
        self._tokens = tokens
        spelt = "|".join(map(re.escape, sorted(tokens, key=len, reverse=True)))
        self._control = re.compile(f"({spelt or '(?!)'})")

    def exact_text(self, text: str) -> str:
        """Return an expression for exactly this text."""
        pieces = filter(None, self._control.split(text))
        return " ".join(
            f"<[{self._tokens[piece]}]>" if piece in self._tokens else quote_terminal(piece) for piece in pieces
        )

    def any_text_rule(self, rule: str, excluded: Iterable[str] = ()) -> list[str]:
        """Return a rule for any text that contains none of some strings."""
        missing = [text for text in excluded if text not in self._tokens]
        without = "".join(f" & ~/{ANYTHING}{escape_regex(text)}{ANYTHING}/" for text in missing)
        return [f"{rule}: {rule.upper()}", f"{rule.upper()}: /{ANYTHING}/{without}"]

    def text_until_rule(self, rule: str, end: str) -> list[str]:
        """Return a rule for any text up to and including an end.

        An end that is not a control token must be part of the terminal: terminals are greedy, and the text would
        include the beginning of its end.
        """
        if end in self._tokens:
            text, *terminal = self.any_text_rule(f"{rule}_text")
            return [f"{rule}: {rule}_text {self.exact_text(end)}", text, *terminal]
        return [f"{rule}[suffix={quote_terminal(end)}]: /{ANYTHING}/"]

    @staticmethod
    def join(*parts: str) -> str:
        """Return a sequence of the non-empty parts."""
        return " ".join(filter(None, parts))


def quote_terminal(text: str) -> str:
    """Return a string as a terminal, escaped as in JSON, including all control characters."""
    return '"' + "".join(ESCAPES.get(character, character) for character in text) + '"'


def escape_regex(text: str) -> str:
    """Return a string escaped for a regular expression."""
    return REGEX_SPECIAL.sub(r"\\\1", text).replace("\n", r"\n")


def alternatives(rules: Iterable[str]) -> str:
    """Return a choice between rules."""
    return " | ".join(rules)
