"""Helpers that render deltas in a dialect: the chunks of a stream, and the metadata of a response."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from openapi.contract.contract import load, names
from reference_server.answer.chunks import ChunkWriter
from reference_server.answer.response_fields import AnswerMetadata
from reference_server.engine import Delta, SamplingParams
from reference_server.request.response_options import ResponseOptions

if TYPE_CHECKING:
    from collections.abc import Iterable

DIALECTS = sorted(set(names().values()))

TEXTS = ("The", " ", "end", ".", "")


def metadata(dialect: str) -> AnswerMetadata:
    prefix = load(dialect).answer.id_prefix
    return AnswerMetadata(None if prefix is None else f"{prefix}8", 1_729_614_610, "tiny")


def render_stream(
    dialect: str,
    deltas: Iterable[Delta],
    params: SamplingParams | None = None,
    *,
    full_text: bool = False,
    usage: bool = False,
    options: ResponseOptions | None = None,
) -> list[dict[str, Any]]:
    params = params or SamplingParams()
    prompt = SimpleNamespace(prompt_tokens=54)
    options = options or ResponseOptions(usage=usage)
    writer = ChunkWriter(load(dialect), metadata(dialect), prompt, params, full_text=full_text, options=options)
    opening = list(writer.opening_chunks())
    return [*opening, *(chunk for delta in deltas for chunk in writer.add(delta)), *writer.closing_chunks()]


def content(chunk: dict[str, Any]) -> str:
    text: str = chunk["choices"][0]["delta"]["content"]
    return text
