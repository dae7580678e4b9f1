"""The prefill: prompts, or chunks of prompts, through the model into the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_server.engine.device import torch
from reference_server.engine.loop.failures import is_out_of_memory, out_of_memory_error, release_memory, to_engine_error
from reference_server.engine.multimodal.embeddings import text_tokens
from reference_server.engine.transfers import upload

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq

    from reference_server.engine.loop.scheduler import Batch
    from reference_server.engine.loop.sequence import Sequence
    from reference_server.engine.model.model_runner import ModelRunner
    from reference_server.engine.protocol import EngineError
    from reference_server.engine.sampling.sampler import Sampler


@dataclass(frozen=True, slots=True)
class PrefillResult:
    """The result of a prefill.

    sequences: those whose prompt is complete now, and those that were decoded in the same pass.
    logits: [sequences, vocabulary], after the last token of each.
    failures: errors of the sequences that cannot continue; these are not among `sequences`.
    """

    sequences: tuple[Sequence, ...]
    logits: torch.Tensor
    failures: dict[Sequence, EngineError]


@dataclass(slots=True)
class _Chunk:
    """The next tokens of a prompt, computed once for all sequences that share it, or the last token of a sequence."""

    tokens: list[int]
    slot: int
    start: int
    sequences: list[Sequence]


class Prefiller:
    """Runner of prefills, which also prepares the slots of completed prompts for sampling."""

    def __init__(self, runner: ModelRunner, sampler: Sampler) -> None:
        self._runner = runner
        self._sampler = sampler

    def prefill(self, batch: Batch) -> PrefillResult:
        """Prefill one batch.

        Raises an exception if the model failed for all sequences; the errors of single prompts are in the result.
        """
        for copy in batch.copies:
            self._runner.copy([(copy.source, copy.target)], copy.length)
        failures: dict[Sequence, EngineError] = {}
        complete: list[tuple[Sequence, int]] = []
        copies: list[tuple[int, int]] = []
        decoding = set(batch.decoding)
        chunks = _split_batch(batch)
        logits, errors = self._forward(chunks)
        for row, chunk in enumerate(chunks):
            for sequence in chunk.sequences:
                if row in errors:
                    failures[sequence] = errors[row]
                elif sequence in decoding:
                    complete.append((sequence, row))
                elif sequence.prefilled == len(sequence.prompt) and (slot := sequence.slot) is not None:
                    try:
                        self._sampler.reset_slot(slot, sequence.params, text_tokens(sequence.prompt))
                    except Exception as error:
                        failures[sequence] = to_engine_error(error)
                        continue
                    complete.append((sequence, row))
                    if slot != chunk.slot:
                        copies.append((chunk.slot, slot))
        if copies:
            self._runner.copy(copies, max(len(sequence.prompt) for sequence in batch.sequences))
        rows = [row for _, row in complete]
        if rows != list(range(len(logits))):
            logits = logits[upload(rows, logits.device)]
        return PrefillResult(tuple(sequence for sequence, _ in complete), logits, failures)

    def _forward(self, chunks: Seq[_Chunk]) -> tuple[torch.Tensor, dict[int, EngineError]]:
        """Return (logits after each chunk, errors by chunk).

        If the chunks do not fit into memory together, each is computed alone. Where each has its own cache anyway, any
        error concerns one prompt: media of a client can break a model that computes all others.
        """
        try:
            tokens = [chunk.tokens for chunk in chunks]
            return self._runner.prefill(tokens, [chunk.slot for chunk in chunks], [chunk.start for chunk in chunks]), {}
        except Exception as error:
            short_of_memory = is_out_of_memory(error)
            if not short_of_memory and self._runner.keeps_prefixes:
                raise
            release_memory()
            if len(chunks) == 1:
                failure = out_of_memory_error(error) if short_of_memory else to_engine_error(error)
                return torch.zeros(1, self._runner.vocabulary_size), {0: failure}
        results = []
        for chunk in chunks:
            logits, failed = self._forward([chunk])
            results.append((logits.to("cpu"), failed))  # the next pass may overwrite what a device has computed
        errors = {row: failed[0] for row, (_, failed) in enumerate(results) if failed}
        return torch.cat([logits for logits, _ in results]), errors


def _split_batch(batch: Batch) -> list[_Chunk]:
    """Return the chunks to compute, prompts first; sequences that share a prompt are adjacent in the batch."""
    chunks: list[_Chunk] = []
    for sequence, slot, start, until in zip(batch.sequences, batch.slots, batch.starts, batch.ends, strict=True):
        if chunks and chunks[-1].sequences[0].prompt is sequence.prompt:
            chunks[-1].sequences.append(sequence)
        else:
            chunks.append(_Chunk(sequence.prompt[start:until], slot, start, [sequence]))
    return chunks + [
        _Chunk([sequence.last_token], sequence.slot, sequence.position, [sequence])
        for sequence in batch.decoding
        if sequence.slot is not None
    ]
