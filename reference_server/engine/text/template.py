"""The chat template of a checkpoint, as transformers renders it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_server.engine.text.chat import Render

# Parameters of transformers' apply_chat_template that are not template variables.
RESERVED_ARGUMENTS: Final = {
    "chat_template",
    "conversation",
    "max_length",
    "padding",
    "return_assistant_tokens_mask",
    "return_dict",
    "return_tensors",
    "sanitize_control_tokens",
    "tokenize",
    "tokenizer_kwargs",
    "tools",
    "truncation",
}
PROBE: Final = "probe"


def create_render(tokenizer: Any, *, any_content: bool) -> Render:
    """Return the chat template of a tokenizer of transformers.

    any_content: whether to find out if the template shows content that is a string; those of some vision-language
        models show only the parts of a list, and then get strings as lists of one part.
    """

    def render(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, arguments: Mapping[str, Any]) -> str:
        if reserved := sorted(arguments.keys() & RESERVED_ARGUMENTS):
            raise ValueError(f"the template argument {reserved[0]} is reserved: remove it")
        options = {"add_generation_prompt": True, **arguments}
        text: str = tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, **options)
        return text

    def render_parts(
        messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, arguments: Mapping[str, Any]
    ) -> str:
        return render(list(map(_with_parts, messages)), tools, arguments)

    return render_parts if any_content and not _shows_strings(render) else render


def template_source(template: str | dict[str, str]) -> str:
    """Return the source of a chat template; some checkpoints have several, by name."""
    return template if isinstance(template, str) else "\n".join(template.values())


def _shows_strings(render: Render) -> bool:
    try:
        return PROBE in render([{"role": "user", "content": PROBE}], None, {})
    except Exception:  # a template can raise any exception
        return False


def _with_parts(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with its text as a list of one part."""
    content = message.get("content")
    return {**message, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else message
