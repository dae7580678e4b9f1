"""Head: hidden states to logits, as a model's own forward pass has it."""

from __future__ import annotations

from copy import copy
from typing import Any

from reference_server.engine.device import torch


class LMHead(torch.nn.Module):
    """All that a model does behind its layers: the output matrix, and what some do to logits then (a scale, a cap).

    It is the model's own forward pass over layers that hand on what they are given.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        head_model = copy(model)  # its weights are the model's own
        head_model._modules = {**model._modules, model.base_model_prefix: _IdentityLayers()}
        self._head_model = head_model

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits [tokens, vocabulary] of hidden states [tokens, width]."""
        logits: torch.Tensor = self._head_model(inputs_embeds=hidden[None], use_cache=False).logits[0]
        return logits


class _IdentityLayers(torch.nn.Module):
    """Layers that change nothing."""

    def forward(self, *_: object, inputs_embeds: torch.Tensor, **_kwargs: object) -> _ModelOutput:
        """What comes in."""
        return _ModelOutput(inputs_embeds)

    @property
    def decoder(self) -> _IdentityLayers:
        """Itself: some models ask the decoder inside."""
        return self


class _ModelOutput:
    """What transformers' models give: hidden states, first or by name, and nothing else that was asked for."""

    def __init__(self, hidden: torch.Tensor) -> None:
        self.last_hidden_state = hidden

    def __getitem__(self, place: int) -> torch.Tensor:
        if place:
            raise IndexError(place)
        return self.last_hidden_state

    def __getattr__(self, _name: str) -> None:
        return None
