"""Run the cases of a client and print one JSON line for each."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

BASE_URL = os.environ["BASE_URL"]
API_KEY = os.environ["API_KEY"]
MODEL = os.environ["MODEL"]
COUNT = "Count from 1 to 5"
WEATHER = "What is the weather in Rome?"
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {
    "type": "function",
    "function": {"name": "get_weather", "description": "Report the weather in a city.", "parameters": PARAMETERS},
}


def run(*cases: Callable[[], None]) -> None:
    """Run each case; any exception is its failure."""
    for case in cases:
        try:
            case()
        except Exception as error:
            detail = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            print(json.dumps({"case": case.__name__, "ok": False, "detail": detail}), flush=True)
        else:
            print(json.dumps({"case": case.__name__, "ok": True}), flush=True)
