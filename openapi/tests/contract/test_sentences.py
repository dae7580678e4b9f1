"""Every normative sentence of a document is listed once, in our own words, and has a home that exists."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import openapi
from openapi.contract import loading
from openapi.contract.contract import load
from openapi.contract.interpretations import interpretations
from openapi.contract.parameter import Keyword
from openapi.contract.resolution import resolve
from openapi.contract.sentence import Category, Home, Sentence, is_place
from openapi.contract.tree.delta import walk_tree
from openapi.contract.tree.yaml_file import ContractError
from openapi.reading.facts.fact import RANGES
from openapi.reading.facts.facts import read_facts
from openapi.reading.grammar.statement import UNSTATED, DescribedDefault
from openapi.reading.pages.page import read_page

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from openapi.reading.facts.fact import Fact

DIALECTS = ("mindie-1.0", "mindie-2.3", "mindie-vllm-1.0", "ovms-2024", "siliconstorm")
DOCUMENTS = (
    Path(openapi.__file__).parents[2] / "shared" / "documents"
)  # next to a working copy; not part of the repository
PARTS = {"endpoint", "auth", "request", "response", "stream", "errors"}
SILENT = {"endpoint/auth"}  # cited where the documents state nothing
RUN_OF_WORDS, RUN_OF_CHARACTERS = 8, 16
CHINESE = re.compile(r"[\u3400-\u9fff]")


@pytest.fixture(params=DIALECTS)
def contract(request: pytest.FixtureRequest) -> Contract:
    """The contract of each dialect of a vendor's document."""
    return load(request.param)


@pytest.fixture(scope="session")
def pages() -> dict[str, Path]:
    """The documents next to the working copy, by their hash; skip the test without them."""
    if not DOCUMENTS.is_dir():
        pytest.skip(f"no documents in {DOCUMENTS}")
    return {sha256(path.read_bytes()).hexdigest(): path for path in sorted(DOCUMENTS.iterdir())}


def anchor(sentence: Sentence) -> str:
    return sentence.source.partition("#")[2]


def test_every_document_has_its_pinned_hash(pages: dict[str, Path]) -> None:
    assert {load(dialect).document.sha256 for dialect in DIALECTS} == set(pages)


def test_every_sentence_has_a_home(contract: Contract) -> None:
    assert contract.sentences
    assert [sentence.id for sentence in contract.sentences if sentence.home.kind == "uncovered"] == []


def test_every_place_of_a_home_exists(contract: Contract) -> None:
    tree = resolve(contract.name)
    wanted = [(sentence.id, place) for sentence in contract.sentences for place in sentence.home.places]
    assert [(identity, place) for identity, place in wanted if not is_place(tree, place)] == []


def test_check_ids_are_well_formed(contract: Contract) -> None:
    checks = [check for sentence in contract.sentences for check in sentence.home.checks]
    assert [check for check in checks if not re.fullmatch(r"[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*", check)] == []


def test_every_exclusion_has_a_reason(contract: Contract) -> None:
    reasons = {
        sentence.id: sentence.home.excluded for sentence in contract.sentences if sentence.home.kind == "excluded"
    }
    assert [identity for identity, reason in reasons.items() if len((reason or "").split()) < 4] == []


def test_ids_and_wording_are_well_formed(contract: Contract) -> None:
    for sentence in contract.sentences:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", sentence.id), sentence.id
        assert sentence.says == " ".join(sentence.says.split()), sentence.id
        assert 3 <= len(sentence.says.split()) <= 30, sentence.id
        assert not sentence.says.endswith("."), sentence.id


def test_no_sentence_is_listed_twice(contract: Contract) -> None:
    listed = [(sentence.source, sentence.says) for sentence in contract.sentences]
    assert sorted(set(listed)) == sorted(listed)


def test_sentences_cite_a_part_of_their_own_document(contract: Contract) -> None:
    for sentence in contract.sentences:
        document, _, place = sentence.source.partition("#")
        assert document == contract.document.id, sentence.id
        assert place.partition("/")[0] in PARTS, sentence.id


def test_interpretations_of_sentences_are_about_their_document(contract: Contract) -> None:
    cited = {sentence.interpretation for sentence in contract.sentences if sentence.interpretation}
    assert cited <= set(interpretations())
    assert sorted(slug for slug in cited if contract.document.id not in interpretations()[slug].where) == []


