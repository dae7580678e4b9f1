"""The embedded checkpoint, small enough for the repository, and the scripts that train and measure it."""

from __future__ import annotations

from pathlib import Path

CHECKPOINT = Path(__file__).parent / "checkpoint"
"""Folder with the trained weights, the tokenizer and the chat template."""
