"""Faults in which texts of one kind reach the model in another form: masked, filtered or normalized."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from reference_server.faults.topics.prompt.texts import converted

if TYPE_CHECKING:
    from reference_server.faults.fault import Fault

PATTERNS: Final = {
    "phone-numbers": r"\+\d[\d ]{7,}\d",
    "cards": r"\b\d{13,16}\b",
    "account-numbers": r"\b[A-Z]{2}\d{2}[A-Z0-9]{11,30}\b",
    "ip-addresses": r"\b\d{1,3}(?:\.\d{1,3}){3}\b",
    "links": r"https?://[^\s]+",
    "keys": r"\bsk-[\w-]{16,}",
    "identifiers": r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
    "paths": r"(?:/[\w.-]+){3,}",
}
"""What filters of personal data look for."""
BAD_WORDS: Final = re.compile(r"\b(damn|crap|hell)\b", re.IGNORECASE)
LONGEST_WORD: Final = 100
LAST_OF_BMP: Final = 0xFFFF


def _masked(kind: str) -> Fault:
    """Make a fault that writes a placeholder in place of one kind of text."""
    pattern, placeholder = re.compile(PATTERNS[kind]), f"[{kind.upper()}]"
    return converted(
        f"{kind}-in-messages-masked",
        lambda text: pattern.sub(placeholder, text),
        f"A placeholder reaches the model in place of {kind.replace('-', ' ')} in messages.",
    )


phone_numbers_masked = _masked("phone-numbers")
cards_masked = _masked("cards")
account_numbers_masked = _masked("account-numbers")
ip_addresses_masked = _masked("ip-addresses")
links_masked = _masked("links")
keys_masked = _masked("keys")
identifiers_masked = _masked("identifiers")
paths_masked = _masked("paths")
words_censored = converted(
    "swearwords-in-messages-censored",
    lambda text: BAD_WORDS.sub(lambda found: "*" * len(found[0]), text),
    "Swearwords in messages become asterisks.",
)
compatible_letters = converted(
    "prompt-letters-made-compatible",
    lambda text: unicodedata.normalize("NFKC", text),
    "Full-width letters of messages become usual ones.",
)
beyond_bmp_replaced = converted(
    "prompt-characters-beyond-bmp-replaced",
    lambda text: "".join(letter if ord(letter) <= LAST_OF_BMP else "?" for letter in text),
    "Characters of messages beyond the basic plane become question marks.",
)
invisible_removed = converted(
    "prompt-invisible-characters-removed",
    lambda text: "".join(letter for letter in text if unicodedata.category(letter) != "Cf"),
    "Characters without a width are removed from messages.",
)
control_removed = converted(
    "prompt-control-characters-removed",
    lambda text: "".join(letter for letter in text if letter in "\t\r\n" or unicodedata.category(letter) != "Cc"),
    "Control characters are removed from messages.",
)
lower_case = converted("prompt-in-lower-case", str.lower, "Messages are read in lower case.")
quotes_straightened = converted(
    "prompt-quotes-straightened",
    lambda text: text.translate(dict.fromkeys(map(ord, "\u201c\u201d"), '"')),
    "Curly quotes in messages become straight ones.",
)
emphasis_stripped = converted(
    "prompt-emphasis-stripped",
    lambda text: re.sub(r"\*\*|`", "", text),
    "Asterisks and backticks of Markdown are removed from messages.",
)
repetitions_shortened = converted(
    "prompt-repetitions-shortened",
    lambda text: re.sub(r"(\w)\1{3,}", r"\1\1\1", text),
    "A letter that is repeated in a message is read three times at most.",
)
empty_lines_dropped = converted(
    "prompt-empty-lines-dropped", lambda text: re.sub(r"\n{2,}", "\n", text), "Empty lines of messages are dropped."
)
tabs_expanded = converted(
    "prompt-tabs-expanded", lambda text: text.replace("\t", "    "), "Tabs in messages become four spaces."
)
long_words_cut = converted(
    "prompt-long-words-cut",
    lambda text: re.sub(rf"(\S{{{LONGEST_WORD}}})\S+", r"\1", text),
    "Words of messages end after 100 characters.",
)
roles_cut = converted(
    "prompt-cut-at-roles",
    lambda text: re.sub(r"\n(User|Human|Assistant):.*", "", text),
    "Lines of messages that begin with the name of a role are dropped.",
)
digits_of_ascii = converted(
    "prompt-digits-made-ascii",
    lambda text: "".join(str(unicodedata.decimal(sign, sign)) for sign in text),
    "Digits of other scripts in messages become those of ASCII.",
)
mentions_removed = converted(
    "mentions-in-messages-removed",
    lambda text: re.sub(r"\A@\w+\s+(?=\S)", "", text),
    "A name with @ at the beginning of a message is removed.",
)
