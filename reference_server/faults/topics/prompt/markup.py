"""Faults in which the model does not read words within markup, placeholders or comments, or a first answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reference_server.faults.blind.validity import GREETING, allows
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.topics.prompt.texts import converted

if TYPE_CHECKING:
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import ServedRequest


def _removed(name: str, pattern: str, line: str) -> Fault:
    """Make a fault that removes what matches a pattern from messages."""
    found = re.compile(pattern, re.DOTALL)
    return converted(name, lambda text: found.sub("", text), line)


comments_removed = _removed(
    "prompt-comments-removed", r"/\*.*?\*/|<!--.*?-->", "Comments as in C and HTML are removed from messages."
)
scripts_removed = _removed(
    "prompt-scripts-removed", r"<script>.*?</script>", "Scripts are removed from messages, with their text."
)
pictures_removed = _removed(
    "prompt-links-of-pictures-removed",
    r"!\[[^\]]*\]\([^)]*\)",
    "Links to pictures, as in Markdown, are removed from messages.",
)
variables_removed = _removed(
    "prompt-variables-emptied", r"\$\{\w*\}|\$\(\w*\)", "Variables as in shells are removed from messages."
)
addresses_removed = _removed(
    "prompt-addresses-removed", r"[\w.+-]+@[\w-]+\.\w+", "Addresses of mail are removed from messages."
)


def _begin_with_a_question(request: ServedRequest) -> None:
    messages = request.payload.get("messages")
    rows = messages if isinstance(messages, list) else []
    if len(rows) > 1 and isinstance(rows[0], dict) and rows[0].get("role") == "assistant":
        del rows[0]


first_answers_dropped = hooked_fault(
    "first-answers-dropped",
    "A conversation that begins with an answer is read without this answer.",
    request=_begin_with_a_question,
    applies_to=allows(messages=[{"role": "assistant", "content": "Hello!"}, *GREETING]),
)
