"""Log-probabilities: their form, what they add up to, and that they belong to the text beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NoOccasion, Occasion, check, relation
from conformance.checks.finish import completion_of
from conformance.checks.reasoning import TAGS
from conformance.occasion import ANSWER, STREAMED_ANSWER, asks_for_logprobs, unsuccessful, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

ROUNDING = 1e-3  # of sums and comparisons: servers write float32, some of them rounded
TIE = 0.1  # tokens closer than that may be taken for equal
DRIFT = 0.3  # between two runs of the same request: logits in bfloat16 are an eighth or a quarter apart
SEVERAL = 4  # tokens: of fewer, chance alone says the same
LEAST = -1000.0  # below it stands what is told of any unlikely token alike
CUT = "\ufffd"  # stands where a token holds a part of a character


@dataclass(frozen=True, slots=True)
class Entry:
    """One token as `logprobs.content` tells it. `where` is its place in the answer."""

    where: str
    told: dict[str, Any]

    @property
    def token(self) -> str:
        """The token's text; empty where it is none."""
        found = self.told.get("token")
        return found if isinstance(found, str) else ""

    @property
    def logprob(self) -> float:
        """The token's log-probability; NaN where it is no number."""
        return _number(self.told.get("logprob"))

    @property
    def data(self) -> bytes | None:
        """The token's bytes; None where they are not told, and nothing else can stand for them."""
        found = self.told.get("bytes")
        if isinstance(found, list) and all(type(each) is int and 0 <= each < 256 for each in found):
            return bytes(found)
        return None

    @property
    def whole(self) -> bool:
        """Whether the token shows what it is: neither a part of a character nor, like special ones, without text."""
        return bool(self.token) and CUT not in self.token

    @property
    def top(self) -> list[Entry]:
        """The alternatives that are objects, in the order told."""
        found = self.told.get("top_logprobs")
        items = found if isinstance(found, list) else []
        return [
            Entry(f"{self.where}/top_logprobs/{at}", each) for at, each in enumerate(items) if isinstance(each, dict)
        ]


def _is_text(data: bytes) -> bool:
    """Whether bytes are whole characters."""
    return CUT not in data.decode(errors="replace")


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def entries(exchange: Exchange) -> dict[int, list[Entry]]:
    """The entries of every choice by index, streamed or plain; raises NoOccasion where there are none."""
    found: dict[int, list[Entry]] = {}
    for place, choice in _choices(exchange):
        told = choice.get("logprobs")
        content = told.get("content") if isinstance(told, dict) else None
        index = choice.get("index")
        kept = found.setdefault(index if type(index) is int else 0, [])
        for at, each in enumerate(content if isinstance(content, list) else []):
            if isinstance(each, dict):
                kept.append(Entry(f"{place}/logprobs/content/{at}", each))
    found = {index: kept for index, kept in found.items() if kept}
    if not found:
        raise NoOccasion("the answer carries no log-probabilities")
    return found


def _choices(exchange: Exchange) -> Iterator[tuple[str, dict[str, Any]]]:
    holders = [(f"/events/{at}", chunk) for at, chunk in exchange.walk.chunks] if exchange.is_stream else []
    if not exchange.is_stream and isinstance(exchange.json, dict):
        holders = [("", exchange.json)]
    for place, holder in holders:
        choices = holder.get("choices")
        for at, choice in enumerate(choices if isinstance(choices, list) else []):
            if isinstance(choice, dict):
                yield f"{place}/choices/{at}", choice


def _each(exchange: Exchange) -> Iterator[Entry]:
    for kept in entries(exchange).values():
        yield from kept


ASKED = Occasion(
    lambda scenario, step, contract: (
        (scenario.subject is None or scenario.subject.expect == "accept")
        and ANSWER.fits(scenario, step, contract)
        and asks_for_logprobs(step)
        and not {"logprob_token_ids", "return_tokens_as_token_ids"} & set(step.body or {})  # vLLM's own forms
        and not (step.streams and "logprobs-in-streams" in contract.rules)
    ),
    unsuccessful,
)
UNASKED = Occasion(
    lambda scenario, step, contract: (
        written(ANSWER).fits(scenario, step, contract) and not {"logprobs", "top_logprobs"} & set(step.body or {})
    ),
    unsuccessful,
)
STREAM_ASKED = Occasion(
    lambda scenario, step, contract: (
        STREAMED_ANSWER.fits(scenario, step, contract) and ASKED.fits(scenario, step, contract)
    ),
    unsuccessful,
)


