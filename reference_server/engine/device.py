"""The tensor library and the device it computes on.

Every module of the engine imports `torch` from here, so that three environment variables are always set first. An
installed torch_npu loads itself on `import torch`, and this import fails if CANN is missing, unless a variable disables
the loading. On processors with AVX-512, MKL sums the products of a row in another order if there are few other rows,
unless a variable demands strict reproducibility, which costs no measurable time. The threads of OpenMP wait for the
next operator by spinning, by default for milliseconds, in which they keep the processor from the thread that they wait
for if another program runs on it as well: a model that starts in 9 s took 17 to 39 s. They sleep earlier here.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")  # about 0.2 ms, longer than the pauses within a step

import torch

__all__ = ["load_npu", "select_device", "torch"]

NPU = "torch_npu"
_log = logging.getLogger(__name__)


def load_npu() -> bool:
    """Return whether the Ascend backend is installed and loads; log the reason once if it does not load.

    A backend that does not load is hidden from transformers, which would import it again and fail.
    """
    if sys.modules.get(NPU) is not None:
        return True
    if NPU in sys.modules or importlib.util.find_spec(NPU) is None:
        return False
    try:
        importlib.import_module(NPU)
    except (ImportError, OSError, RuntimeError) as error:
        sys.modules[NPU] = None  # type: ignore[assignment]  # marks the module as missing for the import system
        _log.warning("torch_npu does not load (%s): source CANN's set_env.sh for the NPU", _first_line(error))
        return False
    return True


def select_device(name: str) -> torch.device:
    """Return the device called `name`; for "auto" the machine's accelerator, otherwise the CPU.

    Raises ValueError for a device that is not available.
    """
    load_npu()
    if name == "auto":
        return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ModuleNotFoundError, AttributeError) as error:
        raise ValueError(f"device {name!r} cannot be used ({_explain(name, error)}): use 'auto' or 'cpu'") from error
    return device


def _explain(name: str, error: BaseException) -> str:
    kind = name.partition(":")[0]
    if kind == "npu" and sys.modules.get(NPU) is None:
        installed = NPU in sys.modules or importlib.util.find_spec(NPU) is not None
        return (
            "torch_npu does not load"
            if installed
            else "torch_npu is not installed: install chatproof with its extra [npu]"
        )
    return "torch has no such device" if "device string" in str(error) else _first_line(error)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
