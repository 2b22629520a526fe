"""`factbook-zh`: Chinese documents made from figures of the World Factbook, and questions in Chinese about them.

The names of countries, languages, currencies and regions are those of CLDR (by Babel, Unicode licence), the figures those
of the Factbook (public domain): text that may be shipped, and that nobody has seen before.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from typing import Final

from msgspec import Struct

from research.evaluation.datasets import Dataset, Question
from research.evaluation.facts import Country, Maker, alike, countries, drawn, part
from research.search.factbook import Document

EACH: Final = {"one_hop": 20, "two_hop": 16, "comparison": 16, "arithmetic": 12, "unanswerable": 16}
"""Questions of a kind in each split."""


class Topic(Struct, frozen=True):
    """A figure, as the documents tell it."""

    label: str
    """As the Factbook writes it."""
    name: str
    sheet: str
    """The document of a country that it stands in."""
    unit: str = ""


TOPICS: Final = (
    Topic("Area, total", "总面积", "地理", "平方公里"),
    Topic("Coastline", "海岸线长度", "地理", "公里"),
    Topic("Population, total", "人口", "人口", "人"),
    Topic("Median age, total", "年龄中位数", "人口", "岁"),
    Topic("Life expectancy at birth, total population", "预期寿命", "人口", "岁"),
    Topic("Total fertility rate", "总和生育率", "人口"),
    Topic("Real GDP (purchasing power parity) 2024", "2024年实际国内生产总值", "经济", "美元"),
    Topic("Real GDP (purchasing power parity) 2022", "2022年实际国内生产总值", "经济", "美元"),
    Topic("Real GDP per capita 2024", "2024年人均国内生产总值", "经济", "美元"),
    Topic("Inflation rate (consumer prices) 2024", "2024年通货膨胀率", "经济", "%"),
    Topic("Unemployment rate 2024", "2024年失业率", "经济", "%"),
    Topic("Internet users, percent of population", "互联网用户占人口的比例", "通信", "%"),
    Topic("Airports", "机场数量", "通信", "个"),
)
_SHEETS: Final = ("地理", "人口", "经济", "通信")

WORDINGS: Final = {
    "one_hop": {"dev": "{country}的{topic}是多少？", "held": "请问{country}的{topic}为多少？"},
    "currency": {"dev": "以{clue}为货币的国家，其{topic}是多少？", "held": "哪个国家使用{clue}？它的{topic}为多少？"},
    "domain": {"dev": "互联网域名后缀为{clue}的国家，其{topic}是多少？", "held": "网站以{clue}结尾的国家的{topic}为多少？"},
    "alone": {"dev": "唯一与{country}接壤的国家的{topic}是多少？", "held": "{country}只有一个陆上邻国，该邻国的{topic}为多少？"},
    "higher": {"dev": "{names}相比，哪个国家的{topic}更高？", "held": "在{names}当中，{topic}较高的是哪一个？"},
    "sum": {"dev": "{names}的{topic}合计是多少？", "held": "把{names}的{topic}相加，结果为多少？"},
    "growth": {
        "dev": "从2022年到2024年，{country}的实际国内生产总值增长了百分之几？",
        "held": "{country}的实际国内生产总值在2022年至2024年间变化了百分之多少？",
    },
    "nowhere": {"dev": "{country}的{topic}是多少？", "held": "请问{country}的{topic}为多少？"},
    "field": {"dev": "{country}的{odd}是多少？", "held": "请问{country}的{odd}为多少？"},
}  # fmt: skip
NOWHERE: Final = (
    "维尔多里亚", "卡森尼亚", "奥斯特拉万", "米拉西亚", "博伦布里亚", "宽多尔", "诺瓦斯基亚", "伊尔马里亚", "赞提巴尔", 
    "佩卢西亚", "德拉克穆尔", "乌斯卡里亚",
)  # fmt: skip
ODD: Final = ("钢琴拥有率", "红绿灯总数", "注册养蜂人数", "电影票平均价格", "左撇子牙医人数", "国际象棋大师人数")


class Told(Struct, frozen=True):
    """A country in Chinese."""

    country: Country
    name: str
    currency: str
    values: dict[str, str]
    """By topic's name: the figure with its unit, as its document writes it."""

    def document(self, sheet: str) -> str:
        return f"{self.name}·{sheet}"


