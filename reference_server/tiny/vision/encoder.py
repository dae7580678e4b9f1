"""The untrained vision-language model: an image encoder in front of a language model, and what a prompt looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from transformers import InternVLConfig, InternVLForConditionalGeneration, InternVLVisionConfig

from reference_server.tiny.vision.pictures import SIDE
from reference_server.tiny.vision.questions import FRAMES
from reference_server.tiny.vision.rendering import TOKENS_PER_PICTURE
from reference_server.tiny.vision.sounds import RATE_HZ

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

PATCH: Final = 8
WIDTH: Final = 128


def new_vision_model(text: Qwen3ForCausalLM, placeholder_id: int) -> InternVLForConditionalGeneration:
    """Create a model with the weights of a text model and an untrained encoder of 0.6 million parameters."""
    vision = InternVLVisionConfig(
        hidden_size=WIDTH,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=2 * WIDTH,
        image_size=SIDE,
        patch_size=PATCH,
        use_mean_pooling=False,
        layer_scale_init_value=1.0,
        attn_implementation="eager",  # half the CPU time of a step
    )
    config = InternVLConfig(
        vision_config=vision,
        text_config=text.config,
        image_token_id=placeholder_id,
        image_seq_length=TOKENS_PER_PICTURE,
        dtype="float32",
        media_inputs={
            "kinds": ["image", "video", "audio"],
            "picture_side": SIDE,
            "video_frames": FRAMES,
            "audio_rate_hz": RATE_HZ,
        },
    )
    model = InternVLForConditionalGeneration(config)
    model.model.language_model.load_state_dict(text.model.state_dict())
    model.tie_weights()
    model.generation_config = text.generation_config
    return model


def pixel_values(pictures: list[Any]) -> torch.Tensor:
    """Return float32 [pictures, 3, SIDE, SIDE] from -1 to 1 of pictures of uint8 [SIDE, SIDE, 3]."""
    stacked = torch.stack([torch.from_numpy(picture) for picture in pictures])
    return stacked.permute(0, 3, 1, 2).float() / 127.5 - 1
