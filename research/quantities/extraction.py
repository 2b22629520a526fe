"""Parse figures, years and dates in English and Chinese text, with their precision and unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from math import isfinite, prod

from msgspec.structs import replace

from research.quantities.quantity import Quantity
from research.quantities.units import CURRENCIES, SCALES, SYMBOLS, unit_at
from research.text import has_cjk

_SCALE_EN = r"hundred|thousand|million|billion|trillion|bn|mn|mio|tn"
_SCALE_ZH = r"万亿|千亿|百亿|十亿|千万|百万|十万|亿|万|千(?![米克瓦])|百(?!分)|兆(?!瓦)"
_NUMBER = re.compile(
    rf"(?<![\w.])(?<![A-Za-z]-)(?P<sign>(?:(?<!\d)(?<!\d )[-−]|minus |negative |负)?)"
    rf"(?P<currency>(?:us|a|c)?[$€£¥￥] ?|(?:usd|eur|gbp|cny|rmb) )?"
    rf"(?P<digits>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d{{1,3}}(?:['’]\d{{3}})+(?:\.\d+)?|\d{{1,3}}(?:\.\d{{3}}){{2,}}|"
    rf"\d{{1,3}}(?:[ \u00a0\u202f]\d{{3}})+(?!\d)|\d+(?:\.\d+)?)"
    rf"(?P<scale>[- ]?(?:{_SCALE_EN})\b|[kmb]\b(?!²|³)| ?(?:{_SCALE_ZH}))?"
    rf"(?![\d]|\.\d|['’]\d)",
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
    re.compile(rf"\b(?P<m>{_MONTH})\b\.?,? (?:of )?(?P<y>[12]\d{{3}})(?!\d)", re.I),
    re.compile(rf"(?<![\w.,])(?P<d>[0-3]?\d)-(?P<m>{_MONTH})-(?P<y>[12]\d{{3}})(?!\d)", re.I),
)
_NUMERIC_DATE = re.compile(
    r"(?<![\d/.-])(?:(?P<y>[12]\d{3})[/.](?P<a>[01]?\d)[/.](?P<b>[0-3]?\d)|"
    r"(?P<c>[0-3]?\d)(?P<s>[/.-])(?P<d>[0-3]?\d)(?P=s)(?P<z>[12]\d{3}))(?![\d/])"
)
_MONTH_NAME = re.compile(_MONTH, re.I)
_WORDS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
} | {word: 10 * i for i, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
_WORD = "|".join(_WORDS)
_SPELLED = re.compile(
    rf"\b(?:(?P<lone>a) (?P<lscale>thousand|million|billion|trillion)\b|"
    rf"(?P<half>half)[ -]an? (?P<hscale>{_SCALE_EN}|dozen)|a (?P<dozen>dozen)\b|"
    rf"(?P<words>(?:{_WORD})(?:[- ](?:{_WORD}))?)(?P<and_half> and a half)?(?P<scale>(?: (?:{_SCALE_EN}))*))\b",
    re.I,
)
_ROUND = 1_000
"""From which on a scale says that a number is rounded to it: `one million`."""
_ORDINALS = {
    word: value
    for value, word in enumerate(
        "second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
        "sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        2,
    )
} | {f"twenty-{word}": value for value, word in enumerate("first second third fourth fifth".split(), 21)}
_ORDINAL = re.compile(
    rf"\b(?:(?P<word>{'|'.join(sorted(_ORDINALS, key=len, reverse=True))})|(?P<n>\d+)(?:st|nd|rd|th))(?!-?\w)|"
    rf"第 ?(?P<zh>[二三四五六七八九十\d]+)",
    re.I,
)
_SHARE = re.compile(
    r"\b(?P<half>half)\b(?! an?\b)|(?P<num>two|three|four|five|six|seven|a|an|one)[- ](?P<den>thirds?|quarters?|"
    r"fifths?|sixths?|sevenths?|eighths?|ninths?|tenths?)\b"
    r"(?:(?<=s)|(?= (?:of|less|more|fewer|lower|higher|smaller|larger|cheaper|as|in|and|with|after|from|during|"
    r"at|by|to)\b|[.,;]|$))|"
    r"(?P<percent>百分之(?P<p>[一二三四五六七八九十点\d.]{1,40}))|"
    r"(?<![\d一二两三四五六七八九十])(?P<tenths>[一二三四五六七八九])成(?![为立员功本果年])|"
    r"(?<![\d一二三四五六七八九])(?P<off>[一二三四五六七八九]{1,2}|\d(?:\.\d)?|\d\d)折(?![合线叠旧磨扣中衷返射断])|"
    r"(?P<a>[一二三四五六七八九十]{1,40})分之(?P<b>[一二三四五六七八九十]{1,40})|(?P<zhhalf>一半)",
    re.I,
)
_ODDS = re.compile(
    rf"\b(?P<a>\d{{1,2}}|{_WORD}) (?P<o>in(?: every)?|out of(?: every)?) (?P<b>\d{{1,3}}|{_WORD})\b"
    rf"(?![,.]?\d|[- ]?(?:{_MONTH}|years?|months?|days?|{_SCALE_EN})\b)",
    re.I,
)
_DEN = {"third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10}
_ZH_DIGIT = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_ZH_NUMBER = re.compile(
    r"(?:(?<![月一二三四五六七八九十])[一二三四五六七八九十]{1,40}(?=日)|"
    r"[一二两三四五六七八九十百千零〇]{1,40}(?:万亿|亿|万)?(?=[个名座只台条项次年天人种家位倍成余多块岁元美公平吨小米]))"
)
_DIGIT = re.compile(r"\d")
_NEAR = 24
"""Characters around a figure searched for its hedge."""
_HEDGE = tuple(
    (name, re.compile(rf"(?:{words})\s*$", re.I))
    for name, words in (
        ("past", r"(?:just|slightly|a little|barely) (?:over|above|more than)|略多于|略高于|刚过"),
        (
            "nearly",
            r"nearly|almost|approaching|shy of|up to|close to|(?:just|slightly|a little) (?:under|below|less than)|"
            r"将近|近|接近|略少于|略低于",
        ),
        ("about", r"about|around|approximately|approx\.?|roughly|some|circa|c\.|~|≈|约|大约|大概|左右"),
        ("least", r"no (?:fewer|less) than|at least|不少于|不低于|大于等于|≥|至少|(?<![不未])满"),
        ("most", r"no more than|at most|不超过|不多于|不高于|小于等于|≤|至多|最多"),
        (
            "over",
            r"over|(?:more|higher|greater|larger|longer) than|above|in excess of|exceed(?:s|ed|ing)?|upwards of|"
            r"surpass(?:es|ed)?|超过|逾|多于|高于|大于|突破",
        ),
        ("under", r"under|(?:less|fewer|lower|smaller|shorter) than|below|不到|低于|少于|小于|不足|[不未]满"),
    )
)
_LIMIT_BEHIND = re.compile(r"(?:[及或含]?(?P<least>以上)|[及或含]?(?P<most>以下|以内|之内))")
_MORE_BEHIND = re.compile(r"\s{0,9}(?:or more|[多余](?=[个名座只台条项次人家种米公吨元美英\u4e07\u4ebf]))")
_APPROXIMATE = re.compile(r"\s{0,9}(?:or so|左右|上下)", re.I)


@lru_cache(maxsize=16_384)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return all figures of a text, in order."""
    found: list[Quantity] = []
    rest = text
    chinese = has_cjk(text)
    digits = chinese or _DIGIT.search(text) is not None
    for reader in (_numeric_dates, _dates, _odds, _shares, _ordinals, _numbers, _spelled, _chinese):
        if (reader in (_numeric_dates, _dates, _numbers) and not digits) or (reader is _chinese and not chinese):
            continue
        if new := list(reader(rest)):
            found += new
            left = list(rest)
            for q in new:
                left[q.start : q.end] = "\x00" * (q.end - q.start)
            rest = "".join(left)
    return tuple(sorted(found, key=lambda q: q.start))


