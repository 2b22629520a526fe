"""The dataset `factbook-zh`: Chinese documents made from figures of the World Factbook, and Chinese questions about them.

Names of countries, languages, currencies and regions come from CLDR (through Babel, Unicode licence), the figures from the
Factbook (public domain).  The text may be shipped, and no model has seen it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from typing import Final

from msgspec import Struct

from research.evaluation.factbook_facts import Country, ambiguous, countries, every_other, sample_questions
from research.evaluation.questions import Dataset, Question
from research.search.library.factbook import Document

EACH: Final = {"one_hop": 20, "two_hop": 16, "comparison": 16, "arithmetic": 12, "unanswerable": 16}
"""Number of questions per kind in each split."""


class Topic(Struct, frozen=True):
    """A figure that the documents state."""

    label: str
    """Label in the Factbook."""
    name: str
    sheet: str
    """The country's document that contains it."""
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
    "domain": {
        "dev": "互联网域名后缀为{clue}的国家，其{topic}是多少？",
        "held": "网站以{clue}结尾的国家的{topic}为多少？",
    },
    "alone": {
        "dev": "唯一与{country}接壤的国家的{topic}是多少？",
        "held": "{country}只有一个陆上邻国，该邻国的{topic}为多少？",
    },
    "higher": {"dev": "{names}相比，哪个国家的{topic}更高？", "held": "在{names}当中，{topic}较高的是哪一个？"},
    "sum": {"dev": "{names}的{topic}合计是多少？", "held": "把{names}的{topic}相加，结果为多少？"},
    "growth": {
        "dev": "从2022年到2024年，{country}的实际国内生产总值增长了百分之几？",
        "held": "{country}的实际国内生产总值在2022年至2024年间变化了百分之多少？",
    },
    "field": {"dev": "{country}的{odd}是多少？", "held": "请问{country}的{odd}为多少？"},
}
NOWHERE: Final = tuple(
    (
        "维尔多里亚, 卡森尼亚, 奥斯特拉万, 米拉西亚, 博伦布里亚, 宽多尔, 诺瓦斯基亚, 伊尔马里亚, 赞提巴尔, "
        "佩卢西亚, 德拉克穆尔, 乌斯卡里亚"
    ).split(", ")
)
ODD: Final = ("钢琴拥有率", "红绿灯总数", "注册养蜂人数", "电影票平均价格", "左撇子牙医人数", "国际象棋大师人数")


class ChineseCountry(Struct, frozen=True):
    """A country with its Chinese name and figures."""

    country: Country
    name: str
    currency: str
    values: dict[str, str]
    """The figure with its unit, as its document writes it, by the topic's name."""

    def document(self, sheet: str) -> str:
        return f"{self.name}·{sheet}"


@cache
def _countries() -> tuple[ChineseCountry, ...]:
    """Return the countries whose Chinese name is certain, because CLDR and the Factbook agree on the English one."""
    from babel import Locale
    from babel.numbers import get_currency_name, get_territory_currencies

    english, chinese = Locale("en").territories, Locale("zh").territories
    found = []
    for country in countries():
        if english.get(country.code, "").casefold() == country.name.casefold():
            money = get_territory_currencies(country.code)
            currency = get_currency_name(money[0], locale="zh") if len(money) == 1 else ""
            values = {topic.name: value for topic in TOPICS if (value := _value(country, topic))}
            found.append(ChineseCountry(country, chinese[country.code], currency, values))
    return tuple(found)


def _value(country: Country, topic: Topic) -> str:
    """Return the figure in Chinese; empty if the country has none."""
    fact = country.facts.get(topic.label)
    if fact is None or fact.value is None or fact.value == 0:
        return ""
    for scale, word in ((Decimal(10) ** 12, "万亿"), (Decimal(10) ** 8, "亿")):
        if topic.unit == "美元" and fact.value >= scale:
            return f"{(fact.value / scale).normalize():f}{word}{topic.unit}"
    return f"{fact.value:,f}{topic.unit}"


def _documents(land: ChineseCountry) -> Iterator[Document]:
    from babel import Locale
    from babel.languages import get_official_languages

    locale, by_name = Locale("zh"), {each.country.name: each.name for each in _countries()}
    for sheet in _SHEETS:
        said = [
            f"{land.name}的{topic.name}为{value}。"
            for topic in TOPICS
            if topic.sheet == sheet and (value := land.values.get(topic.name))
        ]
        near = [by_name.get(each, "") for each in land.country.neighbours]
        if sheet == "地理" and near and all(near):
            said.append(f"{land.name}在陆地上与{'、'.join(near)}接壤，共有{len(near)}个邻国。")
        spoken = [
            locale.languages[each] for each in get_official_languages(land.country.code) if each in locale.languages
        ]
        if sheet == "人口" and spoken:
            said.append(f"{land.name}的官方语言是{'、'.join(spoken)}。")
        if sheet == "经济" and land.currency:
            said.append(f"{land.name}的货币是{land.currency}。")
        if sheet == "通信":
            said.append(f"{land.name}的互联网域名后缀是{land.country.facts['Internet country code'].text}。")
        if said:
            title = land.document(sheet)
            yield Document(title, title, "\n".join(said))


