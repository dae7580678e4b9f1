"""Renders samples as the model's input text with the chat template, without a tokenizer."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from transformers.utils.chat_template_utils import render_jinja_template

from reference_server.tiny.turn import Dialogue, Json, Sample

CHAT_TEMPLATE = Path(__file__).parent / "chat_template.jinja"


@cache
def _source() -> str:
    return CHAT_TEMPLATE.read_text(encoding="utf-8")


def render(
    messages: list[Json], tools: list[Json] | None = None, *, thinking: bool = False, generation_prompt: bool = True
) -> str:
    """Return the chat as one string, exactly like `apply_chat_template` of the saved tokenizer.

    Raises jinja2.TemplateError for an unknown role.
    """
    rendered, _ = render_jinja_template(
        conversations=[messages],
        tools=tools or None,
        chat_template=_source(),
        add_generation_prompt=generation_prompt,
        enable_thinking=thinking,
    )
    return str(rendered[0])


def prompt_text(sample: Sample) -> str:
    """Return the prompt to which `sample.answer()` is the expected answer."""
    if isinstance(sample, Dialogue):
        return render(list(sample.messages), list(sample.tools), thinking=sample.thinking)
    return sample.prompt
