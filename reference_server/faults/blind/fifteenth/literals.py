"""Blind faults of literal text: tabs and tags in messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

TAG: Final = re.compile(r"</?[A-Za-z][^<>]*>")
WIDTH: Final = 4


def _expand_tabs(request: ServedRequest) -> None:
    """Indent as editors do. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = message["content"].replace("\t", " " * WIDTH)


def _remove_tags(request: ServedRequest) -> None:
    """Clean what users write. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        if message.get("role") == "user":
            message["content"] = TAG.sub("", message["content"])


tabs_in_messages_expanded = hooked_fault(
    "tabs-in-messages-expanded", "A tab in a message reaches the model as four spaces.", request=_expand_tabs
)
tags_in_messages_removed = hooked_fault(
    "tags-in-messages-removed",
    "Tags as in HTML and XML do not reach the model in messages of the user, but the text between them does.",
    request=_remove_tags,
)
