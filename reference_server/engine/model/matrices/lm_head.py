"""The language-model head: hidden states to logits, as in the model's own forward pass."""

from __future__ import annotations

from copy import copy
from typing import Any

from reference_server.engine.device import torch


class LMHead(torch.nn.Module):
    """The layers of a model after its base model: the output matrix and, in some models, a scale or cap of the logits.

    It runs the model's own forward pass with a base model that returns its input.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        head_model = copy(model)  # shares the weights of the model
        head_model._modules = {**model._modules, model.base_model_prefix: _IdentityLayers()}
        self._head_model = head_model

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return logits [tokens, vocabulary] of hidden states [tokens, width]."""
        logits: torch.Tensor = self._head_model(inputs_embeds=hidden[None], use_cache=False).logits[0]
        return logits


class _IdentityLayers(torch.nn.Module):
    """Layers that return their input."""

    def forward(self, *_: object, inputs_embeds: torch.Tensor, **_kwargs: object) -> _ModelOutput:
        """Return the input."""
        return _ModelOutput(inputs_embeds)

    @property
    def decoder(self) -> _IdentityLayers:
        """The layers themselves, for models that call the decoder inside their base model."""
        return self


class _ModelOutput:
    """The output of a transformers model with hidden states only, by index or by name."""

    def __init__(self, hidden: torch.Tensor) -> None:
        self.last_hidden_state = hidden

    def __getitem__(self, place: int) -> torch.Tensor:
        if place:
            raise IndexError(place)
        return self.last_hidden_state

    def __getattr__(self, _name: str) -> None:
        return None