def _dates(text: str) -> Iterator[Quantity]:
    taken = bytearray(len(text))
    named = _MONTH_NAME.search(text) is not None
    for i, pattern in enumerate(_DATES):
        if i > 1 and not named:
            break
        for match in pattern.finditer(text):
            place = slice(*match.span())
            if any(taken[place]):
                continue
            got = match.groupdict()
            month = got["m"].lower()
            number = int(month) if month.isdigit() else next(i for i, m in enumerate(_MONTHS, 1) if m[:3] == month[:3])
            day, year = int(got.get("d") or 0), int(got.get("y") or 0)
            if number > 12 or day > 31:
                continue
            taken[place] = b"\x01" * len(match.group())
            yield Quantity("date", match.group().strip(), year, 0, "", *match.span(), date=(year, number, day))


def _numeric_dates(text: str) -> Iterator[Quantity]:
    """Yield dates such as `14/03/2023`; if day and month are ambiguous and differ, both are left open."""
    for match in _NUMERIC_DATE.finditer(text):
        if match["y"]:
            year, month, day = int(match["y"]), int(match["a"]), int(match["b"])
        else:
            one, two, year = int(match["c"]), int(match["d"]), int(match["z"])
            day, month = (two, one) if two > 12 else (one, two)
            if one <= 12 and two <= 12 and one != two:
                day = month = 0
        if month <= 12 and day <= 31:
            yield Quantity("date", match.group(), year, 0, "", *match.span(), date=(year, month, day))


