"""Conversion of chat messages to token ids, in which user text cannot become control tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tokenizers import AddedToken, Tokenizer

from reference_server.engine.protocol import ChatTemplateError

Render = Callable[[list[dict[str, Any]], list[dict[str, Any]] | None, Mapping[str, Any]], str]

PRIVATE_USE = re.compile("[\ue000-\uf8ff]")
ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class RenderedChat:
    """The text that a chat template made of a conversation, with marks in the user's text.

    is_surrounded: whether the request wants the tokens that the tokenizer puts around any text; None: it does not say.
    """

    encoder: ChatEncoder
    text: str
    mark: str
    is_surrounded: bool | None

    def encode(self, text: str | None = None, *, is_surrounded: bool = False) -> list[int]:
        """Return the tokens of the text, or of one made of it; raise ChatTemplateError.

        is_surrounded: if the request does not say it.
        """
        if self.is_surrounded is not None:
            is_surrounded = self.is_surrounded
        return self.encoder.tokenize(self.text if text is None else text, self.mark, is_surrounded=is_surrounded)


class ChatEncoder:
    """Encoder of conversations, up to the start of the assistant's turn.

    render: the checkpoint's chat template, from messages, tools and template arguments to text.
    tokenizer: its added tokens are the control tokens.

    Only the template may write control tokens. Where a string of a message, a tool or a template argument contains one,
    or ends in the beginning of one that the next string could complete, a private-use character that the conversation
    does not contain is inserted as a mark after its first character before rendering. The control tokens in the
    rendered text are then the template's own; the text between them is encoded without added tokens after its marks are
    removed. (transformers' `sanitize_control_tokens` ignores keys and tokens joined from parts, and drops its marks
    from the user's text.)

    In the assistant's own messages only special tokens are marked: the other added tokens (around reasoning and tool
    calls) are the assistant's own output, and templates look for them.
    """

    def __init__(self, render: Render, tokenizer: Tokenizer) -> None:
        self._render = render
        self._tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder()
        control = [token for token in added.values() if token.special or not token.content.isspace()]
        self._control_ids = {token.content: token_id for token_id, token in added.items() if token in control}
        self._all = _TokenMarker({token.content for token in control})
        self._special = _TokenMarker({token.content for token in control if token.special})
        self._control_pattern = _control_pattern(control)
        self._plain = _remove_added_tokens(tokenizer)
        self._surrounding = _find_surrounding_tokens(tokenizer)

    def encode(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> list[int]:
        """Return token ids; raise ChatTemplateError if the messages cannot be rendered or encoded.

        template_kwargs: arguments of the template, except `add_special_tokens`: whether to add the tokens that the
            tokenizer puts around any text.
        """
        return self.render(messages, tools, template_kwargs).encode()

    def render(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> RenderedChat:
        """Return the text of the chat template; raise ChatTemplateError. For the arguments see `encode`."""
        options = dict(template_kwargs or {})
        is_surrounded: bool | None = options.pop("add_special_tokens", None)
        try:
            mark = _unused_mark([messages, tools, options])
            text = self._render(
                [self._mark_message(message, mark) for message in messages],
                _mark_strings(tools, self._all, mark),
                _mark_strings(options, self._all, mark),
            )
            text.encode()  # raises for a lone surrogate
        except Exception as error:  # a template can raise any exception
            raise ChatTemplateError(f"the chat template cannot render the messages: {error}") from error
        return RenderedChat(self, text, mark, is_surrounded)

    def tokenize(self, text: str, mark: str, *, is_surrounded: bool) -> list[int]:
        """Return the tokens of a rendered text, in which the marks have not been changed.

        is_surrounded: whether to add the tokens that the tokenizer puts around any text.
        """
        before, after = self._surrounding if is_surrounded else ([], [])
        if mark in text:
            ids = [token_id for piece in self._split(text, mark) for token_id in self._encode_piece(piece, mark)]
        else:
            ids = _encode_text(self._tokenizer, text)
        return [*before, *ids, *after]

    def _mark_message(self, message: dict[str, Any], mark: str) -> Any:
        return _mark_strings(message, self._special if message.get("role") == ASSISTANT else self._all, mark)

    def _split(self, text: str, mark: str) -> Iterator[int | str]:
        """Yield the template's control tokens as ids, and the text between them."""
        end = 0
        for match in re.finditer(f"{self._control_pattern}(?!{mark})", text):
            if match.start() > end:
                yield text[end : match.start()]
            yield self._control_ids[match[0] if match[0] in self._control_ids else match[0].strip()]
            end = match.end()
        if end < len(text):
            yield text[end:]

    def _encode_piece(self, piece: int | str, mark: str) -> list[int]:
        if isinstance(piece, int):
            return [piece]
        ids = _encode_text(self._plain, piece.replace(mark, ""))
        if set(self._control_ids.values()).isdisjoint(ids):
            return ids
        # The model's own vocabulary contains the control token too: split the text at the marks.
        parts = [_encode_text(self._plain, part) for part in piece.split(mark)]
        return [token_id for part in parts for token_id in part]


