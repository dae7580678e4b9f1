"""Rules for sizes: lengths of strings and lists, total characters, media, and elements out of range."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.interval import Interval
from openapi.reading.grammar.rule import Preceding, rule
from openapi.reading.grammar.statement import Statement
from openapi.reading.grammar.vocabulary import COMPARISON, SIZE, comparison_interval, parse_size

if TYPE_CHECKING:
    from openapi.reading.grammar.rule import Build

COUNT: Final = r"\d+"
_SPAN: Final = rf"(?P<low>{COUNT})\s*[~-]\s*(?P<high>{COUNT})"
_PRODUCT: Final = rf"(?P<limit>{COUNT})\s*(?:\((?P<product>{COUNT}(?:\s*\*\s*{COUNT})+)\))?"
_FORMATS: Final = frozenset(
    "JPG JPEG PNG GIF BMP WEBP MP4 AVI WMV MOV MKV WEBM MP3 WAV FLAC OGG M4A".split()  # noqa: SIM905 - a word list
)
_MEDIUM: Final = r"(?:images?|videos?|video files?|audios?|audio files?|图片|视频|音频)"


def _span(attribute: str, at: str = "") -> Build:
    def build(match: re.Match[str], _name: str) -> list[Statement] | None:
        low, high = int(match["low"]), int(match["high"])
        return [Statement(attribute, (Interval(low, high),), at=at)] if low <= high else None

    return build


def _at_most(attribute: str, at: str = "") -> Build:
    def build(match: re.Match[str], _name: str) -> list[Statement] | None:
        limit, product = int(match["limit"] or match["most"]), match.groupdict().get("product")
        if product and prod(int(part) for part in product.split("*")) != limit:
            return None  # the page contradicts itself
        return [Statement(attribute, (Interval(0, limit),), at=at)]

    return build


def _from(attribute: str, at: str = "") -> Build:
    return lambda match, _name: [Statement(attribute, (Interval(int(match["low"])),), at=at)]


def _at_least(attribute: str, at: str = "") -> Build:
    return lambda match, _name: [
        Statement(attribute, (_from_zero(comparison_interval(match["compared"].lower(), int(match["limit"]))),), at=at)
    ]


def _from_zero(interval: Interval) -> Interval:
    return Interval(0, interval.high, high_open=interval.high_open) if interval.low is None else interval


def _always(*statements: Statement) -> Build:
    return lambda _match, _name: list(statements)


def _characters(match: re.Match[str], _name: str) -> list[Statement] | None:
    low, high = parse_size(match["low"]), parse_size(match["high"])
    if low is None or high is None or low >= high:
        return None
    groups = match.groupdict()
    unclear = "left" not in groups
    opened = (
        (None, None) if unclear else (groups["left"] in ("<", "greater than"), groups["right"] in ("<", "less than"))
    )
    return [Statement("characters", (Interval(low, high, *opened),))]


def _media_size(match: re.Match[str], _name: str) -> list[Statement] | None:
    limit = parse_size(match["limit"])
    return None if limit is None else [Statement("media_bytes", (Interval(0, limit),))]


def _media_formats(match: re.Match[str], _name: str) -> list[Statement] | None:
    words = re.split(r"\s*(?:、|和|,|\band\b)\s*", match["formats"], flags=re.IGNORECASE)
    formats = {
        re.sub(rf"base64[ -]?(?:encoded |编码的)?|\s*{_MEDIUM}$", "", word.strip(), flags=re.IGNORECASE).upper()
        for word in words
        if word.strip()
    }
    return [Statement("formats", tuple(sorted(formats)))] if formats and formats <= _FORMATS else None


def _beyond(match: re.Match[str], _name: str) -> list[Statement]:
    return [Statement("beyond", f"ignored outside {match['format'].lower()}", at="[]")]


RULES: Final = (
    rule(r"非空|(?:the value )?cannot be empty", _always(Statement("length", (Interval(1),)))),
    rule(
        r"其余情况(?P<self>\w+?)非空",
        lambda match, name: [Statement("length", (Interval(1),))] if match["self"] == name else None,
    ),
    rule(rf"(?:string|字符串)类型长度范围[为是]\s*{_SPAN}", _span("length")),
    rule(rf"for (?:the )?string type, the length range is {_SPAN}(?: characters)?", _span("length")),
    rule(rf"(?:the )?length (?:range )?is {_SPAN} characters", _span("length")),
    rule(rf"(?:每个|列表)元素的?(?:字符)?长度[为是]\s*{_SPAN}", _span("length", "[]")),
    rule(rf"(?:with )?each element (?:having|has) a length of {_SPAN}(?: characters)?", _span("length", "[]")),
    rule(
        rf"每个元素的?(?:字符)?长度(?P<compared>大于或等于|大于等于|大于|不小于|小于或等于|小于|不超过)(?P<limit>{COUNT})(?:\s*个?字符)?",
        _at_least("length", "[]"),
    ),
    rule(rf"(?:List\[\w+\]类型)?列表元素不超过{_PRODUCT}个", _at_most("items")),
    rule(rf"the number of elements (?:should|must) not exceed {_PRODUCT}", _at_most("items")),
    rule(
        rf"(?:with )?each element (?:having|has|must have) at least (?P<low>{COUNT}) characters?", _from("length", "[]")
    ),
    rule(rf"列表元素(?:个数|数量)?(?:不少于|不小于|大于或等于)(?P<low>{COUNT})个?", _from("items")),
    rule(rf"the number of elements (?:is|must be) at least (?P<low>{COUNT})", _from("items")),
    rule(rf"列表元素(?:个数|数量)[为是]\s*{_SPAN}个?", _span("items")),
    rule(rf"the number of elements (?:is|must be) {_SPAN}", _span("items")),
    rule(
        r"(?:with )?(?:an? )?(?P<compared>max(?:imum)?|min(?:imum)?) length(?: of| is|:)? (?P<limit>\d+)"
        r"(?P<unit>)(?: characters)?",
        lambda match, _name: [
            Statement(
                "length",
                (
                    Interval(0, int(match["limit"]))
                    if match["compared"][:3].lower() == "max"
                    else Interval(int(match["limit"])),
                ),
            )
        ],
        Preceding.READ,
    ),
    rule(rf"(?:最大|最长)长度[为是:]?\s*(?P<limit>{COUNT})\s*(?:个?字符)?", _at_most("length"), Preceding.READ),
    rule(
        rf"(?:字符|字符串)?长度\s*(?P<compared>{COMPARISON})\s*(?P<limit>{COUNT})(?:\s*个?字符)?",
        _at_least("length"),
        Preceding.READ,
    ),
    rule(
        rf"元素个数(?:最大|最多)(?:支持|为)?\s*{_PRODUCT}个?|最多(?:支持|包含|可传)\s*(?P<most>{COUNT})\s*个",
        _at_most("items"),
        Preceding.READ,
    ),
    rule(rf"up to {_PRODUCT} sequences(?: where .*)?", _at_most("items")),
    rule(rf"列表元素总长度不超过{_PRODUCT}", _at_most("characters")),
    rule(rf"the total length of the list elements (?:should|must) not exceed {_PRODUCT}", _at_most("characters")),
    rule(r"列表为空时?相当于null", _always(Statement("empty", "null"))),
    rule(r"an empty list is equivalent to null", _always(Statement("empty", "null"))),
    rule(
        rf"(?P<low>{SIZE})\s*(?P<left><=?)\s*[\w\u4e00-\u9fff]*?字符数\s*(?P<right><=?)\s*(?P<high>{SIZE})", _characters
    ),
    rule(
        rf"the character length is (?P<left>greater than(?: or equal to)?) (?P<low>{SIZE})"
        rf" but (?P<right>less than(?: (?:and|or) equal to)?) (?P<high>{SIZE})",
        _characters,
    ),
    rule(
        rf"with the number of characters in the \w+ content being between (?P<low>{SIZE}) and (?P<high>{SIZE})",
        _characters,
    ),
    rule(rf"(?:当前)?支持传入的{_MEDIUM}最大[为是]?\s*(?P<limit>{SIZE})", _media_size),
    rule(rf"(?:currently, )?the maximum size of an? {_MEDIUM} is (?P<limit>{SIZE})", _media_size),
    rule(rf"the maximum {_MEDIUM} size supported is (?P<limit>{SIZE})", _media_size),
    rule(rf"{_MEDIUM}类型支持(?P<formats>[\w、\u4e00-\u9fff]+)", _media_formats),
    rule(
        rf"supports {_MEDIUM} from server local paths, {_MEDIUM} types support (?P<formats>.+?)"
        rf"(?:, and {_MEDIUM} URLs with both HTTP and HTTPS protocols)?",
        _media_formats,
    ),
    rule(rf"local (?P<formats>.+?)(?: {_MEDIUM})? can be imported in URL format", _media_formats),
    rule(
        rf"单个请求中[\w、]+数量总和\s*<=\s*(?P<limit>{COUNT})个?"
        rf"|the total number of [\w, ]+ in a single request should be <= (?P<limit_en>{COUNT})",
        lambda match, _name: [Statement("media_count", (Interval(0, int(match["limit"] or match["limit_en"])),))],
    ),
    rule(r"超出(?P<format>u?int\d+)的元素(?:将会|会|将)?被忽略", _beyond),
    rule(r"elements exceeding (?P<format>u?int\d+) (?:will be|are) ignored", _beyond),
    rule(r"elements whose data type is not (?P<format>u?int\d+) (?:will be|are) ignored", _beyond),
)
