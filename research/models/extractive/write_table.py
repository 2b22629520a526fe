"""Write what a query over a table returned: the figure with its unit, the rows used, and the cells to look at."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from research._util.amounts import plain, rounded
from research.models.extractive.table_columns import Filter, is_flag
from research.models.extractive.table_plan import Plan
from research.models.extractive.table_reading import PColumn, figure, shown
from research.models.extractive.table_sql import parted, value_name
from research.models.extractive.table_words import GROWTH, SUM
from research.models.extractive.times import MONTHS
from research.models.extractive.verdict import TableAnswer
from research.text import has_cjk

_WORDS = {
    "en": {
        "SUM": "total {m}",
        "AVG": "average {m}",
        "MEDIAN": "median {m}",
        "MAX": "highest {m}",
        "MIN": "lowest {m}",
        "": "{m}",
        "RATIO": "{m}",
        "LESS": "{m}",
        "SHARE": "share of {m}",
        "rows": "number of rows",
        "most": "the most",
        "fewest": "the fewest",
        "highest": "the highest",
        "lowest": "the lowest",
        "earliest": "the earliest",
        "latest": "the latest",
        "top": "**{name}** has {which} {what}{where}: **{value}** [{n}].",
        "nth": "**{name}** is number {rank} by {what}{where}: **{value}** [{n}].",
        "tied": "**{name}** share {which} {what}{where}: **{value}** [{n}].",
        "tops": "{which} {what}{where}: {rows} [{n}].",
        "groups": "{what}{where}, for each {group}: {rows} [{n}].",
        "next": "Next by {what}: {rows} [{n}].",
        "one": "The {what}{where} is **{value}** [{n}].",
        "sum": "The {what}{where} adds up to **{value}** [{n}].",
        "count": "{table}{times} has **{value}** {rows} [{n}].",
        "count_of": "**{value}** {rows} of {table}{times} {has} {of} [{n}].",
        "distinct": "**{value}** different {values} of {group}{where} [{n}].",
        "none": "**None** (0 values of {group}{where}) [{n}].",
        "share": "{part} of {whole}, which is **{value}**{where} [{n}].",
        "share_of": "{part} of the {whole} rows of {table}{where} {has} {of}, which is **{value}** [{n}].",
        "cell": "{name}: {m} **{value}** [{n}].",
        "only": "{group}{where}: {names} [{n}].",
        "list": "{group}{where}, {all}: {names} [{n}].",
        "rows_of": "{group}{where}: **{k} rows** [{n}].",
        "all": "{k} in total",
        "limit": "{c} {s} {v}",
        "differ": "{what}{where}: {a} for {one} and {b} for {other}, a difference of **{value}** [{n}].",
        "grew": "The {what} of **{name}** changed by **{percent}** ({change}), {span}{where} [{n}].",
        "grew_all": "The {what}{where} changed by **{percent}** ({change}), {span} [{n}].",
        "grew_top": "**{name}** has {which} growth of {what}{where}: **{percent}** ({change}), {span} [{n}].",
        "span_of": "from {a} to {b}",
        "span": "from {a} in {s} to {b} in {e}",
        "used": "Calculated from {cells}.",
        "read": "Read from {cells}.",
        "for": " for {all}",
        "when": " {all}",
        "where": " where {all}",
        "and": " and ",
        "is": "{c} is {v}",
        "has": "{c} {v}",
        "any": " or ",
        "empty": "empty",
        "blank": "nothing under {c}",
        "join": ", ",
        "table": "Result",
        "first": ", the first {k} of {all}",
        "figures": "the figures",
        "in_percent": "change in percent",
        "difference": "difference",
    },
    "zh": {
        "SUM": "{m}合计",
        "AVG": "{m}平均{unit}",
        "MEDIAN": "{m}中位数",
        "MAX": "{m}最高值",
        "MIN": "{m}最低值",
        "": "{m}",
        "RATIO": "{m}",
        "LESS": "{m}",
        "SHARE": "{m}占比",
        "rows": "行数",
        "most": "最多",
        "fewest": "最少",
        "highest": "最高",
        "lowest": "最低",
        "earliest": "最早",
        "latest": "最晚",
        "top": "{where}**{name}**的{what}{which}：**{value}** [{n}]。",
        "nth": "{where}按{what}，**{name}**排第{rank}：**{value}** [{n}]。",
        "tied": "{where}**{name}**的{what}并列{which}：**{value}** [{n}]。",
        "tops": "{where}{what}{which}：{rows} [{n}]。",
        "groups": "{where}各{group}的{what}：{rows} [{n}]。",
        "next": "其次（{what}）：{rows} [{n}]。",
        "one": "{where}{what}为**{value}** [{n}]。",
        "sum": "{where}{what}为**{value}** [{n}]。",
        "count": "{times}{table}共有**{value}**行 [{n}]。",
        "count_of": "{times}{of}的共有**{value}**行 [{n}]。",
        "distinct": "{where}{group}共有**{value}**个不同的值 [{n}]。",
        "none": "**没有**（{where}{group}有0个） [{n}]。",
        "share": "{where}{what}为{part}，占总数{whole}的**{value}** [{n}]。",
        "share_of": "{where}{table}的{whole}行中，{of}的有{part}行，占**{value}** [{n}]。",
        "cell": "{name}：{m}为**{value}** [{n}]。",
        "only": "{where}{group}为{names} [{n}]。",
        "list": "{where}{group}{all}：{names} [{n}]。",
        "rows_of": "{where}{group}：**共{k}行** [{n}]。",
        "all": "共{k}个",
        "limit": "{c}{s}{v}",
        "differ": "{where}{what}：{one}为{a}，{other}为{b}，相差**{value}** [{n}]。",
        "grew": "{where}**{name}**的{what}变化了**{percent}**（{change}），{span} [{n}]。",
        "grew_all": "{where}{what}变化了**{percent}**（{change}），{span} [{n}]。",
        "grew_top": "{where}**{name}**的{what}增幅{which}：**{percent}**（{change}），{span} [{n}]。",
        "span_of": "{a}至{b}",
        "span": "从{s}的{a}到{e}的{b}",
        "used": "由{cells}计算得出。",
        "read": "取自{cells}。",
        "for": "{all}，",
        "when": "{all}，",
        "where": "{all}时，",
        "and": "、",
        "is": "{c}为{v}",
        "has": "{c}为{v}",
        "any": "或",
        "empty": "空",
        "blank": "{c}为空",
        "join": "、",
        "table": "结果",
        "first": "（{all}项中的前{k}项）",
        "figures": "数值",
        "in_percent": "变化百分比",
        "difference": "差额",
    },
}
_TOLD = 4
"""Members of a ranking that the sentences name, so that no table need repeat them."""
_HEADLINE = 120
"""Most characters of a list that is the answer in one line; of a longer one, that is how many there are."""
_ONE = {"rows": "row", "values": "value", "has": "has"}
_SEVERAL = {"rows": "rows", "values": "values", "has": "have"}
_SIGNS = {
    "en": {"=": "of", ">": "above", ">=": "at least", "<": "below", "<=": "at most"},
    "zh": {"=": "为", ">": "超过", ">=": "不低于", "<": "不及", "<=": "不超过"},
}
_WHEN = {
    "en": {">": "after {t}", ">=": "since {t}", "<": "before {t}", "<=": "until {t}", "=": "in {t}"},
    "zh": {">": "{t}之后", ">=": "{t}以来", "<": "{t}之前", "<=": "截至{t}", "=": "{t}"},
}


def tabular(found: TableAnswer, language: str, question: str) -> list[str]:
    """Return the paragraphs of an answer to a question."""
    plan, rows = found.plan, found.rows
    w = _WORDS[language]
    said = _Sentences(found, language, question)
    cells = f"`{rows.where}`"
    key = "read" if plan.operation in ("lookup", "list") else "used"
    head = said.head()
    paragraphs = [*head, w[key].format(cells=cells)]
    if plan.operation == "rank" and plan.many > 1:
        rows = replace(rows, rows=rows.rows[: said.shown()])
    told = (plan.operation == "list" and len(rows.columns) == 1) or (
        plan.operation == "rank" and len(rows.rows) <= _TOLD
    )
    if not told and (len(rows.rows) > 1 or plan.operation == "list"):
        alone = plan.operation == "rank" and not (plan.filters or plan.periods or plan.limits)
        more = plan.group.different if alone and plan.group else 0
        part = w["first"].format(k=len(rows.rows), all=more) if more > len(rows.rows) else ""
        paragraphs.append(f"### {w['table']}{part}\n\n" + "\n".join(said.table(rows.rows)))
    return paragraphs


def sentence(found: TableAnswer, language: str, question: str) -> tuple[str, list[str]]:
    """Return the first sentence of an answer, without marks, and its parts in bold type."""
    said = _Sentences(found, language, question).head()[0]
    return re.sub(r"\*\*| \[\d+\]", "", said), re.findall(r"\*\*(.+?)\*\*", said)


class _Sentences:
    def __init__(self, found: TableAnswer, language: str, question: str) -> None:
        self.question, self.language, self.w = question, language, _WORDS[language]
        self.plan, self.rows, self.n = found.plan, found.rows, found.rows.n

    def head(self) -> list[str]:
        """Return the sentences that answer."""
        kinds: dict[str, Callable[[], list[str]]] = {
            "rank": self._rank,
            "count": self._count,
            "growth": self._growth,
            "share": self._share,
            "lookup": self._lookup,
            "list": self._list,
            "difference": self._difference,
        }
        return kinds.get(self.plan.operation, self._one)()

    def shown(self) -> int:
        """Return how many rows of a ranking are asked for, with those that share the last place."""
        rows, k = self.rows.rows, self.plan.many
        while k < len(rows) and rows[k][-1] == rows[self.plan.many - 1][-1]:
            k += 1
        return k

    def table(self, found: Sequence[Sequence[str]]) -> list[str]:
        """Return rows of the result as a markdown table; each with figures cites it."""
        heads = [self._head(name) for name in self.rows.columns]
        rows = [
            tuple(self._cell(name, cell) for name, cell in zip(self.rows.columns, row, strict=True)) for row in found
        ]
        mark = f" [{self.n}]" if self.plan.operation != "list" else ""
        return shown([(*row[:-1], f"{row[-1]}{mark}") for row in rows], heads)

    def _head(self, name: str) -> str:
        if name == value_name(self.plan):
            unit = self.plan.measure.unit if self.plan.measure else ""
            unit = "%" if self.plan.aggregate == "SHARE" else unit
            return f"{self._what()} ({unit})" if unit else self._what()
        column = next((each for each in self.plan.table.columns if each.sql == name), None)
        if column is None:
            return (
                _period(name, self.language) if re.match(r"in_\w", name) else self.w.get(name, name.replace("_", " "))
            )
        return f"{column.said} ({column.unit})" if column.unit and column.type == "number" else column.said

    def _cell(self, name: str, cell: str) -> str:
        value = figure(cell)
        column = next((each for each in self.plan.table.columns if each.sql == name), None)
        if value is None or (column is not None and column.type != "number"):
            return cell
        return tidy(value)

    def _what(self) -> str:
        if self.plan.measure is None:
            return self.w["rows"]
        name = _named(self.plan)
        group, counted = self.plan.group, self.rows.count == len(self.rows.rows) and not self.plan.table.by_month
        if (
            self.plan.operation == "rank"
            and self.plan.aggregate != "SHARE"
            and (counted or (group and self.plan.table.unique(group)))
        ):
            return name  # the total of one row is its figure
        if self.plan.aggregate == "SUM" and SUM.match(name):
            return name  # not `the total Total`
        return self.w[self.plan.aggregate].format(
            m=name, unit="分" if "分" in self.plan.measure.unit + self.question else "值"
        )

    def _value(self, cell: str) -> str:
        measure = self.plan.measure
        if measure is None:
            return cell
        if measure.type in ("date", "year"):
            return dated(cell, self.language) if measure.type == "date" else cell
        value = figure(cell)
        own = replace(measure, unit="%") if self.plan.aggregate == "SHARE" else measure
        return cell if value is None else with_unit(tidy(value), own)

    def _chosen(self, filters: Sequence[Filter]) -> dict[str, str]:
        """Return the values that choose rows, by the names of their columns."""
        columns: dict[str, dict[str, None]] = {}
        for each in sorted(filters, key=lambda each: each.start):
            columns.setdefault(each.column.said, {})[each.value or self.w["empty"]] = None
        return {name: self.w["any"].join(values) for name, values in columns.items()}

    def _limits(self) -> list[str]:
        return [
            self.w["limit"].format(
                c=column.said,
                s=_SIGNS[self.language][limit.sign],
                v=limit.other.said if limit.other else with_unit(tidy(limit.value), column),
            )
            for column, limit in self.plan.limits
        ]

    def _where(self) -> str:
        shares = self.plan.operation == "share" and self.plan.measure is None
        chosen = parted(self.plan)[1] if shares else self.plan.filters
        columns = self._chosen(chosen if self.plan.operation != "difference" else ())
        stated = {name: value for name, value in columns.items() if is_flag(value) or value == self.w["empty"]}
        named = [value for name, value in columns.items() if name not in stated]
        parts = [self.w["is"].format(c=name, v=value) for name, value in stated.items()]
        parts += self._limits()
        told = self.w["for"].format(all=self.w["and"].join(named)) if named else ""
        told += self.w["when"].format(all=times) if (times := _times(self.plan, self.language)) else ""
        return told + (self.w["where"].format(all=self.w["and"].join(parts)) if parts else "")

    def _name(self, cell: str) -> str:
        return _dated(self.plan, self.language, self.plan.group.sql, cell) if self.plan.group else cell

    def _listed(self, rows: Sequence[Sequence[str]]) -> str:
        return self.w["join"].join(f"{self._name(row[0])} {self._value(row[-1])}" for row in rows)

    def _plain(self) -> str:
        """Return what is ranked; `the highest highest temperature` is said once."""
        if self.plan.measure is not None and self.plan.aggregate in ("MAX", "MIN"):
            return self.plan.measure.said
        return self._what()

    def _rank(self) -> list[str]:
        plan, rows = self.plan, self.rows.rows
        values = {
            "which": _which(self.plan, self.question, self.w),
            "what": self._plain(),
            "where": self._where(),
            "n": self.n,
        }
        if plan.many < 0:
            assert plan.group
            return [_upper(self.w["groups"].format(group=plan.group.said, rows=self._listed(rows), **values))]
        if plan.many > 1:
            k = self.shown()
            return [_upper(self.w["tops"].format(k=k, rows=self._listed(rows[:k]), **values))]
        first = min(plan.rank, len(rows)) - 1
        tied = [row for row in rows if row[-1] == rows[first][-1]]
        value = self._value(rows[first][-1])
        name = self.w["join"].join(self._name(row[0]) for row in tied)
        key = "tied" if len(tied) > 1 else "nth" if plan.rank > 1 else "top"
        head = _upper(self.w[key].format(name=name, value=value, rank=plan.rank, **values))
        others = [row for row in rows if row not in tied][:3] if plan.rank == 1 else []
        return [head, *([self.w["next"].format(rows=self._listed(others), **values)] if others else [])]

    def _one(self) -> list[str]:
        value = self._value(self.rows.rows[0][-1])
        key = "sum" if self.plan.operation == "sum" else "one"
        return [_upper(self.w[key].format(what=self._what(), where=self._where(), value=value, n=self.n))]

    def _having(self, filters: Sequence[Filter]) -> list[str]:
        chosen = self._chosen(filters).items()
        return [self.w["blank" if each == self.w["empty"] else "has"].format(c=name, v=each) for name, each in chosen]

    def _count(self) -> list[str]:
        plan, value, times = self.plan, self.rows.rows[0][0], _times(self.plan, self.language)
        of = [*self._having(plan.filters), *self._limits()]
        distinct = "none" if value == "0" else "distinct"
        said = self.w[distinct if plan.group else "count_of" if of else "count"].format(
            value=value,
            **(_ONE if value == "1" else _SEVERAL),
            of=self.w["and"].join(of),
            times=self.w["when"].format(all=times) if times else "",
            table=plan.table.file,
            group=plan.group.said if plan.group else "",
            where=self._where(),
            n=self.n,
        )
        return [said if not plan.group else _upper(said)]

    def _share(self) -> list[str]:
        part, whole, percent = (figure(cell) or 0.0 for cell in self.rows.rows[0])
        measure = self.plan.measure or self.plan.filters[0].column
        values = {
            "part": with_unit(tidy(part), measure),
            "whole": with_unit(tidy(whole), measure),
            "value": f"{tidy(percent)}%",
            "where": self._where(),
            "n": self.n,
        }
        if self.plan.measure:
            return [self.w["share"].format(what=_named(self.plan), **values)]
        of = self.w["and"].join(self._having(parted(self.plan)[0]))
        has = (_ONE if part == 1 else _SEVERAL)["has"]
        return [_upper(self.w["share_of"].format(of=of, table=self.plan.table.file, has=has, **values))]

    def _list(self) -> list[str]:
        plan, rows = self.plan, self.rows.rows
        assert plan.group
        apart = [with_unit(tidy(figure(row[-1]) or 0.0), plan.limits[0][0]) if plan.absolute else "" for row in rows]
        told = (f"{self._name(row[0])} {by}".rstrip() for row, by in zip(rows, apart, strict=True))
        names, count = self.w["join"].join(told), self.w["all"].format(k=len(rows))
        key = "rows_of" if plan.beside else "list" if len(rows) > 1 else "only"
        group = self.w["join"].join(each.said for each in (plan.group, *plan.beside))
        if len(names) <= _HEADLINE:
            names = f"**{names}**"
        else:
            count = f"**{count}**"
        values = {"group": group, "where": self._where(), "k": len(rows), "n": self.n, "names": names, "all": count}
        return [_upper(self.w[key].format(**values))]

    def _difference(self) -> list[str]:
        one, other = sorted(self.plan.filters, key=lambda each: each.start)
        first, second, apart = self.rows.rows[0]
        what = self.plan.measure.said if self.plan.measure and self.rows.count <= 2 else self._what()
        values = {"what": what, "where": self._where(), "n": self.n, "one": one.value, "other": other.value}
        figures = {"a": self._value(first), "b": self._value(second), "value": self._value(apart.removeprefix("-"))}
        return [_upper(self.w["differ"].format(**values, **figures))]

    def _lookup(self) -> list[str]:
        assert self.plan.measure
        lines = []
        for row in self.rows.rows:
            named = zip(self.rows.columns, row[:-1], strict=False)
            name = self.w["join"].join(_dated(self.plan, self.language, column, cell) for column, cell in named if cell)
            lines.append(self.w["cell"].format(name=name, m=_named(self.plan), value=self._value(row[-1]), n=self.n))
        return lines

    def _growth(self) -> list[str]:
        plan, rows = self.plan, self.rows.rows
        row = rows[min(plan.rank - 1, len(rows) - 1)]
        first, last, change, percent = (figure(cell) for cell in row[-4:])
        starts, finishes = (_period(name, self.language) for name in self.rows.columns[-4:-2])
        measure = plan.measure
        assert measure is not None
        named = (
            measure
            if not plan.wide
            else PColumn(measure.sql, _without_year(measure.said, plan), "number", measure.unit)
        )
        what = named.said if plan.wide else self._what()
        what = self.w["figures"] if GROWTH.search(what) else what  # `the growth of growth`
        changed = (f"{tidy(percent or 0.0)}%", with_unit(tidy(change or 0.0), named))
        values = {
            "what": what,
            "where": self._where(),
            **dict(zip(("change", "percent") if plan.absolute else ("percent", "change"), changed, strict=True)),
            "span": self.w["span"].format(
                a=with_unit(tidy(first or 0.0), named), s=starts, b=with_unit(tidy(last or 0.0), named), e=finishes
            ),
            "n": self.n,
        }
        if plan.group is None:
            return [_upper(self.w["grew_all"].format(**values))]
        key = "grew_top" if len(rows) > 1 else "grew"
        head = _upper(
            self.w[key].format(name=self._name(row[0]), which=_which(self.plan, self.question, self.w), **values)
        )
        others = [each for each in rows if each is not row][:3]
        listed = self.w["join"].join(f"{self._name(each[0])} {tidy(figure(each[-1]) or 0.0)}%" for each in others)
        return [head, *([self.w["next"].format(what=self.w["in_percent"], rows=listed, n=self.n)] if others else [])]


def _named(plan: Plan) -> str:
    """Return the name of the measure; of a column that is a year, what the table is about with the year."""
    assert plan.measure
    name = plan.measure.said
    if not plan.wide or re.search(r"[^\W\d]{2}", name):
        return name
    what = _without_year(name, plan)
    return f"{name}{what}" if has_cjk(name) else f"{what} {name}".strip()


def _which(plan: Plan, question: str, w: Mapping[str, str]) -> str:
    """Return the end of a ranking: the latest date, the most hives, the highest price."""
    measure, group = plan.measure, plan.group
    if measure is not None and measure.type in ("date", "year"):
        return w["latest" if plan.most else "earliest"]
    single = group is not None and plan.table.unique(group) and measure is not None and not measure.unit
    if single and re.search(r"\b(?:most|fewest)\b", question.lower()):
        return w["most" if plan.most else "fewest"]
    return w["highest" if plan.most else "lowest"]


def _times(plan: Plan, language: str) -> str:
    """Return the times that are asked about, in words; empty if the columns have them."""
    if not (plan.time and plan.periods) or plan.wide or plan.operation == "growth":
        return ""
    first, last = plan.time.low[:4], plan.time.high[:4]
    alone = first == last and plan.time.type == "date" and plan.measure
    year = first if alone else ""  # `in May` of a table of one year
    whole = [
        f"{year}{each.text}" if each.text[1:].isdigit() and each.text[0] == "-" else each.text for each in plan.periods
    ]
    times = [dated(each, language) for each in whole]
    if [each.how for each in plan.periods] == [">=", "<="]:
        return _WORDS[language]["span_of"].format(a=times[0], b=times[1])
    said = [_WHEN[language][each.how].format(t=time) for each, time in zip(plan.periods, times, strict=True)]
    return re.sub(r"\bin (?=\d{1,2} )", "on ", _WORDS[language]["any"].join(said))


def _without_year(name: str, plan: Plan) -> str:
    rest = re.sub(r"(?:19|20)\d\d\s*年?|(?<!\d)1?\d月", "", name).strip(" _-()")
    place = plan.table.file.rpartition(" › ")[2]
    return rest or plan.table.title or place.rpartition(".")[0] or place


def _period(name: str, language: str) -> str:
    parts = name.removeprefix("in_").split("_")
    return dated("-".join(parts).upper() if parts[-1].startswith("q") else "-".join(parts), language)


def _dated(plan: Plan, language: str, name: str, cell: str) -> str:
    """Return a cell of the column with this name: a date or a month as people write it, a number behind its name."""
    types = {column.sql: column.type for column in plan.table.times}
    if own := next((each for each in plan.table.of_type("number") if each.sql == name), None):
        return f"{own.said} {cell}"
    if types.get(name) == "month" and cell.isdigit():
        return dated(f"-{int(cell):02}", language)
    return dated(cell, language) if types.get(name) == "date" else cell


def tidy(value: float) -> str:
    """Return a figure with at most two decimals; a small one keeps three digits."""
    from decimal import Decimal

    return plain(rounded(Decimal(repr(value)), 2))


def with_unit(value: str, column: PColumn) -> str:
    """Return a figure with the unit of its column."""
    unit = column.unit
    if not unit:
        return value
    code, _, scale = unit.partition(" ")
    if scale and code.isupper():
        return f"{value} {scale} {code}"
    if unit in "$€£¥￥":
        return f"-{unit}{value[1:]}" if value.startswith("-") else f"{unit}{value}"
    return f"{value}{unit}" if unit.startswith(("%", "°")) else f"{value} {unit}"


def dated(text: str, language: str) -> str:
    """Return a date as people write it."""
    if half := re.fullmatch(r"(\d{4})?-H([12])", text):
        year, which = half[1] or "", int(half[2]) - 1
        return f"{year}{'年' * bool(year)}{'上下'[which]}半年" if language == "zh" else f"H{which + 1} {year}".strip()
    match = re.fullmatch(r"(\d{4})?-?(?:(\d\d)|Q(\d))?(?:-(\d\d))?(?: .*)?", text)
    if match is None:
        return text
    year, month, quarter, day = match.groups()
    if language == "zh":
        parts = [f"{year}年" if year else "", f"{int(month)}月" if month else "", f"第{quarter}季度" if quarter else ""]
        return "".join([*parts, f"{int(day)}日" if day else ""])
    named = MONTHS[int(month) - 1] if month and 1 <= int(month) <= 12 else f"Q{quarter}" if quarter else ""
    return " ".join(filter(None, [day and str(int(day)), named, year]))


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
