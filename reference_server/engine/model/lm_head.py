"""Head: hidden states to logits, as a model's own forward pass has it."""

from __future__ import annotations

from copy import copy
from typing import Any

from reference_server.engine.device import torch


class Head(torch.nn.Module):
    """All that a model does behind its layers: the output matrix, and what some do to logits then (a scale, a cap).

    It is the model's own forward pass over layers that hand on what they are given.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        behind = copy(model)  # its weights are the model's own
        behind._modules = {**model._modules, model.base_model_prefix: _Through()}
        self._behind = behind

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits [tokens, vocabulary] of hidden states [tokens, width]."""
        logits: torch.Tensor = self._behind(inputs_embeds=hidden[None], use_cache=False).logits[0]
        return logits


class _Through(torch.nn.Module):
    """Layers that change nothing."""

    def forward(self, *_: object, inputs_embeds: torch.Tensor, **_kwargs: object) -> _Output:
        """What comes in."""
        return _Output(inputs_embeds)

    @property
    def decoder(self) -> _Through:
        """Itself: some models ask the decoder inside."""
        return self


class _Output:
    """What transformers' models give: hidden states, first or by name, and nothing else that was asked for."""

    def __init__(self, hidden: torch.Tensor) -> None:
        self.last_hidden_state = hidden

    def __getitem__(self, place: int) -> torch.Tensor:
        if place:
            raise IndexError(place)
        return self.last_hidden_state

    def __getattr__(self, _name: str) -> None:
        return None