def covered(cited: str, anchors: set[str]) -> bool:
    """Return whether there is a sentence at an anchor or below it.

    Where one table describes responses and streams, a sentence about the field of the response counts as well.
    """
    twin = cited.replace("stream/", "response/").replace("/delta", "/message")
    return any(known == wanted or known.startswith(f"{wanted}/") for known in anchors for wanted in (cited, twin))


def test_every_anchor_that_the_data_cite_has_a_sentence(contract: Contract) -> None:
    tree = loading.make_sources_absolute(resolve(contract.name))
    del tree["sentences"]
    own = f"{contract.document.id}#"
    values = {value for key, value, _ in walk_tree(tree) if key in ("source", "x-source") and value.startswith(own)}
    anchors = {anchor(sentence) for sentence in contract.sentences}
    assert sorted(v for v in {value.removeprefix(own) for value in values} - SILENT if not covered(v, anchors)) == []


def anchor_of(fact: Fact) -> str:
    """Return the anchor of a fact about a parameter or field in a table of a page."""
    path = fact.path.replace("[]", "").replace(".*", "").replace(".", "/")
    if fact.part == "stream":
        path = path.removeprefix("data/")
    return f"{fact.part}/{path}" if fact.supported else f"{fact.part}/unsupported/{path}"


def sentences_at(contract: Contract, place: str) -> str:
    """Return the sentences at an anchor and below it, or else those at the closest anchor above it."""
    at = {sentence.says: anchor(sentence) for sentence in contract.sentences}
    while place:
        sentences = [says for says, where in at.items() if where == place or where.startswith(f"{place}/")]
        if sentences:
            return ". ".join(sentences)
        place = place.rpartition("/")[0]
    return ""


def names(text: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text) is not None


def facts_in(contract: Contract, pages: dict[str, Path]) -> tuple[Fact, ...]:
    """Return the facts that `openapi.reading` extracts from the tables of a document."""
    path = pages[contract.document.sha256]
    return read_facts(read_page(path.read_bytes(), path.name)).facts


def test_every_row_of_a_page_has_a_sentence(contract: Contract, pages: dict[str, Path]) -> None:
    """A sentence about a field inside a parameter may be listed at the parameter, if it names the field."""
    facts = facts_in(contract, pages)
    assert len(facts) > 40
    anchors = {anchor(sentence) for sentence in contract.sentences}
    places = [place for place in map(anchor_of, facts) if place not in anchors]
    assert [place for place in places if not names(sentences_at(contract, place), place.rpartition("/")[2])] == []


NUMBER = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?(?:e-?\d+)?)(?![\w.]*\w)( MB)?")
ASIDE = {0.0, 1.0}  # a bound that a sentence may state in words: not empty, at least one
WORDS: dict[object, str] = {True: "true", False: "false", None: "null"}


def figures(fact: Fact) -> tuple[set[float], set[str]]:
    """Return the numbers and the words in the bounds, sizes, defaults and values that a page states."""
    ends = [end for member in RANGES for interval in getattr(fact, member) for end in (interval.low, interval.high)]
    plain = [] if fact.default is UNSTATED or isinstance(fact.default, DescribedDefault) else [fact.default]
    null = [None] if fact.nullable else []
    stated = [*(end for end in ends if end is not None), *plain, *null, *fact.enum, *fact.formats]
    numbers = {float(item) for item in stated if isinstance(item, (int, float)) and not isinstance(item, bool)}
    return numbers, {WORDS.get(item, str(item)) for item in stated if isinstance(item, (bool, str)) or item is None}


def test_every_number_and_word_of_a_page_is_in_a_sentence(contract: Contract, pages: dict[str, Path]) -> None:
    missing: list[tuple[str, object]] = []
    for fact in facts_in(contract, pages):
        says = sentences_at(contract, anchor_of(fact))
        stated = {float(number) * (2**20 if unit else 1) for number, unit in NUMBER.findall(says)}
        numbers, terms = figures(fact)
        missing += [(fact.path, number) for number in numbers - stated - ASIDE]
        missing += [(fact.path, term) for term in terms if not names(says, term)]
    assert missing == []


def words(text: str) -> list[str]:
    return re.findall(r"\w[\w.'-]*", text.lower())


