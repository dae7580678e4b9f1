"""The choice of the data type that a checkpoint is computed in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from reference_server.engine.device import torch
from reference_server.engine.model.matrices.packed_linear import MAX_BYTES

if TYPE_CHECKING:
    from reference_server.engine.model.checkpoint_facts import CheckpointFacts

DTYPES: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
AUTO: Final = "auto"
# Instruction sets of x86 that multiply the type, as `torch.cpu.get_capabilities` names them. Other processors convert
# every operand to float32 first.
INSTRUCTIONS: Final = {torch.bfloat16: ("avx512_bf16", "amx_bf16"), torch.float16: ("avx512_fp16", "amx_fp16")}


class DtypeChoice(NamedTuple):
    """The name of a type in DTYPES, and why it was chosen; "auto" is the checkpoint's own."""

    name: str
    reason: str

    @property
    def dtype(self) -> torch.dtype | None:
        """The type; None if only the checkpoint says it."""
        return DTYPES.get(self.name)


def choose_dtype(wanted: str, facts: CheckpointFacts | None, device: torch.device, *, exact: bool) -> DtypeChoice:
    """Return what is wanted, and for "auto" the fastest type that the checkpoint has and the device multiplies.

    On a CPU, that is the checkpoint's own 16-bit type if the processor has instructions for it, otherwise float32. A
    model whose float32 matrices are small enough to be packed is not faster in 16 bits, so it is computed in float32.

    exact: whether equal bits in any batch are required, which only float32 on the CPU has.

    Raises ValueError for an unknown type, and for one that is not exact if that is required.
    """
    if wanted not in (AUTO, *DTYPES):
        raise ValueError(f"unknown dtype {wanted!r}: expected one of {', '.join((AUTO, *DTYPES))}")
    if exact and (device.type != "cpu" or wanted not in (AUTO, "float32")):
        place = wanted if device.type == "cpu" else device.type
        raise ValueError(f"exact is not possible in {place}: it requires float32 on the CPU")
    if wanted != AUTO:
        return DtypeChoice(wanted, "as requested")
    if exact:
        return DtypeChoice("float32", "exact answers require it")
    if device.type != "cpu":
        return DtypeChoice(AUTO, "the checkpoint's own")
    own = None if facts is None else facts.dtype
    if facts is None or own not in INSTRUCTIONS:
        return DtypeChoice("float32", "the CPU's default")
    name = next(name for name, dtype in DTYPES.items() if dtype is own)
    if facts.parameters * torch.float32.itemsize <= MAX_BYTES:
        return DtypeChoice("float32", f"not slower than {name} for a model of this size")
    if not multiplies_natively(own):
        return DtypeChoice("float32", f"this processor has no instructions for {name}")
    return DtypeChoice(name, "the checkpoint's own, for which this processor has instructions")


def multiplies_natively(dtype: torch.dtype) -> bool:
    """Return whether the CPU has instructions that multiply a 16-bit type, and torch's matrix library uses them."""
    has = torch.cpu.get_capabilities()
    uses = {
        torch.bfloat16: torch.ops.mkldnn._is_mkldnn_bf16_supported,
        torch.float16: torch.ops.mkldnn._is_mkldnn_fp16_supported,
    }
    try:
        return any(has.get(name) for name in INSTRUCTIONS[dtype]) and bool(uses[dtype]())
    except (AttributeError, RuntimeError):  # a build of torch without oneDNN
        return False
