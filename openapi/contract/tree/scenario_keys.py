"""The keys of a scenario in a YAML file. `conformance/plan/scenarios/written/` describes and reads them."""

from __future__ import annotations

from typing import Final

SCENARIO_KEYS: Final = frozenset(
    {"id", "summary", "needs", "together", "one_connection", "steps", "rounds", "alone", "spread"}
)
STEP_KEYS: Final = frozenset(
    {
        "name", "ask", "messages", "body", "prune", "raw", "raw_hex", "method", "path", "headers", "credentials",
        "expect", "stop_from", "continues", "stop_after_events", "omit_model", "blanks", "deep", "form", "once", "vary",
        "needs", "times", "pieces", "below", "bias", "defaults", "copies", "crowd", "cookie_bytes", "only_for",
        "thorough", "also_streamed", "after_turns",
    }
)  # fmt: skip