def _ordinals(text: str) -> Iterator[Quantity]:
    for match in _ORDINAL.finditer(text):
        zh = match["zh"]
        if match["word"] and text[match.end() : match.end() + 8].lower().startswith((" of a", "s")):
            continue
        value = _ORDINALS[match["word"].lower()] if match["word"] else zh_value(zh) if zh else int(match["n"])
        unit, factor, end = unit_at(text, match.end())
        span = (match.start(), end if unit else match.end())
        yield Quantity(
            "ordinal", text[slice(*span)], value * factor, 0.0, unit, *span, weak=bool(match["word"] or zh) and not unit
        )


def _odds(text: str) -> Iterator[Quantity]:
    """Yield odds such as `one in five` as percentages."""
    for match in _ODDS.finditer(text):
        a, b = (float(_WORDS.get(word.lower(), -1) if word.isalpha() else word) for word in (match["a"], match["b"]))
        if 0 < a < b <= 100 and b in (3, 4, 5, 6, 7, 8, 9, 10, 12, 20, 100):
            yield Quantity("number", match.group(), 100 * a / b, 3.0, "%", *match.span(), hedge="about", weak=True)


def _shares(text: str) -> Iterator[Quantity]:
    for match in _SHARE.finditer(text):
        if match["half"] or match["zhhalf"]:
            behind = text[match.end() : match.end() + _NEAR]
            if re.match(r"[- ](?:year|time|hour|century|brother|marathon)", behind, re.I):
                continue
            value = 50.0
        elif match["percent"] or match["off"]:  # at 七五折, 75% of the price is paid
            p = match["p"] or "".join(f"{zh_value(each):g}" if has_cjk(each) else each for each in match["off"])
            value = float(p) if re.fullmatch(r"\d+(?:\.\d+)?", p) else zh_value(p.partition("点")[0])
            value *= 10 if match["off"] and value < 10 else 1
            yield Quantity("number", match.group(), value, 0.5, "%", *match.span(), hedge=_hedge(text, *match.span()))
            continue
        elif match["tenths"]:
            value = 10.0 * zh_value(match["tenths"])
        elif match["a"]:
            value = 100 * zh_value(match["b"]) / max(zh_value(match["a"]), 1)
        else:
            value = 100 * (_WORDS.get(match["num"].lower(), 1)) / _DEN[match["den"].lower().rstrip("s")]
        yield Quantity(
            "number",
            match.group(),
            value,
            3.0 if (hedge := _hedge(text, *match.span())) else 2.0,
            "%",
            *match.span(),
            hedge=hedge,
            weak=True,
        )


def _numbers(text: str) -> Iterator[Quantity]:
    at, spaced = 0, _spaced(text)
    while match := _NUMBER.search(spaced, at):
        start, end = match.span()
        at = end
        digits = _grouped(match["digits"])
        currency = (match["currency"] or "").strip().lower()
        scale_word = (match["scale"] or "").strip(" -").lower()
        unit, factor, after = unit_at(text, end)
        if (
            scale_word in ("m", "b") and not currency and unit not in CURRENCIES
        ):  # metres or part of a name, not millions: `4.2m`
            scale_word, end = "", match.end("digits")
            unit, factor, after = unit_at(text, end)
        behind = after if unit else end
        tail = text[behind : behind + _NEAR]
        if not unit and re.match(r"[a-zA-Z]", tail) and not re.match(r"s\b", tail):
            continue  # part of a name: 88P, 3D
        if currency:
            unit, factor, after = SYMBOLS.get(currency[-1], currency), 1.0, end
            unit = {"rmb": "cny", "a$": "usd"}.get(unit, unit)
        scale = SCALES.get(scale_word, 1.0)
        value = float(digits) * scale
        if not isfinite(value):
            continue
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
            short = re.match(r"[-–/](\d\d)(?!\d)", text[end : end + _NEAR])
            if short and int(short[1]) > int(digits[2:]):
                yield Quantity(
                    "year", digits[:2] + short[1], value // 100 * 100 + int(short[1]), 0.0, "", end + 1, end + 3
                )
                at = end + 3
            continue
        half = 0.5 * 10.0 ** -len(digits.partition(".")[2]) * scale * factor
        sign = -1.0 if match["sign"] else 1.0
        stop = max(end, after) if unit and not currency else end
        shift = 0.0
        if unit == "fahrenheit":
            unit, factor, shift, half = "celsius", 5 / 9, 32.0, half * 5 / 9
        number = (sign * value - shift) * factor
        yield Quantity(
            "number", text[start:stop].strip(), number, half, unit, start, stop, hedge=_hedge(text, start, stop)
        )
        at = max(at, stop)