@cache
def _told() -> tuple[Told, ...]:
    """The countries whose Chinese name is certain: CLDR and the Factbook call them the same in English."""
    from babel import Locale
    from babel.numbers import get_currency_name, get_territory_currencies

    english, chinese = Locale("en").territories, Locale("zh").territories
    found = []
    for country in countries():
        if english.get(country.code, "").casefold() == country.name.casefold():
            money = get_territory_currencies(country.code)
            currency = get_currency_name(money[0], locale="zh") if len(money) == 1 else ""
            values = {topic.name: value for topic in TOPICS if (value := _value(country, topic))}
            found.append(Told(country, chinese[country.code], currency, values))
    return tuple(found)


def _value(country: Country, topic: Topic) -> str:
    """The figure in Chinese; empty when there is none."""
    fact = country.facts.get(topic.label)
    if fact is None or fact.value is None or fact.value == 0:
        return ""
    for scale, word in ((Decimal(10) ** 12, "万亿"), (Decimal(10) ** 8, "亿")):
        if topic.unit == "美元" and fact.value >= scale:
            return f"{(fact.value / scale).normalize():f}{word}{topic.unit}"
    return f"{fact.value:,f}{topic.unit}"


def _documents(told: Told) -> Iterator[Document]:
    from babel import Locale
    from babel.languages import get_official_languages

    locale, by_name = Locale("zh"), {each.country.name: each.name for each in _told()}
    for sheet in _SHEETS:
        said = [f"{told.name}的{topic.name}为{value}。" for topic in TOPICS
                if topic.sheet == sheet and (value := told.values.get(topic.name))]  # fmt: skip
        near = [by_name.get(each, "") for each in told.country.neighbours]
        if sheet == "地理" and near and all(near):
            said.append(f"{told.name}在陆地上与{'、'.join(near)}接壤，共有{len(near)}个邻国。")
        spoken = [
            locale.languages[each] for each in get_official_languages(told.country.code) if each in locale.languages
        ]
        if sheet == "人口" and spoken:
            said.append(f"{told.name}的官方语言是{'、'.join(spoken)}。")
        if sheet == "经济" and told.currency:
            said.append(f"{told.name}的货币是{told.currency}。")
        if sheet == "通信":
            said.append(f"{told.name}的互联网域名后缀是{told.country.facts['Internet country code'].text}。")
        if said:
            title = told.document(sheet)
            yield Document(title, title, "\n".join(said))


def _having(topic: Topic, split: str) -> list[Told]:
    return part([each for each in _told() if topic.name in each.values], split)


def _answers(value: str, topic: Topic) -> tuple[str, ...]:
    """With its unit and, where that is long enough to be told from another, without."""
    bare = value.removesuffix(topic.unit)
    return (value, bare) if len(bare) > 2 and topic.unit != "%" else (value,)


def _telling(told: Told, chance: random.Random) -> Topic:
    return chance.choice([topic for topic in TOPICS if topic.name in told.values])


def _one_hop(split: str, chance: random.Random) -> Iterator[Question]:
    while True:
        topic = chance.choice(TOPICS)
        told = chance.choice(_having(topic, split))
        asked = WORDINGS["one_hop"][split].format(country=told.name, topic=topic.name)
        yield Question("", asked, _answers(told.values[topic.name], topic), (told.document(topic.sheet),))


