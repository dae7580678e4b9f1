"""What the loop needs of a runner, whatever stores the state of the sequences."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Sequence as Seq

    from reference_server.engine.device import torch
    from reference_server.engine.multimodal.embeddings import MediaEmbeddings


class Stopwatch:
    """The time that a runner has spent on preparing passes, instead of running them."""

    def __init__(self) -> None:
        self._total_s = 0.0
        self._began_s: float | None = None

    @property
    def current_s(self) -> float:
        """Seconds of the preparation in progress, otherwise 0; any thread may read them."""
        began_s = self._began_s
        return 0.0 if began_s is None else time.monotonic() - began_s

    @property
    def seconds(self) -> float:
        """Seconds of all preparations until now."""
        return self._total_s + self.current_s

    def __enter__(self) -> Stopwatch:
        self._began_s = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self._total_s, self._began_s = self.seconds, None


class ModelRunner(Protocol):
    """Forward passes of one model over the sequences in its slots. The methods are documented at `Runner`.

    exact: whether a sequence gets the same bits in any batch.
    ragged: whether a prefill may contain single next tokens of other sequences, and costs no padding.
    keeps_prefixes: whether a prompt may come in several pieces, and begin with what another slot has stored.
    on_pass_start: called when the Python work for a pass is finished and the pass begins.
    preparation: the time spent on compiling or capturing passes, which does not count as the time of a step.
    media: embeddings of media; set when the engine is created.
    """

    exact: bool
    ragged: bool
    keeps_prefixes: bool
    max_model_len: int
    vocabulary_size: int
    on_pass_start: Callable[[], None]
    preparation: Stopwatch
    media: MediaEmbeddings | None

    def prefill(self, pieces: Seq[Seq[int]], slots: Seq[int], starts: Seq[int] | None = None) -> torch.Tensor: ...

    def decode(self, tokens: Seq[int], positions: Seq[int], slots: Seq[int]) -> torch.Tensor: ...

    def prompt_logits(self, prompt: Seq[int]) -> Iterator[torch.Tensor]: ...

    def copy(self, moves: Seq[tuple[int, int]], length: int) -> None: ...

    def clear(self, slots: Seq[int]) -> None: ...

    def release(self, slot: int) -> None: ...

    def bind_thread(self) -> None: ...

    def warm_up(self, limit_s: float) -> None: ...

    def reset(self) -> None: ...
