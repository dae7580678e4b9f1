"""Forward passes from token ids to logits over a slot cache."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from reference_server.engine.device import torch
from reference_server.engine.model.attention.few_tokens import StepView
from reference_server.engine.model.attention.masks import AttentionMasks
from reference_server.engine.model.cache_plan import (
    CACHE_QUANTUM,
    LONG_CONTEXT_QUANTUM,
    ROW_QUANTUM,
    SHORT_CONTEXT,
    count_capacity,
    count_rows,
)
from reference_server.engine.model.forward_pass import ForwardPass, PaddedBatch, trace_pass
from reference_server.engine.model.kv_cache import CacheView, SlotCache, find_layer_shapes
from reference_server.engine.model.matrices.lm_head import LMHead
from reference_server.engine.model.model_runner import Stopwatch
from reference_server.engine.model.ragged_pass import Piece, RaggedPass, arrange
from reference_server.engine.multimodal.embeddings import MediaEmbeddings, is_media_id
from reference_server.engine.transfers import upload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Sequence as Seq

    from reference_server.engine.model.forward_pass import PassFunction
    from reference_server.engine.model.matrices.packed_linear import PackedLinear

# Matrix kernels use another order of summation for very few rows. With at least four rows (ROW_QUANTUM), and with whole
# quanta of positions in the cache and in the prompt, a float32 sequence on a CPU gets the same bits whatever else is in
# its batch (tested in test_batching). That padding is free for a small model, whose matrices are packed. For a large
# one it can multiply the time of a step, so it has a choice (`exact`).
PROMPT_QUANTUM = 16
DECODE_QUANTUM = 16  # of positions that a step reads, if shapes are not compiled; reads a fifth less than 64
MOST_READ_IN_VAIN = 1024
"""Positions of all rows: more take longer than a graph saves, by an estimate for the shape of Qwen3-0.6B."""
LARGE_EXAMPLES = 3, 1
"""Rows of the steps with which the graph of a model that is not small is traced and compared."""
LOGITS_BLOCK = 32  # tokens; the logits of a whole prompt can be larger than the model, and other requests wait

# The chunks of a prompt must not change the bits either: attention over more than SHORT_CONTEXT positions sums in the
# same order for any number of tokens, if the number of positions is a multiple of the kernel's block of 512
# (LONG_CONTEXT_QUANTUM). A step sums over up to SHORT_STEP positions in the same order however many it reads; with
# AVX-512, MKL splits longer sums.
SHORT_STEP = 256


class Runner:
    """Forward passes of one causal language model over a slot cache, on a CPU; for others see DeviceRunner.

    model: a transformers causal language model in evaluation mode, whose layers store keys and values.
    slots: number of sequences at once.
    max_model_len: positions of each sequence.
    linear: computes the products with the model's matrices; None: the model does.
    exact: whether to pad rows and positions so that a sequence gets the same bits in any batch; float32 only.
    ragged: whether a prefill may contain single next tokens of other sequences, and costs no padding.
    on_pass_start: called when the Python work for a pass is finished and the pass begins.
    """

    on_pass_start: Callable[[], None]

    media: MediaEmbeddings | None = None
    """Of a vision-language model; set when the engine is created."""

    def __init__(
        self, model: Any, *, slots: int, max_model_len: int, linear: PackedLinear | None = None, exact: bool = True
    ) -> None:
        self.max_model_len = max_model_len
        self.exact = exact
        self.keeps_prefixes = True
        self.masks = AttentionMasks.from_model(model, max_model_len)
        self.on_pass_start = _do_nothing
        self._model = model
        self._own_linear = linear if linear is not None and linear.replaces else nullcontext()
        self._head = LMHead(model)
        self._device: torch.device = model.device
        self._row_quantum = ROW_QUANTUM if exact else 1
        self._prompt_quantum = PROMPT_QUANTUM if exact else 1
        self._rows = count_rows(slots)
        self._capacity = count_capacity(max_model_len)
        self._cache = SlotCache(
            layers=find_layer_shapes(model),
            rows=self._rows + 1,  # padding is written to the last row
            capacity=self._capacity,
            dtype=model.dtype,
            device=self._device,
        )
        self.vocabulary_size: int = model.get_output_embeddings().weight.shape[0]
        self._cache_positions = torch.arange(self._capacity, device=self._device)
        self._all_rows = torch.arange(self._rows, device=self._device)
        self._stored = (*self._cache.keys, *self._cache.values)
        self._given = (*self._stored, *(linear.packed if linear else ()))
        self._prefill_pass: PassFunction = ForwardPass(model, self.masks, leading=False, linear=linear)
        view = CacheView if exact or self._device.type != "cpu" else StepView
        self._decode_pass: PassFunction = ForwardPass(model, self.masks, leading=True, linear=linear, view=view)
        self._embedded_pass: PassFunction = ForwardPass(model, self.masks, leading=False, linear=linear, embedded=True)
        self._scattered_decode_pass: PassFunction = ForwardPass(model, self.masks, leading=False, linear=linear)
        self._linear = linear or nullcontext()
        self.ragged = not exact and self.masks == AttentionMasks(None, frozenset(), None)
        self._has_step_graph = False
        self.preparation = Stopwatch()

    def trace(self) -> None:
        """Replace passes by traced graphs where the bits are the same: of a model that is not small, those of steps."""
        self._model.requires_grad_(False)  # only such weights can be constants of a graph
        counts = (2 * ROW_QUANTUM, ROW_QUANTUM) if self.exact else LARGE_EXAMPLES
        decodes = [partial(self._create_example, count, 1) for count in counts]
        self._decode_pass = trace_pass(self._decode_pass, *decodes)
        if not self.exact:
            self._has_step_graph = not isinstance(self._decode_pass, ForwardPass)
            return
        self._scattered_decode_pass = trace_pass(self._scattered_decode_pass, *decodes)
        prefills = [partial(self._create_example, count, PROMPT_QUANTUM * count) for count in (2, 1)]
        self._prefill_pass = trace_pass(self._prefill_pass, *prefills)

    def _create_example(self, count: int, length: int) -> tuple[torch.Tensor, ...]:
        """Return the tensors of a pass over `count` rows of `length` tokens, for a small cache with random numbers."""
        generator = torch.Generator().manual_seed(count)
        read = CACHE_QUANTUM * (1 + count % 3)
        shapes = [(count + 1, 2 * read, *tensor.shape[2:]) for tensor in self._stored]
        stored = [torch.randn(shape, generator=generator).to(self._model.dtype) for shape in shapes]
        packed = self._given[len(stored) :]
        ids = torch.randint(self.vocabulary_size, (count, length), generator=generator)
        at = torch.arange(length) + 3 * torch.arange(count)[:, None]
        ends = torch.arange(max(self._row_quantum, count)) * length % (count * length)
        return ids, at, torch.arange(count), self._mask(at, read), ends, *stored, *packed

    def prefill(self, pieces: Seq[Seq[int]], slots: Seq[int], starts: Seq[int] | None = None) -> torch.Tensor:
        """Return logits float32 [pieces, vocabulary] after each piece of a prompt; fill the slots' rows.

        The logits are on the device, and valid until the next pass.

        starts: position of each piece's first token, by default 0; the slot's row contains the tokens before it.
        """
        first_positions = list(starts or [0] * len(pieces))
        if self.ragged:
            return self._run_ragged(list(map(Piece, pieces, slots, first_positions)))
        batch = self._pad(pieces, slots, first_positions)
        embedded = self._embed_padded(batch, pieces)
        tensor = upload(batch.numbers, self._device)
        self.on_pass_start()
        return self._prefill_padded(batch, tensor, embedded)[: len(pieces)].float()

    def _pad(self, pieces: Seq[Seq[int]], slots: Seq[int], starts: Seq[int]) -> PaddedBatch:
        """Return pieces of prompts as a batch of whole quanta."""
        count = self._round_up(len(pieces), 1, self._rows)
        length = self._round_up(max(map(len, pieces)), self._prompt_quantum, self._capacity)
        idle = count - len(pieces)
        last = [row * length + len(piece) - 1 for row, piece in enumerate(pieces)]
        last += [0] * (max(self._row_quantum, count) - len(pieces))
        numbers = [*starts, *[0] * idle, *slots, *[self._rows] * idle, *last]
        for piece in pieces:
            ids = [0] * len(piece) if is_media_id(max(piece)) else piece  # media are given as embeddings
            numbers += [*ids, *[0] * (length - len(piece))]
        context = max(start + len(piece) for start, piece in zip(starts, pieces, strict=True))
        read = self._round_up(context, self._prefill_quantum(context), self._capacity)
        return PaddedBatch(count, length, read, len(last), numbers + [0] * (idle * length))

    def _embed_padded(self, batch: PaddedBatch, pieces: Seq[Seq[int]]) -> torch.Tensor | None:
        """Return embeddings [rows, tokens, width] of a batch if some tokens are positions of media, else None."""
        padded = [piece[at] if at < len(piece) else 0 for piece in pieces for at in range(batch.length)]
        embedded = self._embed(padded)
        if embedded is None:
            return None
        shaped = embedded.view(len(pieces), batch.length, -1)
        return torch.cat([shaped, shaped.new_zeros(batch.rows - len(pieces), *shaped.shape[1:])])

    def _prefill_padded(self, batch: PaddedBatch, tensor: torch.Tensor, embedded: torch.Tensor | None) -> torch.Tensor:
        """Return the logits of a batch; tensor: its numbers on the device."""
        count, length = batch.rows, batch.length
        starts, rows, ends, ids = torch.split(tensor, [count, count, batch.ends, count * length])
        # Padding follows every piece: its entries in the cache are overwritten before they are read, and the last
        # position of the cache is never read.
        positions = (starts[:, None] + self._cache_positions[:length]).clamp(max=self._capacity - 1)
        mask = self._mask(positions, batch.read)
        if embedded is None:
            return self._prefill_pass(ids.view(count, length), positions, rows, mask, ends, *self._given)
        return self._embedded_pass(embedded, positions, rows, mask, ends, *self._given)

    def decode(self, tokens: Seq[int], positions: Seq[int], slots: Seq[int]) -> torch.Tensor:
        """Return logits float32 [tokens, vocabulary], as `prefill` does, after one more token at its position."""
        if self.ragged and not self._has_even_rows(positions, slots):
            return self._run_ragged(
                [Piece((token,), *place) for token, *place in zip(tokens, slots, positions, strict=True)]
            )
        count = max(slots) + 1 if self.ragged else self._round_up(len(slots), self._row_quantum, self._rows)
        leading = max(slots) < count
        rows_read = list(slots) if leading else list(range(len(slots)))
        packed = [[0] * count, [0] * count, [self._rows] * count]  # padding is written to a row that is not read
        for row, token, position, slot in zip(rows_read, tokens, positions, slots, strict=True):
            packed[0][row], packed[1][row], packed[2][row] = token, position, slot
        context = max(positions) + 1
        is_short = context <= SHORT_STEP or not self.exact
        read = self._round_up(context, DECODE_QUANTUM if is_short else LONG_CONTEXT_QUANTUM, self._capacity)
        ids, at, rows = torch.tensor(packed)
        run, ids, at = self._decode_pass if leading else self._scattered_decode_pass, ids[:, None], at[:, None]
        mask, ends = self._mask(at, read), self._all_rows[:count]
        self.on_pass_start()
        logits = run(ids, at, rows, mask, ends, *self._given)
        return _order(logits, rows_read)

    def _has_even_rows(self, positions: Seq[int], slots: Seq[int]) -> bool:
        """Return whether a step is faster as a graph over all leading rows, which reads as much of each."""
        read = (max(slots) + 1) * (max(positions) + 1)
        return self._has_step_graph and read - sum(positions) - len(positions) <= MOST_READ_IN_VAIN

    def _run_ragged(self, pieces: Seq[Piece]) -> torch.Tensor:
        order = arrange(pieces)
        ragged_pass = RaggedPass(self._stored, [pieces[at] for at in order])
        self.on_pass_start()
        logits = ragged_pass.run(self._model, self._head, self._linear, self._embed(ragged_pass.tokens))
        return _order(logits, sorted(range(len(order)), key=order.__getitem__))

    def prompt_logits(self, prompt: Seq[int]) -> Iterator[torch.Tensor]:
        """Yield logits float32 [tokens, vocabulary] on the CPU after every token of a prompt, in blocks.

        The slot cache is not used; each block is a pass of its own, so that other passes can run in between.
        """
        from transformers import DynamicCache

        cache = DynamicCache(config=self._model.config)
        for begin in range(0, len(prompt), LOGITS_BLOCK):
            block = list(prompt[begin : begin + LOGITS_BLOCK])
            embedded = self._embed(block)
            given = (
                {"input_ids": torch.tensor([block], device=self._device)}
                if embedded is None
                else {"inputs_embeds": embedded[None]}
            )
            with self._own_linear:
                hidden = self._model.base_model(**given, cache=cache, use_cache=True).last_hidden_state[0]
                logits = self._head(hidden)
            yield logits.to("cpu", torch.float32)

    def _embed(self, ids: Seq[int]) -> torch.Tensor | None:
        """Return embeddings [tokens, width] if some of the tokens are positions of media, else None."""
        if self.media is None or not any(map(is_media_id, ids)):
            return None
        return self.media.embed(ids, self._model.get_input_embeddings())

    def copy(self, moves: Seq[tuple[int, int]], length: int) -> None:
        """Copy the first `length` positions between slots; moves: (from, to), no slot is both."""
        sources, targets = upload(moves, self._device).unbind(1)
        self._cache.copy(sources, targets, self._round_up(length, CACHE_QUANTUM, self._capacity))

    def clear(self, slots: Seq[int]) -> None:
        """Zero the slots' rows."""
        self._cache.clear(upload(list(slots), self._device))

    def release(self, slot: int) -> None:
        """Keep the rows of a sequence that has ended: later prompts may begin with the same tokens."""

    def bind_thread(self) -> None:
        """Prepare the thread that will run the passes."""

    def warm_up(self, limit_s: float) -> None:
        """Prepare passes, for at most about `limit_s` seconds; nothing on a CPU."""

    def reset(self) -> None:
        """Zero all rows."""
        self.clear(range(self._rows + 1))

    def _mask(self, positions: torch.Tensor, read: int) -> torch.Tensor:
        """Return which of the first `read` positions of the cache each token attends to.

        The result is bool [rows, 1, tokens, read].
        """
        return (self._cache_positions[:read] <= positions[:, :, None])[:, None]

    def _prefill_quantum(self, context: int) -> int:
        """Return the quantum of positions that a prefill reads if it ends at position `context`."""
        if not self.exact:
            return DECODE_QUANTUM
        return CACHE_QUANTUM if context <= SHORT_CONTEXT else LONG_CONTEXT_QUANTUM

    def _round_up(self, count: int, quantum: int, most: int) -> int:
        """Return `count` rounded up to whole quanta."""
        return min(-(-count // quantum) * quantum, most)


def _do_nothing() -> None:
    """Default for `on_pass_start`."""


def _order(logits: torch.Tensor, rows: list[int]) -> torch.Tensor:
    logits = logits.float()
    return logits if rows == list(range(len(logits))) else logits[rows]
