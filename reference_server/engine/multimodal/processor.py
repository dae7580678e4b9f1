"""The processor of a vision-language checkpoint: loading, and what it takes of media."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.engine.media import MEDIA_KINDS, MediaNeeds

if TYPE_CHECKING:
    from pathlib import Path

    from reference_server.engine.media import MediaKind

PARTS: Final[dict[MediaKind, tuple[str, ...]]] = {
    "image": ("image_processor",),
    "video": ("video_processor",),
    "audio": ("feature_extractor", "audio_processor"),
}
"""The part of a processor for each kind of media, by the names that it can have."""
VIDEO_PART: Final = "video_processor"
REFUSAL: Final = "media_refusal"
MOST_FRAMES: Final = 32
"""Pictures that show a video: as many as two a second, for a quarter of a minute."""
SPEECH_RATE_HZ: Final = 16_000
PROCESSOR_FILES: Final = ("processor_config.json", "preprocessor_config.json")


class UnusableProcessor(Exception):
    """Media cannot be prepared for a checkpoint; the message is the reason."""


def load_processor(path: Path) -> Any:
    """Return the processor of a checkpoint directory; raise UnusableProcessor.

    Without torchvision, which the video processors of transformers need, the processor takes no videos.
    """
    from transformers import AutoConfig, AutoProcessor
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING
    from transformers.utils import is_torchvision_available

    if not any((path / name).is_file() for name in PROCESSOR_FILES):
        raise UnusableProcessor("it contains no processor")
    options = {"local_files_only": True, "trust_remote_code": False}
    try:
        loader: Any = AutoProcessor
        if not is_torchvision_available():
            processor_class = PROCESSOR_MAPPING.get(type(AutoConfig.from_pretrained(path, **options)), None)
            if processor_class is not None and VIDEO_PART in processor_class.get_attributes():
                loader = _without_videos(processor_class)
        processor = loader.from_pretrained(path, **options)
    except Exception as error:  # a broken file can raise any exception of its reader
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UnusableProcessor(f"its processor cannot be loaded ({reason})") from error
    if not hasattr(processor, "tokenizer"):  # transformers falls back to a part that it can load
        raise UnusableProcessor("it contains no processor for text and media together")
    return processor


def _without_videos(processor_class: Any) -> Any:
    """Return a subclass that has no part for videos, which transformers calls only if there is one."""
    attributes = [name for name in processor_class.get_attributes() if name != VIDEO_PART]
    changes = {"get_attributes": classmethod(lambda _cls: attributes), REFUSAL: "video: torchvision is not installed"}
    return type(processor_class.__name__, (processor_class,), changes)


def find_refusal(processor: Any) -> str | None:
    """Return why a loaded processor does not take a kind of media that its class takes; None if it takes all."""
    refusal: str | None = getattr(processor, REFUSAL, None)
    return refusal


def find_needs(processor: Any) -> MediaNeeds:
    """Return what a processor takes: the kinds for which it has a part, pictures of any size."""
    rates = [getattr(getattr(processor, name, None), "sampling_rate", None) for name in PARTS["audio"]]
    return MediaNeeds(
        kinds=frozenset(kind for kind in MEDIA_KINDS if any(_has(processor, name) for name in PARTS[kind])),
        side=None,
        frames=MOST_FRAMES,
        rate_hz=next((rate for rate in rates if rate), SPEECH_RATE_HZ),
    )


def find_media_tokens(processor: Any, config: Any) -> frozenset[int]:
    """Return the tokens that stand for media in the prompts of a processor, as it or the configuration says."""
    found: set[Any] = set()
    for kind in MEDIA_KINDS:
        found |= {*(getattr(processor, f"{kind}_token_ids", None) or ())}
        found |= {getattr(config, f"{kind}_token_{suffix}", None) for suffix in ("id", "index")}
    return frozenset(token_id for token_id in found if isinstance(token_id, int))


def _has(processor: Any, name: str) -> bool:
    return getattr(processor, name, None) is not None