def _grouped(digits: str) -> str:
    """Return a number without separators between groups of three: `1.234.567` or 1'234'567."""
    plain = re.sub(r"[,\s'’]", "", digits)
    return plain.replace(".", "") if plain.count(".") > 1 else plain


def _spelled(text: str) -> Iterator[Quantity]:
    for match in _SPELLED.finditer(text):
        step = 1.0
        if match["lone"]:
            value = step = SCALES[match["lscale"].lower()]
        elif match["half"]:
            scale = 12.0 if match["hscale"].lower() == "dozen" else SCALES[match["hscale"].lower()]
            value, step = 0.5 * scale, 0.1 * scale if scale >= _ROUND else 1.0
        elif match["dozen"]:
            value = 12.0
        else:
            value = float(sum(_WORDS[word.lower()] for word in re.split(r"[- ]", match["words"])))
            value += 0.5 if match["and_half"] else 0.0
            scale = prod(SCALES[each.lower()] for each in match["scale"].split())
            value *= scale
            if scale >= _ROUND:
                step = scale
        before = text[max(0, match.start() - _NEAR) : match.start()]
        number = _in_words(text, match, value, step, weak=False)
        known = value == 1 or re.search(r"\b(?:the|these|those|other|last|first|of)\s*$", before, re.I)
        if not known or number.unit:
            yield replace(number, weak=number.weak or bool(known))


def _chinese(text: str) -> Iterator[Quantity]:
    for match in _ZH_NUMBER.finditer(text):
        found = _in_words(text, match, zh_value(match.group()), 1.0, weak=True)
        if zh_value(match.group()) > 1 or found.limit:  # 一 is a figure only in 满一年, 一年以上
            yield found


def _in_words(text: str, match: re.Match[str], value: float, step: float, *, weak: bool) -> Quantity:
    """Return a number written in words to a precision, with the unit after it; a small one without a unit is always weak."""
    unit, factor, after = unit_at(text, match.end())
    start, stop = match.start(), max(after, match.end())
    return Quantity(
        "number",
        text[start:stop],
        value * factor,
        0.5 * step * factor,
        unit,
        start,
        stop,
        hedge=_hedge(text, start, stop),
        weak=weak or (value <= 20 and not unit),
    )


def zh_value(text: str) -> float:
    """Return the value of a Chinese numeral: 5,000 for `五千`."""
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


def _hedge(text: str, start: int, end: int) -> str:
    return hedged(text, start, end)[0]


def hedged(text: str, start: int, end: int) -> tuple[str, int, int]:
    """Return the hedge of the figure at this place, and where both together begin and end."""
    before, behind = max(0, start - _NEAR), text[end : end + _NEAR]
    for name, pattern in _HEDGE:
        if found := pattern.search(text[before:start]):
            return name, before + found.start(), end
    if more := _MORE_BEHIND.match(behind) or _MORE_BEHIND.match(text[end - 1 : end] + behind):
        return "over", start, end + (more.end() if behind.startswith(more[0]) else more.end() - 1)
    if around := _APPROXIMATE.match(behind):
        return "about", start, end + around.end()
    if limit := _LIMIT_BEHIND.match(behind):
        return str(limit.lastgroup), start, end + limit.end()
    return "", start, end


def _spaced(text: str) -> str:
    """Replace each Chinese character before a digit with a space, so that the number is matched."""
    return re.sub(r"[\u3400-\u9fff](?=[-−$€£¥]?\d)", " ", text)