def _having(topic: Topic, split: str) -> list[ChineseCountry]:
    return every_other([each for each in _countries() if topic.name in each.values], split)


def _answers(value: str, topic: Topic) -> tuple[str, ...]:
    """Return the figure with its unit, and without it if the digits alone are distinctive enough."""
    bare = value.removesuffix(topic.unit)
    return (value, bare) if len(bare) > 2 and topic.unit != "%" else (value,)


def _any_topic(land: ChineseCountry, chance: random.Random) -> Topic:
    return chance.choice([topic for topic in TOPICS if topic.name in land.values])


def _one_hop(split: str, chance: random.Random) -> Iterator[Question]:
    while True:
        topic = chance.choice(TOPICS)
        land = chance.choice(_having(topic, split))
        asked = WORDINGS["one_hop"][split].format(country=land.name, topic=topic.name)
        yield Question("", asked, _answers(land.values[topic.name], topic), (land.document(topic.sheet),))


def _two_hop(split: str, chance: random.Random) -> Iterator[Question]:
    currencies = [land.currency for land in _countries()]
    own = [land for land in _countries() if land.currency and currencies.count(land.currency) == 1]
    by_name = {land.country.name: land for land in _countries()}
    alone = [
        land for land in _countries() if len(land.country.neighbours) == 1 and land.country.neighbours[0] in by_name
    ]

    def ask(way: str, land: ChineseCountry, first: str, **clue: str) -> Question:
        topic = _any_topic(land, chance)
        asked = WORDINGS[way][split].format(topic=topic.name, **clue)
        return Question("", asked, _answers(land.values[topic.name], topic), (first, land.document(topic.sheet)))

    while True:
        land = chance.choice(every_other(own, split))
        yield ask("currency", land, land.document("经济"), clue=land.currency)
        land = chance.choice(every_other(_countries(), split))
        yield ask("domain", land, land.document("通信"), clue=land.country.facts["Internet country code"].text)
        start = chance.choice(every_other(alone, split))
        yield ask("alone", by_name[start.country.neighbours[0]], start.document("地理"), country=start.name)


def _comparison(split: str, chance: random.Random) -> Iterator[Question]:
    while True:
        topic = chance.choice(TOPICS)
        some = chance.sample(_having(topic, split), chance.choice((2, 2, 3)))
        ranked = sorted(some, key=lambda land: _number(land, topic), reverse=True)
        if _number(ranked[0], topic) < _number(ranked[1], topic) * Decimal("1.1") or ambiguous(
            [land.name for land in some]
        ):
            continue
        asked = WORDINGS["higher"][split].format(names=_listed(some), topic=topic.name)
        gold = tuple(land.document(topic.sheet) for land in some)
        yield Question("", asked, (ranked[0].name,), gold, over=tuple(land.name for land in ranked[1:]))


def _arithmetic(split: str, chance: random.Random) -> Iterator[Question]:
    area, people, after, before = TOPICS[0], TOPICS[2], TOPICS[6], TOPICS[7]
    while True:
        topic = chance.choice((area, people))
        some = chance.sample(_having(topic, split), 2)
        total = sum((_number(land, topic) for land in some), Decimal(0))
        asked = WORDINGS["sum"][split].format(names=_listed(some), topic=topic.name)
        gold = tuple(land.document(topic.sheet) for land in some)
        yield Question(
            "", asked, (f"{total:,f}{topic.unit}",), gold, value=float(total), tolerance=float(total) * 0.005
        )
        land = chance.choice(_having(before, split))
        if after.name in land.values and _number(land, after) != _number(land, before):
            change = (_number(land, after) / _number(land, before) - 1) * 100
            near = max(0.1, abs(float(change)) * 0.015)
            asked = WORDINGS["growth"][split].format(country=land.name)
            answers, gold = (f"{change:.1f}%",), (land.document(after.sheet),)
            yield Question("", asked, answers, gold, value=float(change), tolerance=near, unit="%")


def _unanswerable(split: str, chance: random.Random) -> Iterator[Question]:
    while True:
        place, topic = chance.choice(every_other(NOWHERE, split)), chance.choice(TOPICS)
        yield Question("", WORDINGS["one_hop"][split].format(country=place, topic=topic.name), answerable=False)
        country, odd = chance.choice(every_other(_countries(), split)).name, chance.choice(every_other(ODD, split))
        yield Question("", WORDINGS["field"][split].format(country=country, odd=odd), answerable=False)


def _number(land: ChineseCountry, topic: Topic) -> Decimal:
    return land.country.facts[topic.label].value or Decimal(0)


def _listed(some: Sequence[ChineseCountry]) -> str:
    return f"{'、'.join(land.name for land in some[:-1])}和{some[-1].name}"


@cache
def dataset() -> Dataset:
    """Return both splits of the dataset, and its documents."""
    documents = tuple(document for land in _countries() for document in _documents(land))
    makers = (_one_hop, _two_hop, _comparison, _arithmetic, _unanswerable)
    return Dataset("factbook-zh", tuple(sample_questions("factbook-zh", EACH, makers)), documents)
