"""Runner: token ids to logits, through a model on its device."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from reference_server.engine.device import torch
from reference_server.engine.model.forward_pass import ForwardPass, trace_pass
from reference_server.engine.model.kv_cache import SlotCache, find_layer_shapes
from reference_server.engine.model.lm_head import LMHead
from reference_server.engine.model.masks import AttentionMasks
from reference_server.engine.model.packed_linear import PackedLinear
from reference_server.engine.protocol import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Sequence as Seq

    from reference_server.engine.model.forward_pass import PassFunction

# Matrix kernels choose another order of summation for very few rows: with at least four rows, whole groups of
# positions in the cache and in the prompt, a float32 sequence on a CPU gets the same bits whatever else is in
# its batch (test_batching holds this).
ROW_QUANTUM = 4
PROMPT_QUANTUM = 16
CACHE_QUANTUM = 64
DECODE_QUANTUM = 16  # that a step reads, rounded up, where no shape is compiled: a fifth less than with 64
LOGITS_BLOCK = 256  # logits of a whole prompt may be larger than the model

# Where a prompt is cut must not show either: attention over more than SHORT_REACH positions sums in the same order
# however many tokens ask, if their number is a multiple of the kernel's own block of 512.
SHORT_CONTEXT = 128
LONG_CONTEXT_QUANTUM = 512

UNSUPPORTED = "has an architecture that is not supported"
MAX_DISAGREEMENT = {torch.float32: 1e-3, torch.float16: 1e-2}  # as a share; others 0.05


class Runner:
    """Forward passes of one causal language model over a slot cache.

    model: a transformers causal language model in evaluation mode, whose layers keep keys and values.
    slots: sequences at once. max_model_len: positions for each. linear: what multiplies by the model's matrices.
    begins: called when all that needs Python is done, and the pass itself begins.
    """

    on_pass_start: Callable[[], None]

    def __init__(self, model: Any, *, slots: int, max_model_len: int, linear: PackedLinear | None = None) -> None:
        self.max_model_len = max_model_len
        self.masks = AttentionMasks.from_model(model, max_model_len)
        self.on_pass_start = _do_nothing
        self._model = model
        self._head = LMHead(model)
        self._device: torch.device = model.device
        self._fixed_shapes = self._device.type != "cpu"
        self._decode_quantum = CACHE_QUANTUM if self._fixed_shapes else DECODE_QUANTUM
        self._rows = -(-slots // ROW_QUANTUM) * ROW_QUANTUM
        quantum = CACHE_QUANTUM if max_model_len <= SHORT_CONTEXT else LONG_CONTEXT_QUANTUM
        self._capacity = -(-max_model_len // quantum) * quantum
        self._cache = SlotCache(
            layers=find_layer_shapes(model),
            rows=self._rows + 1,  # the last row takes the writes of padding
            capacity=self._capacity,
            dtype=model.dtype,
            device=self._device,
        )
        self.vocabulary_size: int = model.get_output_embeddings().weight.shape[0]
        self._cache_positions = torch.arange(self._capacity, device=self._device)
        self._all_rows = torch.arange(self._rows, device=self._device)
        self._stored = (*self._cache.keys, *self._cache.values)
        self._prefill_pass: PassFunction = ForwardPass(model, self.masks, leading=False, linear=linear)
        self._decode_pass: PassFunction = ForwardPass(model, self.masks, leading=True, linear=linear)
        self._scattered_decode_pass: PassFunction = ForwardPass(model, self.masks, leading=False, linear=linear)

    def trace(self) -> None:
        """Let passes run without Python where that gives the same bits; with accelerators nobody has tried."""
        if self._device.type == "cpu":
            several = [partial(self._create_example, count, 1) for count in (2 * ROW_QUANTUM, ROW_QUANTUM)]
            self._decode_pass = trace_pass(self._decode_pass, *several)
            self._scattered_decode_pass = trace_pass(self._scattered_decode_pass, *several)
            prompts = [partial(self._create_example, count, PROMPT_QUANTUM * count) for count in (2, 1)]
            self._prefill_pass = trace_pass(self._prefill_pass, *prompts)

    def _create_example(self, count: int, length: int) -> tuple[torch.Tensor, ...]:
        """A pass over so many rows and tokens, as ForwardPass takes it; over a small cache with numbers in it."""
        generator = torch.Generator().manual_seed(count)
        read = CACHE_QUANTUM * (1 + count % 3)
        shapes = [(count + 1, 2 * read, *tensor.shape[2:]) for tensor in self._stored]
        stored = [torch.randn(shape, generator=generator).to(self._model.dtype) for shape in shapes]
        ids = torch.randint(self.vocabulary_size, (count, length), generator=generator)
        at = torch.arange(length) + 3 * torch.arange(count)[:, None]
        ends = torch.arange(max(ROW_QUANTUM, count)) * length % (count * length)
        return ids, at, torch.arange(count), self._mask(at, read), ends, *stored

    def prefill(self, pieces: Seq[Seq[int]], slots: Seq[int], starts: Seq[int] | None = None) -> torch.Tensor:
        """Logits [pieces, vocabulary], float32 on the CPU, after each piece of a prompt; fills the slots' rows.

        starts: the position of each piece's first token, 0 unless said; the slot's row holds what comes before.
        """
        first_positions = list(starts or [0] * len(pieces))
        count = self._round_up(len(pieces), 1, self._rows)
        length = self._round_up(max(map(len, pieces)), PROMPT_QUANTUM, self._capacity)
        idle = count - len(pieces)
        last = [row * length + len(piece) - 1 for row, piece in enumerate(pieces)]
        last += [0] * (max(ROW_QUANTUM, count) - len(pieces))
        feed = [*first_positions, *[0] * idle, *slots, *[self._rows] * idle, *last]
        for piece in pieces:
            feed += [*piece, *[0] * (length - len(piece))]
        fed = torch.tensor(feed + [0] * (idle * length)).to(self._device)
        at, rows, ends, ids = torch.split(fed, [count, count, len(last), count * length])
        # Padding stands right of every piece: what it writes is written again before anybody reads it, and the
        # cache's last position never is.
        positions = (at[:, None] + torch.arange(length, device=self._device)).clamp(max=self._capacity - 1)
        context = max(begin + len(piece) for begin, piece in zip(first_positions, pieces, strict=True))
        read = self._round_up(
            context, CACHE_QUANTUM if context <= SHORT_CONTEXT else LONG_CONTEXT_QUANTUM, self._capacity
        )
        ids, mask = ids.view(count, length), self._mask(positions, read)
        self.on_pass_start()
        logits = self._prefill_pass(ids, positions, rows, mask, ends, *self._stored)
        return _to_cpu_float32(logits, list(range(len(pieces))))

    def decode(self, tokens: Seq[int], positions: Seq[int], slots: Seq[int]) -> torch.Tensor:
        """Logits [tokens, vocabulary], float32 on the CPU, after one more token at its position in its slot."""
        count = self._round_up(len(slots), ROW_QUANTUM, self._rows)
        leading = max(slots) < count
        where = list(slots) if leading else list(range(len(slots)))
        feed = [[0] * count, [0] * count, [self._rows] * count]  # padding is written where nobody reads
        for row, token, position, slot in zip(where, tokens, positions, slots, strict=True):
            feed[0][row], feed[1][row], feed[2][row] = token, position, slot
        read = self._round_up(max(positions) + 1, self._decode_quantum, self._capacity)
        ids, at, rows = torch.tensor(feed).to(self._device)
        run, ids, at = self._decode_pass if leading else self._scattered_decode_pass, ids[:, None], at[:, None]
        mask, ends = self._mask(at, read), self._all_rows[:count]
        self.on_pass_start()
        logits = run(ids, at, rows, mask, ends, *self._stored)
        return _to_cpu_float32(logits, where)

    def prompt_logits(self, prompt: Seq[int]) -> Iterator[torch.Tensor]:
        """Logits [tokens, vocabulary], float32 on the CPU, after every token of a prompt: in blocks, past the cache."""
        hidden = self._model.base_model(
            input_ids=torch.tensor([list(prompt)], device=self._device), use_cache=False
        ).last_hidden_state[0]
        for begin in range(0, len(prompt), LOGITS_BLOCK):
            yield self._head(hidden[begin : begin + LOGITS_BLOCK]).to("cpu", torch.float32)

    def copy(self, moves: Seq[tuple[int, int]], length: int) -> None:
        """Give slots what others hold of the first `length` positions; moves: (from, to), none is both."""
        sources, targets = torch.tensor(moves).to(self._device).unbind(1)
        self._cache.copy(sources, targets, self._round_up(length, CACHE_QUANTUM, self._capacity))

    def clear(self, slots: Seq[int]) -> None:
        """Let the slots' rows hold nothing."""
        self._cache.clear(torch.tensor(slots).to(self._device))

    def reset(self) -> None:
        """Let no row hold anything."""
        self.clear(range(self._rows + 1))

    def _mask(self, positions: torch.Tensor, read: int) -> torch.Tensor:
        """Which of the first `read` positions of the cache a token sees [rows, 1, tokens, read]."""
        return (self._cache_positions[:read] <= positions[:, :, None])[:, None]

    def _round_up(self, count: int, quantum: int, most: int) -> int:
        """`count` rounded up to whole quanta; on accelerators, which compile each shape, to powers of two."""
        quanta = -(-count // quantum)
        if self._fixed_shapes:
            quanta = 1 << (quanta - 1).bit_length()
        return min(quanta * quantum, most)


def _do_nothing() -> None:
    """Nobody waits for a pass to begin."""


def _to_cpu_float32(logits: torch.Tensor, rows: list[int]) -> torch.Tensor:
    logits = logits.to("cpu", torch.float32)
    return logits if rows == list(range(len(logits))) else logits[rows]


def create_verified_runner(model: Any, *, slots: int, max_model_len: int) -> Runner:
    """A runner whose logits were compared with those of the model's own forward pass.

    Raises CheckpointError, to be read after the checkpoint's name, where the slot cache does not fit the
    memory or the architecture.
    """
    with torch.inference_mode():
        try:
            runner = Runner(model, slots=slots, max_model_len=max_model_len, linear=PackedLinear.from_model(model))
        except RuntimeError as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            size = f"a cache of {slots} slots of {max_model_len} positions"
            raise CheckpointError(f"cannot have {size} ({reason}): lower one of them") from error
        except (AttributeError, TypeError) as error:
            raise CheckpointError(f"{UNSUPPORTED} ({error}): use another") from error
        try:
            runner.trace()
            difference = _measure_disagreement(runner, model)
        except Exception as error:  # a model that asks more of its cache raises whatever it likes
            raise CheckpointError(f"{UNSUPPORTED} ({error}): use another") from error
    if not difference <= MAX_DISAGREEMENT.get(model.dtype, 0.05):
        detail = f"logits off by {difference:.2g} over the slot cache"
        raise CheckpointError(f"{UNSUPPORTED} ({detail}): use another")
    return runner


def _measure_disagreement(runner: Runner, model: Any) -> float:
    """The largest difference of a logit, as a share of the largest logit, over the last two positions of a
    prompt in slot 0: a short one, or one that a window does not hold."""
    length = min(6 + (runner.masks.window or 0), runner.max_model_len)
    tokens = [token % runner.vocabulary_size for token in range(1, 1 + length)]
    last = len(tokens) - 1
    own = model(input_ids=torch.tensor([tokens], device=model.device), use_cache=False).logits[0, -2:]
    expected = own.to("cpu", torch.float32)
    actual = torch.cat([runner.prefill([tokens[:last]], [0]), runner.decode(tokens[last:], [last], [0])])
    return float((actual - expected).abs().max() / expected.abs().max())
