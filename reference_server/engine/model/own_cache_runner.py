"""Forward passes with the model's own cache, one sequence after another, for models that the slot cache cannot hold."""

from __future__ import annotations

import copy
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from reference_server.engine.device import torch
from reference_server.engine.model.model_runner import Stopwatch
from reference_server.engine.model.runner import LOGITS_BLOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Sequence as Seq

    from reference_server.engine.multimodal.embeddings import MediaEmbeddings
    from reference_server.engine.multimodal.model_inputs import InputTable, ModelInputs

ENCODER_INPUTS: Final = ("pixel_", "input_features")
"""Names of what only the first pass reads; it can be larger than the cache."""


@dataclass(slots=True)
class _State:
    """A sequence of `length` tokens, and the arguments with which the model continues it, such as its cache."""

    arguments: dict[str, Any]
    length: int = 0


class OwnCacheRunner:
    """Forward passes of any causal language model that transformers generates with, over its own cache.

    A state that sums up all earlier tokens cannot be cut, so no prefix is reused and a prompt is one pass. Each
    sequence is computed alone: it gets the same bits whatever else runs, and a step of eight sequences takes eight
    times as long.

    inputs: what a processor made of the media of prompts. The model then also gets positions, as `generate` sets them.
    on_pass_start: called when the Python work for a pass is finished and the pass begins.
    """

    def __init__(self, model: Any, *, slots: int, max_model_len: int, inputs: InputTable | None = None) -> None:
        self.exact = True
        self.keeps_prefixes = False
        self.media: MediaEmbeddings | None = None
        self.ragged = False
        self.max_model_len = max_model_len
        self.on_pass_start: Callable[[], None] = _do_nothing
        self.vocabulary_size: int = model.get_output_embeddings().weight.shape[0]
        self._model = model
        self._inputs = inputs
        self._accepted = {
            *inspect.signature(model.forward).parameters,
            *inspect.signature(model.prepare_inputs_for_generation).parameters,
        }
        self._device: torch.device = model.device
        self.preparation = Stopwatch()
        self._states: list[_State | None] = [None] * slots

    def prefill(self, pieces: Seq[Seq[int]], slots: Seq[int], starts: Seq[int] | None = None) -> torch.Tensor:
        """Return logits float32 [pieces, vocabulary] on the CPU after each prompt; replace what the slots have stored.

        starts: 0 for each prompt.
        """
        if any(starts or ()):
            raise ValueError("a prompt is one pass: expected no tokens before it")
        for slot in slots:
            self._states[slot] = self._create_state()
        self.on_pass_start()
        return torch.stack([self._advance(slot, piece) for slot, piece in zip(slots, pieces, strict=True)])

    def decode(self, tokens: Seq[int], positions: Seq[int], slots: Seq[int]) -> torch.Tensor:
        """Return logits float32 [tokens, vocabulary] on the CPU, after one more token at its position in its slot."""
        self.on_pass_start()
        rows = []
        for token, position, slot in zip(tokens, positions, slots, strict=True):
            state = self._states[slot]
            if state is None or state.length != position:  # its slot was cleared: the sequence has ended
                rows.append(torch.zeros(self.vocabulary_size))
            else:
                rows.append(self._advance(slot, [token]))
        return torch.stack(rows)

    def prompt_logits(self, prompt: Seq[int]) -> Iterator[torch.Tensor]:
        """Yield logits float32 [tokens, vocabulary] on the CPU after every token of a prompt, in blocks."""
        logits = self._run(self._create_state(), prompt)
        for begin in range(0, len(prompt), LOGITS_BLOCK):
            yield logits[begin : begin + LOGITS_BLOCK].to("cpu", torch.float32)

    def copy(self, moves: Seq[tuple[int, int]], length: int) -> None:  # noqa: ARG002 - a state is copied whole
        """Copy what slots have stored to other slots; moves: (from, to), no slot is both."""
        for source, target in moves:
            self._states[target] = copy.deepcopy(self._states[source])

    def clear(self, slots: Seq[int]) -> None:
        """Forget what the slots have stored."""
        for slot in slots:
            self._states[slot] = None

    def release(self, slot: int) -> None:
        """Free the memory of a sequence that has ended."""
        self._states[slot] = None

    def bind_thread(self) -> None:
        """Use the model's device on the thread that will run the passes."""
        if self._device.type != "cpu":
            torch.accelerator.set_device_index(self._device.index or 0)

    def warm_up(self, limit_s: float) -> None:
        """Do nothing: each length of a sequence is another shape."""

    def reset(self) -> None:
        """Forget everything."""
        self.clear(range(len(self._states)))

    def _create_state(self) -> _State:
        mask = torch.ones(1, 0, dtype=torch.long, device=self._device)
        return _State({"use_cache": True, "attention_mask": mask})

    def _advance(self, slot: int, tokens: Seq[int]) -> torch.Tensor:
        """Return the logits [vocabulary] after more tokens of a slot."""
        state = self._states[slot]
        if state is None:
            raise ValueError(f"slot {slot} has no sequence")
        return self._run(state, tokens)[-1].to("cpu", torch.float32)

    def _run(self, state: _State, tokens: Seq[int]) -> torch.Tensor:
        """Return the logits [tokens, vocabulary] after more tokens of a sequence, as `generate` computes them.

        Some models have their own names and kinds of caches, which only their own methods know.
        """
        arguments, model = state.arguments, self._model
        is_first, state.length = not state.length, state.length + len(tokens)
        mask = arguments["attention_mask"]
        arguments["attention_mask"] = torch.cat([mask, mask.new_ones(1, state.length - mask.shape[1])], dim=1)
        ids = torch.tensor([tokens if self._inputs is None else self._inputs.as_tokens(tokens)], device=self._device)
        if is_first and self._inputs is not None:
            arguments |= self._prepare_first(ids, self._inputs.find(tokens), arguments)
        inputs = model.prepare_inputs_for_generation(
            ids, next_sequence_length=len(tokens), is_first_iteration=is_first, **arguments
        )
        outputs = model(**inputs, return_dict=True)
        state.arguments = {
            name: value
            for name, value in model._update_model_kwargs_for_generation(outputs, arguments).items()
            if not name.startswith(ENCODER_INPUTS)
        }
        logits: torch.Tensor = outputs.logits[0]
        return logits

    def _prepare_first(
        self, ids: torch.Tensor, inputs: ModelInputs | None, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """Return what the first pass over a prompt takes more than its tokens: the media, and their positions."""
        model = self._model
        added: dict[str, Any] = {}
        for name, value in (inputs.arguments if inputs is not None else {}).items():
            if name in self._accepted:
                added[name] = self._place(value)
        if "position_ids" in self._accepted:
            added["position_ids"] = model._prepare_position_ids_for_generation(ids, {**arguments, **added})
        return added

    def _place(self, value: Any) -> Any:
        """Return a value for the model: on its device, and in its type if it is a number with a fraction."""
        if not isinstance(value, torch.Tensor):
            return value
        return value.to(self._device, self._model.dtype if value.is_floating_point() else value.dtype)


def _do_nothing() -> None:
    """Default for `on_pass_start`."""
