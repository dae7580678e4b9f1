"""Sentences: every one of a document is listed once, in our own words, and has a home that exists."""

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
from openapi.contract.resolution import ContractError, members, resolve
from openapi.contract.sentence import Home, Sentence, is_place
from openapi.reading.facts.fact import RANGES, UNSTATED, InWords
from openapi.reading.facts.facts import facts_of
from openapi.reading.pages.page import rows_of

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from openapi.reading.facts.fact import Fact

DIALECTS = ("mindie-1.0", "mindie-2.3", "mindie-vllm-1.0", "ovms-2024", "siliconstorm")
DOCUMENTS = Path(openapi.__file__).parents[2] / "shared" / "documents"  # beside a working copy; not part of it
PARTS = {"endpoint", "auth", "request", "response", "stream", "errors"}
SILENT = {"endpoint/auth"}  # cited for what the pages do not say
RUN_OF_WORDS, RUN_OF_CHARACTERS = 8, 16
CHINESE = re.compile(r"[\u3400-\u9fff]")


@pytest.fixture(params=DIALECTS)
def contract(request: pytest.FixtureRequest) -> Contract:
    """Each dialect of a vendor's document in turn."""
    return load(request.param)


@pytest.fixture(scope="session")
def pages() -> dict[str, Path]:
    """The documents by the hash of their bytes, where they lie beside the working copy."""
    if not DOCUMENTS.is_dir():
        pytest.skip("the documents are not here")
    return {sha256(path.read_bytes()).hexdigest(): path for path in sorted(DOCUMENTS.iterdir())}


def anchor(sentence: Sentence) -> str:
    return sentence.source.partition("#")[2]


def test_every_document_is_the_one_that_is_pinned(pages: dict[str, Path]) -> None:
    assert {load(dialect).document.sha256 for dialect in DIALECTS} == set(pages)


def test_every_sentence_has_a_home(contract: Contract) -> None:
    assert contract.sentences
    assert [sentence.id for sentence in contract.sentences if sentence.home.kind == "homeless"] == []


def test_every_place_that_is_a_home_is_there(contract: Contract) -> None:
    tree = resolve(contract.name)
    wanted = [(sentence.id, place) for sentence in contract.sentences for place in sentence.home.places]
    assert [(identity, place) for identity, place in wanted if not is_place(tree, place)] == []


def test_checks_are_named_by_topic_and_truth(contract: Contract) -> None:
    named = [check for sentence in contract.sentences for check in sentence.home.checks]
    assert [check for check in named if not re.fullmatch(r"[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*", check)] == []


def test_what_is_excluded_says_why(contract: Contract) -> None:
    reasons = {
        sentence.id: sentence.home.excluded for sentence in contract.sentences if sentence.home.kind == "excluded"
    }
    assert [identity for identity, reason in reasons.items() if len((reason or "").split()) < 4] == []


def test_ids_and_wording_keep_their_form(contract: Contract) -> None:
    for sentence in contract.sentences:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", sentence.id), sentence.id
        assert sentence.says == " ".join(sentence.says.split()), sentence.id
        assert 3 <= len(sentence.says.split()) <= 30, sentence.id
        assert not sentence.says.endswith("."), sentence.id


def test_no_sentence_is_listed_twice(contract: Contract) -> None:
    seen = [(sentence.source, sentence.says) for sentence in contract.sentences]
    assert sorted(set(seen)) == sorted(seen)


def test_sentences_cite_a_part_of_their_own_document(contract: Contract) -> None:
    for sentence in contract.sentences:
        document, _, place = sentence.source.partition("#")
        assert document == contract.document.id, sentence.id
        assert place.partition("/")[0] in PARTS, sentence.id


def test_readings_of_sentences_are_about_their_document(contract: Contract) -> None:
    cited = {sentence.interpretation for sentence in contract.sentences if sentence.interpretation}
    assert cited <= set(interpretations())
    assert sorted(slug for slug in cited if contract.document.id not in interpretations()[slug].where) == []


