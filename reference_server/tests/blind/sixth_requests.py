"""Requests that show the sixth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.media_files import (
    BLUE,
    GREEN,
    RED,
    WHITE,
    audio,
    avi,
    halves,
    image,
    plain,
    png,
    video,
    wav,
)
from reference_server.tests.blind.steps import (
    HISTORY,
    RESULT,
    SAMPLED,
    SCORED,
    STORY,
    STREAM,
    WEATHER,
    Step,
    ask,
    call,
    form,
    tool,
)

THINK = {"enable_thinking": True}
USAGE = {"include_usage": True}
SUM = "What is 2 plus 3?"
TWO_CITIES = "What is the weather in Paris and in Rome?"
SEVERAL = {**SAMPLED, "n": 2, "stream": True}
NAMED = {"type": "function", "function": {"name": "get_weather"}}
SCORES: dict[str, Any] = {"logprobs": True, "top_logprobs": 5}
SYSTEM = {"role": "system", "content": "You always answer with a number."}
PARTS: list[dict[str, Any]] = [
    *RESULT[:2],
    {**RESULT[2], "content": [{"type": "text", "text": "Sunny and 20 degrees."}]},
]
LONG_NAME: dict[str, Any] = {
    "type": "function",
    "function": {"name": "get_" + "weather_" * 7 + "now_", "parameters": {"type": "object", "properties": {}}},
}
REFERRED = {
    "type": "object",
    "properties": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}},
    "required": ["a"],
    "additionalProperties": False,
    "$defs": {"b": {"enum": [17]}},
}


def say(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a short greedy request with several messages."""
    return {"messages": list(messages), "max_tokens": 12, "temperature": 0, **fields}


def show(*parts: dict[str, Any], text: str = "What is in the picture?", **fields: Any) -> dict[str, Any]:
    """Return a short greedy request with media in front of a question."""
    content = [*parts, {"type": "text", "text": text}]
    return say({"role": "user", "content": content}, **{**SCORES, **fields})


