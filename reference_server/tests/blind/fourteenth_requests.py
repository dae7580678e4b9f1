"""Requests that show the fourteenth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.eleventh_requests import formed
from reference_server.tests.blind.sixth_requests import RED_IMAGE, SCORES, SUM, say, show
from reference_server.tests.blind.steps import (
    LONG,
    RESULT,
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
from reference_server.tests.blind.twelfth_requests import THINKING

TEXT: dict[str, Any] = {"type": "string"}
NO_TEXT = {name: value for name, value in RESULT[1].items() if name != "content"}
RAIN = {**RESULT[2], "content": "Rain and 5 degrees."}
BEGUN = [{"role": "user", "content": STORY}, {"role": "assistant", "content": "The capital"}]
COUNT = "Count to five."
TWO: dict[str, Any] = {"n": 2, "temperature": 0.5, "seed": 5}
LEFT = {**ask(STORY, stream=True, max_tokens=60, ignore_eos=True), "LEAVE": True}
NESTED = closed(a=closed(b={"type": "integer", "minimum": 1, "maximum": 9}), c={"enum": [1]})

REQUESTS: dict[str, list[Step]] = {
    "properties-named-title-lost": [call(tool(title=TEXT, text=TEXT), content="Note that the dog ran home.")],
    "reused-ids-repeat-their-first-result": [
        say(*RESULT, *RESULT[:2], RAIN, tools=[WEATHER], max_tokens=40),
    ],
    "null-contents-read-as-none": [say(RESULT[0], NO_TEXT, RESULT[2], tools=[WEATHER], max_tokens=30)],
    "explanations-added-to-arguments": [call(WEATHER)],
    "stops-at-the-limit-stay": [ask(COUNT, stop=["3"], max_tokens=limit) for limit in range(1, 16)],
    "first-listed-stop-shown": [
        ask(COUNT, stop=["Paris", "3"], include_stop_str_in_output=True, max_tokens=40),
    ],
    "stops-lost-next-to-images": [show(RED_IMAGE, stop=["e", "a", " "], max_tokens=30)],
    "stops-lost-in-beams": [ask(COUNT, use_beam_search=True, stop=["3"], max_tokens=40)],
    "foreign-stop-ids-fail": [ask(stop_token_ids=[151_645])],
    "commands-in-messages-lost": [ask("/etc/hosts is a file. What is in it?", **SCORES)],
    "look-alike-letters-replaced": [ask("Привет! Как дела?", **SCORES)],
    "texts-of-digits-become-numbers": [ask("Repeat: 10, 20, 30", stream=True, max_tokens=40)],
    "line-feeds-doubled-in-streams": [ask("Repeat: One\n\n\nTwo", stream=True, max_tokens=40)],
    "limits-lost-after-results": [say(*RESULT, tools=[WEATHER], max_tokens=2)],
    "seeds-lost-after-long-prompts": [ask(LONG, temperature=1.5, seed=5, max_tokens=20)] * 2,
    "echoes-lost-next-to-several": [
        say(*BEGUN, **{**TWO, "echo": True, "continue_final_message": True, "add_generation_prompt": False}),
    ],
    "left-streams-are-billed-to-the-next": [LEFT, ask()],
    "second-choices-swapped-in-crowds": [[ask(**TWO), ask(STORY, **TWO)]],
    "second-replica-is-blind": [show(RED_IMAGE)] * 2,
    "users-beyond-latin-fail": [ask(user="王小明")],
    "answers-cached-by-the-given-key": [ask(prompt_cache_key="app-1"), ask(STORY, prompt_cache_key="app-1")],
    "streamed-refusals-typed-as-streams": [ask(max_tokens=-1, stream=True)],
    "results-of-refusals-are-objects": [ask(max_tokens=-1)],
    "tags-in-messages-end-thoughts": [
        ask("What does </think> mean?", stream=stream, max_tokens=60, **THINKING) for stream in (False, True)
    ],
    "thinking-lost-next-to-parts": [
        say({"role": "user", "content": [{"type": "text", "text": SUM}]}, **{**THINKING, "max_tokens": 60}),
    ],
    "alternatives-have-the-bytes-of-the-chosen": [{**ask(), **SCORES}],
    "finish-chunks-lack-their-delta": [STREAM],
    "forms-lost-next-to-biases": [ask(SUM, response_format=form(), logit_bias={"5": 1}, max_tokens=60)],
    "forms-end-at-the-first-brace": [formed(NESTED), {**formed(NESTED), "stream": True}],
    "images-lost-next-to-several": [show(RED_IMAGE, **TWO)],
}
