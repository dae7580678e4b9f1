"""Parameters of sampling that are taken and do nothing, or something else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.engine import SamplingParams
from reference_server.faults.decorators import at_seams, demands, knows, sampled

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Told

WILD: Final = 1.6  # a temperature at which no two answers are alike


def _ignoring(*names: str) -> Callable[[Told], None]:
    def edit(told: Told) -> None:
        for name in names:
            told.sent.pop(name, None)

    return edit


@sampled("seed-ignored", bugs=[105])
def seed_ignored(params: SamplingParams) -> SamplingParams:
    """`seed` is ignored."""
    return replace(params, seed=None)


def _no_seed_in_streams(told: Told) -> None:
    if told.sent.get("stream") is True:
        told.sent.pop("seed", None)


seed_ignored_in_streams = at_seams(
    "seed-ignored-in-streams", "`seed` is ignored in streams.", request=_no_seed_in_streams, bugs=[105]
)


@sampled("greedy-wanders", bugs=[106])
def greedy_wanders(params: SamplingParams) -> SamplingParams:
    """At temperature 0 the answer does not repeat."""
    return replace(params, temperature=params.temperature or WILD, seed=None)


@sampled("temperature-ignored", bugs=[106])
def temperature_ignored(params: SamplingParams) -> SamplingParams:
    """`temperature` is ignored: everything is greedy."""
    return replace(params, temperature=0.0)


@sampled("seed-constant", bugs=[105])
def seed_constant(params: SamplingParams) -> SamplingParams:
    """Every request has the same seed, whatever it asks for."""
    return replace(params, seed=1)


@sampled("seed-cut-to-32-bits", fits=demands("effects.seeds-read-whole"), bugs=[105])
def seed_is_cut_to_32_bits(params: SamplingParams) -> SamplingParams:
    """Of `seed` the lowest 32 bits are read."""
    return replace(params, seed=None if params.seed is None else params.seed % 2**32)


@sampled("presence-as-frequency", fits=knows("presence_penalty"))
def presence_as_frequency(params: SamplingParams) -> SamplingParams:
    """`presence_penalty` grows with each repetition, as frequency_penalty does."""
    return replace(params, presence_penalty=0.0, frequency_penalty=params.frequency_penalty + params.presence_penalty)


@sampled("frequency-as-presence", fits=knows("frequency_penalty"))
def frequency_as_presence(params: SamplingParams) -> SamplingParams:
    """`frequency_penalty` counts a token once, however often it stands there, as presence_penalty does."""
    return replace(params, frequency_penalty=0.0, presence_penalty=params.frequency_penalty + params.presence_penalty)


@sampled("bias-halved", fits=knows("logit_bias", "return_tokens_as_token_ids"))
def bias_is_halved(params: SamplingParams) -> SamplingParams:
    """Of `logit_bias` half is added."""
    return replace(params, logit_bias=tuple((token, bias / 2) for token, bias in params.logit_bias))


@sampled("end-not-ignored", fits=knows("ignore_eos"))
def end_not_ignored(params: SamplingParams) -> SamplingParams:
    """`ignore_eos` is ignored."""
    return replace(params, ignore_eos=False)


@sampled("end-always-ignored", bugs=[56])
def end_always_ignored(params: SamplingParams) -> SamplingParams:
    """The model's end of an answer is ignored: every answer runs to its limit."""
    return replace(params, ignore_eos=True, max_tokens=params.max_tokens or 64)


@sampled("limit-ignored", bugs=[128])
def limit_ignored(params: SamplingParams) -> SamplingParams:
    """`max_tokens` is ignored: a limit of the server's own, three times as high, ends answers."""
    return replace(params, max_tokens=None if params.max_tokens is None else 3 * params.max_tokens + 8)


@sampled("limit-off-by-one", bugs=[71])
def limit_off_by_one(params: SamplingParams) -> SamplingParams:
    """One token more than max_tokens is generated."""
    return replace(params, max_tokens=None if params.max_tokens is None else params.max_tokens + 1)


