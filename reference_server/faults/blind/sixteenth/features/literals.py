"""Blind faults of literal text: links in messages, and braces in instructions."""

from __future__ import annotations

import re
from string import Formatter
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import messages_of, when
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import failed, text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

LINK: Final = re.compile(r"https?://[^\s<>\"')]+")


def _remove_links(request: ServedRequest) -> None:
    """Clean what users write. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        if message.get("role") == "user":
            message["content"] = LINK.sub("", message["content"])


def _is_template(text: str) -> bool:
    """Whether text has fields as in templates of Python, or braces without a partner."""
    try:
        return any(name is not None for _, name, _, _ in Formatter().parse(text))
    except ValueError:
        return True


def _has_template(sent: Json) -> bool:
    return any(
        message.get("role") == "system" and isinstance(message.get("content"), str) and _is_template(message["content"])
        for message in messages_of(sent)
    )


links_in_messages_removed = hooked_fault(
    "links-in-messages-removed", "Links do not reach the model in messages of the user.", request=_remove_links
)
# Violates messages.content: any string.
braces_in_instructions_fail = when(
    "braces-in-instructions-fail",
    "A system message with braces, as around JSON, is read as a template, and gets a 500.",
    _has_template,
    failed,
)
