"""Pieces of grammars in llguidance's variant of Lark, for one vocabulary."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ANYTHING = r"(.|\n)*"
ESCAPES = {chr(code): rf"\u{code:04x}" for code in (*range(0x20), 0x7F)} | {'"': r"\"", "\\": r"\\"}
# What means something else inside a regular expression, or ends it.
REGEX_SPECIAL = re.compile(r"([\\/.*+?()\[\]{}|^$])")


class LarkBuilder:
    """How texts are written with a vocabulary. tokens: the control tokens: text -> id.

    No text of a grammar matches a control token: where one is to stand, the grammar names it by its id.
    """

    def __init__(self, tokens: Mapping[str, int]) -> None:
        self._tokens = tokens
        spelt = "|".join(map(re.escape, sorted(tokens, key=len, reverse=True)))
        self._control = re.compile(f"({spelt or '(?!)'})")

    def exact_text(self, text: str) -> str:
        """A text to the letter."""
        pieces = filter(None, self._control.split(text))
        return " ".join(
            f"<[{self._tokens[piece]}]>" if piece in self._tokens else quote_terminal(piece) for piece in pieces
        )

    def any_text_rule(self, rule: str, excluded: Iterable[str] = ()) -> list[str]:
        """A rule for any text in which some texts do not occur."""
        missing = [text for text in excluded if text not in self._tokens]
        without = "".join(f" & ~/{ANYTHING}{escape_regex(text)}{ANYTHING}/" for text in missing)
        return [f"{rule}: {rule.upper()}", f"{rule.upper()}: /{ANYTHING}/{without}"]

    def text_until_rule(self, rule: str, end: str) -> list[str]:
        """A rule for any text up to an end, and the end.

        An end that is no control token has to be part of the terminal: a terminal takes what it can, and a text would
        take the beginning of its end.
        """
        if end in self._tokens:
            text, *terminal = self.any_text_rule(f"{rule}_text")
            return [f"{rule}: {rule}_text {self.exact_text(end)}", text, *terminal]
        return [f"{rule}[suffix={quote_terminal(end)}]: /{ANYTHING}/"]

    @staticmethod
    def join(*parts: str) -> str:
        """Parts of a rule one after the other, without the empty ones."""
        return " ".join(filter(None, parts))


def quote_terminal(text: str) -> str:
    """A text as a terminal: escaped as in JSON, and so is every control character."""
    return '"' + "".join(ESCAPES.get(character, character) for character in text) + '"'


def escape_regex(text: str) -> str:
    """A text inside a regular expression."""
    return REGEX_SPECIAL.sub(r"\\\1", text).replace("\n", r"\n")


def alternatives(rules: Iterable[str]) -> str:
    """Any one of some rules."""
    return " | ".join(rules)
