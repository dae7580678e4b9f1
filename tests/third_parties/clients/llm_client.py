"""Cases of the command-line tool `llm`, with an OpenAI-compatible model from its configuration file."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import cases

folder = Path(tempfile.mkdtemp())
configuration = f"""- model_id: served
  model_name: {cases.MODEL}
  api_base: {cases.BASE_URL}
  api_key_name: openai
  supports_tools: true
"""
(folder / "extra-openai-models.yaml").write_text(configuration, encoding="utf-8")


def call(*arguments):
    """Run the tool and return its output."""
    command = [sys.executable, "-m", "llm", "prompt", "-m", "served", "--key", cases.API_KEY, *arguments]
    variables = {**os.environ, "LLM_USER_PATH": str(folder)}
    ended = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def streamed():
    """A prompt is answered with a stream."""
    assert call(cases.COUNT, "-o", "max_tokens", "48").strip()


def plain():
    """A prompt is answered at once."""
    assert call(cases.COUNT, "--no-stream", "-o", "max_tokens", "48").strip()


def tool_call():
    """A function is called, with its result in the conversation."""
    function = 'def get_weather(city: str) -> str:\n    "Report the weather in a city."\n    return "Sunny"\n'
    assert "get_weather" in call_with_debug(function)


def call_with_debug(function):
    """Return what the tool says about its calls."""
    arguments = [cases.WEATHER, "--functions", function, "--td", "-o", "max_tokens", "200"]
    command = [sys.executable, "-m", "llm", "prompt", "-m", "served", "--key", cases.API_KEY, *arguments]
    variables = {**os.environ, "LLM_USER_PATH": str(folder)}
    ended = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stderr


cases.run(streamed, plain, tool_call)
