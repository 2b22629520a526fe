"""What a superlative measures: the oldest has the highest age or the earliest year, the cheapest the lowest price."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.models.extractive.table_reading import PColumn
from research.text import tokens

_DIMENSIONS = {
    "age": ("age 年龄 岁数", "岁"),
    "origin": (
        "year date founded established built opened born commissioned launched planted released joined since start "
        "年份 年代 日期 成立 建成 开业 出生 入职",
        "",
    ),
    "tenure": (
        "start since joined hired employ employed work worked serve serving service 入职 加入 入会 到岗 工作 任职 工龄 干得 干",
        "",
    ),
    "duration": ("time duration 用时 时间 时长 耗时", "min minute second sec s h hr hour 分 分钟 秒 小时"),
    "speed": ("speed velocity 速度 时速", "km/h mph m/s"),
    "price": (
        "price cost fee fare rent rate charge 价格 单价 均价 售价 票价 房价 费用 租金 价钱",
        "$ € £ ¥ eur usd gbp 元",
    ),
    "pay": ("salary wage pay earnings compensation 工资 薪水 薪资 薪酬 月薪 年薪", ""),
    "weight": ("weight mass 重量 体重", "kg g t lb"),
    "height": ("height 身高 高度", ""),
    "length": ("length distance 长度 距离 全长 里程", "km"),
    "depth": ("depth 深度", ""),
    "width": ("width 宽度", ""),
    "temperature": ("temperature temp 气温 温度", "°c °f"),
    "rain": ("rainfall precipitation rain 降雨量 降水量 雨量", "mm"),
    "wealth": ("income gdp wealth 收入", ""),
    "population": ("population inhabitant resident 人口", ""),
    "traffic": ("passenger visitor visit customer guest traffic 客流 乘客 游客 客流量 访客", ""),
    "size": ("area size population 面积 人口 规模", "km² m² ha"),
}
"""The names of columns, and the units, of what can be measured."""
_DEGREES = (
    ("old 最老 最年长 最古老", "age+ origin-"),
    ("young 最年轻 最小年龄", "age- origin+"),
    ("new 最新", "origin+ age-"),
    ("fast quick 最快", "duration- speed+"),
    ("slow 最慢", "duration+ speed-"),
    ("cheap least_expensive 最便宜", "price-"),
    ("most_expensive more_expensive most_costly", "price+"),
    ("most_populous", "population+"),
    ("least_populous", "population-"),
    ("dear costly costli price prici 最贵", "price+"),
    ("best_paid highest_paid best-paid highest-paid", "pay+"),
    ("worst_paid lowest_paid worst-paid lowest-paid", "pay-"),
    ("heavy heavi 最重", "weight+"),
    ("light 最轻", "weight-"),
    ("tall", "height+"),
    ("short 最短 最矮", "height- length- duration-"),
    ("long 最长 最久", "length+ duration+"),
    ("long-serving", "tenure-"),
    ("deep 最深", "depth+"),
    ("shallow 最浅", "depth-"),
    ("wide 最宽", "width+"),
    ("narrow 最窄", "width-"),
    ("hot hott warm 最热", "temperature+"),
    ("cold cool 最冷", "temperature-"),
    ("wet wett rainy raini", "rain+"),
    ("dry dri", "rain-"),
    ("rich 最富", "wealth+"),
    ("poor 最穷", "wealth-"),
    ("busy busi", "traffic+"),
    ("quiet", "traffic-"),
    ("large larg big bigg", "size+"),
    ("small", "size-"),
)
_DATED = ("origin", "tenure")
"""Dimensions that dates measure."""
_BY_WORD = {word: means.split() for words, means in _DEGREES for word in words.split()}
STEMS = sorted((word for word in _BY_WORD if word.isascii() and "_" not in word), key=len, reverse=True)
"""What `-er` and `-est` stand behind."""
_WORD = re.compile(
    rf"\b(?P<stem>{'|'.join(STEMS)})(?:e?st|e?r)\b|"
    rf"\b(?P<phrase>{'|'.join(word.replace('_', ' ') for word in _BY_WORD if '_' in word)})\b|"
    rf"(?P<zh>{'|'.join(word for word in _BY_WORD if not word.isascii())})",
    re.I,
)


_SERVES = re.compile(
    r"\b(?:worked|served|serving|employed)\b|\bworks? (?:here|for|at|with)\b|\bwith us\b|\bbeen (?:here|with)\b|"
    r"任职|工作(?![时日周量])|入职|工龄|干得|待得",
    re.I,
)
"""Matches that somebody belongs to an organisation, so that *the longest* is since the earliest date."""
_SAID = frozenset("expensive costly populous".split())


def degree_of(text: str) -> str:
    """Return the word of a text that compares by some dimension: `old` for `the oldest`; empty if there is none."""
    match = _WORD.search(text)
    word = (match["stem"] or match["phrase"] or match["zh"]).lower().replace(" ", "_") if match else ""
    return "long-serving" if word in ("long", "最长", "最久") and _SERVES.search(text) else word


_NAMED = 3
"""How strongly the name of a column says that it measures a dimension; its type says it with 2, its unit with 1."""
_HOW = re.compile(r"\bhow (?P<word>old|tall|long|heavy|deep|wide|fast|expensive|hot|warm|cold|high)\b", re.I)
_HIGH = {"high": "tall", "expensive": "cheap"}


def how_of(text: str) -> tuple[str, str]:
    """Return the degree that a question asks for and its words: `old` for `how old`."""
    match = _HOW.search(text)
    word = match["word"].lower() if match else ""
    return _HIGH.get(word, word), match.group() if match else ""


def is_degree(word: str) -> bool:
    """Return whether a word compares by some dimension: `oldest`, `cheaper`."""
    return word in _SAID or _WORD.fullmatch(word) is not None


def measured(word: str, columns: Sequence[PColumn]) -> list[tuple[PColumn, bool]]:
    """Return the columns that a degree may mean, each with whether its highest figure is meant.

    Columns that are named for the dimension come before those that only have its unit.
    """
    found: list[tuple[int, PColumn, bool]] = []
    for means in _BY_WORD.get(word, ()):
        if any(strength == _NAMED for strength, _, _ in found):
            break
        names, units = _DIMENSIONS[means[:-1]]
        for column in columns:
            strength = _strength(column, names.split(), units.split(), dated=means[:-1] in _DATED)
            if strength and all(each is not column for _, each, _ in found):
                found.append((strength, column, means.endswith("+")))
    most = max((strength for strength, _, _ in found), default=0)
    return [(column, high) for strength, column, high in found if strength == most]


def words_for(word: str, columns: Sequence[PColumn]) -> list[str]:
    """Return the words for what a degree measures in these columns: *worked*, *serving* for the longest, of a start date."""
    return [
        name
        for means in _BY_WORD.get(word, ())
        for names, units in [_DIMENSIONS[means[:-1]]]
        if any(_strength(each, names.split(), units.split(), dated=means[:-1] in _DATED) == _NAMED for each in columns)
        for name in names.split()
    ]


def _strength(column: PColumn, names: Sequence[str], units: Sequence[str], *, dated: bool) -> int:
    if dated and column.type not in ("date", "year"):
        return 0
    if not dated and column.type != "number":
        return 0
    if any(word in names for word in column.words) or any(name in column.name for name in names if not name.isascii()):
        return _NAMED
    unit = {column.unit.lower(), *tokens(column.unit), *column.name.lower().split("_")[-1:]}
    return 1 if unit & set(units) else 0
