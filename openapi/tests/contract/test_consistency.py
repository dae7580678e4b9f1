"""The data of the dialects are consistent: probes, rules, sources, interpretations and capabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from openapi.contract.contract import ABSENT, Contract, Keyword, Parameter, documents, load, names
from openapi.contract.interpretations import interpretations
from openapi.contract.page.printed_examples import load_printed_examples
from openapi.contract.resolution import read, resolve
from openapi.contract.tree.delta import walk_tree
from openapi.description.description import describe
from openapi.description.validation import Validator
from openapi.schema.server_limits import SERVER_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator

DIALECTS = sorted(set(names().values()))
VALIDATORS = {dialect: Validator(load(dialect).with_server_limits()) for dialect in DIALECTS}
PUBLISHED = {dialect: Validator(load(dialect)) for dialect in DIALECTS}


def request(parameter: Parameter, value: Any) -> dict[str, Any]:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 2}
    return {**body, **parameter.companions(value), parameter.name: value}


def is_rejected(dialect: str, parameter: Parameter, value: Any) -> bool:
    return bool(VALIDATORS[dialect].request_problems(request(parameter, value)))


def all_parameters() -> Iterator[tuple[str, Parameter]]:
    for dialect in DIALECTS:
        for parameter in load(dialect).parameters.values():
            yield dialect, parameter


def schemas(contract: Contract) -> dict[str, Any]:
    components: dict[str, Any] = describe(contract)["components"]["schemas"]
    return components


@pytest.mark.parametrize("dialect", DIALECTS)
def test_probes_agree_with_the_schema_of_their_dialect(dialect: str) -> None:
    """Whatever its level, a probe expects what the schema says, because the reference server follows the schema."""
    wrong = [
        (parameter.name, probe.name)
        for parameter in load(dialect).parameters.values()
        for probe in (*parameter.probes, parameter.null)
        if is_rejected(dialect, parameter, probe.value) != (probe.expect == "reject")
    ]
    assert wrong == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_only_the_limits_of_our_server_refuse_is_never_a_must(dialect: str) -> None:
    wrong = [
        (parameter.name, probe.name)
        for parameter in load(dialect).parameters.values()
        for probe in parameter.probes
        if probe.expect == "reject"
        and probe.keyword is Keyword.MUST
        and not PUBLISHED[dialect].request_problems(request(parameter, probe.value))
    ]
    assert wrong == []


def test_probes_of_a_parameter_have_different_names_and_values() -> None:
    for _, parameter in all_parameters():
        named = [probe.name for probe in parameter.probes]
        assert len(set(named)) == len(named), parameter.name
        values = [repr(probe.value) for probe in parameter.probes]
        assert len(set(values)) == len(values), parameter.name


@pytest.mark.parametrize("dialect", DIALECTS)
def test_rules_reject_their_broken_example_and_accept_the_other(dialect: str) -> None:
    contract = load(dialect)
    for rule in contract.rules.values():
        base = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}]}
        if rule.kept is not None:
            assert VALIDATORS[dialect].request_problems({**base, **rule.kept}) == (), rule.id
        if rule.broken is not None:
            problems = VALIDATORS[dialect].request_problems({**base, **rule.broken})
            if rule.schema is not None and rule.enforced:
                assert [(problem.keyword, problem.bound) for problem in problems] == [("rule", rule.id)], rule.id
            elif rule.keyword is not Keyword.MAY and rule.interpretation != "vllm-rules":
                assert problems != (), rule.id  # rules that the description omits are tested on the server itself
        assert rule.trigger is None or rule.trigger in contract.parameters, rule.id
        for example in (rule.kept, rule.broken):
            assert example is None or rule.trigger is None or rule.trigger in example, rule.id
        assert rule.schema is None or not rule.enforced or rule.broken, f"rule {rule.id} has no example that breaks it"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_rules_accept_their_example_without_any_capability(dialect: str) -> None:
    for capability in load(dialect).capabilities:
        narrow = load(dialect).without({capability})
        validator = Validator(narrow)
        for rule in narrow.rules.values():
            if rule.kept is not None:
                body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], **rule.kept}
                assert validator.request_problems(body) == (), (capability, rule.id)


@pytest.mark.parametrize("n", range(1, 20))
def test_n_never_exceeds_best_of_in_ovms(n: int) -> None:
    problems = VALIDATORS["ovms-2024"].request_problems
    base = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], "n": n}
    assert [best_of for best_of in range(1, 20) if not problems({**base, "best_of": best_of})] == list(range(n, 20))
    assert (problems(base) == ()) == (n == 1)


def test_defaults_neutral_values_and_levels_fit_their_schema() -> None:
    for dialect, parameter in all_parameters():
        if parameter.default is not ABSENT:
            assert not is_rejected(dialect, parameter, parameter.default), (dialect, parameter.name)
        assert (parameter.capability is None) == (parameter.neutral == ()) or parameter.name == "logprobs"
        for value in parameter.neutral:
            assert not is_rejected(dialect, parameter, value), (dialect, parameter.name, value)
        branches = [key for branch in parameter.schema.get("anyOf", ()) for key in branch]
        assert set(parameter.levels) <= {*parameter.schema, *branches, "type"}, (dialect, parameter.name)
        assert set(parameter.needs) <= set(load(dialect).parameters)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_dialect_defines_the_capabilities_that_its_data_name(dialect: str) -> None:
    named = {
        value
        for key, value, _ in walk_tree(resolve(dialect))
        if key in ("capability", "x-capability") and isinstance(value, str)
    }
    assert named == set(load(dialect).capabilities)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_property_has_a_source(dialect: str) -> None:
    """Constraints that combine several fields repeat properties whose source is at their declaration."""

    def unsourced(schema: Any, where: str) -> Iterator[str]:
        if isinstance(schema, list):
            for index, item in enumerate(schema):
                yield from unsourced(item, f"{where}/{index}")
        if not isinstance(schema, dict):
            return
        constraints = ("dependentSchemas", "anyOf" if "x-rule" in schema else "", SERVER_LIMITS)
        for key, value in schema.items():
            if key == "properties" and isinstance(value, dict):
                for name, item in value.items():
                    if "x-source" not in item and "$ref" not in item:
                        yield f"{where}/{name}"
                    yield from unsourced(item, f"{where}/{name}")
            elif key not in constraints:
                yield from unsourced(value, f"{where}/{key}")

    assert list(unsourced(schemas(load(dialect)), "")) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_source_is_a_known_document_or_source(dialect: str) -> None:
    pinned, others = set(documents()), set(read("documents.yaml")["sources"])
    parts = {"request", "response", "stream", "errors", "endpoint", "auth"}
    contract = load(dialect)
    sources = {value for key, value, _ in walk_tree(schemas(contract)) if key == "x-source"}
    for rows in (contract.parameters, contract.rules, contract.requirements, contract.capabilities):
        sources |= {row.source for row in rows.values()}
    for source in sources:
        document, mark, anchor = source.partition("#")
        assert mark, source
        assert anchor, source
        assert document in pinned | others, source
        assert document in others or anchor.split("/")[0] in parts, source
    assert contract.document.id in {source.partition("#")[0] for source in sources}


def test_every_source_that_is_listed_is_cited() -> None:
    cited = {
        str(value).partition("#")[0]
        for dialect in DIALECTS
        for key, value, _ in walk_tree(resolve(dialect))
        if key in ("source", "x-source")
    }
    cited |= {part for dialect in DIALECTS for part in resolve(dialect)["documents"].values()}
    assert set(read("documents.yaml")["sources"]) <= cited


def test_every_interpretation_is_cited() -> None:
    cited = {
        value
        for dialect in DIALECTS
        for key, value, _ in walk_tree(resolve(dialect))
        if key in ("interpretation", "x-interpretation")
    }
    corrected = {example.interpretation for key in documents() for example in load_printed_examples(key)} - {None}
    assert cited | corrected == set(interpretations())


def test_interpretations_name_documents_and_answer_in_sentences() -> None:
    for slug, row in interpretations().items():
        assert row.slug == slug
        assert row.where
        assert set(row.where) <= set(documents()), slug
        assert row.question.endswith((".", "?")), slug
        assert row.interpretation.endswith("."), slug


def test_requirements_differ_between_dialects() -> None:
    features = ("choices.", "logprobs.", "tools.", "reasoning.", "effects.", "relations.", "usage.", "finish.")
    requirements = [load(name).requirements for name in ("mindie", "ovms", "siliconstorm")]
    mindie, ovms, hosted = ({key for key in rows if not key.startswith(features)} for rows in requirements)
    assert hosted - mindie == {
        *("auth.key-demanded", "auth.wrong-key-refused", "auth.refusal-code", "auth.refused-before-validation"),
        *("auth.refused-when-streaming", "auth.challenge-given", "auth.status-is-401", "auth.key-not-repeated"),
        *("auth.scheme-in-any-case", "auth.whole-key-compared", "errors.code-of-its-kind"),
        "auth.answers-not-reused",
    }
    several = {"answer.as-many-choices-as-asked", "stream.as-many-choices-as-asked"}
    logprobs = {"answer.logprobs-when-asked", "sampling.seed-heeded-with-logprobs", "media.every-image-read"}
    logprobs.add("media.image-alone-answered")
    assert mindie - hosted == several | logprobs
    assert {"answer.id-given", "stream.id-constant", "http.answers-differ-in-id"} <= mindie - ovms
    assert ovms - mindie == {
        *("stream.usage-on-request", "stream.usage-null-elsewhere", "stream.usage-only-on-request"),
        *("stop.included-when-streaming", "answer.excluded-fields-absent"),
    }
