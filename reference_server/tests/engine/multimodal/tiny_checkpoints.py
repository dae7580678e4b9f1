"""Tiny vision-language checkpoints with random weights, in the forms of known families, with their processors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from reference_server.engine.device import torch
from reference_server.engine.multimodal.processor import load_processor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CHARACTERS: Final = sorted(pre_tokenizers.ByteLevel.alphabet())
MARKERS: Final = ("<|im_start|>", "<|im_end|>")
BOS: Final = "<bos>"
TURNS: Final = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}{{ MEDIA[part['type']] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PARTS_ONLY: Final = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% for part in message['content'] | selectattr('type', 'equalto', 'image') %}<image>{% endfor %}"
    "{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}{{ part['text'] }}{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""As in LLaVA's checkpoints: content that is a string is not shown."""
TEXT: Final = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
}


@dataclass(frozen=True, slots=True)
class Family:
    """One form of vision-language models. tokens: special tokens by their names in the tokenizer."""

    tokens: dict[str, str]
    template: str
    create: Callable[[dict[str, int]], tuple[Any, Callable[[Any], Any]]]
    adds_bos: bool = False


def _tokenizer(family: Family) -> Any:
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE({character: at for at, character in enumerate(CHARACTERS)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([BOS, *MARKERS, *family.tokens.values()])
    if family.adds_bos:
        backend.post_processor = processors.TemplateProcessing(
            single=f"{BOS} $A", special_tokens=[(BOS, backend.token_to_id(BOS))]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=BOS,
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        chat_template=family.template,
        model_input_names=["input_ids", "attention_mask"],
        extra_special_tokens=family.tokens,
    )


def _qwen_vision(**more: Any) -> dict[str, Any]:
    return {"depth": 2, "num_heads": 2, "patch_size": 14, "in_channels": 3, "spatial_merge_size": 2, **more}


def _qwen2_vl(ids: dict[str, int]) -> tuple[Any, Callable[[Any], Any]]:
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration, Qwen2VLProcessor

    config = Qwen2VLConfig(
        text_config=TEXT
        | {"vocab_size": ids["size"], "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2]}},
        vision_config=_qwen_vision(embed_dim=32, hidden_size=32, mlp_ratio=2),
        image_token_id=ids["image_token"],
        video_token_id=ids["video_token"],
        vision_start_token_id=ids["vision_start_token"],
        vision_end_token_id=ids["vision_end_token"],
    )
    return Qwen2VLForConditionalGeneration(config), lambda tokenizer: _qwen_processor(
        Qwen2VLProcessor, "Qwen2VLVideoProcessor", tokenizer, patch_size=14
    )


def _qwen3_vl(ids: dict[str, int]) -> tuple[Any, Callable[[Any], Any]]:
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration, Qwen3VLProcessor

    config = Qwen3VLConfig(
        text_config=TEXT
        | {
            "vocab_size": ids["size"],
            "head_dim": 8,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]},
        },
        vision_config=_qwen_vision(
            hidden_size=32,
            intermediate_size=64,
            out_hidden_size=32,
            num_position_embeddings=64,
            deepstack_visual_indexes=[0, 1],
        )
        | {"patch_size": 16},
        image_token_id=ids["image_token"],
        video_token_id=ids["video_token"],
        vision_start_token_id=ids["vision_start_token"],
        vision_end_token_id=ids["vision_end_token"],
    )
    return Qwen3VLForConditionalGeneration(config), lambda tokenizer: _qwen_processor(
        Qwen3VLProcessor, "Qwen3VLVideoProcessor", tokenizer, patch_size=16
    )


def _qwen_processor(processor_class: Any, video_class: str, tokenizer: Any, *, patch_size: int) -> Any:
    """Return a processor that reduces pictures to at most 36 merged patches; without torchvision, one for images."""
    import transformers
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
    from transformers.utils import is_torchvision_available

    from reference_server.engine.multimodal.processor import _without_videos

    side = 2 * patch_size
    size = {"shortest_edge": 4 * side**2, "longest_edge": 36 * side**2}
    shape = {"patch_size": patch_size, "merge_size": 2, "temporal_patch_size": 2}
    image_processor = Qwen2VLImageProcessorPil(size=size, **shape)
    if not is_torchvision_available():
        return _without_videos(processor_class)(image_processor, tokenizer, chat_template=tokenizer.chat_template)
    video_processor = getattr(transformers, video_class)(size=size, **shape)
    return processor_class(image_processor, tokenizer, video_processor, chat_template=tokenizer.chat_template)


def _siglip(**more: Any) -> dict[str, Any]:
    return {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "patch_size": 8,
        **more,
    }


def _llava(ids: dict[str, int]) -> tuple[Any, Callable[[Any], Any]]:
    from transformers import (
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**_siglip(image_size=32, projection_dim=32)),
        text_config=LlamaConfig(**TEXT, vocab_size=ids["size"]),
        image_token_index=ids["image_token"],
        image_seq_length=16,
    )
    return LlavaForConditionalGeneration(config), lambda tokenizer: LlavaProcessor(
        CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}),
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=tokenizer.chat_template,
    )


