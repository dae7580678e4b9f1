"""The options of `chatproof serve` for a model on this machine, and the engine that they configure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from openapi.command_options.option_group import add_option_group
from reference_server.engine import CheckpointError
from reference_server.engine.protocol import DEFAULT_SLOTS, DEVICE_PREFILL_TOKENS, PREFILL_TOKENS, WARM_UP_S
from reference_server.http.server import ServingError
from reference_server.tiny.vision import VISION_CHECKPOINT

if TYPE_CHECKING:
    from pathlib import Path

    from reference_server.engine import LocalEngine


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Values of the options of a model.

    cache_memory: in GiB. warm_up: in seconds.
    """

    device: str
    dtype: str
    exact: bool
    slots: int | None
    cache_memory: float | None
    max_waiting: int
    max_model_len: int | None
    max_new_tokens: int | None
    prefill_tokens: int | None
    prefix_reuse: bool
    warm_up: float


OPTIONS: Final = [
    click.Option(["--device"], default="auto", show_default=True, help="Device: auto, cpu, cuda, npu, ..."),
    click.Option(
        ["--dtype"],
        default="auto",
        show_default=True,
        help="Data type: auto (the fastest that the checkpoint has and the device multiplies), float32, bfloat16,"
        " float16.",
    ),
    click.Option(
        ["--exact"],
        is_flag=True,
        help="Compute the same bits for a request in any batch, in float32 on the CPU. Small models, such as the"
        " embedded one, always do; for a single stream of a large one, a step takes about twice the time.",
    ),
    click.Option(
        ["--slots"],
        type=click.IntRange(1),
        help="Maximum number of sequences generated at once; a beam search uses one for each beam"
        f" (default: {DEFAULT_SLOTS}, or as many as fit into memory).",
    ),
    click.Option(
        ["--cache-memory"],
        type=click.FloatRange(0, min_open=True),
        metavar="GIB",
        help="Memory for the key-value cache (default: half of what is free next to the weights).",
    ),
    click.Option(
        ["--max-waiting"],
        default=64,
        show_default=True,
        type=click.IntRange(0),
        help="Maximum number of requests waiting for a slot; further requests get 503.",
    ),
    click.Option(
        ["--max-model-len"],
        type=click.IntRange(2),
        help="Maximum number of prompt and generated tokens together (default: the checkpoint's, at most 4096 and what"
        " fits into memory).",
    ),
    click.Option(["--max-new-tokens"], type=click.IntRange(1), help="Maximum number of generated tokens."),
    click.Option(
        ["--prefill-tokens"],
        type=click.IntRange(16),
        help="Process longer prompts in chunks of this many tokens, between the steps of running requests"
        f" (default: {PREFILL_TOKENS}, or {DEVICE_PREFILL_TOKENS} on an accelerator).",
    ),
    click.Option(
        ["--prefix-reuse/--no-prefix-reuse"],
        default=True,
        show_default=True,
        help="Reuse the cached beginning of earlier prompts.",
    ),
    click.Option(
        ["--warm-up"],
        default=WARM_UP_S,
        show_default=True,
        type=click.FloatRange(0),
        metavar="SECONDS",
        help="Time limit for preparing the passes of an accelerator before the server listens; requests wait for the"
        " others.",
    ),
]


model_options = add_option_group(OPTIONS, "model_options", ModelOptions)
"""Adds the options to a command, which gets their values as one argument, `model_options`."""
ONLY_LOCAL: Final = tuple(str(option.name) for option in OPTIONS if option.name not in ("slots", "max_waiting"))
"""The options that only a model on this machine has; the others limit the requests to any engine."""


def load_engine(checkpoint: Path, options: ModelOptions) -> tuple[LocalEngine, str]:
    """Return the engine and the name of its device; raise ServingError with the engine's own message."""
    # These imports take seconds, so they come after all checks that can fail quickly.
    from reference_server.engine import LocalEngine
    from reference_server.engine.device import select_device

    try:
        place = str(select_device(options.device))
        engine = LocalEngine.load(
            checkpoint,
            device=place,
            dtype=options.dtype,
            exact=options.exact,
            slots=options.slots,
            cache_bytes=None if options.cache_memory is None else int(options.cache_memory * 2**30),
            max_model_len=options.max_model_len,
            max_new_tokens=options.max_new_tokens,
            prefill_tokens=options.prefill_tokens,
            prefix_reuse=options.prefix_reuse,
            warm_up_s=options.warm_up,
        )
        if checkpoint != VISION_CHECKPOINT:  # nothing depends on the machine for the embedded model
            click.echo(f"chatproof loaded {checkpoint}: {engine.describe()}", err=True)
        return engine, place
    except (CheckpointError, ValueError) as error:
        raise ServingError(str(error)) from error
