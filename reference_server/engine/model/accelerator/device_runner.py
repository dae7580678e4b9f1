"""Forward passes on an accelerator: few shapes, captured as graphs, and logits that stay there."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from reference_server.engine.device import torch
from reference_server.engine.model.accelerator.attention_views import GroupedView, LengthView
from reference_server.engine.model.accelerator.graphs import GraphBackend, GraphedPasses
from reference_server.engine.model.accelerator.warm_up import Shape, run_warm_up
from reference_server.engine.model.cache_plan import CACHE_QUANTUM, LONG_CONTEXT_QUANTUM, SHORT_CONTEXT
from reference_server.engine.model.forward_pass import ForwardPass
from reference_server.engine.model.runner import PROMPT_QUANTUM, Runner
from reference_server.engine.transfers import upload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Seq

GRAPHED_PROMPT_TOKENS: Final = 2048
"""Most tokens of a prefill that is captured, with padding."""
MAX_INT32: Final = 2**31 - 1
LENGTHS: Final = 0
"""Instead of the number of positions to read: as many of each row as it has."""
# Positions that a step reads at once for the time in which it reads a number of them row by row: measured on an H100
# with the heads of Qwen3-0.6B. Row by row, each row costs what it has, but starts more slowly.
DENSE_START: Final = 6144
DENSE_SHARE: Final = 1.25
_RUNNING: Final = nullcontext()
_log = logging.getLogger(__name__)


class DeviceRunner(Runner):
    """Forward passes of one causal language model over a slot cache on an accelerator.

    Accelerators compile or capture each new shape, so three sizes are powers of two: rows, tokens of a piece, and the
    positions that a pass reads. A step computes the leading rows of the cache in place, as many as the highest slot in
    use needs. Where the backend has attention with a length for each row, all positions count as one size.

    samples: whether logits stay on the device; otherwise they are returned on the CPU.
    """

    def __init__(self, model: Any, *, slots: int, max_model_len: int) -> None:
        super().__init__(model, slots=slots, max_model_len=max_model_len, exact=False)
        self.ragged = False
        self._prompt_quantum = PROMPT_QUANTUM
        self.samples = True
        self._reads_lengths = self._always_lengths = self._is_warming_up = False
        self._length_pass = ForwardPass(model, self.masks, leading=True, view=LengthView)
        self._grouped_pass = ForwardPass(model, self.masks, leading=True, view=GroupedView)
        self._dense_pass = self._decode_pass
        self._passes = GraphedPasses(
            GraphBackend.find(self._device),
            self._device,
            rows=self._rows,
            vocabulary_size=self.vocabulary_size,
            numbers=4 * self._rows + GRAPHED_PROMPT_TOKENS,  # of steps and of prefills
        )

    @property
    def device(self) -> torch.device:
        return self._device

    @property
    def rows(self) -> int:
        """Number of slots, in whole quanta."""
        return self._rows

    @property
    def captured(self) -> int:
        """Number of shapes that run as a graph."""
        return self._passes.captured

    def use_attention(self, name: str, *, always: bool = False) -> None:
        """Choose how steps attend; the passes so far are forgotten.

        name: "plain" or "grouped": to the same number of positions in all rows; "lengths": also to as many of each row
            as it has, where that costs less.
        always: whether "lengths" is used even if it costs more.

        Raises ValueError if that cannot be: layers with a window, or more positions than the kernel can number.
        """
        if name == "lengths":
            if self.masks.window is not None or (self._rows + 1) * self._capacity > MAX_INT32:
                raise ValueError("attention needs a mask")
            self._reads_lengths = True
        else:
            self._dense_pass = self._grouped_pass if name == "grouped" else self._decode_pass
            self._reads_lengths = False
        self._always_lengths = always
        self._passes.forget()

    def prefill(self, pieces: Seq[Seq[int]], slots: Seq[int], starts: Seq[int] | None = None) -> torch.Tensor:
        batch = self._pad(pieces, slots, list(starts or [0] * len(pieces)))
        embedded = self._embed_padded(batch, pieces)
        shape = ("prefill", batch.rows, batch.length, batch.read)
        if embedded is None and self._is_graphed(batch.rows, batch.length):
            with self.preparation if shape not in self._passes.seen else _RUNNING:
                logits = self._passes.run(
                    shape, batch.numbers, batch.rows, lambda tensor: self._prefill_padded(batch, tensor, None)
                )
        else:
            tensor = upload(batch.numbers, self._device)
            logits = self._prefill_padded(batch, tensor, embedded).float()
        self.on_pass_start()  # the device computes, so others may use Python
        return self._place(logits[: len(pieces)])

    def decode(self, tokens: Seq[int], positions: Seq[int], slots: Seq[int]) -> torch.Tensor:
        count = self._round_up(max(slots) + 1, 1, self._rows)
        shape = self._choose_shape(count, positions)
        ids, at = [0] * count, [0] * count
        rows = [self._rows] * count  # idle rows write to the row that is not read
        for token, position, slot in zip(tokens, positions, slots, strict=True):
            ids[slot], at[slot], rows[slot] = token, position, slot
        ends = [*slots, *[0] * (count - len(slots))]  # the logits are in the order of the sequences
        with self.preparation if shape not in self._passes.seen else _RUNNING:
            logits = self._passes.run(
                shape,
                [*ids, *at, *rows, *ends],
                count,
                lambda tensor: self._decode_leading(tensor.view(4, count), shape[2]),
            )
        self.on_pass_start()
        return self._place(logits[: len(slots)])

    def bind_thread(self) -> None:
        torch.accelerator.set_device_index(self._device.index or 0)

    def warm_up(self, limit_s: float) -> None:
        """Run the passes that requests will need, for at most about `limit_s` seconds.

        The cache must be unused; its contents are lost.
        """
        generator = torch.Generator().manual_seed(0)
        for stored in self._stored:  # graphs are compared with numbers, not with zeros
            block = torch.randn(1, 1, CACHE_QUANTUM, *stored.shape[2:], generator=generator).to(stored)
            stored.view(len(stored), -1, CACHE_QUANTUM, *stored.shape[2:]).copy_(block)
        self._is_warming_up = True
        try:
            run_warm_up(list(self._list_shapes()), self._run_shape, lambda: self.captured, limit_s)
        except torch.OutOfMemoryError:
            _log.warning("warm-up stops: the device has no memory left for larger passes: give the cache less")
        finally:
            self._is_warming_up = False
            self.reset()

    def _run_shape(self, shape: Shape) -> None:
        tokens = [(at * 7 + 1) % self.vocabulary_size for at in range(max(shape.rows, shape.prompt_tokens))]
        rows = range(shape.rows)
        if shape.prompt_tokens:
            starts = [shape.last_position + 1 - shape.prompt_tokens] * shape.rows
            self.prefill([tokens] * shape.rows, rows, starts)
        else:
            others = 0 if shape.is_uneven else shape.last_position
            self.decode(tokens, [shape.last_position, *[others] * (shape.rows - 1)], rows)

    def _list_shapes(self) -> Iterator[Shape]:
        """Yield the shapes of steps and of short prompts, those that most requests need first."""
        rows = sorted({self._round_up(count, 1, self._rows) for count in range(1, self._rows + 1)})
        ends = [min(end, self.max_model_len) - 1 for end in _double(CACHE_QUANTUM, self._capacity)]
        if self._reads_lengths:
            yield from (Shape(count, 0, ends[-1], is_uneven=True) for count in rows)
        else:
            yield from (Shape(count, 0, ends[0]) for count in rows)
        lengths = list(_double(self._prompt_quantum, min(GRAPHED_PROMPT_TOKENS, self.max_model_len)))
        for length in lengths:
            yield from (Shape(count, length, length - 1) for count in rows if self._is_graphed(count, length))
        yield from (Shape(count, 0, end) for end in ends for count in rows)
        for length in lengths:  # behind a prefix that is reused
            yield from (Shape(1, length, end) for end in ends if length <= CACHE_QUANTUM and end >= SHORT_CONTEXT)

    def _is_graphed(self, count: int, length: int) -> bool:
        return count * length <= GRAPHED_PROMPT_TOKENS

    def _choose_shape(self, count: int, positions: Seq[int]) -> tuple[str, int, int]:
        """Return the shape of a step over the leading `count` rows of the cache: the cheapest one that has a graph.

        Without a graph, it is the one that would be the cheapest; a warm-up prepares that.
        """
        read = self._round_up(max(positions) + 1, CACHE_QUANTUM, self._capacity)
        reads = list(_double(read, self._capacity))
        if self._reads_lengths:
            is_dense = count * read <= DENSE_START + DENSE_SHARE * (sum(positions) + len(positions))
            reads.insert(1 if is_dense and not self._always_lengths else 0, LENGTHS)
        shapes = [("decode", count, read) for read in reads]
        graphed = filter(self._passes.has_graph, () if self._is_warming_up else shapes)
        return next(graphed, shapes[0])

    def _decode_leading(self, numbers: torch.Tensor, read: int) -> torch.Tensor:
        """Return the logits of one token of each leading row; numbers: ids, positions, rows and order of the logits."""
        ids, at, rows, ends = numbers
        run = self._length_pass if read == LENGTHS else self._dense_pass
        return run(ids[:, None], at[:, None], rows, self._mask(at[:, None], max(read, 1)), ends, *self._stored)

    def _place(self, logits: torch.Tensor) -> torch.Tensor:
        return logits if self.samples else logits.to("cpu")

    def _prefill_quantum(self, context: int) -> int:
        return CACHE_QUANTUM if context <= SHORT_CONTEXT else LONG_CONTEXT_QUANTUM

    def _round_up(self, count: int, quantum: int, most: int) -> int:
        """Return `count` rounded up to a power of two of quanta."""
        quanta = -(-count // quantum)
        return min((1 << (quanta - 1).bit_length()) * quantum, most)


def _double(first: int, most: int) -> Iterator[int]:
    """Yield `first`, its doubles below `most`, and `most`."""
    number = first
    while number < most:
        yield number
        number *= 2
    yield most
