"""Loading of a checkpoint directory: model, tokenizer, chat template and end tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import tokenizers

from reference_server.engine.device import load_npu, torch
from reference_server.engine.media import split_media
from reference_server.engine.model.checkpoint_kind import reads_media, require_supported_kind
from reference_server.engine.multimodal.opening import OpenedMedia, open_media
from reference_server.engine.multimodal.probe import probe_kinds
from reference_server.engine.params import SamplingParams
from reference_server.engine.protocol import CheckpointError
from reference_server.engine.text.chat import ChatEncoder
from reference_server.engine.text.template import create_render, template_source
from reference_server.engine.tools.tool_format import detect_format

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reference_server.engine.multimodal.encoder import MediaEncoder
    from reference_server.engine.multimodal.probe import FirstPass
    from reference_server.engine.multimodal.processor_encoder import ProcessorEncoder
    from reference_server.engine.tools.tool_format import ToolFormat

SAMPLING_DEFAULTS = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")
BATCH_DEPENDENT_ROPES = {"dynamic", "longrope"}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded checkpoint.

    model: a transformers causal language model in evaluation mode, on its device.
    sampling_defaults: values of generation_config.json, by their names in SamplingParams.
    tool_format: the format in which its chat template writes tool calls; None if unknown.
    media_encoder: of a vision-language model whose configuration describes its inputs.
    processor: of any other vision-language model; `model` is the whole of it.
    media_refusal: why a vision-language model reads text alone, or takes not every kind of media.
    """

    model: Any
    tokenizer: tokenizers.Tokenizer
    chat: ChatEncoder
    eos_token_ids: frozenset[int]
    tool_format: ToolFormat | None
    sampling_defaults: Mapping[str, float]
    media_encoder: MediaEncoder | None = None
    processor: ProcessorEncoder | None = None
    media_refusal: str | None = None

    def encode_chat(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> list[int]:
        """Return the prompt for a conversation, with the media in it as the processor writes them, if there is one.

        For the arguments see `ChatEncoder.encode`. Raises ChatTemplateError.
        """
        bare, media = split_media(messages)
        rendered = self.chat.render(bare, tools, template_kwargs)
        if self.processor is None:
            return rendered.encode()
        if not media:
            return rendered.encode(is_surrounded=self.processor.adds_surrounding_tokens(rendered.text))
        return self.processor.encode(
            rendered.text, media, lambda text, is_surrounded: rendered.encode(text, is_surrounded=is_surrounded)
        )

    def with_probed_media(self, first_pass: FirstPass) -> Checkpoint:
        """Return this checkpoint with the kinds of media that were tried with success; see `probe_kinds`."""
        if self.processor is None:
            return self
        kinds, refused = probe_kinds(self.processor.needs, self.encode_chat, first_pass)
        reasons = [f"{kind}: {reason}" for kind, reason in sorted(refused.items())]
        if self.media_refusal is not None:
            reasons.append(self.media_refusal)
        if not kinds and not reasons:
            reasons.append("its processor takes none")
        restricted = self.processor.restricted_to(kinds)
        return replace(self, processor=restricted, media_refusal="; ".join(reasons) or None)

    def describe_media(self) -> str:
        """Return a clause about media for a line of a log; empty for a model that reads text."""
        kinds = () if self.processor is None else sorted(self.processor.needs.kinds)
        clauses = [f"{' and '.join(kinds)} through its processor"] if kinds else []
        if self.media_refusal is not None:
            clauses.append(f"{'other ' if kinds else ''}media are refused ({self.media_refusal})")
        return "".join(f", {clause}" for clause in clauses)


def load_checkpoint(path: Path, device: torch.device, dtype: str) -> Checkpoint:
    """Read a checkpoint directory, without network access and without running code from it.

    dtype: the name of a type, see `choose_dtype`; "auto" is the checkpoint's own.

    Raises CheckpointError for a directory that is missing, incomplete, broken or of an unsupported kind.
    """
    if not (path / "config.json").is_file():
        raise CheckpointError(f"{path} contains no config.json: expected a directory in transformers' format")
    require_supported_kind(path)
    tokenizer, model = _read(path, dtype)
    sees = reads_media(path)
    opened = open_media(path, model, tokenizer) if sees else OpenedMedia(model)
    _require_supported(path, model, tokenizer)
    ends = {tokenizer.eos_token_id}
    for config in (model.generation_config, model.config):
        listed = getattr(config, "eos_token_id", None)
        ends |= set(listed) if isinstance(listed, list) else {listed}
    with torch.inference_mode():
        model.to(device).eval()
    own = tokenizer.backend_tokenizer  # a processor sets its padding for each call, so it keeps its own
    backend = tokenizers.Tokenizer.from_str(own.to_str()) if sees else own
    backend.no_padding()
    backend.no_truncation()
    render = create_render(tokenizer, any_content=sees)
    return Checkpoint(
        model=opened.model,
        tokenizer=backend,
        chat=ChatEncoder(render, backend),
        eos_token_ids=frozenset(token_id for token_id in ends if token_id is not None),
        tool_format=detect_format(template_source(tokenizer.chat_template)),
        sampling_defaults=_read_sampling_defaults(path, model.generation_config),
        media_encoder=opened.encoder,
        processor=opened.processor,
        media_refusal=opened.media_refusal,
    )


def _read_sampling_defaults(path: Path, config: Any) -> dict[str, float]:
    """Return the sampling parameters that a generation configuration sets; raise CheckpointError for unusable values.

    As in vLLM, `do_sample` is ignored: a request chooses greedy decoding by its temperature.
    """
    listed = {name: getattr(config, name, None) for name in SAMPLING_DEFAULTS}
    defaults = {name: value for name, value in listed.items() if value is not None}
    try:
        SamplingParams(**defaults)
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{path} has an unusable generation_config.json ({error}): correct the file") from error
    return defaults


def _read(path: Path, dtype: str) -> tuple[Any, Any]:
    """Return the tokenizer and the model of a directory, loaded by transformers with every weight present."""
    load_npu()  # transformers checks for it on import
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoTokenizer
    from transformers.utils import logging

    shows_progress = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # a server writes log lines, not progress bars
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        loader = AutoModelForImageTextToText if reads_media(path) else AutoModelForCausalLM
        model, report = loader.from_pretrained(
            path,
            dtype=dtype,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except Exception as error:  # a broken file can raise any exception of its reader
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):  # transformers replaces it
            raise KeyboardInterrupt from None
        reason = _first_line(error)
        raise CheckpointError(f"{path} cannot be loaded ({reason}): restore the directory") from error
    finally:
        if shows_progress:
            logging.enable_progress_bar()
    if missing := sorted(report["missing_keys"]):
        raise CheckpointError(f"{path} lacks weights ({len(missing)}, for example {missing[0]}): restore the files")
    return tokenizer, model


def _require_supported(path: Path, model: Any, tokenizer: Any) -> None:
    """Raise CheckpointError if the slot cache or the chat encoder does not support the checkpoint."""
    config = model.config.get_text_config()
    rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type")
    problem = None
    if rope in BATCH_DEPENDENT_ROPES:
        problem = f"scales its positions ({rope}) by the longest sequence of a batch"
    elif not hasattr(tokenizer, "backend_tokenizer"):
        problem = "has no tokenizer.json"
    elif not tokenizer.chat_template:
        problem = "has no chat template"
    if problem is not None:
        raise CheckpointError(f"{path} {problem}, which is not supported: use another checkpoint")


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
