"""Requests that show the tenth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.sixth_requests import (
    BLUE_IMAGE,
    MOVING,
    NAMED,
    RED_IMAGE,
    SCORES,
    SUM,
    THINK,
    USAGE,
    hear,
    say,
    show,
)
from reference_server.tests.blind.steps import (
    FUNCTION,
    HISTORY,
    SAMPLED,
    SCORED,
    STORY,
    STREAM,
    TOO_LONG,
    WEATHER,
    Step,
    ask,
    call,
    form,
    tool,
)


def closed(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with these required properties only."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def drawn(schema: dict[str, Any], times: int = 4) -> list[Step]:
    """Return requests for answers that match a schema, drawn at a high temperature."""
    return [ask(SUM, response_format=form(schema), temperature=2.0, seed=seed, max_tokens=60) for seed in range(times)]


SHORT = closed(a={"type": "string", "minLength": 2, "maxLength": 3})
ALL_OF = closed(a={"allOf": [{"enum": ["Zq"]}]})
OLDER = {**closed(a={"$ref": "#/definitions/b"}), "definitions": {"b": {"enum": [17]}}}
NO_TEXT: dict[str, Any] = {"type": "function", "function": {**FUNCTION, "description": ""}}
STRICT: dict[str, Any] = {
    "type": "function",
    "function": {**FUNCTION, "strict": True, "parameters": closed(city={"type": "string"})},
}
BIASED = ask(STORY, logit_bias={str(token): -100 for token in range(300, 1000)})
THREE = [ask(content, **SCORES) for content in ("Hello!", STORY, SUM, "What is red?")]
CHOOSE_NOTHING: dict[str, Any] = {"type": "function", "function": "get_weather"}

REQUESTS: dict[str, list[Step]] = {
    "second-replica-leaves-calls-in-text": [call(WEATHER)] * 2,
    "second-replica-has-other-seeds": [{**SAMPLED, "temperature": 2.0}] * 2,
    "models-listed-under-another-name": [{"METHOD": "GET", "PATH": "models"}],
    "schemes-in-small-letters-refused": [{**ask(), "HEADERS": {"authorization": "bearer key-1"}}],
    "slow-answers-begin-with-comments": [ask(STORY, max_tokens=40, ignore_eos=True)],
    "done-lacks-its-blank-line": [STREAM],
    "thoughts-counted-twice": [ask(SUM, chat_template_kwargs=THINK, max_tokens=60)],
    "usage-so-far-in-every-chunk": [{**STREAM, "stream_options": USAGE}],
    "zero-characters-end-messages": [ask("What is red?\0What is blue and green?", **SCORES)],
    "dollar-signs-in-messages-replaced": [ask("What is $$PATH?", **SCORES)],
    "markers-of-images-in-text-fail": [ask("What does the tag <image> mean?")],
    "temperatures-above-one-refused": [ask(temperature=1.5, seed=3)],
    "zero-alternatives-hide-scores": [ask(logprobs=True, top_logprobs=0)],
    "seed-of-zero-is-random": [ask(STORY, temperature=2.0, seed=0, max_tokens=30)],
    "equal-lengths-refused": [ask(min_tokens=5, max_tokens=5)],
    "top-k-of-one-ignored": [{**SAMPLED, "temperature": 2.0, "top_k": 1}],
    "temperatures-applied-twice": [{**SAMPLED, "temperature": 1.6, "max_tokens": 40}],
    "min-tokens-count-the-prompt": [ask("Say yes.", min_tokens=40, max_tokens=60)],
    "scores-after-the-thirty-second-lost": [{**SCORED, "max_tokens": 50, "ignore_eos": True}],
    "missing-messages-are-failures": [{"max_tokens": 4}],
    "too-long-prompts-are-failures": [ask(TOO_LONG)],
    "missing-keys-accepted": [ask(), {**ask(), "HEADERS": {"authorization": ""}}],
    "misspelt-tool-choices-are-failures": [call(WEATHER, tool_choice=CHOOSE_NOTHING)],
    "chats-with-one-beginning-continue": [say(*HISTORY[:3]), say(*HISTORY[:1], **SCORES)],
    "every-fifth-stream-repeats-a-piece": [STREAM] * 5,
    "every-sixth-answer-lacks-usage": [ask()] * 6,
    "biases-spill-over": [[BIASED, ask(STORY)]],
    "scores-swapped-in-crowds": [[*THREE]],
    "images-swapped-in-crowds": [[show(RED_IMAGE), show(BLUE_IMAGE)]],
    "cached-whatever-the-case": [ask("What is red?", **SCORES), ask("WHAT IS RED?", **SCORES)],
    "first-words-repeated-on-hits": [ask(SUM), ask()],
    "cached-whatever-the-bias": [ask(STORY), BIASED],
    "seeds-lost-in-streams": [{**SAMPLED, "temperature": 2.0, "stream": True, "max_tokens": 30}],
    "alternatives-lost-in-streams": [{**SCORED, "stream": True}],
    "scores-lost-next-to-forms": [ask(response_format=form(), max_tokens=40, **SCORES)],
    "stop-strings-left-out-of-streams": [
        ask("Count to five.", stop=["3"], include_stop_str_in_output=True, stream=True, max_tokens=40)
    ],
    "ids-of-calls-are-numbers": [call(WEATHER)],
    "names-of-streamed-calls-have-a-prefix": [call(WEATHER, tool_choice=NAMED, stream=True)],
    "streamed-arguments-closed-twice": [call(WEATHER, stream=True)],
    "lists-of-types-refused": [call(tool(a={"type": ["string", "null"]}))],
    "tools-without-descriptions-fail": [call(NO_TEXT)],
    "strict-tools-refused": [call(STRICT)],
    "keys-with-punctuation-fail": [call(tool(**{"user.name": {"enum": ["Anna"]}}))],
    "scores-in-the-older-form": [SCORED],
    "scores-next-to-filters-fail": [{**SCORED, "temperature": 1.0, "seed": 1, "top_p": 0.5}],
    "tokens-named-like-a-vocabulary": [SCORED],
    "scores-are-not-normalised": [SCORED],
    "thoughts-lost-next-to-calls": [
        ask("What is the weather in Paris?", tools=[WEATHER], chat_template_kwargs=THINK, max_tokens=120)
    ],
    "pieces-of-thoughts-stripped": [
        ask(content, chat_template_kwargs=THINK, stream=True, max_tokens=120) for content in (SUM, STORY)
    ],
    "thoughts-exceed-the-limit": [ask(SUM, chat_template_kwargs=THINK, max_tokens=4)],
    "streams-name-two-models": [STREAM],
    "last-texts-follow-finish-chunks": [STREAM],
    "blank-pieces-lost-in-streams": [ask("Repeat: One\n\n\nTwo", stream=True, max_tokens=40)],
    "usage-chunks-are-answers": [{**STREAM, "stream_options": USAGE}],
    "lengths-ignored-in-forms": drawn(SHORT),
    "all-of-ignored-in-forms": drawn(ALL_OF),
    "older-references-refused": [ask(response_format=form(OLDER), max_tokens=40)],
    "nulls-in-forms-in-quotes": [ask(response_format=form(closed(a={"enum": [None]})), max_tokens=40)],
    "images-outlive-their-request": [show(RED_IMAGE), ask("What is in the picture?", **SCORES)],
    "videos-lose-their-end": [hear(MOVING)],
}