def covered(cited: str, anchors: set[str]) -> bool:
    """Whether sentences speak of what an anchor names: at it, below it, or, where one table tells of answers and
    streams alike, at the twin of the answer.
    """
    twin = cited.replace("stream/", "response/").replace("/delta", "/message")
    return any(each == wanted or each.startswith(f"{wanted}/") for each in anchors for wanted in (cited, twin))


def test_every_anchor_that_the_data_cite_has_a_sentence(contract: Contract) -> None:
    tree = loading.with_absolute_sources(resolve(contract.name))
    del tree["sentences"]
    own = f"{contract.document.id}#"
    values = {value for key, value, _ in members(tree) if key in ("source", "x-source") and value.startswith(own)}
    anchors = {anchor(sentence) for sentence in contract.sentences}
    assert sorted(v for v in {value.removeprefix(own) for value in values} - SILENT if not covered(v, anchors)) == []


def anchor_of(fact: Fact) -> str:
    """The anchor of what a page's table says of a parameter or field."""
    path = fact.path.replace("[]", "").replace(".*", "").replace(".", "/")
    if fact.part == "stream":
        path = path.removeprefix("data/")
    return f"{fact.part}/{path}" if fact.supported else f"{fact.part}/unsupported/{path}"


def told(contract: Contract, place: str) -> str:
    """What the sentences say at an anchor and below it, or else at the nearest one above."""
    at = {sentence.says: anchor(sentence) for sentence in contract.sentences}
    while place:
        found = [says for says, where in at.items() if where == place or where.startswith(f"{place}/")]
        if found:
            return ". ".join(found)
        place = place.rpartition("/")[0]
    return ""


def names(text: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text) is not None


def facts_in(contract: Contract, pages: dict[str, Path]) -> tuple[Fact, ...]:
    """What the reader of pages makes of the tables of a document."""
    path = pages[contract.document.sha256]
    return facts_of(rows_of(path.read_bytes(), path.name)).facts


def test_every_row_of_a_page_has_a_sentence(contract: Contract, pages: dict[str, Path]) -> None:
    """What a cell says of members inside a parameter may stand with the parameter, where it is named."""
    facts = facts_in(contract, pages)
    assert len(facts) > 40
    anchors = {anchor(sentence) for sentence in contract.sentences}
    places = [place for place in map(anchor_of, facts) if place not in anchors]
    assert [place for place in places if not names(told(contract, place), place.rpartition("/")[2])] == []


NUMBER = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?(?:e-?\d+)?)(?![\w.]*\w)( MB)?")
ASIDE = {0.0, 1.0}  # an end that is told in words: not empty, at least one
WORDS: dict[object, str] = {True: "true", False: "false", None: "null"}


def figures(fact: Fact) -> tuple[set[float], set[str]]:
    """The figures and the words of the bounds, sizes, defaults and values that a page states."""
    ends = [end for member in RANGES for each in getattr(fact, member) for end in (each.low, each.high)]
    plain = [] if fact.default is UNSTATED or isinstance(fact.default, InWords) else [fact.default]
    null = [None] if fact.nullable else []
    stated = [*(end for end in ends if end is not None), *plain, *null, *fact.enum, *fact.formats]
    numbers = {float(each) for each in stated if isinstance(each, (int, float)) and not isinstance(each, bool)}
    return numbers, {WORDS.get(each, str(each)) for each in stated if isinstance(each, (bool, str)) or each is None}


def test_every_figure_and_word_of_a_page_is_told(contract: Contract, pages: dict[str, Path]) -> None:
    missing: list[tuple[str, object]] = []
    for fact in facts_in(contract, pages):
        says = told(contract, anchor_of(fact))
        figures_told = {float(number) * (2**20 if unit else 1) for number, unit in NUMBER.findall(says)}
        numbers, terms = figures(fact)
        missing += [(fact.path, each) for each in numbers - figures_told - ASIDE]
        missing += [(fact.path, term) for term in terms if not names(says, term)]
    assert missing == []