@sampled("limit-capped")
def limit_capped(params: SamplingParams) -> SamplingParams:
    """No answer gets more than 5 tokens, whatever max_tokens says."""
    return replace(params, max_tokens=min(5, params.max_tokens or 5))


@sampled("choices-share-a-seed", bugs=[48], fits=knows("n"))
def best_of_ignored(params: SamplingParams) -> SamplingParams:
    """Several choices are sampled greedily, and are all the same."""
    return replace(params, temperature=0.0, beam_search=False, best_of=None) if params.n > 1 else params


@sampled("seeded-answers-wander", bugs=[105])
def seeded_answers_wander(params: SamplingParams) -> SamplingParams:
    """With a seed, answers are drawn by chance and at a high temperature."""
    if params.seed is None or params.temperature == 0:
        return params
    return replace(params, seed=None, temperature=max(params.temperature, WILD))


def _returns_the_best(contract: Contract) -> bool:
    """The dialect returns `n` of the best_of that are made."""
    return "best_of" in contract.parameters and contract.answer.best_of != "all"


@sampled("all-of-best-of", fits=_returns_the_best)
def all_of_best_of(params: SamplingParams) -> SamplingParams:
    """As many choices come back as `best_of` has generated."""
    return replace(params, n=params.width)


@sampled("penalties-reversed", fits=knows("presence_penalty"))
def penalties_are_reversed(params: SamplingParams) -> SamplingParams:
    """Penalties have the wrong sign: words are repeated all the more."""
    return replace(
        params,
        presence_penalty=-params.presence_penalty,
        frequency_penalty=-params.frequency_penalty,
        repetition_penalty=1 / params.repetition_penalty,
    )


@sampled("penalties-reward", fits=knows("presence_penalty"))
def penalties_reward(params: SamplingParams) -> SamplingParams:
    """Words are rewarded for being there already, four times as much as they should be penalised."""
    return replace(
        params, presence_penalty=-4 * params.presence_penalty, frequency_penalty=-4 * params.frequency_penalty
    )


@sampled("end-missed-with-room")
def end_missed_with_room(params: SamplingParams) -> SamplingParams:
    """With room for more than 50 tokens an answer goes on past its end."""
    return replace(params, ignore_eos=True) if (params.max_tokens or 0) > 50 else params


UNASKED: Final = SamplingParams()


def ignored(parameter: str, *bugs: int) -> Fault:
    """A parameter that is taken, judged, and does nothing."""

    def unasked(params: SamplingParams) -> SamplingParams:
        return replace(params, **{parameter: getattr(UNASKED, parameter)})

    unasked.__doc__ = f"`{parameter}` is taken and ignored."
    return sampled(f"ignores-{parameter.replace('_', '-')}", fits=knows(parameter), bugs=bugs)(unasked)


temperature_taken = ignored("temperature", 106)
top_p_taken = ignored("top_p")
top_k_taken = ignored("top_k")
min_p_taken = ignored("min_p")
presence_taken = ignored("presence_penalty")
frequency_taken = ignored("frequency_penalty")
repetition_taken = ignored("repetition_penalty")
bias_taken = ignored("logit_bias")
bad_words_taken = ignored("bad_words")
allowed_taken = ignored("allowed_token_ids")
least_taken = ignored("min_tokens")
stop_ids_taken = ignored("stop_token_ids")


def _no_rewards(told: Told) -> None:
    for name in ("presence_penalty", "frequency_penalty"):
        value = told.sent.get(name)
        if isinstance(value, (int, float)) and -2 <= value < 0:
            told.sent[name] = 0


negative_penalties_ignored = at_seams(
    "negative-penalties-ignored", "Penalties below 0 are taken for 0.", request=_no_rewards,
    fits=demands("effects.negative-penalty-heeded"),
)  # fmt: skip
