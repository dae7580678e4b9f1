"""The number of prompt tokens: the least that a conversation can have, and that of an answer which did not report it.

The latter is asked for with a request for one token. This happens when the gateway ended an answer at a stop string,
because the report comes with the end of an answer, and when an upstream reports no usage in streams.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.upstream.answer_fields import read_prompt_tokens
from reference_server.upstream.client.connection import UpstreamFailure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reference_server.upstream.client.load_balancer import LoadBalancer
    from reference_server.upstream.kind import UpstreamKind

LONGEST_TOKEN: Final = 128
"""Characters. The longest tokens of usual vocabularies are as many spaces, and those of other text are far shorter."""
MAX_ANSWER_BYTES: Final = 65_536
PROMPT_FIELDS: Final = frozenset({"model", "messages", "tools", "chat_template_kwargs"})
"""Fields of a body that determine the prompt."""


def least_tokens(messages: Iterable[dict[str, Any]]) -> int:
    """Return the least number of tokens that the text of messages can have, without media, calls and tools."""
    return sum(_count_characters(message.get("content")) for message in messages) // LONGEST_TOKEN


def _count_characters(content: Any) -> int:
    """Return the characters of a content, or of the texts in a list of parts."""
    texts = (
        [content]
        if isinstance(content, str)
        else [part.get("text") for part in content or () if isinstance(part, dict)]
    )
    return sum(len(text) for text in texts if isinstance(text, str))


class PromptCounter:
    """Asks the upstreams of one gateway. reports: whether they report counts at all, as far as known."""

    def __init__(self, kind: UpstreamKind, load_balancer: LoadBalancer) -> None:
        self.reports = True
        self._kind = kind
        self._load_balancer = load_balancer

    async def ask(self, body: dict[str, Any]) -> int | None:
        """Return the number of prompt tokens of the request with this body; None if the upstream does not tell.

        body: as it was sent to the upstream. It may take as long as any answer of the upstream, because the client's
            answer needs the number.
        """
        limit = self._kind.handling["max_tokens"].passed
        if limit is None or not self.reports:
            return None
        always = {name.partition(".")[0] for name in self._kind.always}  # which the body has as the upstream reads them
        asked = {name: value for name, value in body.items() if name in PROMPT_FIELDS | always}
        try:
            reply = await self._load_balancer.post(self._kind.path, orjson.dumps({**asked, limit: 1}))
            try:
                answer = orjson.loads(await reply.read_all(MAX_ANSWER_BYTES))
            finally:
                reply.close()
        except (UpstreamFailure, orjson.JSONDecodeError):
            return None
        if reply.status != 200 or not isinstance(answer, dict):
            return None
        count = read_prompt_tokens(answer.get("usage"))
        self.reports = count is not None
        return count


class PromptTokens:
    """The number for one client request, whose upstream requests have the same prompt. It is asked for at most once."""

    def __init__(self, counter: PromptCounter) -> None:
        self._counter = counter
        self._asking: asyncio.Task[int | None] | None = None

    async def get(self, body: dict[str, Any]) -> int | None:
        """Return the number of prompt tokens, None if it is unknown. body: that of any of the requests."""
        if self._asking is None:
            self._asking = asyncio.create_task(self._counter.ask(body))
        return await asyncio.shield(self._asking)

    def cancel(self) -> None:
        """Stop asking."""
        if self._asking is not None:
            self._asking.cancel()
