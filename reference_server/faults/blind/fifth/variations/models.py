"""A variation of models: answers that name the roles of messages."""

from __future__ import annotations

from reference_server.faults.blind.other_models import model_after

role_naming_model = model_after(
    "role-naming-model",
    "The model tends to begin lines with the roles of messages.",
    "What is the capital of France?",
    "assistant: Paris.\nuser: Thank you.\ntool: fine",
    "Hello!",
    "assistant: Hello!\nuser: How are you?\nassistant: Well.",
)
