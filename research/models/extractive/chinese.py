"""Write labels, amounts, names and thoughts of the offline model in Chinese, by the glossary; else they stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cache

import msgspec

from research._util import amounts, glossary
from research._util.glossary import terms
from research.models.extractive.evidence import Fact
from research.models.extractive.names import countries, key
from research.models.extractive.rankings import Row
from research.models.extractive.table_words import ranked
from research.models.extractive.verdict import Derived, Finding, Lead, Ranked, Verdict
from research.text import has_cjk

_APART = re.compile(r",? (?P<year>(?:1[5-9]|20)\d\d)$")
_AMOUNT = re.compile(
    r"(?P<sign>[-−]?)(?P<money>[$€£¥]?)(?P<after>-?)(?P<digits>\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)"
    r"(?: ?(?P<scale>trillion|billion|million|thousand|万亿|亿|万))?(?P<unit>(?![\d,.]).*)"
)
_REMARK = re.compile(r" \(([^()]*)\)")
_YEAR = re.compile(r"(?P<year>(?:FY ?)?\d{4}(?:[-/]\d{2,4})?)(?P<est> est\.?)?")
_SEXES = re.compile(r"male ([\d,]+)/female ([\d,]+)")
_DIVIDED = re.compile(r"(?P<amount>.{1,300}?) per (?P<count>[\d,]{1,40} )?(?P<unit>sq km|person)")
_MONEY = re.compile(r"[^()]{1,300} \((?P<code>[A-Z]{3})\) per US dollar")
_KEPT = re.compile(r"(“[^“”]{0,2000}”|`[^`]{0,2000}`)")
_ROUND = Decimal(10) ** 6
"""Whole numbers from which a rounded one is given beside them."""
_SCALES = (("万亿", 12), ("亿", 8), ("万", 4))


def subject(name: str) -> str:
    """Return the Chinese name of a country, region or other subject of the Factbook."""
    return str(terms("place").get(name) or _cldr("territories").get(key(name), name))


@cache
def _cldr(table: str) -> dict[str, str]:
    """Return the Chinese names of all territories or currencies by their codes."""
    from babel import Locale

    return dict(getattr(Locale("zh"), table))


def label(text: str) -> str:
    """Return the Chinese term for a label, with the year of its series.

    >>> label("Unemployment rate 2024"), label("Area, note")
    ('失业率（2024年）', 'Area, note')
    """
    found = glossary.chinese_label(text)
    year = _APART.search(text)
    return f"{found}（{year['year']}年）" if found and year else found or text


_COUNTED = {"beds": "张床位", "births": "名新生儿", "physicians": "名医生", "seats": "个席位"}


def value(text: str, of: str = "") -> str:
    """Return a value in Chinese, or the source's words in quotation marks; `of` is its label.

    >>> value("85.2 years (2024 est.)", "Life expectancy at birth, male"), value("$3.732 trillion"), value("arid; hot")
    ('85.2岁（2024年估计）', '3.732万亿美元', '“arid; hot”')
    """
    if match := _MONEY.fullmatch(text):
        currency = _cldr("currencies").get(match["code"])
        return f"{currency}（{match['code']}）" if currency else f"“{text}”"
    for mark in ";,":
        found = [_piece(piece.strip(), of) for piece in re.split(rf"{mark} (?![^()]{{0,200}}\))", text)]
        if all(found):  # joined by a mark that ends no statement
            return ("，" if re.match(r"[-\d]", found[0] or "") else "、").join(each for each in found if each)
    return text if has_cjk(text) else f"“{text.replace('“', chr(34)).replace('”', chr(34))}”"


def _piece(text: str, of: str) -> str | None:
    """Return an amount, a name or a phrase with its remarks; None if it is anything else."""
    bare = _REMARK.sub("", text).strip()
    plain = bare.casefold().replace(" ", "")  # the same name in another spelling, `Hanoi (Ha Noi)`, is not said again
    said = [_remark(each) for each in _REMARK.findall(text) if each.casefold().replace(" ", "") != plain]
    head = _headed(bare, of)
    if head is None or None in said:
        return None
    written, remark = head
    remarks = [each for each in (remark, *said) if each]
    return f"{written}（{'，'.join(remarks)}）" if remarks else written


def _headed(text: str, of: str) -> tuple[str, str] | None:
    """Return an amount, or a name with or without one, and the remark behind it."""
    if found := _amount(text, of):
        return found
    if whole := _named(text):
        return whole, ""
    match = re.fullmatch(r"(?P<name>[^\d$€£¥]+?) (?P<amount>[-−]?[$€£¥]?\d.*)", text)
    amount = _amount(match["amount"], of) if match else None
    if match is None or amount is None:
        return None
    name = _named(match["name"]) or (f"{match['name']} " if of.startswith("Elevation") else "")
    return (f"{name}{amount[0]}", amount[1]) if name else None


def _named(text: str) -> str:
    """Return a phrase, a city, or a country; empty if it is none that is known."""
    known: str = terms("phrase").get(text) or terms("city").get(text) or ""
    place = known or subject(text)
    return place if place != text else ""


def _remark(text: str) -> str | None:
    if match := _YEAR.fullmatch(text):
        return f"{match['year'].replace('FY', '').strip()}年{'估计' if match['est'] else ''}"
    if match := _SEXES.fullmatch(text):
        return f"男{match[1]}，女{match[2]}"
    return _named(text) or None


def _amount(text: str, of: str) -> tuple[str, str] | None:
    """Return an amount with a Chinese unit, and a remark: the amount rounded, or its base; None without a known unit."""
    if match := _DIVIDED.fullmatch(text):
        top = _amount(match["amount"], of)
        unit = match["unit"]
        return (f"{top[0]}/{(match['count'] or '').strip()}{_unit(unit)}", "") if top else None
    match = _AMOUNT.fullmatch(text)
    template = _template(match["money"] or match["unit"].strip(), of) if match else None
    if match is None or template is None or (match["money"] and match["unit"].strip()):
        return None
    sign = "-" if match["sign"] or match["after"] else ""
    number = Decimal(match["digits"].replace(",", ""))
    power = amounts.SCALES.get(match["scale"] or "", 0) + terms("power").get(match["unit"].strip(), 0)
    if power:
        return _filled(template, f"{sign}{_scaled(number.scaleb(power))}")
    written, remark = _filled(template, f"{sign}{match['digits']}")
    if number >= _ROUND and number == number.to_integral_value() and "," in match["digits"]:
        remark = "，".join(filter(None, (f"约{_filled(template, f'{sign}{_rounded(number)}')[0]}", remark)))
    return written, remark


def _filled(template: str, digits: str) -> tuple[str, str]:
    """Return a figure with its unit, and the remark behind it."""
    unit, _, remark = template.partition("|")
    return unit.format(digits), remark


def _scaled(size: Decimal) -> str:
    """Return all digits of a number in the largest Chinese scale below it."""
    word, power = next(((word, power) for word, power in _SCALES if size >= Decimal(10) ** power), ("", 0))
    digits = amounts.plain(size.scaleb(-power))
    return f"{digits.replace(',', '')}{word}" if word else digits


def _rounded(number: Decimal) -> str:
    return _scaled(number.quantize(Decimal(1).scaleb(number.adjusted() - 3)))


def _template(unit: str, of: str) -> str | None:
    special = (units for start, units in terms("unit_of").items() if of.startswith(start))
    found: str | None = next((units[unit] for units in special if unit in units), None) or terms("unit").get(unit)
    return found


def _unit(unit: str) -> str:
    """Return a unit without a number."""
    said, remark = _filled(str(terms("unit").get(unit, unit)), "")
    return f"{said}（{remark}）" if remark else said


def title(text: str) -> str:
    """Return the title of a document: `日本·经济` for `Japan · Economy`."""
    return "·".join(terms("section").get(part) or _measured(part) for part in text.split(" · "))


def _measured(text: str) -> str:
    """Return a subject, a label, or a label with a region behind it."""
    head, _, place = text.rpartition(", ")
    if head and glossary.chinese_label(head) and place in terms("place"):
        return f"{subject(place)}{label(head)}"
    return label(text) if glossary.chinese_label(text) else subject(text)


def term(text: str) -> str:
    """Return what a step is about: a label with words or years beside it, a subject, or a title."""
    if " · " in text:
        return title(text)
    *heads, text = re.split(r"(?<=.)[:：] (?=.)", text)
    return "".join(f"{subject(head)}：" for head in heads) + _term(text)


def _term(text: str) -> str:
    """Return what a step is about, without a colon in it."""
    match = re.fullmatch(r"(.{1,300}) \((.{1,300})\)", text)
    if match and match[2] in terms("place") and not glossary.chinese_label(text):
        return f"{subject(match[2])}：{_term(match[1])}"
    words, most = text.split(" "), _most_words()
    for start in range(min(len(words), most + 1)):
        about = " ".join(words[:start])
        if start and subject(about) == about:
            continue
        for end in range(min(len(words), start + most), start, -1):
            if found := glossary.chinese_label(" ".join(words[start:end])):
                years = "、".join(f"{word}年" for word in words[end:] if re.fullmatch(r"\d{4}", word))
                return f"{subject(about)}{years}{'的' if about or years else ''}{found}"
    return "、".join(words) if has_cjk(text) else subject(text)


@cache
def _most_words() -> int:
    """Return the words of the longest label or name that the glossary has, with a year or `the` beside it."""
    names = (*terms("label"), *terms("measure"), *terms("place"), *countries())
    return 1 + max(name.count(" ") + 1 for name in names)


def thought(text: str) -> str:
    """Return a thought in Chinese; one that the glossary does not have stays as it is.

    >>> thought("Look for Exports 2023 of Japan.")
    '查找日本的2023年的出口额。'
    """
    if text in terms("thought"):
        return str(terms("thought")[text])
    for english, chinese in terms("thought").items():
        pattern = re.escape(english).replace(r"\{a\}", "(?P<a>.+)").replace(r"\{b\}", "(?P<b>.+)")
        if match := re.fullmatch(pattern, text):
            return str(chinese).format(**{name: term(said) for name, said in match.groupdict().items()})
    return text


def listed(names: Sequence[str], words: dict[str, str]) -> str:
    """Return names as a list: `德国、法国和意大利`, `Chad, Mali and Niger`."""
    joint, last = ("、", "和") if words["language"] == "zh" else (", ", " and ")
    return last.join(filter(None, [joint.join(names[:-1]), *names[-1:]]))


_OF_TWO = {"the most": "more", "the fewest": "fewer"}


def superlative(words: dict[str, str], of: str, *, most: bool, two: bool = False, rank: int = 1) -> str:
    """Return how the highest or lowest is said of the label, which may be in Chinese: `the longest`; of `two`, `the longer`."""
    english = glossary.english_label(of)
    pairs = (pair for pair, starts in terms("most").items() if english.startswith(tuple(starts)))
    pair = next(pairs, "most/least")
    found = words.get(pair, pair).split("/")[0 if most else 1]
    if two:
        return _OF_TWO.get(found, found.replace("最", "更").replace("est", "er"))
    return ranked(found, rank, chinese=words["language"] == "zh")


def measure(words: dict[str, str], of: str) -> str:
    """Return a label as it is written within a sentence; a Chinese one is unchanged."""
    return of if words["language"] == "zh" else glossary.in_sentence(of)


_SEVERAL = re.compile(r"[^(,]*[^s(,]s(?= \(|$)")


def the_measure(of: str, name: str) -> str:
    """Return the start of a sentence that states a measure.

    >>> the_measure("Exports", "Peru"), the_measure("Unemployment rate", "Peru")
    ('The exports of Peru are', 'The unemployment rate in Peru is')
    """
    said = glossary.in_sentence(of)
    return (
        f"The {said} {'in' if glossary.AVERAGE.search(said) else 'of'} {name} {'are' if _SEVERAL.match(said) else 'is'}"
    )


def part_of(label: str) -> str:
    """Return the part that a label names, if no other label has such a part; empty if it names none.

    >>> part_of("Capital, name"), part_of("Executive branch, chief of state")
    ('capital', 'chief of state')
    """
    head, _, rest = label.partition(", ")
    if rest == "name":
        return glossary.small(head)
    alone = sum(each.endswith(f", {rest}") for each in terms("label")) == 1
    return rest if alone and " " in rest and "(" not in rest else ""


def a_measure(words: dict[str, str], of: str) -> str:
    """Return a label with its article, as in `a median age` and `exports`."""
    said = measure(words, of)
    if words["language"] == "zh" or _SEVERAL.match(said):
        return said
    return f"{'an' if re.match('[aeio]|un|ur', said) else 'a'} {said}"


def written(
    result: Decimal, like: Sequence[amounts.Amount], words: dict[str, str], of: str, *, points: bool = False
) -> str:
    """Write a figure that was calculated, as `amounts.written`; in Chinese with the units of the label `of`."""
    text = amounts.written(result, like, points=points)
    if words["language"] != "zh":
        return text
    found = _amount(text, glossary.english_label(of))
    if found is None:
        return amounts.written(result, like, "zh", points=points)
    return f"{found[0]}（{found[1]}）" if found[1] else found[0]


def limit(text: str, words: dict[str, str], of: str) -> str:
    """Return the threshold of a question, in Chinese with a scale that fits."""
    match = _AMOUNT.fullmatch(text)
    if words["language"] != "zh" or match is None:
        return text
    unit = match["money"] or match["unit"].strip()
    template = _template(unit, glossary.english_label(of)) or f"{{}}{unit}"
    return _filled(template, _scaled(Decimal(match["digits"].replace(",", ""))))[0]


def fact(found: Fact) -> Fact:
    """Return a labelled line in Chinese, to show; it is calculated with as the source writes it."""
    if not found.label:
        return found
    year = _APART.search(found.label)
    known = year and re.search(rf"\({year['year']}\b", found.value)
    name = label(_APART.sub("", found.label) if known else found.label)
    line = f"{name}：{value(found.value, found.label)}"
    return msgspec.structs.replace(found, title=title(found.title), line=line, source=found)


def _derived(found: Derived) -> str:
    """Return a calculated value; things have a measure word, and people are counted like a population."""
    counted = re.fullmatch(r"(?P<n>[\d,]+) (?P<noun>[a-z]+)", found.value)
    if counted and counted["noun"] in _COUNTED:
        return f"{counted['n']}{_COUNTED[counted['noun']]}"
    people = counted and counted["noun"] not in terms("unit")
    return value(counted["n"], "Population, total") if counted and people else value(found.value)


def verdict(found: Verdict) -> Verdict:
    """Return a verdict to show in Chinese: its findings with Chinese names, labels and values."""
    ranked = found.ranked and _ranked(found.ranked)
    derived = found.derived and msgspec.structs.replace(found.derived, value=_derived(found.derived))
    hindrance = found.hindrance and msgspec.structs.replace(
        found.hindrance, one=_measure(found.hindrance.one), two=_measure(found.hindrance.two)
    )
    return msgspec.structs.replace(
        found,
        findings=tuple(map(_finding, found.findings)),
        group=tuple(map(_finding, found.group)),
        chosen=subject(found.chosen),
        shared=tuple(map(subject, found.shared)),
        apart=tuple(map(subject, found.apart)),
        missing=tuple(map(term, found.missing)),
        ranked=ranked,
        derived=derived,
        hindrance=hindrance,
        led=tuple(map(_lead, found.led)),
        limit=found.limit and msgspec.structs.replace(found.limit, name=subject(found.limit.name)),
    )


def _ranked(found: Ranked) -> Ranked:
    return msgspec.structs.replace(
        found,
        label=label(found.label),
        value=value(found.value, found.label),
        rows=_rows(found.rows, found.label),
        before=_rows(found.before, found.label),
        after=_rows(found.after, found.label),
        territories=_rows(found.territories, found.label),
        heads=tuple(map(fact, found.heads)) if found.ranking.stands else found.heads,
    )


def _lead(found: Lead) -> Lead:
    return msgspec.structs.replace(
        found,
        name=subject(found.name),
        findings=tuple(map(_finding, found.findings)),
        ranked=found.ranked and _ranked(found.ranked),
    )


def _finding(found: Finding) -> Finding:
    item = value(found.item, found.fact.label) if found.item else ""
    return msgspec.structs.replace(found, subject=subject(found.subject), fact=fact(found.fact), item=item)


def _rows(rows: Iterable[Row], of: str) -> tuple[Row, ...]:
    return tuple(
        msgspec.structs.replace(
            row,
            name=subject(row.name),
            fact=msgspec.structs.replace(row.fact, line=f"{subject(row.name)}：{value(row.fact.value, of)}"),
        )
        for row in rows
    )


def _measure(text: str) -> str:
    """Return a unit or a label."""
    return _unit(text) if text in terms("unit") else label(text)


def tidy(text: str) -> str:
    """Return Chinese text with Chinese punctuation and without spaces between Chinese and figures, except in quotations.

    >>> tidy("**法国** 的总面积最大: 643,801 (2024) [1]. “A: b.” [2]")
    '**法国**的总面积最大：643,801（2024） [1]。“A: b.” [2]'
    """
    text = re.sub(r"\*\*“([^”*]*)\*\*(?: (?=[;；]))?([^”]{0,400})”", r"“\1\2”", text)  # a quotation is not bold
    text = re.sub(r"\*\*(“[^“”]{0,2000}”)\*\*", r"\1", text)
    return "".join(piece if n % 2 else _tidied(piece) for n, piece in enumerate(_KEPT.split(text)))


def _tidied(text: str) -> str:
    for pattern, put in _TIDY:
        text = pattern.sub(put, text)
    return text


_HAN = r"[\u3400-\u9fff，。；：、（）]"
_TIDY = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r" ?\((?=[^()]*\))", "（"),
        (r"(?<=[^\s(])\)(?!\])", "）"),
        (r" ?: |(?<=\*): ", "："),
        (r"(?<=\]); ", "；"),
        (r"; ", "、"),
        (r"(?<!\d), |, (?!\d)", "、"),
        (r"(?<=[\]\w*）%])\.(?=\s*(?:\[\d+\]\s*)*$)", "。"),
        (r"([？！。])。", r"\1"),
        (r"(?<=\d) %", "%"),
        (rf"(?<={_HAN})(\*\*)? +(?=(?:\*\*)?[\w“])", r"\1"),
        (rf"(?<=[\w%”])(\*\*)? +(?=(?:\*\*)?{_HAN})", r"\1"),
        (r"(?<=[。；：，]) +(?=[^\s\[])", ""),
        (r"(\*\*[^*\n]+\*\*)(?=[\u3400-\u9fff])", lambda bold: f"{bold[1]} " if bold[1].endswith("）**") else bold[1]),
        (r"(?<=[\u3400-\u9fff])\*\*(?=-?\d)", " **"),
    )
)
"""What is written otherwise in Chinese, and how."""
