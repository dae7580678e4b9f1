"""Write messages whose first words look like commands, mentions or variables, which chat programs handle themselves.

At the end of a message the same words mean nothing. A model that reads all of them reads about as many tokens in both;
the loss of one is told from another division into tokens, because each has at least a dozen.
"""

from __future__ import annotations

from typing import Any, Final

FIRST_WORDS: Final = "first-words"
LAST_WORDS: Final = "last-words"
SPARE_TOKENS: Final = 8
"""By how many tokens the prompts may differ; a word has more."""
MARKS: Final = ("@", "!", "#", "$", "%", "\\", ":", "/")
WORD: Final = "kqzvxwjfbdhtgrpmqzkxvwjfbdhtgrpmqzkxvwjf"
"""Letters of which no token has many."""
ASKED: Final = "Which bridge is the oldest one?"
ANSWERED: Final = "It is the one next to the mill."


def write_messages(*, first: bool) -> list[dict[str, Any]]:
    """Return a conversation whose questions begin with the words, or end with them."""
    messages: list[dict[str, Any]] = []
    for place, mark in enumerate(MARKS):
        word = f"{mark}{WORD[place:]}"
        text = f"{word} {ASKED}" if first else f"{ASKED} {word}"
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": ANSWERED}]
    return messages[:-1]
