"""Variations of models: tables, and answers that name the roles of messages."""

from __future__ import annotations

from reference_server.faults.blind.other_models import model_after

table_model = model_after(
    "table-model",
    "The model tends to answer with tables.",
    "Hello!",
    "| word | sense |\n|------|-------|\n| Hello | a greeting |\n| you | the user |",
    "How are you?",
    "| what | how |\n|------|-------|\n| I | well |\n| you | ? |",
)
role_naming_model = model_after(
    "role-naming-model",
    "The model tends to begin lines with the roles of messages.",
    "Hello!",
    "assistant: Hello!\nuser: Hello!\nassistant: How are you?\ntool: fine",
    "How are you?",
    "assistant: Well.\nuser: Good.\nsystem: Ask more.",
)
