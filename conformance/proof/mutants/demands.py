"""Mutants of requests that must be refused."""

from __future__ import annotations

from conformance.proof.editing.responses import accept
from conformance.proof.mutants.mutant import Mutant

NO_MESSAGES = Mutant("demands.messages", "A request without messages is answered.", accept)
OUT_OF_ORDER = Mutant("demands.tokens-in-order", "A request for more tokens than it allows is answered.", accept)