def _two_hop(split: str, chance: random.Random) -> Iterator[Question]:
    currencies = [told.currency for told in _told()]
    own = [told for told in _told() if told.currency and currencies.count(told.currency) == 1]
    by_name = {told.country.name: told for told in _told()}
    alone = [told for told in _told() if len(told.country.neighbours) == 1 and told.country.neighbours[0] in by_name]

    def ask(way: str, told: Told, first: str, **clue: str) -> Question:
        topic = _telling(told, chance)
        asked = WORDINGS[way][split].format(topic=topic.name, **clue)
        return Question("", asked, _answers(told.values[topic.name], topic), (first, told.document(topic.sheet)))

    while True:
        told = chance.choice(part(own, split))
        yield ask("currency", told, told.document("经济"), clue=told.currency)
        told = chance.choice(part(_told(), split))
        yield ask("domain", told, told.document("通信"), clue=told.country.facts["Internet country code"].text)
        start = chance.choice(part(alone, split))
        yield ask("alone", by_name[start.country.neighbours[0]], start.document("地理"), country=start.name)


def _comparison(split: str, chance: random.Random) -> Iterator[Question]:
    while True:
        topic = chance.choice(TOPICS)
        some = chance.sample(_having(topic, split), chance.choice((2, 2, 3)))
        ranked = sorted(some, key=lambda told: _number(told, topic), reverse=True)
        if _number(ranked[0], topic) < _number(ranked[1], topic) * Decimal("1.1") or alike(
            [told.name for told in some]
        ):
            continue
        asked = WORDINGS["higher"][split].format(names=_listed(some), topic=topic.name)
        gold = tuple(told.document(topic.sheet) for told in some)
        yield Question("", asked, (ranked[0].name,), gold, over=tuple(told.name for told in ranked[1:]))


def _arithmetic(split: str, chance: random.Random) -> Iterator[Question]:
    area, people, after, before = TOPICS[0], TOPICS[2], TOPICS[6], TOPICS[7]
    while True:
        topic = chance.choice((area, people))
        some = chance.sample(_having(topic, split), 2)
        total = sum((_number(told, topic) for told in some), Decimal(0))
        asked = WORDINGS["sum"][split].format(names=_listed(some), topic=topic.name)
        gold = tuple(told.document(topic.sheet) for told in some)
        yield Question(
            "", asked, (f"{total:,f}{topic.unit}",), gold, value=float(total), tolerance=float(total) * 0.005
        )
        told = chance.choice(_having(before, split))
        if after.name in told.values and _number(told, after) != _number(told, before):
            change = (_number(told, after) / _number(told, before) - 1) * 100
            near = max(0.1, abs(float(change)) * 0.015)
            asked = WORDINGS["growth"][split].format(country=told.name)
            answers, gold = (f"{change:.1f}%",), (told.document(after.sheet),)
            yield Question("", asked, answers, gold, value=float(change), tolerance=near, unit="%")


def _unanswerable(split: str, chance: random.Random) -> Iterator[Question]:
    while True:
        place, topic = chance.choice(part(NOWHERE, split)), chance.choice(TOPICS)
        yield Question("", WORDINGS["nowhere"][split].format(country=place, topic=topic.name), answerable=False)
        country, odd = chance.choice(part(_told(), split)).name, chance.choice(part(ODD, split))
        yield Question("", WORDINGS["field"][split].format(country=country, odd=odd), answerable=False)


def _number(told: Told, topic: Topic) -> Decimal:
    return told.country.facts[topic.label].value or Decimal(0)


def _listed(some: Sequence[Told]) -> str:
    return f"{'、'.join(told.name for told in some[:-1])}和{some[-1].name}"


_MAKERS: Final[dict[str, Maker]] = {
    "one_hop": _one_hop,
    "two_hop": _two_hop,
    "comparison": _comparison,
    "arithmetic": _arithmetic,
    "unanswerable": _unanswerable,
}


@cache
def dataset() -> Dataset:
    """Both splits, and the documents."""
    documents = tuple(document for told in _told() for document in _documents(told))
    return Dataset("factbook-zh", tuple(drawn("factbook-zh", EACH, _MAKERS)), documents)
