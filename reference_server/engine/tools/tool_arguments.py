"""Scanners of tool-call arguments that arrive in pieces: they find the end and convert the arguments to JSON."""

from __future__ import annotations

import re
from typing import Final, Protocol

OPENERS: Final = "{["
STRUCTURE: Final = re.compile(r'["{}\[\]]')
STRING_STOP: Final = re.compile(r'["\\]')
WORD: Final = re.compile(r"[\w.+-]+")
KEY: Final = re.compile(r"([^\W\d]\w*)\s*=\s*")
BLANK: Final = re.compile(r"\s*")
PLAIN: Final = re.compile(r"[^\\'\"\x00-\x1f]+")
ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([^xu]))")
MAX_DEPTH: Final = 64  # of nested brackets
MAX_ESCAPE_LENGTH: Final = 6
MAX_WORD_LENGTH: Final = 128  # characters of a name or a number
CONSTANTS: Final = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
SAME_ESCAPES: Final = '"\\/bfnrt'
BRACKETS: Final = {"[": ("[", "]"), "(": ("[", "]"), "{": ("{", "}")}
CLOSERS: Final = {"]": "]", ")": "]", "}": "}"}
SEPARATORS: Final = {",": ", ", ":": ": "}


class ArgumentScanner(Protocol):
    """Scanner of the arguments of one call.

    complete: whether the end was reached.
    invalid: whether the text cannot be arguments.
    """

    complete: bool
    invalid: bool

    def scan(self, text: str, at: int) -> tuple[str, int]:
        """Return (JSON text that is certain, position up to which the text was read)."""


class JsonScanner:
    """Scanner of arguments that are JSON text: one object, starting with its first brace."""

    def __init__(self) -> None:
        self.complete = False
        self.invalid = False
        self._depth = 0
        self._quoted = False
        self._escaped = False  # whether the next character is escaped

    def scan(self, text: str, at: int) -> tuple[str, int]:
        begin = at
        while at < len(text) and not self.complete:
            if self._escaped:
                self._escaped = False
                at += 1
                continue
            match = (STRING_STOP if self._quoted else STRUCTURE).search(text, at)
            if match is None:
                at = len(text)
                break
            at = match.end()
            self._read_structure(match[0])
        return text[begin:at], at

    def _read_structure(self, character: str) -> None:
        if character == "\\":
            self._escaped = True
        elif character == '"':
            self._quoted = not self._quoted
        else:
            self._depth += 1 if character in OPENERS else -1
            self.complete = self._depth == 0


class KeywordScanner:
    """Scanner of arguments as in a Python call, `name=value, ...)`; the closing parenthesis is not consumed.

    Values are those that both Python and JSON have: strings, numbers, Booleans, null, lists and objects.
    """

    def __init__(self) -> None:
        self.complete = False
        self.invalid = False
        self._names = 0
        self._named = False  # whether a value, or a separator after it, is expected
        self._quote = ""
        self._closers: tuple[str, ...] = ()

    def scan(self, text: str, at: int) -> tuple[str, int]:
        written: list[str] = []
        while at < len(text) and not (self.complete or self.invalid):
            if self._quote:
                match = self._read_string(text, at)
            elif self._named:
                match = self._read_value(text, at)
            else:
                match = self._read_name(text, at)
            if match is None:
                break
            piece, at = match
            written.append(piece)
        return "".join(written), at

    def _read_name(self, text: str, at: int) -> tuple[str, int] | None:
        at = BLANK.match(text, at).end()  # type: ignore[union-attr]  # always matches
        if text[at : at + 1] == ")":
            self.complete = True
            return "}" if self._names else "{}", at
        match = KEY.match(text, at, at + MAX_WORD_LENGTH)
        if match is None or match.end() == len(text):
            self.invalid = len(text) - at > MAX_WORD_LENGTH or (at < len(text) and WORD.match(text, at) is None)
            return None
        self._named = True
        self._names += 1
        return f'{"{" if self._names == 1 else ", "}"{match[1]}": ', match.end()

    def _read_value(self, text: str, at: int) -> tuple[str, int] | None:
        character = text[at]
        if character.isspace():
            return "", BLANK.match(text, at).end()  # type: ignore[union-attr]  # always matches
        if character in "'\"":
            self._quote = character
            return '"', at + 1
        if character in BRACKETS:
            opener, closer = BRACKETS[character]
            self.invalid = len(self._closers) == MAX_DEPTH
            self._closers = (*self._closers, closer)
            return opener, at + 1
        if not self._closers and character in ",)":
            self._named = False
            return "", at + (character == ",")
        if character in CLOSERS:
            return self._close(character, at)
        if character in SEPARATORS:
            return SEPARATORS[character], at + 1
        return self._read_word(text, at)

    def _close(self, character: str, at: int) -> tuple[str, int] | None:
        closer = CLOSERS[character]
        if not self._closers or self._closers[-1] != closer:
            self.invalid = True
            return None
        self._closers = self._closers[:-1]
        return closer, at + 1

    def _read_word(self, text: str, at: int) -> tuple[str, int] | None:
        match = WORD.match(text, at, at + MAX_WORD_LENGTH)
        if match is None or len(match[0]) == MAX_WORD_LENGTH:
            self.invalid = True
            return None
        if match.end() == len(text):
            return None  # it may continue
        if match[0] in CONSTANTS:
            return CONSTANTS[match[0]], match.end()
        self.invalid = NUMBER.fullmatch(match[0]) is None
        return None if self.invalid else (match[0], match.end())

    def _read_string(self, text: str, at: int) -> tuple[str, int] | None:
        """Return the next part of a quoted string."""
        if text[at] == self._quote:
            self._quote = ""
            return '"', at + 1
        if plain := PLAIN.match(text, at):
            return plain[0], plain.end()
        if text[at] == '"':
            return '\\"', at + 1
        if text[at] != "\\":
            return (text[at] if text[at] == "'" else f"\\u{ord(text[at]):04x}"), at + 1
        match = ESCAPE.match(text, at)
        if match is None:
            self.invalid = len(text) - at >= MAX_ESCAPE_LENGTH
            return None
        byte, unit, other = match.groups()
        if other is None:
            return f"\\u{byte or unit:0>4}", match.end()
        return self._escape(other), match.end()

    @staticmethod
    def _escape(character: str) -> str:
        """Return the JSON for a character after a backslash; Python keeps the backslash of an unknown escape."""
        if character in SAME_ESCAPES and character != "/":
            return f"\\{character}"
        return character if character == "'" else "" if character == "\n" else f"\\\\{character}"


def create_scanner(arguments: str) -> ArgumentScanner:
    """Return a scanner for this kind of arguments."""
    return SCANNERS[arguments]()


SCANNERS: Final[dict[str, type[ArgumentScanner]]] = {"json": JsonScanner, "keywords": KeywordScanner}
