"""Passes captured as graphs of a device: one launch instead of thousands, and no Python between the operators."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any, Final

from reference_server.engine.device import torch
from reference_server.engine.model.forward_pass import DATA_DEPENDENT_OPERATORS, OperatorRecorder
from reference_server.engine.transfers import write

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from collections.abc import Sequence as Seq

    Compute = Callable[[torch.Tensor], torch.Tensor]

_log = logging.getLogger(__name__)
OTHER_THREADS: Final = {"capture_error_mode": "thread_local"}
"""What other threads do to the device does not end a capture, where a backend has this option."""


class GraphBackend:
    """The graphs of a kind of device, by the names that torch's backends give them.

    These are torch.cuda.CUDAGraph, torch.npu.NPUGraph and torch.xpu.XPUGraph, each with `graph` and
    `graph_pool_handle`.
    """

    def __init__(self, graph_class: Any, capture: Any, create_pool: Callable[[], Any]) -> None:
        self._graph_class = graph_class
        self._capture = capture
        self._create_pool = create_pool
        self._pool = create_pool()  # graphs never run at the same time, so they share memory for what is in between
        self._options = OTHER_THREADS if "capture_error_mode" in inspect.signature(capture).parameters else {}

    @classmethod
    def find(cls, device: torch.device) -> GraphBackend | None:
        """Return the graphs of a device; None if its backend has none."""
        module: Any = getattr(torch, device.type, None)
        names = [name for name in dir(module) if name.lower() == f"{device.type}graph"]
        if not names or not hasattr(module, "graph") or not hasattr(module, "graph_pool_handle"):
            return None
        return cls(getattr(module, names[0]), module.graph, module.graph_pool_handle)

    def renew(self) -> GraphBackend:
        """Return the same with other memory: that of graphs that are all gone cannot be used again."""
        return GraphBackend(self._graph_class, self._capture, self._create_pool)

    def capture(self, function: Callable[[], object]) -> Any:
        """Return the operators of a function as a graph with the method `replay`."""
        graph = self._graph_class()
        with self._capture(graph, pool=self._pool, **self._options):
            function()
        return graph


class GraphedPasses:
    """Passes that read one tensor of integers and write logits, both at fixed places, as graphs by their shapes.

    The first pass of a shape decides: it is captured if no value in a tensor affects which operators run, and if the
    graph gives the same logits as its operators do one by one. A shape whose graph does not is left out; after an
    exception, nothing else is captured.

    backend: None: nothing is captured.
    rows: most rows of logits. numbers: most integers.
    enabled: whether graphs run; otherwise all shapes run their operators one by one, and graphs are kept.
    """

    def __init__(
        self, backend: GraphBackend | None, device: torch.device, *, rows: int, vocabulary_size: int, numbers: int
    ) -> None:
        self._backend = self._available = backend
        self._numbers = torch.zeros(numbers, dtype=torch.long, device=device)
        self._logits = torch.zeros(rows, vocabulary_size, device=device)
        self._graphs: dict[Hashable, Any] = {}
        self.enabled = True
        self.seen: set[Hashable] = set()

    def forget(self) -> None:
        """Drop all graphs, because the same shapes will be computed in another way."""
        self._graphs.clear()
        self._backend = self._available and self._available.renew()
        self.seen.clear()

    @property
    def captured(self) -> int:
        """Number of shapes that have a graph."""
        return len(self._graphs)

    def has_graph(self, shape: Hashable) -> bool:
        return shape in self._graphs

    def replay(self, shape: Hashable) -> None:
        """Run the graph of a shape again, with the numbers of the last pass."""
        self._graphs[shape].replay()

    def run(self, shape: Hashable, numbers: Seq[int], rows: int, compute: Compute) -> torch.Tensor:
        """Return float32 logits [rows, vocabulary], which the device may still compute, and the next call overwrites.

        compute: returns logits for a tensor of these numbers; the shape decides which operators it runs.
        """
        inputs = self._numbers[: len(numbers)]
        write(numbers, inputs)
        logits = self._logits[:rows]

        def run() -> None:
            logits.copy_(compute(inputs))

        if shape not in self.seen:
            self.seen.add(shape)
            self._prepare(shape, logits, run)
        elif self.enabled and shape in self._graphs:
            self._graphs[shape].replay()
        else:
            run()
        return logits

    def _prepare(self, shape: Hashable, logits: torch.Tensor, run: Callable[[], None]) -> None:
        """Run a pass for the first time, and keep its graph if that does the same."""
        with OperatorRecorder() as recorder:
            run()
        if self._backend is None:
            return
        if dependent := sorted(recorder.names & DATA_DEPENDENT_OPERATORS):
            self._disable(f"its operators depend on values ({dependent[0]})")
            return
        once = logits.clone()
        run()
        again = logits.clone()
        try:
            graph = self._backend.capture(run)
            logits.zero_()
            graph.replay()
            is_same = _is_as_close(logits, once, again)
        except Exception as error:  # a capture can raise any exception
            self._disable((str(error).strip() or type(error).__name__).splitlines()[0])
            run()
            return
        if is_same:
            self._graphs[shape] = graph
        else:
            difference, noise = (float((one - again).abs().max()) for one in (logits, once))
            _log.info(
                "the graph of %s gives other logits, so its operators run one by one: off by %.2g, two runs by %.2g",
                shape,
                difference,
                noise,
            )
            run()

    def _disable(self, reason: str) -> None:
        self._backend = None
        _log.warning("passes are not captured as graphs: %s", reason)


def _is_as_close(logits: torch.Tensor, once: torch.Tensor, again: torch.Tensor) -> bool:
    """Return whether logits are equal to those of two runs, or as close to one of them as the runs are."""
    if torch.equal(logits, again):
        return True
    noise = float((once - again).abs().max())
    return noise > 0 and float((logits - again).abs().max()) <= noise
