"""Requests that show the variations of the twelfth set: some to a server of its own for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.tests.blind.steps import Step

REQUESTS: dict[str, list[Step]] = {}
