"""Requests that show the twentieth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.eleventh_requests import formed, parts
from reference_server.tests.blind.media_files import BLUE, RED, image, png
from reference_server.tests.blind.sixth_requests import SCORES, SEVERAL, SUM, THINK, USAGE, say, show
from reference_server.tests.blind.steps import (
    FUNCTION,
    HISTORY,
    LONG,
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
from reference_server.tests.blind.tenth_requests import closed, drawn
from reference_server.tests.blind.twelfth_requests import MODELS, THINKING

COUNT = "Count to five."
FOREIGN: dict[str, Any] = {
    "type": "function",
    "function": {**FUNCTION, "description": "获取城市的天气"},
}
DEEP = closed(a=closed(b=closed(c=closed(d={"enum": [17]}))))
ROBOT = {"role": "robot", "content": "Beep."}
NO_TEXT: dict[str, Any] = {"role": "user", "content": [{"type": "text"}]}
TALL = image(png(lambda row, _column: RED if row < 48 or row > 80 else BLUE, 32, 128))
LEFT = {**ask(STORY, stream=True, stop=["3"], max_tokens=400, ignore_eos=True), "LEAVE": True}
HTML = {"accept": "text/html, application/json;q=0.9"}
TWICE = {**ask(SUM, stream=True, stream_options=USAGE, max_tokens=60), **THINKING}

REQUESTS: dict[str, list[Step]] = {
    "min-p-lost-at-high-temperatures": [ask(STORY, temperature=2.0, seed=5, min_p=0.5, max_tokens=30)],
    "biases-lost-next-to-tools": [ask(tools=[WEATHER], logit_bias={str(token): -100 for token in range(300, 1000)})],
    "repetition-penalties-lost-next-to-others": [
        ask(STORY, repetition_penalty=1.8, presence_penalty=0.1, max_tokens=40)
    ],
    "seeds-lost-next-to-top-k": [{**SAMPLED, "temperature": 1.5, "top_k": 50, "max_tokens": 30}] * 2,
    "best-of-lost-next-to-seeds": [
        ask(STORY, temperature=1.5, seed=seed, n=1, best_of=4, max_tokens=20) for seed in range(3)
    ],
    "shown-stops-lost-in-streams": [
        ask(COUNT, stream=True, stop=["3"], include_stop_str_in_output=True, max_tokens=40)
    ],
    "stops-lost-next-to-thinking": [ask(SUM, stop=["5", "e", "a"], max_tokens=80, **THINKING)],
    "bytes-of-foreign-tokens-missing": [
        {**ask("Repeat: café, ñandú, 你好, 🐶", max_tokens=40), "logprobs": True, "top_logprobs": 5}
    ],
    "false-logprobs-bring-scores": [ask(logprobs=False)],
    "required-means-the-first-tool": [call(tool(text={"type": "string"}), WEATHER)],
    "descriptions-of-tools-escaped": [call(FOREIGN)],
    "deep-parts-of-forms-unconstrained": [*drawn(DEEP, 2), formed(DEEP)],
    "quotes-in-values-of-forms-lost": [formed(closed(a={"enum": ['He said "no".']}))],
    "long-prompts-lose-forms": [ask(LONG, response_format=form(), max_tokens=30)],
    "streams-of-calls-lack-a-reason": [call(WEATHER, stream=True)],
    "later-choices-lose-their-first-piece": [SEVERAL],
    "truncated-prompts-shorten-answers": [ask(STORY, truncate_prompt_tokens=8, max_tokens=20)],
    "thoughts-uncounted-in-repeated-streams": [TWICE] * 2,
    "roles-of-earlier-messages-unchecked": [say(ROBOT, HISTORY[0])],
    "parts-without-text-are-failures": [say(NO_TEXT)],
    "parts-cut-by-characters": [parts("Où est le café à Paris, s'il vous plaît?", **SCORES)],
    "tall-images-cropped": [show(TALL)],
    "cut-thoughts-dropped": [ask(SUM, max_tokens=3, chat_template_kwargs=THINK)],
    "min-tokens-lost-in-crowds": [[ask(min_tokens=40, max_tokens=60), ask(STORY, max_tokens=20)]],
    "crowded-streams-lack-usage": [[{**STREAM, "stream_options": USAGE}, {**STREAM, "stream_options": USAGE}]],
    "left-streams-leave-their-stops": [LEFT, ask(COUNT, max_tokens=40)],
    "types-follow-accept": [{**ask(), "HEADERS": HTML}],
    "requested-models-become-listed": [ask(model="another"), MODELS],
    "repeated-cut-answers-say-stop": [ask(STORY, max_tokens=5)] * 2,
    "known-prompts-escape-repetition-penalties": [ask(STORY, repetition_penalty=1.8, max_tokens=40)] * 2,
}
