"""What encodes the media of a vision-language checkpoint: its own description, its processor, or nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from reference_server.engine.multimodal.encoder import (
    MediaEncoder,
    extract_language_model,
    reads_described_inputs,
    split_model,
)
from reference_server.engine.multimodal.processor import UnusableProcessor, find_refusal, load_processor
from reference_server.engine.multimodal.processor_encoder import ProcessorEncoder

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger(__name__)


class OpenedMedia(NamedTuple):
    """A model, and what encodes its media; the names are those of Checkpoint."""

    model: Any
    encoder: MediaEncoder | None = None
    processor: ProcessorEncoder | None = None
    media_refusal: str | None = None


def open_media(path: Path, model: Any, tokenizer: Any) -> OpenedMedia:
    """Return what of a vision-language model is to be served, and what encodes its media.

    tokenizer: gets the chat template of the processor if it has none.
    """
    if reads_described_inputs(model):
        return OpenedMedia(*split_model(model))
    try:
        processor = load_processor(path)
        tokenizer.chat_template = tokenizer.chat_template or processor.chat_template
        encoder = ProcessorEncoder.of_model(processor, model.config)
        return OpenedMedia(model, processor=encoder, media_refusal=find_refusal(processor))
    except UnusableProcessor as error:
        return OpenedMedia(_language_model(model), media_refusal=str(error))


def _language_model(model: Any) -> Any:
    """Return the language model inside a vision-language model, or the whole if the part cannot be used alone."""
    try:
        return extract_language_model(model)
    except Exception as error:  # transformers has no causal language model for some
        _log.info("the whole model is used for text: %s", error)
        return model
