"""Copies between the memory of the host and that of a device, without waiting where the device allows it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from reference_server.engine.device import torch

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq


def upload(values: Any, device: torch.device, dtype: torch.dtype = torch.long) -> torch.Tensor:
    """Return numbers, by default integers, as a tensor on a device.

    The copy to an accelerator starts from pinned memory, so it does not wait for what the device still computes.
    """
    if device.type == "cpu":
        return torch.tensor(values, dtype=dtype)
    pinned = has_pinned_memory(device.type)
    return torch.tensor(values, dtype=dtype, pin_memory=pinned).to(device, non_blocking=pinned)


def write(values: Seq[int], target: torch.Tensor) -> None:
    """Write integers to a tensor of a device, copied as in `upload`."""
    pinned = has_pinned_memory(target.device.type)
    target.copy_(torch.tensor(values, dtype=target.dtype, pin_memory=pinned), non_blocking=pinned)


def move(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Return a tensor of the host on a device, copied as in `upload`."""
    if device.type == "cpu":
        return tensor
    pinned = has_pinned_memory(device.type)
    return (tensor.pin_memory() if pinned else tensor).to(device, non_blocking=pinned)


def fetch(columns: Seq[torch.Tensor], others: Seq[torch.Tensor] = ()) -> list[torch.Tensor]:
    """Return tensors of one device in the memory of the host, with one synchronization for all of them.

    columns: tensors of integers or Boolean values with one element for each row, transferred as one.
    """
    device = columns[0].device
    if device.type == "cpu":
        return [*columns, *others]
    pinned = has_pinned_memory(device.type)
    copies = [tensor.to("cpu", non_blocking=pinned) for tensor in others]
    # The last copy waits for everything that was queued in front of it.
    return [*torch.stack([column.long() for column in columns]).to("cpu"), *copies]


@cache
def has_pinned_memory(device_type: str) -> bool:
    """Return whether the backend of a kind of device allocates host memory from which it copies asynchronously."""
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None or accelerator.type != device_type:
        return False
    try:
        return torch.empty(1, pin_memory=True).is_pinned()
    except (RuntimeError, NotImplementedError):
        return False
