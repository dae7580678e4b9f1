"""The chat template of the vision-language model, and the prompts that it renders."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from transformers.utils.chat_template_utils import render_jinja_template

from reference_server.tiny.rendering import CHAT_TEMPLATE
from reference_server.tiny.turn import END_OF_TEXT

if TYPE_CHECKING:
    from reference_server.tiny.vision.questions import MediaQuestion

PLACEHOLDER: Final = END_OF_TEXT
"""The token whose embedding a picture replaces: a chat contains no other one of its kind."""
TOKENS_PER_PICTURE: Final = 16

_NAMED: Final = "{%- else -%}{{- '[' + part.type + ']' -}}"
_SHOWN: Final = "{%- elif part.type in ('image', 'video', 'audio') -%}{{- '" + PLACEHOLDER + "' -}}\n            "


@cache
def vision_template() -> str:
    """Return the template of the text model with a placeholder for each medium, instead of its type in brackets."""
    source = CHAT_TEMPLATE.read_text(encoding="utf-8")
    if source.count(_NAMED) != 1:
        raise ValueError("the chat template has no branch for parts of other types")
    return source.replace(_NAMED, _SHOWN + _NAMED)


def vision_prompt(question: MediaQuestion) -> str:
    """Return the prompt of a question, with one placeholder for each token of its media."""
    media: list[dict[str, Any]] = [{"type": kind} for kind in question.kinds]
    first = {"type": "text", "text": question.earlier[0] if question.earlier else question.question}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [*media, first] if question.media_first else [first, *media]}
    ]
    if question.earlier:
        messages.append({"role": "assistant", "content": question.earlier[1]})
        messages.append({"role": "user", "content": question.question})
    rendered = str(
        render_jinja_template(
            conversations=[messages], chat_template=vision_template(), add_generation_prompt=True, enable_thinking=False
        )[0][0]
    )
    for pictures in question.media:
        rendered = rendered.replace(PLACEHOLDER, "\0" * TOKENS_PER_PICTURE * len(pictures), 1)
    return rendered.replace("\0", PLACEHOLDER)
