"""Prompts with media, as the processor of a checkpoint makes them."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reference_server.engine.multimodal.model_inputs import InputTable
from reference_server.engine.multimodal.processor import find_media_tokens, find_needs
from reference_server.engine.protocol import ChatTemplateError

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence as Seq

    from reference_server.engine.media import Media, MediaKind, MediaNeeds

    Tokenize = Callable[[str, bool], list[int]]


@dataclass(frozen=True, slots=True)
class ProcessorEncoder:
    """The processor of a checkpoint, which writes the tokens of media into a prompt and makes the model's inputs.

    needs: what it takes of media.
    inputs: what it made for all prompts that exist.
    """

    processor: Any
    needs: MediaNeeds
    inputs: InputTable

    @classmethod
    def of_model(cls, processor: Any, config: Any) -> ProcessorEncoder:
        """Return the encoder for a processor, and the configuration of the model."""
        return cls(processor, find_needs(processor), InputTable(find_media_tokens(processor, config)))

    def restricted_to(self, kinds: frozenset[MediaKind]) -> ProcessorEncoder:
        """Return the encoder for some of the kinds of media."""
        return replace(self, needs=replace(self.needs, kinds=kinds))

    def adds_surrounding_tokens(self, text: str) -> bool:
        """Return whether the processor puts the tokenizer's surrounding tokens around a rendered text.

        As in its `apply_chat_template`: unless the template has written the first of them.
        """
        first = self.processor.tokenizer.bos_token
        return first is None or not text.startswith(first)

    def encode(self, text: str, media: Seq[Media], tokenize: Tokenize) -> list[int]:
        """Return the prompt for a rendered text and its media; raise ChatTemplateError. Any thread may call it.

        tokenize: returns the tokens of the text after the processor's changes, and whether with surrounding tokens.
        """
        processor = copy.copy(self.processor)
        processor.tokenizer = _RequestTokenizer(self.processor.tokenizer, tokenize)
        try:
            made = dict(
                processor(
                    text=text,
                    return_tensors="pt",
                    add_special_tokens=self.adds_surrounding_tokens(text),
                    **_media_arguments(media),
                )
            )
        except Exception as error:  # a processor can raise any exception
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise ChatTemplateError(f"the processor cannot prepare the media: {reason}") from error
        ids = made.pop("input_ids")[0].tolist()
        del made["attention_mask"]  # all ones
        return self.inputs.add(ids, made)


class _RequestTokenizer:
    """The tokenizer of a processor for one request, in which the user's text cannot become control tokens."""

    def __init__(self, tokenizer: Any, tokenize: Tokenize) -> None:
        self._tokenizer = tokenizer
        self._tokenize = tokenize

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def __call__(self, text: str | list[str], *, add_special_tokens: bool = True, **_: Any) -> dict[str, Any]:
        texts = [text] if isinstance(text, str) else text
        ids = [self._tokenize(sample, add_special_tokens) for sample in texts]
        return {"input_ids": ids, "attention_mask": [[1] * len(row) for row in ids]}


def _media_arguments(media: Seq[Media]) -> dict[str, Any]:
    """Return the arguments of a processor for media, each kind in its order in the conversation."""
    from PIL import Image

    images = [Image.fromarray(medium.frames[0]) for medium in media if medium.kind == "image"]
    videos = [medium for medium in media if medium.kind == "video"]
    sounds = [medium for medium in media if medium.kind == "audio"]
    arguments: dict[str, Any] = {}
    if images:
        arguments["images"] = [images]
    if videos:
        arguments["videos"] = [[medium.frames for medium in videos]]
        arguments["video_metadata"] = [[_describe_video(medium) for medium in videos]]
        arguments["do_sample_frames"] = False  # the decoder has chosen them
    if sounds:
        arguments["audio"] = [medium.samples for medium in sounds]
        arguments["sampling_rate"] = sounds[0].rate_hz
    return arguments


def _describe_video(video: Media) -> dict[str, Any]:
    """Return what transformers calls the metadata of a video that consists of the decoded pictures."""
    count = len(video.frames)
    return {
        "total_num_frames": count,
        "fps": video.frames_per_s,
        "duration": count / video.frames_per_s,
        "frames_indices": list(range(count)),
    }
