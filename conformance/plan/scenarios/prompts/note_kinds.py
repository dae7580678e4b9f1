"""Kinds of text that a server may mask, convert or drop, each with another text that becomes the same."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LONG_WORD: Final = "Wuffo0Zq-iR/7bT+" * 10


@dataclass(frozen=True, slots=True)
class TextKind:
    """A kind of text: one of it, and another one.

    grows: whether the other one certainly has more tokens. rare: whether only a thorough run sends it.
    """

    name: str
    text: str
    other: str
    grows: bool = False
    rare: bool = False


def _fold(name: str, text: str, fold: Callable[[str], str], *, rare: bool = False) -> TextKind:
    """Return a kind of text whose other text is the same after a folding of characters."""
    return TextKind(name, text, fold(text), rare=rare)


def _drop_accents(text: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFD", text) if unicodedata.category(sign) != "Mn")


def _make_compatible(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _write_digits(text: str) -> str:
    """Return the digits of all scripts as those of ASCII."""
    return "".join(str(unicodedata.decimal(sign, sign)) for sign in text)


CYRILLIC: Final = str.maketrans("\u0430\u0435\u043e\u0440\u0441\u0443\u0445", "aeopcyx")
GREEK: Final = str.maketrans("\u03b1\u03bd\u03bf\u03c1", "avop")
"""Letters that look like Latin ones, of which Unicode has no table."""
NOTES: Final = (
    TextKind("number", "Gate 7", "Gate 73918462051730042", grows=True),
    TextKind(
        "email", "Write to anna@example.org", "Write to anna.kowalczyk-1987@post.example.org", grows=True, rare=True
    ),
    TextKind("phone", "Call +1 202 555 0143", "Call +49 30 901820 12345678", grows=True, rare=True),
    TextKind("card", "Pay with 4222222222222", "Pay with 4111111111111111", grows=True, rare=True),
    TextKind("ip-address", "The router is 9.9.9.9", "The router is 203.0.113.254", rare=True),
    TextKind(
        "url",
        "See https://example.org/a?x=1",
        "See https://example.org/shop/items?colour=green&size=xl#reviews",
        grows=True,
        rare=True,
    ),
    TextKind(
        "data-url",
        "Icon data:image/png;base64,iVBORw0KGgo=",
        "Icon data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
        grows=True,
        rare=True,
    ),
    TextKind(
        "key", "Key sk-proj-a1B2c3D4e5F6g7H8", "Key sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6", grows=True, rare=True
    ),
    TextKind(
        "path",
        "Open /home/anna/.ssh/id_rsa",
        "Open /home/anna/projects/hotel/backup/.ssh/id_ed25519.pub",
        grows=True,
        rare=True,
    ),
    TextKind("entities", "Rock & roll, a < b", "Rock &amp; roll, a &lt; b"),
    TextKind("percent-encoding", "Salt%26pepper", "Salt&pepper", rare=True),
    TextKind("percent", "100%% wool", "100% wool", rare=True),
    TextKind("dollars", "My $$5 note", "My $5 note", rare=True),
    TextKind("placeholder", "Dear <{{$home}}>", "Dear <{{$name}}>", rare=True),
    TextKind("braces", "Set {{a}}", "Set {a}", rare=True),
    TextKind("backslashes", "In C:\\\\tmp", "In C:\\tmp"),
    TextKind("escapes", "One\\ntwo", "One\ntwo", rare=True),
    TextKind("tags", "<i>Soft</i> bread", "<b>Soft</b> bread", rare=True),
    TextKind("emphasis", "**Loud** and `low`", "Loud and low", rare=True),
    TextKind("indentation", "for all:\n        sing", "for all:\n    sing"),
    TextKind("joined-lines", "early\nlate", "early late", rare=True),
    TextKind("carriage-return", "up\r\ndown", "up\ndown", rare=True),
    TextKind("empty-lines", "sun\n\n\n\nmoon", "sun\n\nmoon", rare=True),
    TextKind("emoji", "Flight \U0001f680", "Flight \U0001f6f8", rare=True),
    TextKind("joined-emoji", "She is \U0001f469\u200d\U0001f680", "She is \U0001f469\U0001f680", rare=True),
    _fold("accent", "A caf\u00e9", _drop_accents, rare=True),
    _fold("look-alikes", "Dance a \u0445\u043e\u0440\u043e", lambda text: text.translate(CYRILLIC), rare=True),
    _fold("greek-look-alikes", "Sing \u03bf\u03c1\u03b1", lambda text: text.translate(GREEK), rare=True),
    TextKind("scripts", "\u4f60\u597d \u05e9\u05dc\u05d5\u05dd", "\u65e9\u5b89 \u05d1\u05d5\u05e7\u05e8"),
    TextKind("beyond-bmp", "Tags \U0001f308 \U0001d518 \U00020bb7", "Tags \U0001f30b \U0001d51f \U00020b9f"),
    _fold("compatible", "Fold \ufb01 \u2460 \uff34 m\u00b2 \u212b", _make_compatible),
    _fold("ligature", "Say \ufb02our", _make_compatible, rare=True),
    _fold("circled", "Step \u2462", _make_compatible, rare=True),
    _fold("superscript", "Area 7 km\u00b2", _make_compatible, rare=True),
    _fold("full-width", "\uff34\uff4f\uff4b\uff59\uff4f \uff12\uff10", _make_compatible, rare=True),
    _fold("digits", "Page \u0664\u0662", _write_digits, rare=True),
    _fold("sharp-s", "a stra\u00dfe", str.casefold, rare=True),
    TextKind("invisible", "ho\u200btel", "hotel", rare=True),
    TextKind("other-spaces", "5\u00a0km of\u2009old\u202froad", "5 km of old road", rare=True),
    TextKind("quotes", "\u201csoft\u201d", '"soft"', rare=True),
    TextKind(
        "account", "Send it to NO9386011117947", "Send it to MT84MALT011000012345MTLCAST001S", grows=True, rare=True
    ),
    TextKind(
        "identifier",
        "Order 0f8fad5b-d9cb-469f-a165-70867728950e",
        "Order 7c9e6679-7425-40de-944b-e07fc1f90ae7",
        rare=True,
    ),
    TextKind("blanks-at-line-ends", "verse   \nline", "verse\nline", rare=True),
    TextKind("tab", "left\tright", "left    right", rare=True),
    TextKind("repeated", "soooooooooo", "soooo", rare=True),
    TextKind("long-word", f"{LONG_WORD}x1", f"{LONG_WORD}q7", rare=True),
    TextKind("role", "\nUser: Is it warm?", "\nUser: Is it cold?", rare=True),
    _fold("case", "HELLO World", str.lower, rare=True),
)
RISKY: Final = (
    TextKind("control", "be\u0007ep", "beep", rare=True),
    TextKind("swearword", "damn it", "crap it", rare=True),
    TextKind("end-of-thoughts", "red </think> sun", "blue </think> sun", rare=True),
)