class _TokenMarker:
    """Marker of places where a string contains one of some tokens, or ends in the beginning of one."""

    def __init__(self, tokens: set[str]) -> None:
        self._whole = re.compile(f"(?={_any_of(tokens)})")
        self._beginnings = {token[:length] for token in tokens for length in range(1, len(token))}
        self._longest = max(map(len, tokens), default=0)

    def mark(self, text: str, mark: str) -> str:
        """Return the string with a mark after the first character of each place."""
        at = {match.start() for match in self._whole.finditer(text)}
        first = max(0, len(text) - self._longest)
        at |= {start for start in range(first, len(text)) if text[start:] in self._beginnings}
        bounds = [0, *(start + 1 for start in sorted(at)), len(text)]
        return mark.join(text[begin:end] for begin, end in pairwise(bounds))


def _mark_strings(value: Any, marker: _TokenMarker, mark: str) -> Any:
    """Return the value with every string in it marked, including keys."""
    match value:
        case str():
            return marker.mark(value, mark)
        case Mapping():
            items = value.items()
            return {_mark_strings(key, marker, mark): _mark_strings(item, marker, mark) for key, item in items}
        case list() | tuple():
            return [_mark_strings(item, marker, mark) for item in value]
    return value


def count_characters(value: Any) -> int:
    """Return the number of characters in all strings of a value, without keys."""
    count, pending = 0, [value]
    while pending:
        match pending.pop():
            case str() as text:
                count += len(text)
            case dict() as fields:
                pending.extend(fields.values())
            case list() as items:
                pending.extend(items)
    return count


def _iter_strings(value: Any) -> Iterator[str]:
    """Yield every string in a value, including keys."""
    match value:
        case str():
            yield value
        case Mapping():
            for key, item in value.items():
                yield from _iter_strings(key)
                yield from _iter_strings(item)
        case list() | tuple():
            for item in value:
                yield from _iter_strings(item)


def _unused_mark(value: Any) -> str:
    """Return a private-use character that the value does not contain."""
    used = {character for text in _iter_strings(value) for character in PRIVATE_USE.findall(text)}
    for code in range(0xE000, 0xF900):
        if chr(code) not in used:
            return chr(code)
    raise ChatTemplateError("the conversation contains every private-use character: remove some")


def _any_of(texts: Iterable[str]) -> str:
    """Return a pattern that matches any of the strings, longest first; without strings it matches nothing."""
    return f"(?:{'|'.join(map(re.escape, sorted(texts, key=len, reverse=True))) or '(?!)'})"


def _control_pattern(tokens: list[AddedToken]) -> str:
    """Return a pattern for added tokens, with the white space that a token is configured to strip."""
    parts = [
        (r"\s*+" if token.lstrip else "") + re.escape(token.content) + (r"\s*+" if token.rstrip else "")
        for token in sorted(tokens, key=lambda token: len(token.content), reverse=True)
    ]
    return f"(?:{'|'.join(parts) or '(?!)'})"


def _remove_added_tokens(tokenizer: Tokenizer) -> Tokenizer:
    """Return a copy of the tokenizer without added tokens."""
    plain = Tokenizer(tokenizer.model)
    if tokenizer.normalizer is not None:
        plain.normalizer = tokenizer.normalizer
    if tokenizer.pre_tokenizer is not None:
        plain.pre_tokenizer = tokenizer.pre_tokenizer
    return plain


def _find_surrounding_tokens(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Return the tokens that a tokenizer adds in front of and after its input."""
    bare, whole = (tokenizer.encode("a", add_special_tokens=added).ids for added in (False, True))
    begin = next(at for at in range(len(whole)) if whole[at : at + len(bare)] == bare)
    return whole[:begin], whole[begin + len(bare) :]


def _encode_text(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return token ids.

    The text is encoded as a batch of one, because the call for a single text keeps the GIL: a prompt of megabytes would
    stall every stream for seconds.
    """
    ids: list[int] = tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids
    return ids
