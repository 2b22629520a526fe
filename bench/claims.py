"""Make claims about the library's own data for `bench.citations`: quotations and labelled figures, half of them spoiled."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from babel import Locale
from msgspec import Struct

from research._util.glossary import chinese_label
from research._util.sentences import sentences_of
from research.search.library.factbook import Document, documents
from research.text import has_cjk
from research.types import Source
from research.web.readers import read_bytes
from research.web.table_text import as_text

DATA = Path(__file__).parents[1] / "tests/data"
_UNIT = r"(?:%| (?:sq km|km|m|years|births/1,000 population|metric tons|kWh|(?:million|billion|trillion) \w+))?"
_FIGURE = re.compile(
    rf"(?P<label>[A-Z][^:.!?]{{2,80}}): (?P<v>\$?\d[\d,]*(?:\.\d+)?(?: (?:million|billion|trillion))?{_UNIT})"
    r"(?: of GDP)?(?: \((?P<y>20\d\d)(?: est\.)?\))?$"
)
_SERIES = re.compile(r",? (20\d\d)$")
_HEDGES = "some many most several about nearly almost reportedly possibly probably allegedly may might could".split()


class Claim(Struct, frozen=True):
    """A sentence with its marks, the sources of the run, and how the sentence was spoiled (empty if it is true)."""

    text: str
    sources: tuple[Source, ...]
    corruption: str = ""
    kind: str = ""
    """For a true claim: what was done to the words of its source."""


class Fact(Struct, frozen=True):
    """A labelled figure of a page."""

    page: Document
    country: str
    label: str
    value: str
    year: str
    latest: bool = True


def pages(*, held: bool) -> list[Document]:
    """Return the sections of half of the countries; of those held out, some with A to C were looked at and are left out."""
    found = [page for page in documents() if "comparison/" not in page.url]
    names = sorted({page.title.split(" · ")[0] for page in found})
    mine = {name for i, name in enumerate(names) if i % 2 == held and (not held or name > "D")}
    return [page for page in found if page.title.split(" · ")[0] in mine]


# -- quotations ----------------------------------------------------------------------------------------------------------


def quotations(*, held: bool, count: int = 240) -> list[Claim]:
    """Return sentences of texts with small edits, and the same sentences with one thing changed."""
    dice = random.Random(40 + held)
    told = [*_english(held=held), *_chinese(held=held)]
    dice.shuffle(told)
    english = [each for each in told if not has_cjk(each[0])][: 2 * count // 3]
    chinese = [each for each in told if has_cjk(each[0])][: count // 3]
    found: list[Claim] = []
    for sentence, source in [*english, *chinese]:
        kind, edited = dice.choice(_edits(sentence))
        found.append(Claim(_marked(edited), (source,), "", kind))
        ways = list(_lies(sentence, source, dice))
        if ways:
            kind, lie, shown = dice.choice(ways)
            found.append(Claim(_marked(lie), (shown,), kind))
    return found


def _english(*, held: bool) -> Iterator[tuple[str, Source]]:
    for page in pages(held=held):
        for line in page.text.splitlines():
            first, *rest = sentences_of(line)
            for sentence in rest:
                if 8 <= len(sentence.split()) <= 45 and sentence[0].isupper() and sentence.endswith("."):
                    yield sentence, Source(1, page.url, page.title, page.text)


def _chinese(*, held: bool) -> Iterator[tuple[str, Source]]:
    for name in ("claims_prose.jsonl", "claims_prose2.jsonl"):
        told = [msgspec.json.decode(line) for line in (DATA / name).read_bytes().splitlines()]
        for at, each in enumerate(each for each in told if has_cjk(each["text"])):
            if at % 2 == held:
                source = Source(1, f"https://example.org/{each['id']}", each["title"], each["text"])
                for line in each["text"].splitlines():
                    for sentence in sentences_of(line):
                        if 10 <= len(sentence) <= 90 and sentence.endswith("。"):
                            yield sentence, source


def _edits(sentence: str) -> list[tuple[str, str]]:
    """Return the sentence as it is, and with its articles, punctuation, figures or a parenthesis written differently."""
    ways = {
        "verbatim": sentence,
        "articles": re.sub(r"\b(?:the|an?) ", "", sentence, flags=re.I),
        "punctuation": re.sub(r"(?<=\w)[,，;](?= |[\u4e00-\u9fff])", "", sentence),
        "numbers": re.sub(r"(?<=\d),(?=\d{3})", "", sentence).replace("%", " percent"),
        "parenthesis": re.sub(r" ?[(（][^()（）]*[)）]", "", sentence),
    }
    return [(kind, text) for kind, text in ways.items() if kind == "verbatim" or text != sentence]


def _lies(sentence: str, source: Source, dice: random.Random) -> Iterator[tuple[str, str, Source]]:
    """Yield the sentence with one thing changed, and the source that it cites."""
    digits = list(re.finditer(r"\d", sentence))
    if digits:
        at = dice.choice(digits).start()
        yield "number", f"{sentence[:at]}{(int(sentence[at]) + dice.randint(1, 8)) % 10}{sentence[at + 1 :]}", source
    names = list(dict.fromkeys(re.findall(r"(?<=[a-z,] )[A-Z][a-z]{3,}", sentence)))
    others = [name for name in re.findall(r"(?<=[a-z,] )[A-Z][a-z]{3,}", source.quote) if name not in sentence]
    if names and others:
        yield "name", sentence.replace(dice.choice(names), dice.choice(others), 1), source
    if len(names) > 1:
        one, two = dice.sample(names, 2)
        yield "order", sentence.replace(one, "\0").replace(two, one).replace("\0", two), source
    numbers = list(dict.fromkeys(re.findall(r"(?<![\d,.])\d[\d,]*(?:\.\d+)?(?![\d,])", sentence)))
    if len(numbers) > 1:
        one, two = dice.sample(numbers, 2)
        yield "order", sentence.replace(one, "\0").replace(two, one).replace("\0", two), source
    hedged = [word for word in _HEDGES if re.search(rf"\b{word} ", sentence)]
    if hedged:
        yield "hedge left out", re.sub(rf"\b{dice.choice(hedged)} ", "", sentence, count=1), source
    for verb in ("is", "was", "are", "were", "has been"):
        if f" {verb} " in sentence:
            yield "negation", sentence.replace(f" {verb} ", f" {verb} not ", 1), source
            yield "quantifier", sentence.replace(f" {verb} ", f" {verb} always ", 1), source
            break
    if "不" in sentence or "未" in sentence:
        yield "negation left out", re.sub("[不未]", "", sentence, count=1), source
    elif has_cjk(sentence) and (match := re.search("[是有在将于]", sentence)):
        yield "negation", f"{sentence[: match.start()]}不{sentence[match.start() :]}", source
    body = sentence[0].lower() + sentence[1:].rstrip(".。")
    if has_cjk(sentence):
        wrapped = dice.choice((f"批评者称{body}。", f"{body}，这一说法没有根据。", f"如果{body}，情况就会不同。"))
    else:
        wrapped = dice.choice(
            (
                f"Critics say that {body}.",
                f"It is false that {body}.",
                f"If {body}, much would change.",
                f"{sentence.rstrip('.')}, critics allege.",
                f"Not one witness confirmed that {body}.",
            )  # fmt: skip
        )
    yield "surroundings", sentence, msgspec.structs.replace(source, quote=source.quote.replace(sentence, wrapped))


def _marked(text: str, *numbers: int) -> str:
    marks = "".join(f" [{n}]" for n in numbers or (1,))
    return f"{text.rstrip('.。')}{marks}{'。' if has_cjk(text[-2:]) else '.'}"


# -- labelled figures ----------------------------------------------------------------------------------------------------

WORDINGS = {
    False: (
        "The {l} of {c} was {v} in {y}", "{c}'s {l} is {v}", "In {y}, {c} had a {l} of {v}",
        "The {l} in {c} stood at {v} in {y}", "{c}: {L}: {v} ({y} est.)", "{c}{y}年的{z}为{v}", "{c}的{z}是{v}",
    ),
    True: (
        "{c} has a {l} of {v}", "As of {y}, the {l} of {c} is {v}", "{l} of {c}, {y}: {v}", "In {c} the {l} is {v}",
        "{c} reported a {l} of {v} for {y}", "{y}年，{c}的{z}达到{v}", "{c}的{z}约为{v}",
    ),
}  # fmt: skip


def labelled(*, held: bool, count: int = 240) -> list[Claim]:
    """Return claims about labelled figures of the Factbook and of tables, half of them with one thing changed."""
    dice = random.Random(60 + held)
    facts = [fact for page in pages(held=held) for fact in _facts(page)]
    by_label: dict[str, list[Fact]] = {}
    for fact in facts:
        by_label.setdefault(fact.label, []).append(fact)
    found: list[Claim] = []
    while len(found) < count:
        fact = dice.choice(by_label[dice.choice(list(by_label))])
        if text := _said(fact, dice, held=held):
            found.append(Claim(_marked(text), (_source(fact.page),), "", "zh" if has_cjk(text) else "en"))
        if lie := _spoiled(fact, facts, dice, held=held):
            found.append(lie)
    return [*found, *_cells(dice, held=held)]


def _facts(page: Document) -> Iterator[Fact]:
    newest: dict[str, str] = {}
    for line in page.text.splitlines():
        if match := _FIGURE.fullmatch(line):
            label, year = _SERIES.sub("", match["label"]), _SERIES.search(match["label"])
            stated = year[1] if year else match["y"] or ""
            latest = newest.setdefault(label, stated) == stated
            yield Fact(page, page.title.split(" · ")[0], label, match["v"], stated, latest)


def _source(page: Document, n: int = 1) -> Source:
    return Source(n, page.url, page.title, page.text)


def _said(fact: Fact, dice: random.Random, *, held: bool) -> str:
    """Return a sentence that states a fact in one of the wordings of its half; empty if it cannot."""
    wording = dice.choice(WORDINGS[held])
    if not (fact.year if "{y}" in wording else fact.latest):
        return ""
    label = fact.label.removesuffix(", total").removesuffix(", total population")
    label = label if re.match(r"[A-Z]{2}|Gini", label) else label[0].lower() + label[1:]
    country, value, chinese = fact.country, fact.value, ""
    if "{z}" in wording:
        code = next((c for c, name in Locale("en").territories.items() if name == country and c.isalpha()), "")
        country, chinese = str(Locale("zh").territories.get(code, "")), chinese_label(fact.label)
        value = _in_chinese(value)
        if not (country and chinese and value):
            return ""
    return wording.format(l=label, L=fact.label, c=country, y=fact.year, v=value, z=chinese)


_CHINESE_UNITS = {"": "", "%": "%", " km": "公里", " sq km": "平方公里", " m": "米", " years": "年"}


def _in_chinese(value: str) -> str:
    match = re.fullmatch(r"(\$?)([\d,.]+)(?: (million|billion|trillion))?(.*)", value)
    if not match or match[4] not in _CHINESE_UNITS:
        return ""
    number, scale = (
        float(match[2].replace(",", "")),
        {"million": 6, "billion": 9, "trillion": 12}.get(match[3] or "", 0),
    )
    if not scale:
        return f"{match[2]}{'美元' if match[1] else _CHINESE_UNITS[match[4]]}"
    power, word = (12, "万亿") if scale == 12 else (8, "亿")
    return f"{number * 10 ** (scale - power):.10g}{word}{'美元' if match[1] else _CHINESE_UNITS[match[4]]}"


def _spoiled(fact: Fact, facts: Sequence[Fact], dice: random.Random, *, held: bool) -> Claim | None:
    way = dice.choice(("value", "country", "label", "year", "scale", "negation", "subset"))
    replace = msgspec.structs.replace
    source = _source(fact.page)
    same = [each for each in facts if each.page is fact.page and each.value != fact.value]
    if way == "value":
        digits = [m.start() for m in re.finditer(r"\d", fact.value)][:3]
        at = dice.choice(digits)
        changed = fact.value[:at] + str((int(fact.value[at]) + dice.randint(1, 8)) % 10) + fact.value[at + 1 :]
        fact = replace(fact, value=changed)
    elif way == "country":
        others = [each for each in facts if each.label == fact.label and each.value != fact.value]
        if not others:
            return None
        fact = replace(fact, country=dice.choice(others).country)
    elif way == "label":
        others = [each for each in same if each.label != fact.label]
        if not others:
            return None
        fact = replace(fact, label=dice.choice(others).label)
    elif way == "year":
        others = [each for each in same if each.label == fact.label and each.year != fact.year]
        if not others or not fact.year:
            return None
        fact = replace(fact, year=dice.choice(others).year)
    elif way == "scale":
        changed = (
            fact.value.replace("million", "billion")
            if "million" in fact.value
            else fact.value.replace("billion", "million")
        )
        if changed == fact.value:
            return None
        fact = replace(fact, value=changed)
    text = _said(fact, dice, held=held)
    if not text or (way == "year" and fact.year not in text):
        return None
    if way == "negation":
        changed = re.sub(r" (is|was|had|has) ", r" \1 not ", text, count=1).replace("为", "不为").replace("是", "不是")
        text = changed if changed != text else ""
    if way == "subset":
        text = f"Rural {text[0].lower()}{text[1:]}" if not has_cjk(text) else text.replace("的", "农村的", 1)
    return Claim(_marked(text), (source,), way) if text else None


def _cells(dice: random.Random, *, held: bool, count: int = 60) -> Iterator[Claim]:
    """Yield claims about cells of the tables of the tests: `The Goals for of Rovers is 41`."""
    made: list[Claim] = []
    files = sorted(DATA.glob("tables/**/*.csv"))
    for path in files[held::2]:
        found = read_bytes(path.read_bytes(), path.suffix, path.name).tables[0]
        kinds = [column.type for column in found.columns]
        if "text" not in kinds or "number" not in kinds:
            continue
        names = kinds.index("text")
        once = [row for row in found.rows if sum(other[names] == row[names] for other in found.rows) == 1]
        for row in dice.sample(once, min(4, len(once))):
            at = dice.choice([i for i, kind in enumerate(kinds) if kind == "number"])
            value = row[at]
            if not isinstance(value, int | float) or not row[names]:
                continue
            source = Source(1, f"library://tables/{path.name}", path.stem, as_text(found))
            head = found.columns[at].name
            zh = has_cjk(head)
            wording = "{n}的{h}为{v}" if zh else dice.choice(("The {h} of {n} is {v}", "{n} has a {h} of {v}"))
            unit = found.columns[at].unit
            if abs(value) >= 1e5:
                continue

            def said(owner: object, figure: float, wording: str = wording, head: str = head, unit: str = unit) -> str:
                shown = f"{unit}{figure:,g}" if unit in tuple("$€£") else f"{figure:,g} {unit}".strip()
                return _marked(wording.format(n=owner, h=head, v=shown))

            made.append(Claim(said(row[names], value), (source,), "", "cell"))
            made.append(Claim(said(row[names], value + dice.randint(2, 9)), (source,), "value of a cell"))
            other = dice.choice(found.rows)
            if other[names] != row[names] and other[at] != value:
                made.append(Claim(said(other[names], value), (source,), "row of a cell"))
    yield from made[: 2 * count]


SETS: dict[str, Callable[[], list[Claim]]] = {
    "quotations": lambda: quotations(held=False),
    "quotations, held": lambda: quotations(held=True),
    "labelled": lambda: labelled(held=False),
    "labelled, held": lambda: labelled(held=True),
}
