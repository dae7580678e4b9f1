"""The embedded vision-language checkpoint, and the scripts that train and measure its encoder.

The language model is the embedded text model, unchanged: a prompt without media gets the same bits from both.
"""

from pathlib import Path

VISION_CHECKPOINT = Path(__file__).parent / "checkpoint"
