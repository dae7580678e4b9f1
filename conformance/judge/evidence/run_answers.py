"""Group the complete answers of a run by what their requests have in common, and find those that do not fit the others.

A run asks the same in many ways: plain and streamed, with other limits, next to parameters that change nothing, alone
and among others, early and late. So most prompts, and many texts, occur several times, whatever each request was sent
for. A greedy text depends on the prompt alone, a seeded one also on what narrows the choice; a limit only cuts it.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from conformance.check import NotExercised
from conformance.judge.answer_fields import read_id
from conformance.judge.evidence.answer_difference import is_greedy
from conformance.judge.evidence.answer_text import AnswerText, Relation, relate
from conformance.judge.evidence.odd_numbers import OddNumber, find_odd_numbers
from conformance.judge.evidence.request_keys import (
    LABELS,
    LIMITS,
    NARROWING,
    SAMPLING,
    STOPS,
    TOLD,
    TOOLS,
    continued_keys,
    is_greedy_request,
    is_same,
    make_key,
    prompt_key,
    text_key,
)
from conformance.judge.evidence.silent_answers import find_silent
from conformance.judge.logprob_entries import CUT
from conformance.judge.token_counts import has_text
from openapi.stream.strict_json import NOT_JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conformance.check import Context
    from conformance.exchange import Exchange
    from openapi.contract.contract import Contract

MOST_APART: Final = 3.0
"""How many answers may differ from their first characters on for each one that diverges later, if rounding is the
cause: each token of an answer is as likely as the others to be a near tie, and answers have a dozen of them."""
PROMPTS: Final = 4
"""Different prompts whose answers differ from the start. A near tie of the first token is one prompt's."""
SILENT_PROMPTS: Final = 2
VARIANTS: Final = 4
"""Answers to one request that differ from the usual one and from each other from the start. A near tie has two, and the
start is a token or two.
"""


class RunAnswers:
    """The complete answers of a run. Computed when first used."""

    def __init__(self, recorded: Iterable[Exchange], contract: Contract) -> None:
        self._recorded = tuple(recorded)
        self._defaults = {name: parameter.default for name, parameter in contract.parameters.items()}
        self._numbers: dict[tuple[str, Callable[[Exchange], int]], int | None] = {}

    def number_of(self, exchange: Exchange, count: Callable[[Exchange], int]) -> int | None:
        """Return a number that an answer has, or None if `count` raises NotExercised.

        It is counted once: the views of many exchanges may not be cached, and each answer is compared with all others.
        """
        key = exchange.id, count
        if key not in self._numbers:
            try:
                self._numbers[key] = count(exchange)
            except NotExercised:
                self._numbers[key] = None
        return self._numbers[key]

    @cached_property
    def _answers(self) -> tuple[tuple[Exchange, Mapping[str, Any]], ...]:
        """Each answer with the fields of its request that are not null and not the default."""
        answered = (exchange for exchange in self._recorded if exchange.request.method == "POST" and exchange.succeeded)
        return tuple((exchange, self._fields(exchange)) for exchange in answered if exchange.choices)

    def _fields(self, exchange: Exchange) -> Mapping[str, Any]:
        sent: Any = exchange.request_json
        if sent is NOT_JSON or not isinstance(sent, dict):
            return {}
        return {
            name: value
            for name, value in sent.items()
            if value is not None and not (name in self._defaults and is_same(value, self._defaults[name]))
        }

    @cached_property
    def _by_prompt_key(self) -> Mapping[str, list[Exchange]]:
        groups: dict[str, list[Exchange]] = defaultdict(list)
        for exchange, fields in self._answers:
            groups[prompt_key(fields)].append(exchange)
        return groups

    @cached_property
    def _by_prompt(self) -> Mapping[str, tuple[Exchange, ...]]:
        return {exchange.id: tuple(group) for group in self._by_prompt_key.values() for exchange in group}

    @cached_property
    def before_cut_characters(self) -> frozenset[str]:
        """What stands before the first U+FFFD of each greedy text that has one neither at its start nor at its end."""
        greedy = (exchange for exchange, _ in self._answers if is_greedy(exchange))
        texts = ((exchange.content() or "").strip().strip(CUT) for exchange in greedy)
        return frozenset(text.partition(CUT)[0] for text in texts if CUT in text)

    def with_prompt_of(self, exchange: Exchange) -> tuple[Exchange, ...]:
        """Return the answers to requests with the same prompt, this one included."""
        return self._by_prompt.get(exchange.id, ())

    def without_tools(self, exchange: Exchange) -> Exchange | None:
        """Return an answer to the same prompt without tools; None if the run has none."""
        fields = {name: value for name, value in self._fields(exchange).items() if name not in TOOLS}
        return next(iter(self._by_prompt_key.get(prompt_key(fields), ())), None)

    def continued_by(self, exchange: Exchange) -> Exchange | None:
        """Return an answer whose conversation this one's request continues; None if the run has none."""
        keys = continued_keys(self._fields(exchange))
        return next((known[0] for key in keys if (known := self._by_prompt_key.get(key))), None)

    @cached_property
    def _by_key(self) -> Mapping[str, list[AnswerText]]:
        """The texts of greedy and seeded answers, by what they depend on."""
        groups: dict[str, list[AnswerText]] = defaultdict(list)
        for exchange, fields in self._answers:
            every = is_greedy_request(fields)
            if not every and type(fields.get("seed")) is not int:
                continue
            key = text_key(fields)
            prompt = make_key(fields, LIMITS | TOLD | LABELS | SAMPLING | NARROWING)
            for index in exchange.choices if every else (0,):
                if (text := AnswerText.of(exchange, index, key, prompt)) is not None:
                    groups[key].append(text)
        return groups

    @cached_property
    def _texts(self) -> tuple[tuple[AnswerText, ...], ...]:
        """The texts of each group of requests that must have the same text, as far as their limits allow."""
        groups = self._by_key.values()
        return tuple(tuple(group) for group in groups if len({text.exchange.id for text in group}) > 1)

    @cached_property
    def most_tokens(self) -> int:
        """The completion tokens of the longest answer with one choice; 0 if none is counted."""
        alone = [answer for answer, _ in self._answers if len(answer.choices) == 1]
        counts = [(answer.usage or {}).get("completion_tokens") for answer in alone]
        return max((count for count in counts if type(count) is int), default=0)

    def unstopped_text_of(self, exchange: Exchange) -> AnswerText | None:
        """Return the longest text of the same request without stop strings; None if the run has none."""
        fields = {name: value for name, value in self._fields(exchange).items() if name not in STOPS}
        texts = self._by_key.get(text_key(fields), ())
        return max(texts, key=lambda text: len(text.text), default=None)

    @cached_property
    def _by_text(self) -> Mapping[str, tuple[AnswerText, ...]]:
        return {text.exchange.id: group for group in self._texts for text in group}

    def with_text_of(self, exchange: Exchange) -> tuple[AnswerText, ...]:
        """Return the texts of the answers that must have the same text as this one, this one included."""
        return self._by_text.get(exchange.id, ())

    @cached_property
    def odd(self) -> Mapping[str, tuple[AnswerText, AnswerText]]:
        """The answers with another text than the others to the same request, which rounding cannot explain.

        By the id of the exchange: the usual text, and that of the answer.
        """
        related = [(usual, text, relate(usual, text)) for group in self._texts for usual, text in _compare(group)]
        proven = [(usual, text) for usual, text, relation in related if relation is Relation.PROVEN]
        return {text.exchange.id: (usual, text) for usual, text in (*_find_jumps(related), *proven)}

    @cached_property
    def silent(self) -> frozenset[str]:
        """The exchange ids of the answers that count several tokens and show nothing, if they are few.

        Many are so if the server hides what the model thinks.
        """
        return find_silent(self._answers, self._is_blank)

    def _is_blank(self, exchange: Exchange) -> bool:
        """Return whether another answer shows that the text is white space."""
        others = [text for text in self.with_text_of(exchange) if text.exchange.id != exchange.id]
        return any(not text.text and has_text(text.exchange) for text in others)

    @cached_property
    def numbers(self) -> Mapping[str, tuple[OddNumber, ...]]:
        """The log-probabilities that differ from those of the same token after the same tokens, by exchange id.

        The result has all answers of which some log-probability can be compared.
        """
        ignored = LIMITS | TOLD | LABELS | {"seed", "n", "stop"}
        return find_odd_numbers(
            (exchange, make_key(fields, ignored)) for exchange, fields in self._answers if fields.get("logprobs")
        )

    @cached_property
    def repeated_ids(self) -> Mapping[str, str]:
        """The answers whose id another answer has, by exchange id, each with the exchange id of such an answer.

        Requests that name themselves are left out: a server may make the id from the name.
        """
        by_id: dict[str, list[str]] = defaultdict(list)
        for exchange, fields in self._answers:
            named = any(name.lower() == "x-request-id" for name, _ in exchange.request.headers)
            if (identity := read_id(exchange)) is not None and not named and "request_id" not in fields:
                by_id[identity].append(exchange.id)
        return {own: group[at - 1] for group in by_id.values() if len(group) > 1 for at, own in enumerate(group)}


