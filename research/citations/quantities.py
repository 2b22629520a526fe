"""Figures as people write them, English and Chinese: value, precision, unit; and years and dates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from research.text import has_cjk

SCALES = {
    "hundred": 1e2, "thousand": 1e3, "k": 1e3, "million": 1e6, "mn": 1e6, "mio": 1e6, "m": 1e6, "billion": 1e9,
    "bn": 1e9, "b": 1e9, "trillion": 1e12, "tn": 1e12,
    "百": 1e2, "千": 1e3, "万": 1e4, "十万": 1e5, "百万": 1e6, "千万": 1e7, "亿": 1e8, "十亿": 1e9, "百亿": 1e10,
    "千亿": 1e11, "万亿": 1e12, "兆": 1e12,
}  # fmt: skip

_UNITS = {
    "%": (("%|％|per ?cent|percent|pct|percentage points?|个百分点|百分点", 1.0),),
    "usd": ((r"\$|us\$|usd|dollars?|us dollars?|美元|美金", 1.0), ("cents?|美分", 0.01)),
    "eur": (("€|eur|euros?|欧元", 1.0),),
    "gbp": (("£|gbp|pounds? sterling|英镑", 1.0), ("pence", 0.01)),
    "cny": (("cny|rmb|yuan|元|人民币|块钱", 1.0),),
    "jpy": (("¥|￥|jpy|yen|日元", 1.0),),
    "length": (
        ("km|kilomet(?:re|er)s?|公里|千米", 1e3), ("m|met(?:re|er)s?|米", 1.0), ("cm|centimet(?:re|er)s?|厘米", 1e-2),
        ("mm|millimet(?:re|er)s?|毫米", 1e-3), ("mi|miles?|英里", 1609.344), ("ft|feet|foot|英尺", 0.3048),
        ("nm|nautical miles?|海里", 1852.0),
    ),
    "area": (
        (r"sq\.? ?km|square kilomet(?:re|er)s?|km2|km²|平方公里|平方千米", 1e6),
        (r"sq\.? ?m|square met(?:re|er)s?|m2|m²|平方米", 1.0), ("hectares?|ha|公顷", 1e4),
        (r"square miles?|sq\.? ?mi(?:les?)?|平方英里", 2.589988e6), ("acres?|英亩", 4046.856),
    ),
    "mass": (
        ("kg|kilograms?|kilos?|公斤|千克", 1.0), ("g|grams?|克", 1e-3), ("kt|kilotonnes?", 1e6),
        ("t|tonnes?|metric tons?|metric tonnes?|tons?|吨", 1e3), ("lbs?|pounds?|磅", 0.45359237),
    ),
    "volume": (
        (r"cubic met(?:re|er)s?|cu\.? ?m|m3|m³|立方米", 1e3), ("lit(?:re|er)s?|l|升", 1.0),
        ("bbl|barrels?|桶", 158.987), ("cubic kilomet(?:re|er)s?|km3|km³|立方公里", 1e12),
    ),
    "energy": (
        ("kwh|kilowatt[- ]hours?|千瓦时|度电", 1.0), ("mwh|megawatt[- ]hours?|兆瓦时", 1e3),
        ("gwh|gigawatt[- ]hours?|吉瓦时", 1e6), ("twh|terawatt[- ]hours?|太瓦时", 1e9),
        ("wh|watt[- ]hours?|瓦时", 1e-3), ("btu", 2.93e-4),
    ),
    "power": (
        ("kw|kilowatts?|千瓦", 1.0), ("mw|megawatts?|兆瓦", 1e3), ("gw|gigawatts?|吉瓦", 1e6), ("w|watts?|瓦", 1e-3),
    ),
    "speed": (("km/h|kph|kilomet(?:re|er)s? (?:an|per) hour", 1.0), ("mph|miles? (?:an|per) hour", 1.609344)),
    "years": (("years?|year-olds?|yrs?|年|岁|周年", 1.0), ("decades?", 10.0), ("centuries|世纪", 100.0)),
    "months": (("months?|个月", 1.0),),
    "days": (("days?|天", 1.0), ("weeks?|周|个星期", 7.0)),
    "hours": (
        ("hours?|hrs?|小时|个小时", 1.0), ("minutes?|mins?|分钟", 1 / 60), ("seconds?|secs?|秒", 1 / 3600)
    ),
    "celsius": (("°c|degrees celsius|摄氏度|℃", 1.0),),
    "fahrenheit": (("°f|degrees fahrenheit|华氏度", 1.0),),
}  # fmt: skip
"""Unit words of each dimension, with what one of them is in the first; lower case."""

_SYMBOLS = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy", "￥": "jpy"}
_MONEY = frozenset(("usd", "eur", "gbp", "cny", "jpy"))
_KNOWN = [
    (re.compile(rf"(?:{words})(?![a-z²³])"), dimension, factor)
    for dimension, group in _UNITS.items()
    for words, factor in group
]
_ANY = re.compile("|".join(f"(?:{words})" for group in _UNITS.values() for words, _ in group))
_SCALE_EN = r"hundred|thousand|million|billion|trillion|bn|mn|mio|tn"
_SCALE_ZH = r"万亿|千亿|百亿|十亿|千万|百万|十万|亿|万|千(?![米克瓦])|百(?!分)|兆(?!瓦)"
_NUMBER = re.compile(
    rf"(?<![\w.])(?<![A-Za-z]-)(?P<sign>(?:(?<!\d)(?<!\d )[-−]|minus |negative |负)?)"
    rf"(?P<currency>(?:us|a|c)?[$€£¥￥] ?|(?:usd|eur|gbp|cny|rmb) )?"
    rf"(?P<digits>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d{{1,3}}(?:[  ]\d{{3}})+(?!\d)|\d+(?:\.\d+)?)"
    rf"(?P<scale>[- ]?(?:{_SCALE_EN})\b|[kmb]\b(?!²|³)| ?(?:{_SCALE_ZH}))?"
    rf"(?![\d])",
    re.I,
)
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if name != "may" else "may" for name in _MONTHS) + "|sept"
_DATES = (
    re.compile(r"(?<![\d-])(?P<y>[12]\d{3})-(?P<m>[01]?\d)-(?P<d>[0-3]?\d)(?!\d)"),
    re.compile(r"(?<!\d)(?:(?P<y>[12]\d{3}) ?年)? ?(?P<m>1[0-2]|0?[1-9]) ?月(?: ?(?P<d>[0-3]?\d) ?[日号])?"),
    re.compile(
        rf"(?<![\w.,])(?P<d>[0-3]?\d)(?:st|nd|rd|th)?(?: of)? (?P<m>{_MONTH})\b\.?(?:,? (?P<y>[12]\d{{3}})(?!\d))?",
        re.I,
    ),
    re.compile(
        rf"\b(?P<m>{_MONTH})\b\.? (?P<d>[0-3]?\d)(?:st|nd|rd|th)?(?![\d.%])(?:,? (?P<y>[12]\d{{3}})(?!\d))?", re.I
    ),
    re.compile(rf"\b(?P<m>{_MONTH})\b\.?,? (?P<y>[12]\d{{3}})(?!\d)", re.I),
)
_MONTH_NAME = re.compile(_MONTH, re.I)
_WORDS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
} | {word: 10 * i for i, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
_SPELLED = re.compile(
    rf"\b(?:(?P<half>half)[ -]an? (?P<hscale>{_SCALE_EN}|dozen)|a (?P<dozen>dozen)\b|"
    rf"(?P<words>(?:{'|'.join(_WORDS)})(?:[- ](?:{'|'.join(_WORDS)}))?)(?P<scale>(?: (?:{_SCALE_EN}))*))\b",
    re.I,
)
_ORDINALS = {
    word: value
    for value, word in enumerate(
        "second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), 2
    )
}
_ORDINAL = re.compile(
    rf"\b(?:(?P<word>{'|'.join(_ORDINALS)})|(?P<n>\d+)(?:st|nd|rd|th))(?!-?\w)|第 ?(?P<zh>[二三四五六七八九十\d]+)",
    re.I,
)
_SHARE = re.compile(
    r"\b(?P<half>half)\b(?! an?\b)|(?P<num>two|three|four|a|an|one)[- ](?P<den>thirds?|quarters?|fifths?|tenths?)\b|"
    r"(?P<a>[一二三四五六七八九十]+)分之(?P<b>[一二三四五六七八九十]+)|(?P<zhhalf>一半)",
    re.I,
)
_DEN = {"third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
_ZH_DIGIT = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_ZH_NUMBER = re.compile(
    r"[一二两三四五六七八九十百千零〇]+(?:万亿|亿|万)?(?=[个名座只台条项次年天人种家位倍成余多块岁元美公平吨小米])"
)
_DIGIT = re.compile(r"\d")
_HEDGE = tuple(
    (name, re.compile(rf"(?:{words})\s*$", re.I))
    for name, words in (
        ("about", r"about|around|approximately|approx\.?|roughly|some|circa|c\.|~|≈|约|大约|大概|左右"),
        (
            "over",
            r"over|more than|above|exceed(?:s|ed|ing)?|at least|upwards of|surpass(?:es|ed)?|超过|逾|多于|至少|突破",
        ),
        ("under", r"under|(?:less|fewer) than|below|nearly|almost|up to|at most|close to|不到|近|将近|接近|低于|不足"),
    )
)
_APPROXIMATE = re.compile(r"\s*(?:or so|左右|上下)", re.I)


class Quantity(Struct, frozen=True):
    """A figure, a year or a date in a text."""

    kind: str
    """`number`, `year`, `date` or `ordinal`."""
    written: str
    value: float
    """In the first unit of its dimension; of a date: its year, or 0."""
    half: float
    """Half of what the last written digit counts: the rounding that the writer allows."""
    unit: str
    start: int
    end: int
    hedge: str = ""
    """`about`, `over` or `under`, as the words before it say."""
    date: tuple[int, int, int] = (0, 0, 0)
    """Year, month and day; 0 where not given."""
    weak: bool = False
    """A small number in words, which often only points (`the two countries`)."""

    def states(self, seen: Quantity) -> bool:
        """Whether a source that has `seen` bears this figure out, by the precision in which this one is written."""
        if "date" in (self.kind, seen.kind):
            return _same_date(self, seen)
        if (
            "ordinal" in (self.kind, seen.kind)
            and self.kind != seen.kind
            and not (self.unit and self.unit == seen.unit)
        ):
            return False  # the 71st minute is 71 minutes; the 17th place is not 17
        if not fits(self.unit, seen.unit):
            return False
        if self.kind == "year" and self.written.endswith(("s", "年代")):
            return self.value <= seen.value < self.value + 10
        difference: float = abs(seen.value) - abs(self.value)
        step: float = 2 * self.half * 10 ** _trailing_zeros(self.written)
        slack = 1e-9 * max(1.0, abs(self.value))
        match self.hedge:
            case "about":
                return abs(difference) <= max(step / 2, 2 * self.half) + slack
            case "over":
                return -self.half - slack <= difference <= step + slack
            case "under":
                return -step - slack <= difference <= self.half + slack
        # A unit converted by the writer is rounded twice.
        converted = (
            self.unit and self.half and abs(difference) <= 1.2 * self.half and self.written[-1:] != seen.written[-1:]
        )
        return abs(difference) <= self.half + slack or bool(converted)


def fits(claimed: str, seen: str) -> bool:
    """Whether two dimensions can be the same; a figure without a unit fits any but money by name."""
    return claimed == seen or not claimed or not seen or {claimed, seen} == {"cny", "jpy"}


@lru_cache(maxsize=16_384)
def quantities(text: str) -> tuple[Quantity, ...]:
    """All figures of a text, in order."""
    found: list[Quantity] = []
    rest = text
    chinese = has_cjk(text)
    digits = chinese or _DIGIT.search(text) is not None
    for reader in (_dates, _ordinals, _shares, _numbers, _spelled, _chinese):
        if (reader in (_dates, _numbers) and not digits) or (reader is _chinese and not chinese):
            continue
        new = list(reader(rest))
        found += new
        for q in new:
            rest = rest[: q.start] + "\x00" * (q.end - q.start) + rest[q.end :]
    return tuple(sorted(found, key=lambda q: q.start))


def _dates(text: str) -> Iterator[Quantity]:
    taken: list[tuple[int, int]] = []
    named = _MONTH_NAME.search(text) is not None
    for i, pattern in enumerate(_DATES):
        if i > 1 and not named:
            break
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            got = match.groupdict()
            month = got["m"].lower()
            number = int(month) if month.isdigit() else next(i for i, m in enumerate(_MONTHS, 1) if m[:3] == month[:3])
            day, year = int(got.get("d") or 0), int(got.get("y") or 0)
            if number > 12 or day > 31:
                continue
            taken.append(match.span())
            yield Quantity("date", match.group().strip(), year, 0, "", *match.span(), date=(year, number, day))


def _ordinals(text: str) -> Iterator[Quantity]:
    for match in _ORDINAL.finditer(text):
        zh = match["zh"]
        if match["word"] and text[match.end() : match.end() + 8].lower().startswith((" of a", "s")):
            continue
        value = _ORDINALS[match["word"].lower()] if match["word"] else _zh_value(zh) if zh else int(match["n"])
        unit, factor, end = _unit(text, match.end())
        span = (match.start(), end if unit else match.end())
        yield Quantity(
            "ordinal", text[slice(*span)], value * factor, 0.0, unit, *span, weak=bool(match["word"] or zh) and not unit
        )


def _shares(text: str) -> Iterator[Quantity]:
    for match in _SHARE.finditer(text):
        if match["half"] or match["zhhalf"]:
            if re.match(r"[- ](?:year|time|hour|century|brother|marathon)", text[match.end() :], re.I):
                continue
            value = 50.0
        elif match["a"]:
            value = 100 * _zh_value(match["b"]) / max(_zh_value(match["a"]), 1)
        else:
            value = 100 * (_WORDS.get(match["num"].lower(), 1)) / _DEN[match["den"].lower().rstrip("s")]
        yield Quantity(
            "number", match.group(), value, 1.5, "%", *match.span(), hedge=_hedge(text, *match.span()), weak=True
        )


def _numbers(text: str) -> Iterator[Quantity]:
    at, parted = 0, _parted(text)
    while match := _NUMBER.search(parted, at):
        start, end = match.span()
        at = end
        digits = re.sub(r"[,  ]", "", match["digits"])
        currency = (match["currency"] or "").strip().lower()
        scale_word = (match["scale"] or "").strip(" -").lower()
        unit, factor, after = _unit(text, end)
        if scale_word in ("m", "b") and not currency:  # metres, or the letter of a name: `4.2m`
            scale_word, end = "", match.end("digits")
            unit, factor, after = _unit(text, end)
        tail = text[after if unit else end :]
        if not unit and re.match(r"[a-zA-Z]", tail) and not re.match(r"s\b", tail):
            continue  # 88P, 3D: a name
        if currency:
            unit, factor, after = _SYMBOLS.get(currency[-1], currency), 1.0, end
            unit = {"rmb": "cny", "a$": "usd"}.get(unit, unit)
        scale = SCALES.get(scale_word, 1.0)
        value = float(digits) * scale
        decade = re.match(r"s\b|年代", tail) is not None and len(digits) == 4
        plain = (
            len(digits) == 4 and "," not in match["digits"] and not scale_word and not currency and not match["sign"]
        )
        year = (
            plain
            and 1000 <= value <= 2100
            and (unit == "" or (unit == "years" and text[end : end + 2].strip()[:1] == "年"))
        )
        if year:
            written = digits + ("s" if decade else "")
            yield Quantity("year", written, value, 0.0, "", start, end)
            short = re.match(r"[-–/](\d\d)(?!\d)", text[end:])
            if short and int(short[1]) > int(digits[2:]):
                yield Quantity(
                    "year", digits[:2] + short[1], value // 100 * 100 + int(short[1]), 0.0, "", end + 1, end + 3
                )
                at = end + 3
            continue
        half = 0.5 * 10.0 ** -len(digits.partition(".")[2]) * scale * factor
        sign = -1.0 if match["sign"] else 1.0
        stop = max(end, after) if unit and not currency else end
        yield Quantity(
            "number", text[start:stop].strip(), sign * value * factor, half, unit, start, stop, hedge=_hedge(text, start, stop)
        )  # fmt: skip
        at = max(at, stop)


def _spelled(text: str) -> Iterator[Quantity]:
    for match in _SPELLED.finditer(text):
        if match["half"]:
            value = 6.0 if match["hscale"].lower() == "dozen" else 0.5 * SCALES[match["hscale"].lower()]
        elif match["dozen"]:
            value = 12.0
        else:
            value = float(sum(_WORDS[word.lower()] for word in re.split(r"[- ]", match["words"])))
            for scale in match["scale"].split():
                value *= SCALES[scale.lower()]
        if value == 1 or re.search(r"\b(?:the|these|those|other|last|first|of)\s*$", text[: match.start()], re.I):
            continue
        unit, factor, after = _unit(text, match.end())
        span = (match.start(), max(after, match.end()))
        weak = value <= 20 and not unit
        yield Quantity(
            "number", text[span[0] : span[1]], value * factor, 0.5 * factor, unit, *span, hedge=_hedge(text, *span), weak=weak
        )  # fmt: skip


def _chinese(text: str) -> Iterator[Quantity]:
    for match in _ZH_NUMBER.finditer(text):
        value = _zh_value(match.group())
        if value <= 1:
            continue
        unit, factor, after = _unit(text, match.end())
        span = (match.start(), max(after, match.end()))
        yield Quantity(
            "number",
            text[span[0] : span[1]],
            value * factor,
            0.5 * factor,
            unit,
            *span,
            hedge=_hedge(text, *span),
            weak=True,
        )


def _zh_value(text: str) -> float:
    if text.isdigit():
        return float(text)
    total, section, digit = 0.0, 0.0, 0.0
    for char in text:
        if char in _ZH_DIGIT:
            digit = _ZH_DIGIT[char]
        elif char in "十百千":
            section += (digit or 1) * {"十": 10, "百": 100, "千": 1000}[char]
            digit = 0
        else:
            total = (total + section + digit) * SCALES[char]
            section = digit = 0
    return total + section + digit


def _unit(text: str, end: int) -> tuple[str, float, int]:
    """The unit that follows a place: its dimension, factor, and where it ends."""
    gap = re.match(r"[ \-]?", text[end:])
    place = end + (gap.end() if gap else 0)
    tail = text[place : place + 24].lower()
    best = ("", 1.0, end)
    if _ANY.match(tail) is None:
        return best
    for pattern, dimension, factor in _KNOWN:
        match = pattern.match(tail)
        if (
            match
            and place + match.end() > best[2]
            and not (place > end and match.group() in ("m", "b", "l", "t", "g", "w") and text[place].isupper())
        ):
            best = (dimension, factor, place + match.end())
    return best


def _hedge(text: str, start: int, end: int) -> str:
    before = text[max(0, start - 24) : start]
    for name, pattern in _HEDGE:
        if pattern.search(before):
            return name
    return "about" if _APPROXIMATE.match(text[end:]) else ""


def _trailing_zeros(written: str) -> int:
    digits = re.sub(r"\D", "", (re.search(r"\d[\d,.]*", written) or [""])[0].partition(".")[0])
    return len(digits) - len(digits.rstrip("0")) if "." not in written else 0


def _same_date(claimed: Quantity, seen: Quantity) -> bool:
    if claimed.kind == "date" and seen.kind == "date":
        return all(not a or not b or a == b for a, b in zip(claimed.date, seen.date, strict=True)) and not (
            claimed.date[2] and not seen.date[2] and seen.date[0] != claimed.date[0]
        )
    if claimed.kind == "year":
        return claimed.value == seen.date[0]
    return False


def _parted(text: str) -> str:
    """The text with a space for each Chinese character before a digit, so that a number begins there too."""
    return re.sub(r"[\u3400-\u9fff](?=[-−$€£¥]?\d)", " ", text)