def hear(part: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a request about a clip or a sound."""
    return show(part, text="What do you hear or see?", **fields)


RED_IMAGE, GREEN_IMAGE, BLUE_IMAGE = (image(plain(colour)) for colour in (RED, GREEN, BLUE))
HIDDEN = image(png(lambda row, _column: (*BLUE, 0) if row < 32 else (*RED, 255)))
MOVING = video(avi([RED, GREEN, BLUE, WHITE]))
TONES = audio(wav([300, 1_200]))

REQUESTS: dict[str, list[Step]] = {
    "three-images-reversed": [show(RED_IMAGE, GREEN_IMAGE, BLUE_IMAGE)],
    "last-image-replaces-the-others": [show(RED_IMAGE, BLUE_IMAGE)],
    "red-and-blue-swapped": [show(image(halves(RED, WHITE)))],
    "videos-show-their-first-frame": [hear(MOVING)],
    "sounds-played-slowly": [hear(TONES)],
    "transparent-pixels-shown": [show(HIDDEN)],
    "grey-images-fail": [show(image(png(lambda row, _column: (row,))))],
    "media-uncounted-in-streams": [show(RED_IMAGE, stream=True)],
    "streamed-forms-lose-their-beginning": [ask(response_format=form(), stream=True, max_tokens=40)],
    "references-in-branches-accept-anything": [ask(response_format=form(REFERRED), max_tokens=40)],
    "json-objects-fenced": [ask(response_format={"type": "json_object"}, max_tokens=40)],
    "choice-lists-lost-in-streams": [ask(structured_outputs={"choice": ["north", "south"]}, stream=True)],
    "partial-bytes-are-replacements": [
        ask(content, logprobs=True, top_logprobs=20, max_tokens=40) for content in ("😀 é 北京", "Say 😀😀😀.", STORY)
    ],
    "scores-divided-by-temperature": [{**SAMPLED, "logprobs": True, "temperature": 1.5}],
    "first-alternatives-for-a-whole-chunk": [{**SCORED, "stream": True, "stream_interval": 4}],
    "streamed-calls-lose-scores": [call(WEATHER, stream=True, **SCORES)],
    "cut-thoughts-become-content": [ask(SUM, chat_template_kwargs=THINK, max_tokens=3)],
    "thoughts-skipped-in-forms": [ask(SUM, chat_template_kwargs=THINK, response_format=form(), max_tokens=60)],
    "thinking-budgets-lost-in-streams": [
        ask(SUM, chat_template_kwargs=THINK, thinking_token_budget=2, stream=True, max_tokens=60)
    ],
    "only-the-last-choice-finishes": [SEVERAL],
    "finish-chunks-sent-twice": [STREAM],
    "usage-chunks-lack-choices": [{**STREAM, "stream_options": USAGE}],
    "stop-strings-leak-their-beginning": [ask("Count to five.", stop=["3, 4"], max_tokens=40)],
    "line-ends-lost-in-streams": [ask("Repeat: One\n\n\nTwo", stream=True, max_tokens=40)],
    "streamed-usage-lacks-the-total": [STREAM],
    "last-choice-counted-in-streams": [{**SEVERAL, "stream_options": USAGE}],
    "seeds-lose-high-bits": [{**SAMPLED, "seed": 2**40 + 5}],
    "top-k-of-zero-is-greedy": [{**SAMPLED, "top_k": 0}],
    "presence-penalties-lost-next-to-frequency": [
        ask(STORY, presence_penalty=2.0, frequency_penalty=0.1, max_tokens=60)
    ],
    "single-tokens-become-two": [ask(STORY, max_tokens=1)],
    "stops-after-the-fourth-ignored": [ask(STORY, stop=["#1", "#2", "#3", "#4", "a"], max_tokens=40)],
    "names-of-64-characters-cut": [call(LONG_NAME)],
    "character-sets-refused": [{**ask(), "HEADERS": {"content-type": "application/json; charset=utf-8"}}],
    "plain-answers-typed-as-text": [ask()],
    "backslashes-processed": [ask("Print \\boxed{4} and \\n.", **SCORES)],
    "joiners-become-spaces": [ask("Hello \U0001f468\u200d\U0001f469!", **SCORES)],
    "named-calls-are-prose-in-streams": [call(WEATHER, tool_choice=NAMED, stream=True)],
    "ends-of-strings-stripped": [call(tool(a={"enum": ["hello\n"]}))],
    "streamed-calls-share-index-zero": [ask(TWO_CITIES, tools=[WEATHER], stream=True, max_tokens=100)],
    "results-in-parts-become-json": [say(*PARTS, tools=[WEATHER])],
    "single-calls-not-enforced": [ask(TWO_CITIES, tools=[WEATHER], parallel_tool_calls=False, max_tokens=100)],
    "stops-ignored-in-forms": [ask(response_format=form(), stop=['"a"'], max_tokens=40)],
    "scores-lost-next-to-tools-in-streams": [ask(tools=[WEATHER], stream=True, **SCORES)],
    "cached-by-the-last-message": [say(SYSTEM, *HISTORY[:1]), say(*HISTORY[:1])],
    "every-fifth-stream-unfinished": [STREAM] * 5,
    "ignore-eos-outlives-its-request": [ask(ignore_eos=True), ask("Hello!", max_tokens=60)],
    "every-sixth-prompt-has-an-earlier-message": [ask(content) for content in ("1", "2", "3", "4", "Why?", "Hello!")],
    "crowds-share-the-first-sampler": [
        [ask(STORY, max_tokens=20), *({**SAMPLED, "temperature": 1.8, "seed": seed} for seed in range(4))]
    ],
    "crowded-prompts-swapped": [[ask(f"What is {number} plus 3?") for number in range(8)]],
    "long-conversations-lose-their-system-message": [say(SYSTEM, *HISTORY[:11])],
    "long-answers-stutter": [ask(STORY, max_tokens=80, ignore_eos=True)],
    "streamed-refusals-are-events": [ask(temperature=-1, stream=True)],
    "invalid-schemas-are-failures": [ask(response_format=form({"type": "nothing"}))],
}
