"""Requests that show the eleventh set of blind faults: some to a server of its own for each."""

from __future__ import annotations

import json
from typing import Any

from reference_server.tests.blind.sixth_requests import RED_IMAGE, SCORES, SUM, SYSTEM, THINK, say, show
from reference_server.tests.blind.steps import (
    HISTORY,
    LONG,
    RESULT,
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
from reference_server.tests.blind.tenth_requests import closed


def parts(*texts: str, **fields: Any) -> dict[str, Any]:
    """Return a short greedy request whose message is a list of parts."""
    return say({"role": "user", "content": [{"type": "text", "text": text} for text in texts]}, **fields)


def formed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a request for an answer that matches a schema."""
    return ask(SUM, response_format=form(schema), max_tokens=60)


ASKED = {"role": "user", "content": SUM}
MANY = [f"value {number}" for number in range(50)]
TREE = closed(a={"anyOf": [{"type": "null"}, {"$ref": "#"}]})
WRONG_KEY: dict[str, Any] = {**ask(), "HEADERS": {"authorization": "Bearer key-2"}}
CITIES = ("Paris", "Rome", "London", "Berlin")
WEATHERS = [call(WEATHER, content=f"What is the weather in {city}?") for city in CITIES]
DETAILED = {"type": "image_url", "image_url": {"url": RED_IMAGE["image_url"], "detail": "low"}}
SEEN: dict[str, Any] = {**show(RED_IMAGE), "logprobs": None, "top_logprobs": None, "tools": [WEATHER], "max_tokens": 80}
PICTURE: dict[str, Any] = {**RESULT[2], "content": [RED_IMAGE, {"type": "text", "text": "The picture."}]}

REQUESTS: dict[str, list[Step]] = {
    "positive-biases-ignored": [ask(logit_bias={"400": 100})],
    "empty-biases-fail": [ask(logit_bias={})],
    "stated-auto-refused": [ask(tools=[WEATHER], tool_choice="auto")],
    "hits-need-no-key": [ask(), WRONG_KEY],
    "repeated-streams-lose-calls": [call(WEATHER, stream=True)] * 2,
    "cached-whatever-the-parts": [parts("What is red?", **SCORES), parts(STORY, **SCORES)],
    "plain-answers-streamed-now-and-then": [ask()] * 7,
    "limits-exceeded-now-and-then": [ask(STORY, ignore_eos=True)] * 6,
    "second-replica-needs-no-key": [ask(), WRONG_KEY],
    "second-replica-counts-otherwise": [ask()] * 2,
    "times-of-models-are-dates": [{"METHOD": "GET", "PATH": "models"}],
    "answers-in-an-envelope": [ask()],
    "plain-answers-have-status-201": [ask()],
    "usage-in-camel-case": [ask()],
    "organisations-refused": [{**ask(), "HEADERS": {"openai-organization": "org-1"}}],
    "lists-of-media-types-refused": [{**ask(), "HEADERS": {"accept": "application/json, text/plain, */*"}}],
    "addresses-in-messages-masked": [ask("Is anna@example.com right?", **SCORES)],
    "json-in-messages-becomes-an-object": [ask('{"city": "Paris"}', **SCORES)],
    "marks-in-text-end-streams": [call(tool(a={"enum": ["[DONE]"]}), stream=True)],
    "blank-lines-end-answers": [ask(STORY, ignore_eos=True, max_tokens=60)],
    "stops-in-prompts-end-answers": [ask("Tell me a story, and say end.", stop=["end"])],
    "equal-requests-share-an-answer": [[ask(STORY, temperature=2.0), ask(STORY, temperature=2.0)]],
    "padding-counted-in-crowds": [[ask(LONG, max_tokens=2), ask()]],
    "calls-swapped-in-crowds": [[*WEATHERS]],
    "long-strings-in-arguments-cut": [call(tool(a={"enum": ["The dog saw the cat and the bird. " * 2]}))],
    "long-enumerations-refused": [formed(closed(a={"enum": MANY}))],
    "long-prompts-name-another-model": [ask(LONG, max_tokens=2)],
    "limits-shared-by-choices": [ask(STORY, n=2, temperature=1.0, seed=5)],
    "top-p-makes-tokens-certain": [{**SCORED, "temperature": 1.0, "seed": 1, "top_p": 0.5}],
    "thinking-lost-next-to-instructions": [say(SYSTEM, ASKED, chat_template_kwargs=THINK, max_tokens=60)],
    "keys-shown-in-refusals": [WRONG_KEY],
    "lists-as-bodies-are-failures": [{"BODY": [ask()]}],
    "past-calls-without-tools-refused": [say(*RESULT)],
    "foreign-calls-refused": [say(*RESULT, tools=[WEATHER])],
    "users-share-a-memory": [ask(STORY, user="anna"), ask(user="anna", **SCORES)],
    "unknown-models-unload-the-model": [ask(model="another"), ask()],
    "json-objects-need-the-word": [ask(response_format={"type": "json_object"}, max_tokens=40)],
    "recursive-forms-fail": [formed(TREE)],
    "other-roots-of-forms-refused": [formed({"type": "array", "items": {"enum": [1, 2]}, "maxItems": 2})],
    "defaults-in-forms-refused": [formed(closed(a={"enum": [1, 2], "default": 1}))],
    "forms-of-text-refused": [ask(response_format={"type": "text"})],
    "schemas-as-text-refused": [ask(structured_outputs={"json": json.dumps(closed(a={"enum": [1]}))}, max_tokens=40)],
    "counts-swapped-in-streams": [STREAM],
    "parts-uncounted": [parts(STORY, SUM)],
    "thoughts-counted-as-prompts": [ask(SUM, chat_template_kwargs=THINK, max_tokens=60)],
    "choices-share-scores": [{**SCORED, "n": 2, "temperature": 2.0, "seed": 5}],
    "prompt-scores-lack-their-first-position": [ask(prompt_logprobs=1)],
    "prompt-scores-lack-unlikely-tokens": [ask(prompt_logprobs=1)],
    "tags-follow-calls-in-streams": [call(WEATHER, stream=True)],
    "last-pieces-repeated-at-the-limit": [ask(STORY, stream=True, max_tokens=5)],
    "thinking-lost-in-later-turns": [say(*HISTORY[:2], ASKED, chat_template_kwargs=THINK, max_tokens=60)],
    "thoughts-are-text-in-streams-with-tools": [
        ask("What is the weather in Paris?", tools=[WEATHER], chat_template_kwargs=THINK, stream=True, max_tokens=120)
    ],
    "equal-images-collapse": [show(RED_IMAGE, RED_IMAGE)],
    "details-of-images-refused": [show(DETAILED)],
    "images-of-results-lost": [say(*RESULT[:2], PICTURE)],
    "tools-lost-next-to-images": [SEEN],
    "zeros-in-arguments-dropped": [call(tool(a={"enum": [0]}, b={"enum": ["x"]}))],
    "line-ends-in-arguments-escaped-twice": [call(tool(a={"enum": ["x\ny"]}))],
    "empty-results-refused": [say(*RESULT[:2], {**RESULT[2], "content": ""}, tools=[WEATHER])],
    "calls-in-the-older-form": [call(WEATHER)],
}
