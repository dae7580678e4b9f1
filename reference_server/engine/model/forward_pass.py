"""Passes: tokens at some positions to logits, over the rows of a slot cache; with or without Python in between."""

from __future__ import annotations

import logging
import warnings
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from torch.utils._python_dispatch import TorchDispatchMode

from reference_server.engine.device import torch
from reference_server.engine.model.kv_cache import CacheView
from reference_server.engine.model.lm_head import LMHead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Sequence as Seq

    from reference_server.engine.model.masks import AttentionMasks
    from reference_server.engine.model.packed_linear import PackedLinear

    PassFunction = Callable[..., torch.Tensor]

_log = logging.getLogger(__name__)
# By these, and by these alone, numbers in a tensor can decide what Python does next, or how large a tensor is.
DATA_DEPENDENT_OPERATORS: Final = frozenset(
    {
        "aten::_local_scalar_dense",
        "aten::bincount",
        "aten::equal",
        "aten::is_nonzero",
        "aten::masked_select",
        "aten::nonzero",
        "aten::repeat_interleave",
        "aten::unique_consecutive",
        "aten::_unique",
        "aten::_unique2",
    }
)


class ForwardPass(torch.nn.Module):
    """A forward pass of a causal language model as a function of tensors alone.

    leading: rows are read where they stand, as the first of the cache. linear: multiplies by the model's matrices;
    None: as the model does.
    """

    def __init__(self, model: Any, masks: AttentionMasks, *, leading: bool, linear: PackedLinear | None = None) -> None:
        super().__init__()
        self._base = model.base_model
        self._head = LMHead(model)
        self._masks = masks
        self._leading = leading
        self._linear = linear or nullcontext()
        # A graph can hold packed matrices as members of the pass alone.
        for at, matrix in enumerate(linear.packed if linear else ()):
            self.register_buffer(f"packed{at}", matrix, persistent=False)

    def forward(
        self,
        ids: torch.Tensor,
        positions: torch.Tensor,
        rows: torch.Tensor,
        mask: torch.Tensor,
        ends: torch.Tensor,
        *stored: torch.Tensor,
    ) -> torch.Tensor:
        """Logits [ends, vocabulary] of some tokens, counted through all rows.

        ids, positions: [rows, tokens]. rows: where in the cache. mask: [rows, 1, tokens, positions that are read],
            what each token may see.
        stored: the keys and values of the cache, which get those of the tokens.
        """
        view = CacheView(stored, rows, positions, mask.shape[-1], leading=self._leading)
        masks = self._masks(mask, positions)
        with self._linear:
            hidden = self._base(
                input_ids=ids, position_ids=positions, attention_mask=masks, past_key_values=view, use_cache=True
            ).last_hidden_state
            logits: torch.Tensor = self._head(hidden.flatten(0, 1)[ends])
        return logits


def trace_pass(plain: PassFunction, *examples: Callable[[], Seq[torch.Tensor]]) -> PassFunction:
    """The pass as a graph of the operators that it runs, or the pass itself where a graph would not do the same.

    A model of millions of parameters takes as long for Python's way from operator to operator as for the operators, and
    Python's lock is taken for each of them; a graph needs neither. It stands for the pass where no number in a tensor
    decides what runs, and where it gives the bits of the pass for every example. The first is what it is made of; the
    others should have other shapes. Each makes its tensors anew, the same ones every time.
    """
    seen = _OperatorRecorder()
    with seen:
        expected = [plain(*example()) for example in examples]
    if seen.names & DATA_DEPENDENT_OPERATORS:
        return plain
    try:
        with _suppress_warnings():
            graph = torch.jit.trace(  # type: ignore[no-untyped-call]
                plain, tuple(examples[0]()), check_trace=False, strict=False
            )
            # One flat graph, of what depends on the input: otherwise every layer is a call that looks up its members.
            graph = torch.jit.freeze(graph.eval(), optimize_numerics=False)
        found = [_run_graph(graph, *example()) for example in examples]
    except Exception as error:  # whatever a model does that no graph can hold
        _log.info("passes run as Python: %s", error)
        return plain
    same = all(torch.equal(one, other) for one, other in zip(expected, found, strict=True))
    return partial(_run_graph, graph) if same else plain


@contextmanager
def _suppress_warnings() -> Iterator[None]:
    """Nothing is said of shapes that decide, which the examples are for, nor that there are newer ways."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _run_graph(graph: Any, *tensors: torch.Tensor) -> torch.Tensor:
    """What the graph makes of tensors, operator by operator: nothing is made anew for a shape that comes again."""
    with torch.jit.optimized_execution(False):  # type: ignore[attr-defined]  # torch names no exports
        logits: torch.Tensor = graph(*tensors)
        return logits


class _OperatorRecorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes which operators run."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: set[str] = set()

    def __torch_dispatch__(
        self, function: Any, _types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        name = function.name().partition(".")[0]
        if name == "aten::index" and any(each is not None and each.dtype is torch.bool for each in arguments[1]):
            name = "aten::nonzero"  # what it comes to
        self.names.add(name)
        return function(*arguments, **(options or {}))