@check("logprobs.entries-well-formed", on=ASKED)
def entries_are_well_formed(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every entry has a token, a log-probability, its bytes or null, and a list of alternatives."""
    for place, choice in _choices(exchange):
        told = choice.get("logprobs")
        if isinstance(told, dict) and not isinstance(told.get("content"), list) and told.get("refusal") is None:
            yield Finding(f"{place}/logprobs/content", "a list", repr(told.get("content"))[:80])
    for entry in _each(exchange):
        told = entry.told
        if not isinstance(told.get("token"), str):
            yield Finding(f"{entry.where}/token", "a text", repr(told.get("token"))[:80])
        if math.isnan(entry.logprob):
            yield Finding(f"{entry.where}/logprob", "a number", repr(told.get("logprob"))[:80])
        if told.get("bytes") is not None and entry.data is None:
            yield Finding(f"{entry.where}/bytes", "a list of bytes, or null", repr(told.get("bytes"))[:80])
        if not isinstance(told.get("top_logprobs"), list):
            yield Finding(f"{entry.where}/top_logprobs", "a list", repr(told.get("top_logprobs"))[:80])


@check("logprobs.not-positive", on=ASKED)
def log_probabilities_are_finite_and_not_positive(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every log-probability, of a token or of an alternative, is finite and at most 0."""
    for entry in _each(exchange):
        for each in (entry, *entry.top):
            if not each.logprob <= ROUNDING or math.isinf(each.logprob):
                yield Finding(f"{each.where}/logprob", "a number of at most 0", repr(each.told.get("logprob"))[:80])


@check("logprobs.bytes-are-the-token", on=ASKED)
def bytes_are_those_of_the_token(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The bytes of an entry are the UTF-8 form of its token, where the token is whole characters."""
    seen = False
    for entry in _each(exchange):
        for each in (entry, *entry.top):
            if each.data is None or CUT in each.token or not (each.token or _is_text(each.data)):
                continue
            seen = True
            if each.data != each.token.encode(errors="replace"):
                yield Finding(f"{each.where}/bytes", f"{list(each.token.encode())}"[:200], f"{list(each.data)}"[:200])
    if not seen:
        raise NoOccasion("no entry tells its bytes")


@check("logprobs.make-the-text", on=ASKED)
def tokens_make_the_text(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The tokens of the entries, one after the other, are the text of the choice: none is missing or told twice."""
    sent: Any = exchange.request_json
    if sent.get("stop") or sent.get("stop_token_ids") or sent.get("ignore_eos") or sent.get("tools"):
        raise NoOccasion("some tokens do not become text")
    for index, kept in entries(exchange).items():
        folded = exchange.choices[index]
        if folded.reasoning or folded.tool_calls:
            raise NoOccasion("some tokens do not become text")
        if TAGS.search("".join(entry.token for entry in kept)) and not TAGS.search(folded.content):
            raise NoOccasion("some tokens are thoughts, or mark them")
        text = folded.content.encode(errors="replace")
        whole = not folded.content.endswith(CUT) and folded.finish_reason != "length"
        made = b"".join(entry.token.encode(errors="replace") if entry.data is None else entry.data for entry in kept)
        spoken = b"".join(entry.data or b"" for entry in kept)
        if any(_fits(each, text, whole=whole) for each in (made, spoken)):
            continue
        if kept[-1].token and _fits(made[: len(made) - len(_data(kept[-1]))], text, whole=whole):
            continue  # the token that ends an answer has a name and no text
        yield Finding(f"/choices/{index}/logprobs/content", repr(folded.content)[:200], repr(made)[:200])


def _data(entry: Entry) -> bytes:
    return entry.token.encode(errors="replace") if entry.data is None else entry.data


def _fits(made: bytes, text: bytes, *, whole: bool) -> bool:
    """Servers that cut white space from the ends of an answer are not blamed; a character may be cut at a limit."""
    made = made.strip()
    text = text.strip().removesuffix(CUT.encode())
    return made == text or (not whole and made.startswith(text) and len(made) - len(text) < 4)


@check("logprobs.one-entry-per-token", on=ASKED)
def entries_are_as_many_as_the_tokens(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that max_tokens cuts off has an entry for each completion token."""
    found = entries(exchange)
    if len(exchange.choices) > 1 or exchange.finish_reason() != "length":
        raise NoOccasion("the answer has several choices, or ended by itself")
    completion, told = completion_of(exchange), len(found.get(0, ()))
    if told != completion:
        yield Finding("/choices/0/logprobs/content", f"{completion} entries", f"{told} entries")


def _none_named(exchange: Exchange) -> None:
    """Raises NoOccasion where tokens were asked for by their ids, which are listed beside the likeliest."""
    if exchange.request_json.get("logprob_token_ids"):
        raise NoOccasion("the request names tokens that are listed too")


@check("logprobs.as-many-alternatives-as-asked", on=ASKED)
def alternatives_are_as_many_as_asked(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every entry has `top_logprobs` alternatives, and one more at most, where the chosen token is not among them."""
    _none_named(exchange)
    asked = exchange.request_json.get("top_logprobs") or 0
    for entry in _each(exchange):
        found = len(entry.top)
        if asked == 0 and found:  # the chosen token alone is no alternative
            if found > 1 or entry.top[0].token != entry.token:
                yield Finding(f"{entry.where}/top_logprobs", "none", f"{found}")
        elif asked and found not in (asked, asked + 1):
            yield Finding(f"{entry.where}/top_logprobs", f"{asked}", f"{found}")


@check("logprobs.alternatives-sorted", on=ASKED)
def alternatives_are_sorted(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Alternatives stand in order, the most likely first; a chosen token that is not among them may follow."""
    _none_named(exchange)
    for entry in _each(exchange):
        asked = exchange.request_json.get("top_logprobs") or 0
        listed = entry.top if len(entry.top) <= asked else [each for each in entry.top if each.token != entry.token]
        for before, after in pairwise(listed):
            if after.logprob > before.logprob + ROUNDING:
                yield Finding(f"{after.where}/logprob", f"at most {before.logprob}", f"{after.logprob}")


@check("logprobs.alternatives-differ", on=ASKED)
def alternatives_are_different_tokens(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No token stands twice among the alternatives of an entry."""
    seen = False
    for entry in _each(exchange):
        names = [(each.token, each.data) for each in entry.top if each.data is not None and each.whole]
        seen = seen or len(names) > 1
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            yield Finding(f"{entry.where}/top_logprobs", "different tokens", f"{twice[0]!r} twice")
    if not seen:
        raise NoOccasion("no entry has several alternatives that tell their bytes")


@check("logprobs.within-one", on=ASKED)
def probabilities_add_up_to_one_at_most(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The probabilities of an entry's alternatives add up to 1 at most."""
    for entry in _each(exchange):
        total = sum(math.exp(min(each.logprob, 1.0)) for each in entry.top if not math.isnan(each.logprob))
        if total > 1 + 10 * ROUNDING:
            yield Finding(f"{entry.where}/top_logprobs", "at most 1 in all", f"{total:.4f}")


@check("logprobs.chosen-as-listed", on=ASKED)
def chosen_token_is_told_as_among_the_alternatives(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A chosen token that stands among its alternatives has the same log-probability there."""
    seen = False
    for entry in _each(exchange):
        for each in entry.top:
            if (each.token, each.told.get("bytes")) == (entry.token, entry.told.get("bytes")) and each.whole:
                seen = True
                if abs(each.logprob - entry.logprob) > ROUNDING:
                    yield Finding(f"{each.where}/logprob", f"{entry.logprob}", f"{each.logprob}")
    if not seen:
        raise NoOccasion("no chosen token stands among its alternatives")


@check("logprobs.greedy-token-is-likeliest", on=ASKED)
def greedy_choice_is_the_likeliest_token(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """At temperature 0 no alternative is more likely than the chosen token."""
    _look_for_what_changes_the_choice(exchange)
    for entry in _each(exchange):
        best = max((each.logprob for each in entry.top), default=-math.inf)
        if best > entry.logprob + TIE:
            yield Finding(f"{entry.where}/logprob", f"at least {best}", f"{entry.logprob}")


def _look_for_what_changes_the_choice(exchange: Exchange) -> None:
    """Raises NoOccasion unless the chosen token is the one that the model finds likeliest."""
    sent: Any = exchange.request_json
    changing = ("presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias", "response_format", "tools")
    if sent.get("temperature") != 0 or any(sent.get(name) for name in (*changing, "use_beam_search", "best_of")):
        raise NoOccasion("the token need not be the likeliest one")


@check("logprobs.greedy-token-is-listed", on=ASKED)
def greedy_choice_stands_among_the_alternatives(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """At temperature 0 the chosen tokens stand among the likeliest: their entries are their own.

    Blamed is an answer in which most do not; a few may be written otherwise there, or be one of many that are equal.
    """
    _look_for_what_changes_the_choice(exchange)
    for index, kept in entries(exchange).items():
        shown = [entry for entry in kept if entry.top and entry.whole]
        listed = [entry for entry in shown if any(_is_same(each, entry) for each in entry.top)]
        if len(shown) < SEVERAL:
            raise NoOccasion("too few tokens tell their alternatives")
        if 2 * len(listed) < len(shown):
            yield Finding(f"/choices/{index}/logprobs/content", f"{len(shown)} tokens listed", f"{len(listed)} of them")


def _is_same(one: Entry, other: Entry) -> bool:
    return one.token == other.token or (one.data is not None and one.data == other.data)


@check("logprobs.numbers-vary", on=written(ASKED))
def numbers_are_not_all_the_same(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Different tokens do not all have the same log-probability, unless all are certain."""
    for index, kept in entries(exchange).items():
        numbers = {entry.logprob for entry in kept}
        if len({entry.token for entry in kept}) < SEVERAL or math.isnan(kept[0].logprob):
            raise NoOccasion("too few different tokens")
        if len(numbers) == 1 and LEAST < kept[0].logprob < -ROUNDING:
            yield Finding(f"/choices/{index}/logprobs/content", "numbers that vary", f"{kept[0].logprob} for all")


@check("logprobs.in-every-chunk", on=STREAM_ASKED)
def every_chunk_with_text_has_its_entries(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """In a stream whose request asks for them, log-probabilities come for every choice that says something."""
    spoken = {index for index, folded in exchange.choices.items() if folded.content}
    told = {
        choice.get("index")
        for _place, choice in _choices(exchange)
        if isinstance(choice.get("logprobs"), dict) and choice["logprobs"].get("content")
    }
    for index in sorted(spoken - told):
        yield Finding(f"/events/*/choices/{index}/logprobs", "entries", "none")


@check("logprobs.only-on-request", on=UNASKED)
def log_probabilities_are_not_sent_unasked(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Without a request for them there are no log-probabilities: null, or no such member."""
    for place, choice in _choices(exchange):
        if choice.get("logprobs") is not None:
            yield Finding(f"{place}/logprobs", "null, or absent", repr(choice["logprobs"])[:80])
            return


@relation("logprobs.streamed-as-plain", over=("told", "told-streamed"), lacks=unsuccessful)
def streamed_entries_are_the_plain_ones(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request has the same entries, streamed and plain."""
    plain, streamed = exchanges["told"], exchanges["told-streamed"]
    if plain.content() != streamed.content():
        raise NoOccasion("the greedy answer did not repeat")
    first, second = (entries(exchange).get(0, []) for exchange in (plain, streamed))
    tokens, others = ([entry.token for entry in kept] for kept in (first, second))
    if tokens != others:
        yield Finding("/choices/0/logprobs/content", repr(tokens)[:200], repr(others)[:200])
        return
    yield from _alike(first, second, "told-streamed")


@relation("logprobs.cut-as-whole", over=("told", "alone", "bare"), lacks=unsuccessful)
def entries_of_a_cut_answer_are_those_of_the_whole(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A greedy answer that is cut off has the numbers of the whole one, to its last token: they are its own."""
    whole = entries(exchanges["told"]).get(0, [])
    for name in ("alone", "bare"):
        cut = entries(exchanges[name]).get(0, [])
        if [entry.token for entry in cut] != [entry.token for entry in whole[: len(cut)]]:
            raise NoOccasion("the greedy answer did not repeat")
        yield from _alike(whole, cut, name)


@relation("logprobs.told-by-what-came-before", over=("sampled", "sampled-again"), lacks=unsuccessful)
def numbers_depend_on_what_came_before_alone(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """As far as two sampled answers to one request say the same, their tokens have the same log-probabilities.

    What comes behind a token is not known when it is drawn, and does not change its number.
    """
    first, second = (entries(exchanges[name]).get(0, []) for name in ("sampled", "sampled-again"))
    pairs = enumerate(zip(first, second, strict=False))
    same = next((at for at, (one, other) in pairs if one.token != other.token), min(len(first), len(second)))
    if not same:
        raise NoOccasion("the answers begin differently")
    yield from _alike(first[:same], second[:same], "sampled-again")


def _alike(known: list[Entry], found: list[Entry], name: str) -> Iterator[Finding]:
    """What differs clearly between two runs; the less likely a token, the more its number depends on rounding."""
    for entry, other in zip(known, found, strict=False):
        if abs(entry.logprob - other.logprob) > DRIFT - entry.logprob / 20:
            yield Finding(f"/{name}{other.where}/logprob", f"{entry.logprob}", f"{other.logprob}")
