"""Blind faults of long prompts: a second chunk that is read from the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import engine_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.blind.recipes import EngineEdit

CHUNK: Final = 256


def _read_first_chunk_again() -> EngineEdit:
    """Forget where the second chunk begins. Violates messages: all of them reach the model."""

    def edit(prompt: list[int], params: SamplingParams) -> tuple[list[int], SamplingParams]:
        has_two = CHUNK < len(prompt) <= 2 * CHUNK and not getattr(prompt, "named", ())
        return ([*prompt[:CHUNK], *prompt[: len(prompt) - CHUNK]] if has_two else prompt), params

    return edit


second_chunks_read_from_the_first = engine_fault(
    "second-chunks-read-from-the-first",
    "Of a prompt of 257 to 512 tokens, what follows the first 256 is read from its beginning.",
    _read_first_chunk_again,
    counts_original=True,
    affects="sampling",
)
