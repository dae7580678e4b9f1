"""PackedLinear: a model's matrices in oneDNN's own layout, for products by its kernels."""

from __future__ import annotations

import logging
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final

from torch.overrides import TorchFunctionMode

from reference_server.engine.device import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Sequence as Seq

    Product = Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]

MAX_BYTES: Final = 1 << 28
"""Of all matrices together: the packed ones take as much memory again."""
EXPECTED_ROWS: Final = 32
TOLERANCE: Final = 1e-4
"""Kernels add in another order: logits differ by so much of the largest one at most."""
_log = logging.getLogger(__name__)

# By a script, since no graph can be made of a call that holds an empty list.
PRODUCT: Final = """
def product(inputs: Tensor, matrix: Tensor, bias: Optional[Tensor]) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(inputs, matrix, bias, "none", [], "")
"""


class PackedLinear(TorchFunctionMode):
    """While it is entered, torch.nn.functional.linear with one of a model's float32 matrices runs in oneDNN.

    torch leaves such products to MKL, which keeps to narrow vectors on processors of other makers: there oneDNN takes
    half the time for a prompt, and two thirds for 32 rows. Matrices that one input is multiplied by are packed as one,
    since small products cost more to begin than to do. A row's bits do not depend on how many others there are
    (test_packed_linear), and a graph can hold all of it.

    packed: the matrices as oneDNN has them.
    """

    def __init__(self, groups: Seq[Seq[tuple[torch.Tensor, torch.Tensor | None]]]) -> None:
        """groups: matrices [outputs, inputs] with their biases, each group for one input.

        Raises what torch raises where oneDNN is not there.
        """
        super().__init__()
        self._product: Product = torch.jit.CompilationUnit(PRODUCT).product
        self._groups = groups  # so that nothing else can have the identity of a matrix
        self.packed: list[torch.Tensor] = []
        self.biases: list[torch.Tensor | None] = []
        self._slices: dict[int, tuple[int, int, int]] = {}  # identity -> (group, its first output, the one after)
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
        """A model's matrices, as a pass over it uses them; None where they are no float32 on a CPU, where they are too
        large, and where nothing comes of it: oneDNN is missing, or the model takes its layers' outputs otherwise."""
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
                    found = model(input_ids=tokens, use_cache=False).logits
            except Exception as error:  # a model that asks more of its layers raises whatever it likes
                _log.info("the model's matrices are not packed: %s", error)
                return None
        return packed if (found - expected).abs().max() <= TOLERANCE * expected.abs().max() else None

    def __exit__(self, *details: Any) -> None:
        self._last = None
        super().__exit__(*details)  # type: ignore[no-untyped-call]  # torch names no types here

    def __torch_function__(
        self, function: Any, _types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        if function is not torch.nn.functional.linear or options or id(arguments[1]) not in self._slices:
            return function(*arguments, **(options or {}))
        inputs, place = arguments[0], self._slices[id(arguments[1])]
        group, begin, end = place
        if self._last is None or self._last[0] is not inputs or self._last[1] != group:
            self._last = inputs, group, self._product(inputs, self.packed[group], self.biases[group])
        whole = self._last[2]
        return whole if whole.shape[-1] == end - begin else whole[..., begin:end]


class _LinearRecorder(TorchFunctionMode):
    """Notes which inputs are multiplied by which matrices."""

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
        """Matrices with their biases that follow each other on one input; each matrix once."""
        known: set[int] = set()
        group: list[tuple[torch.Tensor, torch.Tensor | None]] = []
        last: Any = None
        for inputs, matrix, bias in self._seen:
            alike = group and inputs is last and (bias is None) == (group[0][1] is None)
            if group and (not alike or id(matrix) in known):
                yield group
                group = []
            if id(matrix) not in known:
                known.add(id(matrix))
                group.append((matrix, bias))
            last = inputs
        if group:
            yield group