def _gemma3(ids: dict[str, int]) -> tuple[Any, Callable[[Any], Any]]:
    from transformers import (
        Gemma3Config,
        Gemma3ForConditionalGeneration,
        Gemma3Processor,
        Gemma3TextConfig,
        SiglipVisionConfig,
    )
    from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil

    config = Gemma3Config(
        text_config=Gemma3TextConfig(
            **TEXT,
            vocab_size=ids["size"],
            head_dim=8,
            sliding_window=12,
            layer_types=["sliding_attention", "full_attention"] * 2,
            query_pre_attn_scalar=8,
            tie_word_embeddings=False,
        ),
        vision_config=SiglipVisionConfig(**_siglip(image_size=32)),
        mm_tokens_per_image=4,
        tie_word_embeddings=False,
        image_token_index=ids["image_token"],
        boi_token_index=ids["boi_token"],
        eoi_token_index=ids["eoi_token"],
    )
    return Gemma3ForConditionalGeneration(config), lambda tokenizer: Gemma3Processor(
        Gemma3ImageProcessorPil(size={"height": 32, "width": 32}),
        tokenizer,
        image_seq_length=4,
        chat_template=tokenizer.chat_template,
    )


QWEN_TOKENS: Final = {
    "image_token": "<|image_pad|>",
    "video_token": "<|video_pad|>",
    "vision_start_token": "<|vision_start|>",
    "vision_end_token": "<|vision_end|>",
}
QWEN_MEDIA: Final = (
    "{% set MEDIA = {'image': '<|vision_start|><|image_pad|><|vision_end|>',"
    " 'video': '<|vision_start|><|video_pad|><|vision_end|>'} %}"
)
FAMILIES: Final = {
    "qwen2-vl": Family(QWEN_TOKENS, QWEN_MEDIA + TURNS, _qwen2_vl),
    "qwen3-vl": Family(QWEN_TOKENS, QWEN_MEDIA + TURNS, _qwen3_vl),
    "llava": Family({"image_token": "<image>"}, PARTS_ONLY, _llava, adds_bos=True),
    "gemma3": Family(
        {"image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"},
        "{{ bos_token }}{% set MEDIA = {'image': '<start_of_image>'} %}" + TURNS,
        _gemma3,
        adds_bos=True,
    ),
}


def save_checkpoint(path: Path, name: str) -> Path:
    """Write a checkpoint of a family with its tokenizer and its processor, and return its directory."""
    family = FAMILIES[name]
    tokenizer = _tokenizer(family)
    ids = {token: tokenizer.convert_tokens_to_ids(written) for token, written in family.tokens.items()}
    torch.manual_seed(20)
    model, create_processor = family.create(ids | {"size": len(tokenizer)})
    for parameter in model.parameters():  # the usual small weights would give the same answer to any picture
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(path)
    create_processor(tokenizer).save_pretrained(path)
    return path


def open_reference(path: Path) -> tuple[Any, Any]:
    """Return the model and the processor of a directory, as transformers opens them."""
    from transformers import AutoModelForImageTextToText, AutoProcessor
    from transformers.utils import is_torchvision_available

    model = AutoModelForImageTextToText.from_pretrained(path, dtype=torch.float32).eval()
    return model, AutoProcessor.from_pretrained(path) if is_torchvision_available() else load_processor(path)
