"""A simulated device called "npu": operators run on the CPU, but tensors must be moved to the device.

It has graphs as a real backend does: the operators that run in a capture are recorded, and run again in a replay. A
capture refuses what would wait for the device, as transfers do.

It shows that the engine selects the accelerator and puts every tensor on the right device. It shows nothing about
numerics, speed, memory or the operators of a real device. It changes the process permanently: use it in a separate
process.

The backend is torch's PrivateUse1, renamed in Python (pytorch#157859), with a fallback for every operator.
"""

from __future__ import annotations

import functools
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from torch.utils import _pytree
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from reference_server.engine.device import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "npu"
transfers: Counter[str] = Counter()
operators: Counter[str] = Counter()
"""What ran one by one, by kind: "launched" or, if the CPU waits for the result, "awaited"; and "replayed" graphs."""
AWAITED = {"aten::nonzero", "aten::_local_scalar_dense", "aten::equal", "aten::masked_select", "aten::is_nonzero"}
_recorded: list[tuple[Any, Any, Any, Any]] | None = None  # operators of the capture that goes on


class NPUGraph:
    """Replacement for torch.npu.NPUGraph."""

    def __init__(self) -> None:
        self.operators: list[tuple[Any, Any, Any, Any]] = []

    def replay(self) -> None:
        """Run the recorded operators again, with the present values of the same tensors."""
        operators["replayed"] += 1
        for operator, arguments, options, output in self.operators:
            results = operator(*arguments, **options)
            for old, new in zip(_pytree.tree_leaves(output), _pytree.tree_leaves(results), strict=True):
                if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


class Backend:
    """Replacement for the module torch.npu."""

    NPUGraph = NPUGraph

    def graph_pool_handle(self) -> tuple[int, int]:
        return (0, 0)

    @contextmanager
    def graph(self, graph: Any, pool: object = None) -> Iterator[None]:
        """Record the operators that run."""
        global _recorded
        _recorded = graph.operators
        try:
            yield
        finally:
            _recorded = None

    def is_available(self) -> bool:
        return True

    def is_initialized(self) -> bool:
        return True

    def _is_in_bad_fork(self) -> bool:
        return False

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def manual_seed_all(self, seed: int) -> None:
        """Do nothing: the device has no random number generator."""


class DeviceTensor(torch.Tensor):
    """A tensor on the device; `raw` contains its values on the CPU."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]
    raw: torch.Tensor

    @staticmethod
    def __new__(cls, raw: torch.Tensor) -> DeviceTensor:
        tensor: Any = torch._C._acc.create_empty_tensor(tuple(raw.shape), raw.dtype)
        tensor.__class__ = DeviceTensor
        return tensor  # type: ignore[no-any-return]

    def __init__(self, raw: torch.Tensor) -> None:
        self.raw = raw

    def detach(self) -> DeviceTensor:
        return DeviceTensor(self.raw.detach())


def _to_cpu(value: Any) -> Any:
    if isinstance(value, DeviceTensor):
        return value.raw
    if isinstance(value, torch.device) and value.type == NAME:
        return torch.device("cpu")
    return value


def _run(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """Run an operator on the CPU.

    Tensors of both devices cannot be combined, except for scalars and indices.
    """
    tensors = [leaf for leaf in _pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    on_device = [tensor for tensor in tensors if isinstance(tensor, DeviceTensor)]
    stray = [tensor for tensor in tensors if not isinstance(tensor, DeviceTensor) and tensor.dim() > 0]
    if on_device and stray and not operator._schema.name.startswith("aten::index"):
        raise RuntimeError(f"expected all tensors of {operator} to be on one device")
    if operator._schema.name in {"aten::view", "aten::_unsafe_view"}:
        operator = torch.ops.aten.reshape.default
    arguments, options = _pytree.tree_map(_to_cpu, (args, kwargs))
    name = operator._schema.name
    is_awaited = name in AWAITED or (name == "aten::index" and _has_boolean_index(args[1]))
    if is_awaited and _recorded is not None:
        raise RuntimeError(f"{name} waits for the device, which is not possible in a capture")
    operators["awaited" if is_awaited else "launched"] += 1
    output = operator(*arguments, **options)
    known = {id(tensor.raw): tensor for tensor in on_device}

    def wrap(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return known[id(value)] if id(value) in known else DeviceTensor(value)

    if _recorded is not None:
        _recorded.append((operator, arguments, options, output))
    return _pytree.tree_map(wrap, output)


def _has_boolean_index(indices: Any) -> bool:
    return any(index is not None and index.dtype is torch.bool for index in indices)


def _empty_strided(size: Any, stride: Any, *, dtype: Any = None, **_: Any) -> DeviceTensor:
    return DeviceTensor(torch.empty_strided(size, stride, dtype=dtype))


def _empty(size: Any, *, dtype: Any = None, **_: Any) -> DeviceTensor:
    return DeviceTensor(torch.empty(size, dtype=dtype))


def _arange(*bounds: Any, dtype: Any = None, **_: Any) -> DeviceTensor:
    return DeviceTensor(torch.arange(*bounds, dtype=dtype))


def _copy(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    ways = {(False, True): "to the device", (True, False): "from the device", (True, True): "within it"}
    way = ways[isinstance(source, DeviceTensor), isinstance(target, DeviceTensor)]
    transfers[way] += 1
    if _recorded is not None:
        if way != "within it":
            raise RuntimeError(f"a transfer {way} is not possible in a capture")
        _recorded.append((_copy_raw, (_to_cpu(source), _to_cpu(target)), {}, _to_cpu(target)))
    _to_cpu(target).copy_(_to_cpu(source))
    return target


def _copy_raw(source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return target.copy_(source)


def _read_scalar(tensor: torch.Tensor) -> Any:
    if _recorded is not None:
        raise RuntimeError("reading a number is not possible in a capture")
    operators["awaited"] += 1
    return _to_cpu(tensor).item()


def install() -> list[torch.library.Library]:
    """Make "npu" the accelerator of this process, as long as the returned registrations exist."""
    _setup_privateuseone_for_python_backend(NAME, backend_module=Backend())
    library: Any = torch.library.Library
    fallback = library("_", "IMPL")
    fallback.fallback(_run, "PrivateUse1")
    aten = library("aten", "IMPL")
    own = {
        "empty_strided": _empty_strided,
        "empty.memory_format": _empty,
        "arange": _arange,
        "arange.start": _arange,
        "arange.start_step": _arange,
        "_copy_from": _copy,
        "_local_scalar_dense": _read_scalar,
    }
    for name, implementation in own.items():
        aten.impl(name, implementation, "PrivateUse1")
    # Composite kernels would use the empty storage of device tensors, so they run on the CPU as well.
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    for qualified in torch._C._dispatch_get_all_op_names():
        name = qualified.removeprefix("aten::")
        base, _, overload = name.partition(".")
        if (
            not qualified.startswith("aten::")
            or name in own
            or base in {"_to_copy", "copy_", "copy", "clone", "to", "contiguous"}
            or not has_kernel(qualified, "CompositeExplicitAutograd")
            or has_kernel(qualified, "CompositeImplicitAutograd")
        ):
            continue
        operator = getattr(getattr(torch.ops.aten, base), overload or "default")
        if any("Tensor" in str(argument.type) for argument in operator._schema.arguments):
            aten.impl(name, functools.partial(_run, operator), "PrivateUse1")
    return [fallback, aten]