def words(text: str) -> list[str]:
    return re.findall(r"\w[\w.'-]*", text.lower())


def runs(items: list[str] | str, length: int) -> set[str]:
    return {" ".join(items[at : at + length]) for at in range(len(items) - length + 1)}


def test_sentences_are_in_words_of_our_own(contract: Contract, pages: dict[str, Path]) -> None:
    text = pages[contract.document.sha256].read_text(encoding="utf-8")
    theirs = runs(words(text), RUN_OF_WORDS)
    stretches = re.findall(rf"{CHINESE.pattern}{{{RUN_OF_CHARACTERS},}}", text)
    chinese = {run for stretch in stretches for run in runs(stretch, RUN_OF_CHARACTERS)}
    ours = {sentence.id: f"{sentence.says} | {sentence.home.excluded or ''}" for sentence in contract.sentences}
    assert {key: found for key, said in ours.items() if (found := runs(words(said), RUN_OF_WORDS) & theirs)} == {}
    assert {key: found for key, said in ours.items() if (found := runs(said, RUN_OF_CHARACTERS) & chinese)} == {}


ROW: dict[str, Any] = {"id": "a", "says": "a is b", "source": "#request/a", "keyword": "MUST"}


def test_a_row_becomes_a_sentence() -> None:
    row = {**ROW, "home": {"check": ["a.b", "a.c"]}, "interpretation": "r"}
    assert loading.sentence(row) == Sentence(
        "a", "a is b", "#request/a", Keyword.MUST, Home(checks=("a.b", "a.c")), "r"
    )
    homes = [{"check": "a.b"}, {"schema": "x/y"}, {"schema": ["x", "y"]}, {"excluded": "because"}, {}]
    assert [loading.sentence({**ROW, "home": home}).home for home in homes] == [
        Home(checks=("a.b",)),
        Home(places=("x/y",)),
        Home(places=("x", "y")),
        Home(excluded="because"),
        Home(),
    ]


@pytest.mark.parametrize(
    ("home", "kind"),
    [
        (Home(checks=("a.b",)), "check"),
        (Home(places=("x",)), "schema"),
        (Home(excluded="because"), "excluded"),
        (Home(excluded=""), "excluded"),
        (Home(), "homeless"),
    ],
)
def test_a_home_knows_its_kind(home: Home, kind: str) -> None:
    assert home.kind == kind


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{**ROW, "hom": {}}], "sentences/a: unknown hom"),
        ([{**ROW, "home": {"chek": "a.b"}}], "sentences/a/home: unknown chek"),
        ([{**ROW, "home": {"check": "a.b", "excluded": "x"}}], "one home, not check and excluded"),
        ([ROW, {**ROW, "id": "b"}, ROW], "sentences: a: the id stands twice"),
    ],
)
def test_rows_with_slips_are_refused(rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ContractError, match=message):
        loading.sentences(rows)


TREE: dict[str, Any] = {"a": {"b": [{"name": "one", "value": 1}, {"value": -1}, "text"], "c": None, 7: {}}}


@pytest.mark.parametrize("place", ["a", "a/b", "a/b/one", "a/b/one/value", "a/b/-1", "a/b/text", "a/c", "a/7"])
def test_a_place_is_found_by_key_name_value_or_item(place: str) -> None:
    assert is_place(TREE, place)


@pytest.mark.parametrize("place", ["", "b", "a/b/0", "a/b/1", "a/b/two", "a/c/d", "a/b/text/x", "a/"])
def test_a_place_where_nothing_stands_is_told(place: str) -> None:
    assert not is_place(TREE, place)


def test_sentences_are_never_inherited() -> None:
    for dialect in DIALECTS:
        named = load(dialect).document.id
        assert {sentence.source.partition("#")[0] for sentence in load(dialect).sentences} == {named}
    assert load("mindie-2.3").without({"tools"}).sentences == load("mindie-2.3").sentences
