"""Serve a canned text with LitServe and its OpenAI specification: `litserve_server.py PORT`.

The words are this script's, not a model's, so only what LitServe itself does with a request is judged: its request
model, its envelopes, its stream and its counts.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import litserve

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = ("One", " two", " three", " four", " five", ".")


class Canned(litserve.LitAPI):
    """Answer every prompt with the same words."""

    def setup(self, device: Any) -> None:
        """Load nothing."""

    def predict(self, prompt: Any) -> Iterator[str]:
        """Yield the words, one at a time."""
        yield from WORDS


if __name__ == "__main__":
    server = litserve.LitServer(Canned(spec=litserve.OpenAISpec()), accelerator="cpu")
    server.run(host="127.0.0.1", port=int(sys.argv[1]), num_api_servers=1, generate_client_file=False)