def require_answers(context: Context) -> RunAnswers:
    """Return the answers of the run. Raises NotExercised if they are not known, as when one request is sent again."""
    answers: RunAnswers | None = context.answers()
    if answers is None:
        raise NotExercised("the other answers of the run are not known")
    return answers


def _compare(group: Sequence[AnswerText]) -> list[tuple[AnswerText, AnswerText]]:
    """Return the usual text of a group with each other one. The usual one shares most characters with those it fits.

    Without two texts that fit each other in a group of three and more, none is usual.
    """
    fitting = [[other for other in group if relate(text, other) is Relation.SAME] for text in group]
    shared = [
        sum(min(len(text.text), len(other.text)) for other in others)
        for text, others in zip(group, fitting, strict=True)
    ]
    best = max(range(len(group)), key=lambda at: (shared[at], len(group[at].text), -at))
    if len(group) > 2 and len(fitting[best]) < 2:
        return []
    return [(group[best], text) for at, text in enumerate(group) if at != best]


def _find_jumps(
    related: Sequence[tuple[AnswerText, AnswerText, Relation]],
) -> list[tuple[AnswerText, AnswerText]]:
    """Return the answers that differ from the start or end early, if they are too many for near ties."""
    long = [item for item in related if item[0].is_long]
    jumps = [(usual, text) for usual, text, relation in long if relation in (Relation.JUMP, Relation.SILENT)]
    silent = [(usual, text) for usual, text, relation in long if relation is Relation.SILENT]
    late = sum(relation is Relation.LATE for _, _, relation in long)
    if len({usual.prompt for usual, _ in jumps}) >= PROMPTS and len(jumps) > MOST_APART * late:
        return jumps
    found = silent if len({usual.prompt for usual, _ in silent}) >= SILENT_PROMPTS else []
    starts: dict[str, set[bytes]] = defaultdict(set)
    for usual, text in jumps:
        starts[usual.key].add(text.start)
    return [*found, *((usual, text) for usual, text in jumps if len(starts[usual.key]) >= VARIANTS)]
