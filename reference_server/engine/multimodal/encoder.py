"""The encoder of a vision-language checkpoint: decoded media to embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reference_server.engine.device import torch
from reference_server.engine.media import MediaNeeds
from reference_server.tiny.vision.sounds import spectrogram

if TYPE_CHECKING:
    from reference_server.engine.media import Media


@dataclass(frozen=True, slots=True)
class MediaEncoder:
    """An image encoder, which gets a sound as the picture of its spectrogram and a video as some of its pictures.

    model: a transformers model with `get_image_features`.
    placeholder_id: the token of the chat template whose embedding a picture replaces.
    """

    model: Any
    needs: MediaNeeds
    placeholder_id: int

    def encode(self, media: Media) -> torch.Tensor:
        """Return the embeddings [positions, width] of a medium. Any thread may call it."""
        pictures = torch.from_numpy(media.frames)
        if media.kind == "audio":
            pictures = torch.from_numpy(spectrogram(media.samples, media.rate_hz))[None]
        pixels = pictures.permute(0, 3, 1, 2).float() / 127.5 - 1
        with torch.inference_mode():
            features = self.model.get_image_features(pixels.to(self.model.device, self.model.dtype)).pooler_output
            return features.flatten(0, 1)  # type: ignore[no-any-return]


def reads_described_inputs(model: Any) -> bool:
    """Return whether the configuration of a vision-language model says what its encoder takes (`media_inputs`)."""
    return isinstance(getattr(model.config, "media_inputs", None), dict)


def split_model(model: Any) -> tuple[Any, MediaEncoder]:
    """Return the causal language model inside a vision-language model with described inputs, and its encoder."""
    described = model.config.media_inputs
    needs = MediaNeeds(
        kinds=frozenset(described["kinds"]),
        side=described["picture_side"],
        frames=described["video_frames"],
        rate_hz=described["audio_rate_hz"],
    )
    return extract_language_model(model), MediaEncoder(model, needs, model.config.image_token_id)


def extract_language_model(model: Any) -> Any:
    """Return the causal language model inside a vision-language model, with the same weights.

    Raises an exception of transformers if it cannot be a model of its own.
    """
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        language_model = AutoModelForCausalLM.from_config(model.config.get_text_config())
    setattr(language_model, language_model.base_model_prefix, model.model.language_model)
    language_model.set_output_embeddings(model.get_output_embeddings())
    language_model.generation_config = model.generation_config
    return language_model.eval()
