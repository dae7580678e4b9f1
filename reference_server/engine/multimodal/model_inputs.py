"""Inputs of a model that belong to media, under token ids of their own.

As for embeddings, a prompt stays a list of numbers: the ids of the positions of media are greater than those of any
vocabulary. They name the inputs that a processor made of the media, and the tokens that it wrote for them.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from reference_server.engine.multimodal.embeddings import (
    FIRST_ID,
    HASH_BITS,
    OFFSET_BITS,
    MediaPrompt,
    find_first_id,
    is_media_id,
)
from reference_server.engine.protocol import ChatTemplateError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from collections.abc import Sequence as Seq


class ModelInputs:
    """What a processor made of the media of one prompt.

    tokens: of the positions of media, in order.
    arguments: tensors that the first pass over the prompt takes, by their names.
    """

    def __init__(self, tokens: Seq[int], arguments: Mapping[str, Any]) -> None:
        self.tokens = tuple(tokens)
        self.arguments = dict(arguments)


class InputTable:
    """The inputs of all prompts that exist. Threads may share it.

    token_ids: tokens that a processor writes for positions of media.
    """

    def __init__(self, token_ids: Collection[int]) -> None:
        self._token_ids = frozenset(token_ids)
        self._inputs: WeakValueDictionary[int, ModelInputs] = WeakValueDictionary()

    def add(self, ids: Seq[int], arguments: Mapping[str, Any]) -> MediaPrompt:
        """Return a prompt for the tokens and the other inputs that a processor returned; raise ChatTemplateError."""
        tokens = [token_id for token_id in ids if token_id in self._token_ids]
        if not tokens:
            raise ChatTemplateError("the processor wrote no tokens for the media")
        if len(tokens) > 1 << OFFSET_BITS:
            raise ChatTemplateError(f"the media take {len(tokens)} tokens: at most {1 << OFFSET_BITS} are supported")
        first_id = FIRST_ID + (secrets.randbits(HASH_BITS) << OFFSET_BITS)
        inputs = ModelInputs(tokens, arguments)
        self._inputs[first_id] = inputs
        positions = iter(range(first_id, first_id + len(tokens)))
        return MediaPrompt(
            [next(positions) if token_id in self._token_ids else token_id for token_id in ids], [inputs], is_whole=True
        )

    def find(self, ids: Seq[int]) -> ModelInputs | None:
        """Return the inputs that the ids of a prompt name; None for text."""
        named = next(filter(is_media_id, ids), None)
        return None if named is None else self._inputs[find_first_id(named)]

    def contains(self, token_id: int) -> bool:
        """Return whether the inputs that an id names exist."""
        return find_first_id(token_id) in self._inputs

    def as_tokens(self, ids: Seq[int]) -> list[int]:
        """Return the ids with the processor's own tokens for the positions of media."""
        inputs = self.find(ids)
        if inputs is None:
            return list(ids)
        return [
            inputs.tokens[token_id - find_first_id(token_id)] if is_media_id(token_id) else token_id for token_id in ids
        ]
