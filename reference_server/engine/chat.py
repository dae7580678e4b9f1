"""ChatEncoder: messages to token ids, with what a user wrote kept from becoming control tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tokenizers import AddedToken, Tokenizer

from .protocol import ChatTemplateError

Render = Callable[[list[dict[str, Any]], list[dict[str, Any]] | None, Mapping[str, Any]], str]

PRIVATE_USE = range(0xE000, 0xF900)
ASSISTANT = "assistant"


class ChatEncoder:
    """The prompt of a conversation, up to where the assistant begins.

    render: the checkpoint's chat template, from messages, tools and template arguments to text.
    tokenizer: its added tokens are the control tokens.

    Only the template may write control tokens. Wherever the text of a message or a tool spells one (or ends
    in the beginning of one, which another piece could complete), a private-use mark that the conversation
    does not use is put behind its first character before rendering. The control tokens found after rendering
    are then the template's own; the text between them loses its marks and is encoded without added tokens.

    In the assistant's own messages only special tokens are treated so: the other added tokens (around
    thoughts and tool calls) are what the assistant did say, and templates look for them.
    """

    def __init__(self, render: Render, tokenizer: Tokenizer) -> None:
        self._render = render
        self._tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder()
        self._control_ids = {token.content: token_id for token_id, token in added.items()}
        special = {token.content for token in added.values() if token.special}
        self._all = _Spelling(set(self._control_ids))
        self._special = _Spelling(special)
        self._control = _control_pattern(list(added.values()))
        self._plain = _without_added_tokens(tokenizer)

    def encode(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> list[int]:
        """Token ids; raises ChatTemplateError where the template refuses the messages."""
        mark = _unused_mark([messages, tools])
        marked = [
            _marked(message, self._special if message.get("role") == ASSISTANT else self._all, mark)
            for message in messages
        ]
        try:
            text = self._render(marked, _marked(tools, self._all, mark), template_kwargs or {})
        except Exception as error:  # a template is a program of the checkpoint's author
            raise ChatTemplateError(f"the chat template cannot render the messages: {error}") from error
        if mark not in text:
            ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
            return ids
        return [token_id for piece in self._pieces(text) for token_id in self._encode_piece(piece, mark)]

    def _pieces(self, text: str) -> Iterator[int | str]:
        """Control tokens as ids, and the text between them."""
        end = 0
        for match in self._control.finditer(text):
            if match.start() > end:
                yield text[end : match.start()]
            yield self._control_ids[match[0].strip() if match[0] not in self._control_ids else match[0]]
            end = match.end()
        if end < len(text):
            yield text[end:]

    def _encode_piece(self, piece: int | str, mark: str) -> list[int]:
        if isinstance(piece, int):
            return [piece]
        ids: list[int] = self._plain.encode(piece.replace(mark, ""), add_special_tokens=False).ids
        if not set(self._control_ids.values()).isdisjoint(ids):
            # The model's own vocabulary spells the token too: cut it where it was marked.
            parts = [self._plain.encode(part, add_special_tokens=False).ids for part in piece.split(mark)]
            ids = [token_id for part in parts for token_id in part]
        return ids


class _Spelling:
    """Where a text spells one of some tokens, or ends in the beginning of one."""

    def __init__(self, tokens: set[str]) -> None:
        longest_first = sorted(tokens, key=len, reverse=True)
        self._whole = re.compile("|".join(f"(?={re.escape(token)})" for token in longest_first) or r"(?!)")
        self._beginnings = {token[:length] for token in tokens for length in range(1, len(token))}
        self._longest = max(map(len, tokens), default=0)

    def mark(self, text: str, mark: str) -> str:
        at = {match.start() for match in self._whole.finditer(text)}
        first = max(0, len(text) - self._longest)
        at |= {start for start in range(first, len(text)) if text[start:] in self._beginnings}
        for start in sorted(at, reverse=True):
            text = text[: start + 1] + mark + text[start + 1 :]
        return text


def _marked(value: Any, spelling: _Spelling, mark: str) -> Any:
    """The value with every text in it marked, keys too."""
    match value:
        case str():
            return spelling.mark(value, mark)
        case Mapping():
            items = value.items()
            return {_marked(key, spelling, mark): _marked(item, spelling, mark) for key, item in items}
        case list() | tuple():
            return [_marked(item, spelling, mark) for item in value]
    return value


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for key, item in value.items():
                yield from _texts(key)
                yield from _texts(item)
        case list() | tuple():
            for item in value:
                yield from _texts(item)


def _unused_mark(value: Any) -> str:
    used = {character for text in _texts(value) for character in text if ord(character) in PRIVATE_USE}
    for code in PRIVATE_USE:
        if chr(code) not in used:
            return chr(code)
    raise ChatTemplateError("the conversation uses every private-use character: remove some")


def _control_pattern(tokens: list[AddedToken]) -> re.Pattern[str]:
    """Matches an added token, with the white space that it is said to swallow; the longest token first."""
    parts = [
        (r"\s*" if token.lstrip else "") + re.escape(token.content) + (r"\s*" if token.rstrip else "")
        for token in sorted(tokens, key=lambda token: len(token.content), reverse=True)
    ]
    return re.compile("|".join(parts) or r"(?!)")


def _without_added_tokens(tokenizer: Tokenizer) -> Tokenizer:
    plain = Tokenizer(tokenizer.model)
    if tokenizer.normalizer is not None:
        plain.normalizer = tokenizer.normalizer
    if tokenizer.pre_tokenizer is not None:
        plain.pre_tokenizer = tokenizer.pre_tokenizer
    return plain
