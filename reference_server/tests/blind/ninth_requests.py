"""Requests that show the ninth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.eighth_requests import JSON_RESULT, ONE_BY_ONE, QUESTION
from reference_server.tests.blind.media_files import RED, WHITE, audio, image, sides, wav
from reference_server.tests.blind.sixth_requests import (
    RED_IMAGE,
    SCORES,
    SEVERAL,
    SUM,
    SYSTEM,
    THINK,
    TONES,
    USAGE,
    hear,
    say,
    show,
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

SIDES = image(sides(RED, WHITE))
LOW = audio(wav([200]))
FOREIGN = {
    "type": "object",
    "properties": {"a": {"enum": ["Zürich"]}},
    "required": ["a"],
    "additionalProperties": False,
}
BETWEEN = {
    "type": "object",
    "properties": {"a": {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5}},
    "required": ["a"],
    "additionalProperties": False,
}
EMPTY: dict[str, Any] = {
    "type": "function",
    "function": {"name": "wait", "parameters": {"type": "object", "properties": {}}},
}
NUMBER_RESULT: list[dict[str, Any]] = [*RESULT[:2], {**RESULT[2], "content": "42"}]
TWO_ROUNDS: list[dict[str, Any]] = [*JSON_RESULT, *RESULT[1:]]
TALK = {"role": "user", "content": STORY}
EDITED: list[Step] = [
    say({"role": "user", "content": f"My name is {name}."}, {"role": "assistant", "content": "Hello!"}, TALK, **SCORES)
    for name in ("Anna", "Otto")
]
ASKED = {"role": "user", "content": SUM}
HIDE = {"include_reasoning": False, "chat_template_kwargs": THINK}

REQUESTS: dict[str, list[Step]] = {
    "second-replica-ignores-forms": [ask(STORY, response_format=form(), max_tokens=40)] * 2,
    "second-replica-renames-thoughts": [ask(SUM, chat_template_kwargs=THINK, max_tokens=40)] * 2,
    "parameters-of-engines-dropped": [{**SAMPLED, "temperature": 2.0, "top_k": 1}],
    "empty-objects-become-lists": [call(EMPTY)],
    "model-lists-are-empty": [{"METHOD": "GET", "PATH": "models"}],
    "large-answers-cut": [{**SCORED, "max_tokens": 60, "ignore_eos": True}],
    "messages-with-code-forbidden": [ask("What does `cat ../notes.txt` do?")],
    "results-of-tools-uncounted": [say(*RESULT, tools=[WEATHER])],
    "new-prompts-counted-as-cached": [{**ask(), "CACHED": True}],
    "emoji-in-messages-lost": [ask("What is \U0001f600?", **SCORES)],
    "percent-signs-in-messages-decoded": [ask("What does %41%20 mean?", **SCORES)],
    "stops-of-65-characters-refused": [ask(stop="#" * 65)],
    "more-than-ten-alternatives-are-ten": [ask(logprobs=True, top_logprobs=20)],
    "numbers-as-messages-fail": [ask("42")],
    "moderate-penalties-ignored": [ask(STORY, frequency_penalty=1.1, max_tokens=60)],
    "top-p-below-a-half-ignored": [{**SAMPLED, "temperature": 2.0, "top_p": 0.3}],
    "own-turns-of-long-conversations-lost": [say(*HISTORY[:11], **SCORES)],
    "biases-after-the-eighth-lost": [
        ask(STORY, logit_bias={str(token): -100 for token in range(300, 1000)}, max_tokens=30)
    ],
    "messages-of-refusals-are-null": [ask(temperature=-1)],
    "unknown-models-are-failures": [{**ask(), "model": "unknown"}],
    "tools-outlive-their-request": [ask(tools=[WEATHER]), ask()],
    "temperatures-outlive-their-request": [ask(), {"messages": [TALK], "max_tokens": 20, "seed": 4}],
    "every-seventh-prompt-is-cut": [*ONE_BY_ONE],
    "times-of-another-zone": [ask(), STREAM],
    "reasons-swapped-in-crowds": [[*ONE_BY_ONE[:4], *(ask("Hello!", max_tokens=60) for _ in range(4))]],
    "instructions-spill-over": [[say(SYSTEM, ASKED), ask(SUM)]],
    "cached-whatever-the-roles": [say(SYSTEM, ASKED, **SCORES), say({**SYSTEM, "role": "user"}, ASKED, **SCORES)],
    "histories-of-one-length-confused": EDITED,
    "scores-of-later-choices-lost": [{**SAMPLED, "n": 2, **SCORES}],
    "temperatures-lost-next-to-tools": [ask(STORY, tools=[WEATHER], temperature=2.0, seed=3, max_tokens=30)],
    "usage-lost-next-to-several": [{**SEVERAL, "stream_options": USAGE}],
    "stop-tokens-lost-next-to-stop": [ask(STORY, stop=["#1"], stop_token_ids=list(range(300, 900)), max_tokens=40)],
    "arguments-are-objects": [call(WEATHER)],
    "arguments-so-far-in-each-piece": [call(WEATHER, stream=True)],
    "descriptions-of-tools-lost": [call(WEATHER)],
    "capitals-in-keys-split": [call(tool(cityName={"enum": ["Paris"]}))],
    "booleans-in-quotes": [call(tool(a={"type": "boolean"}))],
    "numbers-as-results-fail": [say(*NUMBER_RESULT, tools=[WEATHER])],
    "earlier-results-forgotten": [say(*TWO_ROUNDS, tools=[WEATHER])],
    "scores-without-sign": [SCORED],
    "alternatives-of-the-next-token": [SCORED],
    "scores-repeat-in-groups-of-four": [SCORED],
    "thinking-not-turned-off-in-streams": [
        ask(SUM, chat_template_kwargs={"enable_thinking": False}, stream=True, max_tokens=30)
    ],
    "hidden-thoughts-shown-in-streams": [ask(SUM, **HIDE, stream=True, max_tokens=40)],
    "answers-repeated-in-thoughts": [ask(SUM, chat_template_kwargs=THINK, max_tokens=80)],
    "last-pieces-of-thoughts-lost": [ask(SUM, chat_template_kwargs=THINK, stream=True, max_tokens=80)],
    "usage-follows-done": [{**STREAM, "stream_options": USAGE}],
    "last-words-lost-at-the-limit": [ask(STORY, stream=True, max_tokens=6)],
    "usage-chunks-have-other-ids": [{**STREAM, "stream_options": USAGE}],
    "foreign-values-forgotten-in-forms": [
        ask(SUM, response_format=form(FOREIGN), temperature=2.0, seed=seed, max_tokens=60) for seed in range(4)
    ],
    "exclusive-bounds-reached-in-forms": [
        ask(SUM, response_format=form(BETWEEN), temperature=2.0, seed=seed, max_tokens=60) for seed in range(6)
    ],
    "cut-calls-claimed-in-streams": [call(WEATHER, stream=True, max_tokens=16)],
    "json-objects-remarked": [ask(response_format={"type": "json_object"}, max_tokens=40)],
    "backslashes-in-expressions-lost": [ask(structured_outputs={"regex": r"\d{3}"}, max_tokens=60)],
    "images-after-text-lost": [say({"role": "user", "content": [QUESTION, RED_IMAGE]}, **SCORES)],
    "images-mirrored": [show(SIDES)],
    "cached-whatever-the-sound": [hear(TONES), hear(LOW)],
}
