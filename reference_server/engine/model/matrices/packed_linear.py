"""Matrix products with oneDNN, from a model's matrices in oneDNN's own layout."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final

from torch.overrides import TorchFunctionMode

from reference_server.engine.device import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Sequence as Seq

    Product = Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]

MAX_BYTES: Final = 1 << 28
"""Limit for all matrices together: the packed copies need the same memory again."""
MAX_COPIED_BYTES: Final = 1 << 29
"""Limit for a packed copy of the embeddings as the output matrix, next to the embeddings themselves.

At the shape of Qwen3-0.6B the copy saves a tenth of the processor time of a step, and takes 311 MB.
"""
EXPECTED_ROWS: Final = 32
TOLERANCE: Final = 1e-4
"""Largest accepted difference of a logit, relative to the largest logit: kernels add in different orders."""
TOLERANCE_16_BIT: Final = 0.02
"""The same for an output of one product in a 16-bit type."""
_log = logging.getLogger(__name__)

# A script function, because a call with an empty list cannot be traced.
PRODUCT: Final = """
def product(inputs: Tensor, matrix: Tensor, bias: Optional[Tensor]) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(inputs, matrix, bias, "none", [], "")
"""


class PackedLinear(TorchFunctionMode):
    """A context in which torch.nn.functional.linear with one of a model's matrices runs in oneDNN.

    In float32, torch uses MKL for these products, which uses only narrow vector instructions on processors of other
    vendors; there oneDNN takes half the time for a prompt and two thirds for 32 rows. In 16 bits, torch uses oneDNN
    with matrices in the model's layout, which are read more slowly. Matrices with the same input are packed as one,
    since small products are dominated by their overhead. In float32, the bits of a row do not depend on the number of
    other rows (test_packed_linear). The products can be part of a traced graph.

    packed: the matrices in oneDNN's layout.
    replaces: whether the model has lost its own matrices, so that it can only run within the context.
    """

    replaces = False

    def __init__(self, groups: Seq[Seq[tuple[torch.Tensor, torch.Tensor | None]]]) -> None:
        """Pack matrices [outputs, inputs] with their biases; the matrices of a group have the same input.

        Raises an exception of torch if oneDNN is not available.
        """
        super().__init__()
        self._product = _compile_product()
        self._groups = list(groups)  # keeps the matrices alive, so that their ids stay unique
        self.packed: list[torch.Tensor] = []
        self.biases: list[torch.Tensor | None] = []
        self._slices: dict[int, tuple[int, int, int]] = {}  # id of a matrix -> (group, first output, end of outputs)
        for at, group in enumerate(groups):
            matrices = [matrix.detach() for matrix, _ in group]
            biases = [bias.detach() for _, bias in group if bias is not None]
            self.packed.append(torch.ops.mkldnn._reorder_linear_weight(torch.cat(matrices), EXPECTED_ROWS))
            self.biases.append(torch.cat(biases) if biases else None)
            ends = accumulate((len(matrix) for matrix in matrices), initial=0)
            for (matrix, _), (begin, end) in zip(group, pairwise(ends), strict=True):
                self._slices[id(matrix)] = at, begin, end
        self._last: tuple[torch.Tensor, int, torch.Tensor] | None = None  # input, group, output

    @classmethod
    def from_model(cls, model: Any) -> PackedLinear | None:
        """Return the packed matrices of a model, as used by its forward pass; None if they cannot be used.

        That is the case if they are not float32 on a CPU, if they are too large, if oneDNN is missing, or if the model
        needs the outputs of its layers in another form.
        """
        if model.device.type != "cpu" or model.dtype is not torch.float32:
            return None
        tokens = torch.arange(8).view(2, 4) % model.get_output_embeddings().weight.shape[0]
        with torch.inference_mode():
            try:
                with (seen := _LinearRecorder()):
                    expected = model(input_ids=tokens, use_cache=False).logits
                groups = list(seen.groups())
                if not groups or sum(matrix.nbytes for group in groups for matrix, _ in group) > MAX_BYTES:
                    return None
                with (packed := cls(groups)):
                    actual = model(input_ids=tokens, use_cache=False).logits
            except Exception as error:  # an unusual model can raise any exception
                _log.info("the model's matrices are not packed: %s", error)
                return None
        return packed if (actual - expected).abs().max() <= TOLERANCE * expected.abs().max() else None

    @classmethod
    def replacing(cls, model: Any) -> PackedLinear | None:
        """Return the packed matrices of a model, which then loses its own, so that no memory is needed for two copies.

        Matrices that are also embeddings stay with the model; a copy of them is packed if it is not too large. Those
        whose products differ are not packed. None if the model is not on a CPU, if oneDNN is missing, or if nothing can
        be packed.
        """
        if model.device.type != "cpu":
            return None
        embeddings = {id(part.weight) for part in model.modules() if isinstance(part, torch.nn.Embedding)}
        tokens = torch.arange(8).view(2, 4) % model.get_output_embeddings().weight.shape[0]
        linear = cls(())
        with torch.inference_mode():
            try:
                with (seen := _LinearRecorder()):
                    model(input_ids=tokens, use_cache=False)
                for group in seen.groups():
                    is_shared = not embeddings.isdisjoint(id(matrix) for matrix, _ in group)
                    if not is_shared or sum(matrix.nbytes for matrix, _ in group) <= MAX_COPIED_BYTES:
                        linear._replace(group, keeps=is_shared)
            except Exception as error:  # an unusual model can raise any exception
                _log.info("the model's matrices are not packed: %s", error)
        if linear.replaces:
            _leave_file(model)
        return linear if linear.packed else None

    def _replace(self, group: Seq[tuple[torch.Tensor, torch.Tensor | None]], *, keeps: bool) -> None:
        """Pack a group if the products are the same; take the memory of its matrices unless the model keeps them."""
        alone = PackedLinear([group])
        generator = torch.Generator().manual_seed(0)
        inputs = torch.randn(4, group[0][0].shape[1], generator=generator).to(group[0][0].dtype)
        tolerance = TOLERANCE if inputs.dtype is torch.float32 else TOLERANCE_16_BIT
        for matrix, bias in group:
            expected = torch.nn.functional.linear(inputs, matrix, bias)
            with alone:
                actual = torch.nn.functional.linear(inputs, matrix, bias)
            if not (actual - expected).abs().max() <= tolerance * expected.abs().max():
                return
        at = len(self.packed)
        self._groups.append(group)
        self.packed += alone.packed
        self.biases += alone.biases
        self._slices |= {key: (at, begin, end) for key, (_, begin, end) in alone._slices.items()}
        if keeps:
            return
        self.replaces = True
        with torch.inference_mode(False):
            for matrix, _ in group:
                matrix.data = torch.zeros((), dtype=matrix.dtype).expand(matrix.shape)  # a shape without memory

    @contextmanager
    def using(self, packed: Seq[torch.Tensor]) -> Iterator[None]:
        """Be the context, with these packed matrices: the inputs of a graph that is traced."""
        own, self.packed = self.packed, list(packed)
        try:
            with self:
                yield
        finally:
            self.packed = own

    def __exit__(self, *details: Any) -> None:
        self._last = None
        super().__exit__(*details)  # type: ignore[no-untyped-call]  # torch has no annotations here

    def __torch_function__(
        self, function: Any, _types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        if function is not torch.nn.functional.linear or options or id(arguments[1]) not in self._slices:
            return function(*arguments, **(options or {}))
        inputs, location = arguments[0], self._slices[id(arguments[1])]
        group, begin, end = location
        if self._last is None or self._last[0] is not inputs or self._last[1] != group:
            self._last = inputs, group, self._product(inputs, self.packed[group], self.biases[group])
        whole = self._last[2]
        return whole if whole.shape[-1] == end - begin else whole[..., begin:end]


def _leave_file(model: Any) -> None:
    """Copy the remaining weights, which are views of a mapped file; the file's memory is free when no view is left."""
    with torch.inference_mode(False):
        for weight in (*model.parameters(), *model.buffers()):
            if weight.is_contiguous():  # a replaced matrix is not, and has no memory
                weight.data = weight.data.clone()


@cache
def _compile_product() -> Product:
    product: Product = torch.jit.CompilationUnit(PRODUCT).product
    return product


class _LinearRecorder(TorchFunctionMode):
    """Recorder of the inputs and matrices of linear products."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: list[tuple[Any, torch.Tensor, torch.Tensor | None]] = []

    def __torch_function__(
        self, function: Any, _types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        if function is torch.nn.functional.linear and not options:
            inputs, matrix, *bias = arguments
            self._seen.append((inputs, matrix, bias[0] if bias else None))
        return function(*arguments, **(options or {}))

    def groups(self) -> Iterator[list[tuple[torch.Tensor, torch.Tensor | None]]]:
        """Yield groups of consecutive matrices, with biases, that have the same input; each matrix once."""
        seen: set[int] = set()
        group: list[tuple[torch.Tensor, torch.Tensor | None]] = []
        last: Any = None
        for inputs, matrix, bias in self._seen:
            alike = group and inputs is last and (bias is None) == (group[0][1] is None)
            if group and (not alike or id(matrix) in seen):
                yield group
                group = []
            if id(matrix) not in seen:
                seen.add(id(matrix))
                group.append((matrix, bias))
            last = inputs
        if group:
            yield group
