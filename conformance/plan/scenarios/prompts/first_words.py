"""Write messages with words that programs handle in place of the model: like commands, or within markup.

Chat programs handle first words that look like commands, mentions or variables; at the end of a message the same words
mean nothing. Filters remove, fill or mask what is within tags, links, placeholders and secrets; next to them the same
words are plain text. A model that reads all of them reads about as many tokens in both; the loss of one is told from
another division into tokens, because each has at least twenty tokens in the vocabularies of known models.
"""

from __future__ import annotations

from typing import Any, Final

FIRST_WORDS: Final = "first-words"
LAST_WORDS: Final = "last-words"
SPARE_TOKENS: Final = 12
"""By how many tokens the prompts may differ; a word has more."""
MARKS: Final = ("@", "!", "#", "$", "%", "\\", ":", "/")
WORD: Final = "kqzvxwjfbdhtgrpmqzkxvwjfbdhtgrpmqzkxvwjf"
"""Letters of which no token has many."""
SHORT_WORD: Final = "note"
WITHIN: Final = (
    '<b title="{}">',
    "<!-- {} -->",
    "<script>{}</script>",
    "<?{}?>",
    "https://example.org/{}",
    "{}@example.org",
    "![sea]({})",
    "{{{{ {} }}}}",
    "{{% {} %}}",
    "${{{}}}",
    "$({})",
    "%({})s",
    "<%= {} %>",
    "[[{}]]",
    "data:image/png;base64,{}",
    "sk-{}",
    "/home/{}/.ssh",
    "/* {} */",
    "`{}`",
    "[INST]{}[/INST]",
    "<think>{}</think>",
)
"""Markup, links, placeholders, secrets and comments, as format strings with a place for a word.

What is written like a special token is not among them, because a server may remove it.
"""
ASKED: Final = "Which bridge is the oldest one?"
ANSWERED: Final = "It is the one next to the mill."


def write_messages(*, first: bool) -> list[dict[str, Any]]:
    """Return a conversation whose questions begin with the words, or end with them.

    The message in front of them has words within markup, and a short word next to each, or the reverse.
    """
    texts = [_write_marked(within=first)]
    for place, mark in enumerate(MARKS):
        word = f"{mark}{_rotate(place)}"
        texts.append(f"{word} {ASKED}" if first else f"{ASKED} {word}")
    messages: list[dict[str, Any]] = []
    for text in texts:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": ANSWERED}]
    return messages[:-1]


def _write_marked(*, within: bool) -> str:
    """Return a line for each kind of markup, with a long word within it and a short one behind it, or the reverse."""
    lines: list[str] = []
    for place, form in enumerate(WITHIN, len(MARKS)):
        words = (_rotate(place), SHORT_WORD)
        inner, outer = words if within else reversed(words)
        lines.append(f"Read {form.format(inner)} {outer}")
    return "\n".join([*lines, ASKED])


def _rotate(place: int) -> str:
    """Return the letters in another order for each place, so that no two words are equal."""
    return f"{WORD[place:]}{WORD[:place]}"
