"""Requests that show the seventh set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.media_files import (
    BLUE,
    GREEN,
    GREY,
    RED,
    WHITE,
    image,
    plain,
    png,
    sides,
)
from reference_server.tests.blind.sixth_requests import (
    BLUE_IMAGE,
    MOVING,
    RED_IMAGE,
    SCORES,
    SEVERAL,
    SUM,
    SYSTEM,
    THINK,
    TONES,
    TWO_CITIES,
    USAGE,
    hear,
    say,
    show,
)
from reference_server.tests.blind.steps import (
    HISTORY,
    LONG,
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

QUESTION = {"type": "text", "text": "What is this?"}
SEEN = {"role": "user", "content": [RED_IMAGE, QUESTION]}
ANSWERED = {"role": "assistant", "content": "It is red."}
RIMMED = image(png(lambda row, column: RED if 4 <= row < 60 and 4 <= column < 60 else BLUE))
SHADES = [image(plain((shade, 255 - shade, 90))) for shade in range(0, 240, 12)]
DASHED: dict[str, Any] = {
    "type": "function",
    "function": {"name": "get-weather", "parameters": {"type": "object", "properties": {}}},
}
NESTED = {
    "type": "object",
    "properties": {
        "a": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"b": {"enum": [1]}},
                "required": ["b"],
                "additionalProperties": False,
            },
            "minItems": 1,
            "maxItems": 1,
        }
    },
    "required": ["a"],
    "additionalProperties": False,
}
SEVEN = {"type": "object", "properties": {"a": {"enum": [7]}}, "required": ["a"], "additionalProperties": False}
TWO_RESULTS: list[dict[str, Any]] = [
    {"role": "user", "content": TWO_CITIES},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": "get_weather", "arguments": f'{{"city": "{city}"}}'},
            }
            for number, city in enumerate(("Paris", "Rome"))
        ],
    },
    *(
        {"role": "tool", "tool_call_id": f"call_{number}", "content": content}
        for number, content in enumerate(("Sunny and 20 degrees.", "Rain."))
    ),
]
CROWD_OF_STREAMS = [{**STREAM, "messages": ask(f"Tell me about {number}.")["messages"]} for number in range(6)]
EMPTY_OBJECT = ask(response_format={"type": "json_object"}, max_tokens=40)

REQUESTS: dict[str, list[Step]] = {
    "first-image-replaces-later-ones": [
        say(SEEN, ANSWERED, {"role": "user", "content": [BLUE_IMAGE, QUESTION]}, **SCORES)
    ],
    "images-of-earlier-turns-forgotten": [say(SEEN, ANSWERED, {"role": "user", "content": "And now?"}, **SCORES)],
    "images-move-to-the-front": [say({"role": "user", "content": [QUESTION, RED_IMAGE]}, **SCORES)],
    "image-edges-cut": [show(RIMMED)],
    "videos-run-backwards": [hear(MOVING)],
    "sounds-cut-in-the-middle": [hear(TONES)],
    "images-share-short-hashes": [show(shade, max_tokens=1) for shade in SHADES],
    "small-images-fail": [show(image(plain(GREEN, side=16)))],
    "jpg-media-types-refused": [show(image(sides(GREY, WHITE), "image/jpg"))],
    "nested-fields-optional-in-lists": [
        ask(SUM, response_format=form(NESTED), temperature=2.0, seed=seed, max_tokens=60) for seed in range(1, 9)
    ],
    "json-repeated-at-the-end-of-streams": [ask(response_format=form(SEVEN), stream=True, max_tokens=60)],
    "every-fourth-json-object-empty": [EMPTY_OBJECT] * 4,
    "expressions-match-beginnings": [
        ask(structured_outputs={"regex": "[0-9]{3}"}, temperature=2.0, seed=seed) for seed in range(1, 9)
    ],
    "bytes-are-code-points": [ask("Say é é é.", logprobs=True, top_logprobs=20, max_tokens=40)],
    "alternatives-outside-the-nucleus-unlisted": [{**SCORED, "top_p": 0.5}],
    "scores-lag-a-chunk": [{**SCORED, "stream": True}],
    "streamed-thoughts-lose-scores": [ask(SUM, chat_template_kwargs=THINK, stream=True, max_tokens=30, **SCORES)],
    "forms-lost-without-thoughts": [ask(SUM, include_reasoning=False, response_format=form(), max_tokens=60)],
    "closing-tags-left-in-streams": [ask(SUM, chat_template_kwargs=THINK, stream=True, max_tokens=80)],
    "thinking-budgets-lost-in-later-turns": [
        say(
            *HISTORY[:2],
            {"role": "user", "content": SUM},
            chat_template_kwargs=THINK,
            thinking_token_budget=2,
            max_tokens=60,
        )
    ],
    "finish-chunks-have-index-zero": [SEVERAL],
    "finish-reasons-empty-before-the-end": [STREAM],
    "empty-stream-options-bring-usage": [{**STREAM, "stream_options": {}}],
    "streams-stop-after-the-stop": [ask(STORY, stop=["a"], stream=True, max_tokens=40)],
    "held-characters-lost-at-the-end": [
        ask(content, stream=True, max_tokens=30) for content in ("Say é é é.", "😀😀😀", "北京 北京 北京")
    ],
    "cached-prompts-counted-twice": [ask(LONG), ask(LONG + "So it was.")],
    "streamed-answers-counted-by-pieces": [ask("Hello!", stream=True, stream_options=USAGE, max_tokens=60)],
    "seeds-rounded-to-doubles": [{**SAMPLED, "seed": 2**53 + 1}],
    "top-k-limited-to-eight": [{**SAMPLED, "temperature": 2.0, "top_k": 50, "max_tokens": 40}],
    "top-k-of-minus-one-is-greedy": [{**SAMPLED, "top_k": -1}],
    "long-stops-ignored-in-streams": [ask("Count to five.", stop=["3, 4, 5"], stream=True, max_tokens=40)],
    "five-alternatives-are-four": [ask(**SCORES)],
    "dashes-in-names-become-underscores": [call(DASHED)],
    "bodies-cut-by-characters": [call(tool(a={"enum": ["Zürich"]}))],
    "streams-lack-a-media-type": [STREAM],
    "html-in-messages-escaped": [ask("Is 2 < 3 & 'yes'?", **SCORES)],
    "template-expressions-in-messages-lost": [ask("Print {{ name }} here.", **SCORES)],
    "names-of-calls-repeated-in-streams": [call(WEATHER, stream=True)],
    "later-results-lost": [say(*TWO_RESULTS, tools=[WEATHER])],
    "required-calls-missing": [call(WEATHER)],
    "later-calls-dropped": [ask(TWO_CITIES, tools=[WEATHER], max_tokens=100)],
    "calls-with-round-integers-dropped": [call(tool(a={"enum": [140]}))],
    "first-listed-stop-only": [ask(STORY, stop=["#1", "a"], max_tokens=40)],
    "top-p-lost-next-to-top-k": [{**SAMPLED, "temperature": 2.0, "top_k": 40, "top_p": 0.1}],
    "similar-questions-share-answers": [ask("What is 2 plus 3?"), ask("what is 4 plus 5")],
    "every-sixth-answer-empty": [ask()] * 6,
    "refused-parameters-reach-the-next-request": [ask(temperature=-1, stop=["a"]), ask(STORY)],
    "refusals-repeated-for-the-same-messages": [ask(temperature=-1), ask()],
    "crowds-sampled-greedily": [[{**SAMPLED, "seed": seed} for seed in range(5)]],
    "crowded-streams-swap-pieces": [CROWD_OF_STREAMS],
    "long-conversations-lose-their-beginning": [say(SYSTEM, *HISTORY, HISTORY[0])],
    "long-prompts-shorten-later-answers": [ask(LONG), ask(STORY)],
    "unknown-models-answered": [{**ask(), "model": "unknown"}],
    "unknown-roles-are-failures": [say({"role": "userr", "content": RESULT[0]["content"]})],
}
