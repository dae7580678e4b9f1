"""Forward passes over the rows of a slot cache, as Python or as a traced graph."""

from __future__ import annotations

import logging
import warnings
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from torch.utils._python_dispatch import TorchDispatchMode

from reference_server.engine.device import torch
from reference_server.engine.model.kv_cache import CacheView
from reference_server.engine.model.matrices.lm_head import LMHead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Sequence as Seq

    from reference_server.engine.model.attention.masks import AttentionMasks
    from reference_server.engine.model.matrices.packed_linear import PackedLinear

    PassFunction = Callable[..., torch.Tensor]

_log = logging.getLogger(__name__)
# The only operators through which values in a tensor can affect Python code or the shape of a tensor.
DATA_DEPENDENT_OPERATORS: Final = frozenset(
    {
        "aten::_local_scalar_dense",
        "aten::argwhere",
        "aten::bincount",
        "aten::equal",
        "aten::is_nonzero",
        "aten::item",  # in inference mode it is not reduced to _local_scalar_dense
        "aten::masked_select",
        "aten::nonzero",
        "aten::nonzero_numpy",
        "aten::repeat_interleave",
        "aten::unique_consecutive",
        "aten::_unique",
        "aten::_unique2",
    }
)

SIMPLIFICATIONS: Final = ("_jit_pass_dce", "_jit_pass_cse", "_jit_pass_constant_propagation", "_jit_pass_dce")
"""Passes of torch over a graph that do not change its numbers: two thirds of its operators only ask for shapes."""


class PaddedBatch(NamedTuple):
    """Pieces of prompts with padding.

    rows: of the batch. length: tokens of each. read: positions of the cache to attend to. ends: tokens with logits.
    numbers: first position and slot of each row, indices of the tokens with logits, and the ids of all tokens.
    """

    rows: int
    length: int
    read: int
    ends: int
    numbers: list[int]


class ForwardPass(torch.nn.Module):
    """A forward pass of a causal language model as a function of tensors only.

    leading: whether to read the first rows of the cache in place, instead of the rows written.
    linear: computes the products with the model's matrices; None: the model does.
    embedded: whether the input is embeddings [rows, tokens, width] instead of ids.
    view: of the cache; it decides how attention is computed.
    """

    def __init__(
        self,
        model: Any,
        masks: AttentionMasks,
        *,
        leading: bool,
        linear: PackedLinear | None = None,
        embedded: bool = False,
        view: type[CacheView] = CacheView,
    ) -> None:
        super().__init__()
        self._view = view
        self._input = "inputs_embeds" if embedded else "input_ids"
        self._base = model.base_model
        self._head = LMHead(model)
        self._masks = masks
        self._leading = leading
        self._linear = linear

    def forward(
        self,
        ids: torch.Tensor,
        positions: torch.Tensor,
        rows: torch.Tensor,
        mask: torch.Tensor,
        ends: torch.Tensor,
        *given: torch.Tensor,
    ) -> torch.Tensor:
        """Return logits [ends, vocabulary] of some tokens, given as indices over the tokens of all rows.

        ids, positions: [rows, tokens].
        rows: row of the cache for each row of the batch.
        mask: bool [rows, 1, tokens, positions read], which positions each token may attend to.
        given: keys and values of the cache, to which those of the tokens are written, and then the packed matrices,
            which a graph cannot contain.
        """
        packed = given[len(given) - len(self._linear.packed) :] if self._linear else ()
        view = self._view(given[: len(given) - len(packed)], rows, positions, mask.shape[-1], leading=self._leading)
        masks = self._masks(mask, positions)
        with self._linear.using(packed) if self._linear else nullcontext(), view.attention:
            hidden = self._base(
                **{self._input: ids}, position_ids=positions, attention_mask=masks, cache=view, use_cache=True
            ).last_hidden_state
            logits: torch.Tensor = self._head(hidden.flatten(0, 1)[ends])
        return logits


def trace_pass(plain: PassFunction, *examples: Callable[[], Seq[torch.Tensor]]) -> PassFunction:
    """Return the pass as a graph of its operators, or the pass itself if a graph would behave differently.

    With a model of millions of parameters, Python takes as long between the operators as the operators take, and each
    operator needs the GIL; a graph needs neither. The graph replaces the pass only if no value in a tensor decides
    which operators run, and if its output is bit-identical for every example. The graph is traced with the first
    example; the others should have other shapes. Each example is a function that creates the same tensors anew on each
    call.
    """
    seen = OperatorRecorder()
    with seen:
        expected = [plain(*example()) for example in examples]
    if seen.names & DATA_DEPENDENT_OPERATORS:
        return plain
    try:
        with _suppress_warnings():
            graph = torch.jit.trace(  # type: ignore[no-untyped-call]
                lambda *tensors: plain(*tensors),  # of a module, a graph would look up each weight in each layer
                tuple(examples[0]()),
                check_trace=False,
                strict=False,
            )
            for simplify in SIMPLIFICATIONS:
                getattr(torch._C, simplify)(graph.graph)
        actual = [_run_graph(graph, *example()) for example in examples]
    except Exception as error:  # tracing can raise any exception
        _log.info("forward passes are not traced: %s", error)
        return plain
    same = all(torch.equal(one, other) for one, other in zip(expected, actual, strict=True))
    return partial(_run_graph, graph) if same else plain


@contextmanager
def _suppress_warnings() -> Iterator[None]:
    """Suppress warnings about shapes in control flow, which the examples check, and about deprecated functions."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _run_graph(graph: Any, *tensors: torch.Tensor) -> torch.Tensor:
    """Run the graph operator by operator, without a new optimization for a repeated shape."""
    with torch.jit.optimized_execution(False):  # type: ignore[attr-defined]  # torch does not declare its exports
        logits: torch.Tensor = graph(*tensors)
        return logits


class OperatorRecorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Recorder of the names of the operators that run."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: set[str] = set()

    def __torch_dispatch__(
        self, function: Any, _types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        name = function.name().partition(".")[0]
        if name == "aten::index" and any(index is not None and index.dtype is torch.bool for index in arguments[1]):
            name = "aten::nonzero"  # a Boolean index is evaluated with nonzero
        self.names.add(name)
        return function(*arguments, **(options or {}))