def runs(items: list[str] | str, length: int) -> set[str]:
    return {" ".join(items[at : at + length]) for at in range(len(items) - length + 1)}


def test_sentences_do_not_copy_the_document(contract: Contract, pages: dict[str, Path]) -> None:
    text = pages[contract.document.sha256].read_text(encoding="utf-8")
    theirs = runs(words(text), RUN_OF_WORDS)
    stretches = re.findall(rf"{CHINESE.pattern}{{{RUN_OF_CHARACTERS},}}", text)
    chinese = {run for stretch in stretches for run in runs(stretch, RUN_OF_CHARACTERS)}
    ours = {sentence.id: f"{sentence.says} | {sentence.home.excluded or ''}" for sentence in contract.sentences}
    assert {key: copied for key, says in ours.items() if (copied := runs(words(says), RUN_OF_WORDS) & theirs)} == {}
    assert {key: copied for key, says in ours.items() if (copied := runs(says, RUN_OF_CHARACTERS) & chinese)} == {}


ROW: dict[str, Any] = {"id": "a", "says": "a is b", "source": "#request/a", "keyword": "MUST"}


def test_a_row_is_parsed_to_a_sentence() -> None:
    row = {**ROW, "home": {"check": ["a.b", "a.c"]}, "interpretation": "r"}
    assert loading.parse_sentence(row) == Sentence(
        "a", "a is b", "#request/a", Keyword.MUST, Home(checks=("a.b", "a.c")), "r"
    )
    excluded = {"excluded": "because", "category": "advice"}
    homes = [{"check": "a.b"}, {"schema": "x/y"}, {"schema": ["x", "y"]}, excluded, {}]
    assert [loading.parse_sentence({**ROW, "home": home}).home for home in homes] == [
        Home(checks=("a.b",)),
        Home(places=("x/y",)),
        Home(places=("x", "y")),
        Home(excluded="because", category=Category.ADVICE),
        Home(),
    ]


@pytest.mark.parametrize(
    ("home", "kind"),
    [
        (Home(checks=("a.b",)), "check"),
        (Home(places=("x",)), "schema"),
        (Home(excluded="because"), "excluded"),
        (Home(excluded=""), "excluded"),
        (Home(), "uncovered"),
    ],
)
def test_a_home_has_a_kind(home: Home, kind: str) -> None:
    assert home.kind == kind


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{**ROW, "hom": {}}], "sentences/a: unknown key hom"),
        ([{**ROW, "home": {"chek": "a.b"}}], "sentences/a/home: unknown key chek"),
        ([{**ROW, "home": {"check": "a.b", "excluded": "x"}}], "invalid home: .* got check, excluded"),
        ([ROW, {**ROW, "id": "b"}, ROW], "sentences: duplicate id a"),
    ],
)
def test_invalid_rows_are_an_error(rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ContractError, match=message):
        loading.parse_sentences(rows)


TREE: dict[str, Any] = {
    "a": {
        "b": [{"name": "one", "value": 1}, {"value": -1}, "text"],
        "c": None,
        7: {},
        "$ref": "#/components/schemas/S",
    },
    "schemas": {"S": {"anyOf": [{"type": "string"}, {"$ref": "#/components/schemas/T"}]}, "T": {"maxItems": 2}},
}


@pytest.mark.parametrize(
    "place",
    [
        "a",
        "a/b",
        "a/b/one",
        "a/b/one/value",
        "a/b/-1",
        "a/b/text",
        "a/c",
        "a/7",
        "schemas/S/anyOf/0/type",
        "a/anyOf/1/maxItems",
    ],
)
def test_a_place_is_found_by_key_name_value_or_item(place: str) -> None:
    assert is_place(TREE, place)


@pytest.mark.parametrize("place", ["", "b", "a/b/0", "a/b/1", "a/b/two", "a/c/d", "a/b/text/x", "a/"])
def test_a_place_that_does_not_exist_is_detected(place: str) -> None:
    assert not is_place(TREE, place)


def test_sentences_are_never_inherited() -> None:
    for dialect in DIALECTS:
        own = load(dialect).document.id
        assert {sentence.source.partition("#")[0] for sentence in load(dialect).sentences} == {own}
    assert load("mindie-2.3").without({"tools"}).sentences == load("mindie-2.3").sentences
