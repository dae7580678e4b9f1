"""What is made of deltas in a dialect: chunks of a stream, and the heading of an answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from openapi.contract.contract import load, names
from reference_server.answer.chunks import ChunkWriter
from reference_server.answer.response_fields import Heading
from reference_server.engine import Delta, SamplingParams
from reference_server.request.response_options import Telling

if TYPE_CHECKING:
    from collections.abc import Iterable

DIALECTS = sorted(set(names().values()))

TEXTS = ("The", " ", "end", ".", "")


def heading(dialect: str) -> Heading:
    prefix = load(dialect).answer.id_prefix
    return Heading(None if prefix is None else f"{prefix}8", 1_729_614_610, "tiny")


def stream_of(
    dialect: str,
    said: Iterable[Delta],
    params: SamplingParams | None = None,
    *,
    full_text: bool = False,
    usage: bool = False,
    telling: Telling | None = None,
) -> list[dict[str, Any]]:
    params = params or SamplingParams()
    counted = SimpleNamespace(prompt_tokens=54)
    told = telling or Telling(usage=usage)
    writer = ChunkWriter(load(dialect), heading(dialect), counted, params, full_text=full_text, telling=told)
    opening = list(writer.opening())
    return [*opening, *(chunk for delta in said for chunk in writer.add(delta)), *writer.closing()]


def content(chunk: dict[str, Any]) -> str:
    text: str = chunk["choices"][0]["delta"]["content"]
    return text
