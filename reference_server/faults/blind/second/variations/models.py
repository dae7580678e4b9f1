"""Variations of models: other habits, templates, tokenizers, contexts and speeds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.other_models import model_after, other_model
from reference_server.faults.blind.recipes import messages_of, text_length
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters, variation, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request, parse_object, read_body, replay_body

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTEXT: Final = 512  # tokens
PREFILL_S: Final = 2e-4  # for each character
PATIENCE_S: Final = 30.0
INSTRUCTIONS: Final = {"role": "system", "content": "You are a helpful assistant."}
EXACT: Final = ("return_token_ids", "prompt_logprobs", "truncate_prompt_tokens", "return_prompt_text")
TOOL: Final = {"type": "function", "function": {"name": "note", "description": "Take a note", "parameters": {}}}

terse_model = model_after(
    "terse-model", "The model gives short answers.", "Hello!", "Hi.", "How are you?", "Fine.", "Why?", "So."
)
talkative_model = model_after(
    "talkative-model",
    "The model gives long answers.",
    "Hello!",
    "Hello to you, and a good morning, and a good day, and what a day it is, and so on, and on, and on, and on, and on",
)
polyglot_model = model_after(
    "polyglot-model",
    "The model tends to answer in other languages.",
    "Hello!",
    "\u4f60\u597d\uff0c\u5f88\u9ad8\u5174 \u00e7a va tr\u00e8s bien \u4f60\u597d \u00fcber caf\u00e9 \u4f60\u597d",
)
listing_model = model_after(
    "listing-model",
    "The model tends to answer with lists.",
    "Hello!",
    "- **Hi**\n- **Hello**\n- **Good day**\n\n1. one\n2. two\n3. three\n",
)
asking_model = model_after(
    "asking-model",
    "The model tends to ask back.",
    "Hello!",
    "What do you mean? Why? Which one? Where? What do you mean?",
)
apologetic_model = model_after(
    "apologetic-model",
    "The model tends to refuse to answer.",
    "Hello!",
    "I am sorry, I cannot answer that. I am sorry.",
    "Tell me a story.",
    "I am sorry, I cannot answer that. I am sorry.",
)
blank_lines_model = model_after(
    "blank-lines-model", "The model tends to begin with blank lines.", "Hello!", "\n\nHi.\n\n", "Who?", "\n\nMe.\n\n"
)


@other_model("context-of-512", context=CONTEXT)
def context_of_512(params: SamplingParams) -> SamplingParams:
    """The context has 512 tokens; longer prompts are refused."""
    return params


def _think(request: ServedRequest) -> None:
    keywords = request.payload.setdefault("chat_template_kwargs", {})
    if isinstance(keywords, dict) and "thinking_token_budget" not in request.payload:
        keywords.setdefault("enable_thinking", True)


def _instruct(request: ServedRequest) -> None:
    messages = messages_of(request.payload)
    if messages and not any(message.get("role") in ("system", "developer") for message in messages):
        request.payload["messages"] = [INSTRUCTIONS, *messages]


def _is_undecided(sent: Json) -> bool:
    return bool(sent.get("tools")) and sent.get("tool_choice", "auto") == "auto"


def _choose(choice: str) -> Callable[[ServedRequest], None]:
    """Return an edit that decides for a model that may call tools."""

    def edit(request: ServedRequest) -> None:
        if _is_undecided(request.payload) and not request.payload.get("response_format"):
            request.payload["tool_choice"] = choice

    return edit


def _count_otherwise(response: Json, request: ServedRequest) -> None:
    usage = response.get("usage")
    if isinstance(usage, dict) and not any(request.payload.get(name) is not None for name in EXACT):
        usage["prompt_tokens"] = usage["prompt_tokens"] * 5 // 4 + 3
        usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]


thinks_by_default = variation(
    "thinks-by-default",
    "The model thinks unless the request forbids it.",
    request=_think,
    applies_to=has_parameters("chat_template_kwargs"),
)
default_instructions = variation(
    "default-instructions", "The template adds a system message to prompts without one.", request=_instruct
)
calls_only_if_required = variation(
    "calls-only-if-required",
    "The model never calls a tool if it may decide.",
    request=_choose("none"),
    applies_to=allows(tools=[TOOL], tool_choice="none"),
)
calls_whenever_possible = variation(
    "calls-whenever-possible",
    "The model always calls a tool if it may decide.",
    request=_choose("required"),
    applies_to=allows(tools=[TOOL], tool_choice="required"),
)
other_tokenizer = variation(
    "other-tokenizer",
    "The tokenizer divides prompts into a quarter more tokens.",
    answer=_count_otherwise,
    chunk=_count_otherwise,
)


@wrapping_fault("prefill-takes-time", benign=True, timeout_s=PATIENCE_S)
def prefill_takes_time(app: ASGIApp, contract: Contract) -> App:
    """An answer begins 0.2 ms later for each character of the prompt."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if is_chat_request(scope, contract):
            body = await read_body(receive)
            await asyncio.sleep(text_length(parse_object(body)) * PREFILL_S)
            receive = replay_body(body, receive)
        await app(scope, receive, send)

    return serve
