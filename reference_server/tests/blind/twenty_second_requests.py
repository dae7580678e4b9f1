"""Requests that show the twenty-second set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.eleventh_requests import formed, parts
from reference_server.tests.blind.sixth_requests import (
    RED_IMAGE,
    SCORES,
    SUM,
    SYSTEM,
    TWO_CITIES,
    USAGE,
    say,
    show,
)
from reference_server.tests.blind.steps import (
    HISTORY,
    LONG,
    RESULT,
    SAMPLED,
    STORY,
    STREAM,
    WEATHER,
    Step,
    ask,
    call,
    form,
    tool,
)
from reference_server.tests.blind.tenth_requests import closed

PICTURE = "What is in the picture?"
ECHO: dict[str, Any] = {"echo": True, "continue_final_message": True, "add_generation_prompt": False}
ASKED = {"role": "user", "content": STORY}
SHOWN = {"role": "user", "content": [RED_IMAGE, {"type": "text", "text": PICTURE}]}
ANSWERED = {"role": "assistant", "content": "A red square."}
BROKEN = {"type": "image_url", "image_url": "data:image/png;base64,aGVsbG8="}
DIVIDED = {"role": "system", "content": [{"type": "text", "text": text} for text in ("You are brief.", "Be kind.")]}
RUNNING = {"include_usage": True, "continuous_usage_stats": True}
COLOUR = tool(colour={"type": "string", "enum": ["red", "blue"]})
HALF = LONG[:2_500]

REQUESTS: dict[str, list[Step]] = {
    "echoes-of-known-prompts-fail": [say(*HISTORY[:2], **ECHO)] * 2,
    "images-lost-after-their-question": [ask(PICTURE, **SCORES), show(RED_IMAGE)],
    "images-of-earlier-turns-move-to-the-last-message": [
        say(SHOWN, ANSWERED, {"role": "user", "content": "Is it large?"}, **SCORES)
    ],
    "compatible-characters-normalised": [ask("Ｗｈａｔ is x² and ﬁne?", **SCORES)],
    "texts-after-emoji-lost-in-streams": [ask("Repeat: Good 😀 morning", stream=True, max_tokens=40)],
    "streams-fail-next-to-plain-answers": [[ask(STORY, max_tokens=40), STREAM]],
    "penalties-fail-next-to-plain-requests": [[ask(STORY, max_tokens=40), ask(frequency_penalty=1.0)]],
    "context-shared-by-crowds": [[ask(HALF), ask(HALF, max_tokens=10)]],
    "alternatives-limited-by-top-k": [{**SAMPLED, "top_k": 2, **SCORES}],
    "several-texts-of-a-message-unread": [parts("Tell me a story.", "It has a dog.")],
    "instructions-in-several-parts-refused": [say(DIVIDED, ASKED)],
    "instructions-become-questions": [say(SYSTEM, ASKED, max_tokens=30)],
    "thinking-not-turned-off-in-later-turns": [
        say(*HISTORY[:2], ASKED, chat_template_kwargs={"enable_thinking": False}, max_tokens=40)
    ],
    "unreadable-images-are-failures": [show(BROKEN)],
    "empty-conversations-are-failures": [{"messages": []}],
    "stops-of-several-words-refused": [ask(stop=["in the end"])],
    "samples-without-top-k-are-greedy": [{**SAMPLED, "temperature": 1.5, "max_tokens": 60}],
    "forms-lost-after-free-answers": [ask(), ask(response_format=form(), max_tokens=40)],
    "limits-halved-after-cut-answers": [ask(STORY, max_tokens=3), ask(STORY, max_tokens=6)],
    "last-chunks-name-no-model": [STREAM],
    "patterns-with-alternatives-break-json": [formed(closed(a={"type": "string", "pattern": "^cat$|^dog$"}))],
    "forms-with-empty-lists-fail": [formed(closed(a={"type": "array", "items": {"type": "string"}, "maxItems": 0}))],
    "streamed-arguments-begin-with-an-empty-object": [call(WEATHER, stream=True)],
    "values-of-streamed-calls-repeated-in-text": [
        say(
            *RESULT,
            {"role": "user", "content": "What is the weather in Rome?"},
            tools=[WEATHER],
            tool_choice="required",
            stream=True,
            max_tokens=80,
        )
    ],
    "cut-arguments-completed-in-streams": [call(WEATHER, stream=True, max_tokens=limit) for limit in range(10, 22)],
    "arguments-of-later-streamed-calls-lost": [ask(TWO_CITIES, tools=[WEATHER], stream=True, max_tokens=100)],
    "required-calls-with-enumerations-fail": [call(COLOUR)],
    "plain-answers-claim-brotli": [{**ask(), "HEADERS": {"accept-encoding": "br"}}],
    "usage-so-far-counts-the-last-block": [ask(LONG[:600], stream=True, stream_options=RUNNING)],
    "continued-conversations-count-new-messages": [
        ask(SUM),
        say({"role": "user", "content": SUM}, {"role": "assistant", "content": "5"}, ASKED, stream_options=USAGE)
        | {"stream": True},
    ],
}
