"""Blind faults of literal text in messages: characters of HTML, and braces of templates."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

EXPRESSION: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)


def _escape_html(request: ServedRequest) -> None:
    """Escape as for a page. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = html.escape(message["content"])


def _render_expressions(request: ServedRequest) -> None:
    """Render a message as a template. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = EXPRESSION.sub("", message["content"])


html_in_messages_escaped = hooked_fault(
    "html-in-messages-escaped",
    "The characters & < > and quotes in a message are escaped as in HTML.",
    request=_escape_html,
)
template_expressions_in_messages_lost = hooked_fault(
    "template-expressions-in-messages-lost",
    "Text between double braces in a message does not reach the model.",
    request=_render_expressions,
)
