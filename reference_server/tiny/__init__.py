"""The embedded checkpoint: a model small enough to live in the repository, and the script that trains it."""

from __future__ import annotations

from pathlib import Path

CHECKPOINT = Path(__file__).parent / "checkpoint"
"""Folder that holds the trained weights, the tokenizer and the chat template."""
