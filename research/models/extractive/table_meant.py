"""Find which columns of a table the words of a question mean: the group, the measure, and what is counted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os.path import commonprefix

from msgspec.structs import replace

from research.models.extractive import table_words as said
from research.models.extractive.patterns import NUMBER
from research.models.extractive.places import mentions
from research.models.extractive.similarity import cosine
from research.models.extractive.table_bounds import bound
from research.models.extractive.table_columns import (
    GENERIC,
    NEAR,
    Filter,
    filters,
    likeness,
    same,
    says_whether,
    words_of,
)
from research.models.extractive.table_degrees import degree_of, how_of, is_degree, measured
from research.models.extractive.table_nouns import figures, is_number_of_row, names_a_row
from research.models.extractive.table_reading import PColumn, PTable
from research.models.extractive.table_synonyms import people, synonymous
from research.models.extractive.times import Period, periods
from research.text import has_cjk, tokens

_OPENING = re.compile(
    r"的(?P<last>[^\W\d_的]{1,8}?)(?:有|是|为|在)哪|"
    r"\b(?:top|bottom|name|list|give|show|which|what|whose|rank)\b"
    rf"(?:\s+(?:me|of|the|are|is|was|were|all|{NUMBER}|most|best|first|single|other|different))*\s+(?P<rest>.*)|"
    r"^\W*(?:the |our )?(?:\w{3,9}est|most|fewest)\s+(?P<superlative>[^\W\d_]+(?=\W*$|\s+(?:in|of|for|by)\b))|"
    rf"(?:哪一?[{said.CLASSIFIERS}]?|各|每一?[{said.CLASSIFIERS}]?|按|列[出举](?:所有|全部)?)(?P<zh>.{{1,12}})|"
    r"前.{1,3}[名个家位](?P<top>.{0,12})",
    re.I,
)
_BEST = re.compile(
    r"最[^\W\d_的]{1,3}的(?:前)?(?:[一二两三四五六七八九十\d]{1,3})?[个家名位座种款所条支门大]?"
    r"(?P<best>[^\W\d_]{1,10}?)(?:[是有为叫在]|$)"
)
GROUPED = re.compile(
    r"\b(?:by|per|for each|for every|in each|of each|each|every)\s+(?P<what>[^\W\d_]+)|"
    r"[按各每](?:个|家|位)?(?P<zh>[^\W\d_]{1,6})",
    re.I,
)
COUNTED = re.compile(
    r"\b(?:how many(?!\s+per\s?cent)|number of|count of|count)\s+(?P<what>.*)|"
    r"[的](?P<before>[^\W\d_的]{1,6}?)有(?:多少|几)[^\W\d_]$|"
    rf"多少[{said.CLASSIFIERS}]?(?P<zh>[^\W\d_]{{0,8}})|(?<!哪)几[{said.CLASSIFIERS}](?P<few>[^\W\d_]{{0,8}})",
    re.I,
)
PART_OF = re.compile(
    r"\b(?:percent(?:age)?|share|proportion|fraction) of (?:(?:all|the|our|its|\d+) )*(?:[^\W\d_]+ )?(?P<what>[^\W\d_]+)"
    r"(?=\s+(?:are|were|is|was|have|has|had|come|came|go|went|in|on|at|by|for|from|with|that|who|which)\b|\W*$)|"
    r"占(?:全部|所有|全体|总)?(?P<zh>[^\W\d_的]{1,6}?)(?:总数|数)?的",
    re.I,
)
"""What asks for a share of rows, if they are what stands behind it: `what percentage of the orders`."""
_BEFORE = "in|at|on|of|for|from|by|during|since|to"
MOST_OF = re.compile(
    r"\b(?:most|fewest|least|(?:highest|largest|greatest|lowest|smallest) number of)\s+"
    rf"(?!(?:{_BEFORE})\b)(?P<what>[^\W\d_].*)|"
    r"(?:[的下有]|^)(?P<zh>[^\W\d_的下有哪]{1,6}?)(?:数量|数|量)?最[多少]",
    re.I,
)
MOST_ALONE = re.compile(rf"\b(?:most|least)\b(?=\s+(?:{_BEFORE})\b|\W*$)", re.I)
_SEASON_OF = re.compile(r"\b(?:winter|spring|summer|autumn|fall)\b\s*\(([^()]{3,60})\)", re.I)
"""What says of which months a season is."""
_HEADLESS = re.compile(r"最[^\W\d_的]{1,3}的(?:是(?:什么|哪[个一]?)|有哪些)$")
"""What asks which row has the most without a noun for it: 成本最高的是什么."""
_NAME = re.compile(r"(?<![.?!]\s)(?<!^)\b[A-Z][\w'’-]+(?:\s+[A-Z][\w'’-]+)*")
_ALIKE = 0.7
"""Least cosine of a word and the name of a column whose members it means; `car` and `fuel` have .47."""
SIBLING = 0.78
"""Least cosine of words of two languages that translate each other, however many they are of: `invoice`, `Rechnungen`."""
_ATTRIBUTE = re.compile(
    r"\b(?:who|what)\s+(?:is|was|are|were)\s+the\s+(?P<of>[^\W\d_]+(?:\s+[^\W\d_]+)?)\s+(?:of|for)\b|"
    r"的(?P<zh>[^\W\d_的]{1,6})是(?:谁|什么|哪)",
    re.I,
)
"""What asks for a column by its name: `who is the author of`, 的作者是谁."""
_YEARS = frozenset("year date 年 年份 日期".split())
_TIMES = _YEARS.union("month quarter day week 月 月份 天".split())
_PERSON = re.compile(r"name|employee|student|player|author|staff|runner|姓名|员工|学生|人员", re.I)
_FULL_NAME = re.compile(r"[A-Z][^\W\d_]+(?: [A-Z][^\W\d_]*\.?){1,2}")
"""Matches a first name and a surname."""
_SEASON = frozenset(
    "January February March April May June July August September October November December Q1 Q2 Q3 Q4".split()
)


def _blanked(text: str, spans: Sequence[said.Limit | Period]) -> str:
    """Return a text with these parts replaced by spaces."""
    found = list(text)
    for each in spans:
        found[each.start : each.end] = " " * (each.end - each.start)
    return "".join(found)


def _chosen(text: str, table: PTable) -> list[Filter] | None:
    """Return the values that choose rows: where people are counted, `people` is no department."""
    found, match = filters(text, table), COUNTED.search(text)
    at = _start(match) if match else -1
    return found and [each for each in found if each.start != at or not people(*tokens(text[at : each.end]))]


def _sure(column: PColumn | None, sure: float) -> tuple[PColumn | None, float]:
    """Return a column with how sure it is; none is one that is asked for, but not found."""
    return (column, sure) if column else (None, -1.0)


class Meant:
    """One question read against one table."""

    def __init__(self, question: str, table: PTable) -> None:
        file = re.escape(table.file.partition(" › ")[0])
        self.text = re.sub(file, " ", question, flags=re.I).strip().rstrip("?？。.!")
        self.text = re.sub(r"(?<=哪个)([年月])(?=\w)", r"\1 ", self.text)  # or 月销量 is one word
        self.text = _SEASON_OF.sub(lambda match: match[0] if not periods(match[1]) else match[1], self.text)
        self.table = table
        self.head = words_of(_title(table))
        self.found = _chosen(self.text, table)
        self.limits = said.limits(self.text)
        others = (*self.limits, *(self.found or ()))
        self.periods = [
            each
            for each in _undated(periods(self.text), table)
            if not any(other.start < each.end and each.start < other.end for other in others)
        ]
        self.figures = figures(table)
        self.kind = ""
        """What the columns of a table with a column for each year are about: `sales` for `2023 sales`."""
        self.wide = self._wide()
        self.against = self._against()
        taken, plain = [(each.start, each.end) for each in (*others, *self.periods)], not (self.wide or table.by_month)
        self.bound, self.open = bound(self.text, self.figures if plain else [], taken, self.names_rows)
        """The figures that choose rows without being written, and whether a superlative does that no column tells."""
        sided = [limit for _, limit in (*self.against, *self.bound)]
        self.unlimited = _blanked(self.text, [*self.limits, *sided, *self.periods])
        """The question without its limits and times: `more than` ranks nothing, nor does `the first quarter`."""
        self.how, self.how_words = how_of(self.text)
        """What is asked for by `how old`, and these words."""
        if self.how_words.lower().endswith("high") and not measured(self.how, self.figures):
            self.how = ""  # `how high` a price is
        self.degree = degree_of(self.unlimited)
        """The word that compares by some dimension: `old` for `the oldest`."""
        self.highest: bool | None = None
        """Whether the degree means the highest figure of the measure; None if it does not say."""
        self.taken = ""  # the word that named the group

    def _against(self) -> list[tuple[PColumn, said.Limit]]:
        """Return the column whose figures are compared with those of another one, as a limit."""
        match = said.AGAINST.search(self.text)
        if match is None or self.limits:
            return []
        asked = {each.text for each in self.periods} or set(list(self.wide)[-1:])
        columns = [each for each in self.figures if not asked or asked.issuperset(_times_of(each))]
        before, behind = (
            [each for each in columns if each.name in part]
            or [each for each in columns if any(same(w, o) for w in words_of(part) for o in each.words)]
            for part in (self.text[: match.end()], self.text[match.end() :])
        )
        one = [each for each in before if each not in behind]
        if not one and len(behind) == 1:  # `over budget`
            one = counterparts(behind[0], columns)
        if len(one) != 1 or len(behind) != 1 or one[0].unit != behind[0].unit:
            return []
        how = str(match.lastgroup)
        sign = ">" if how in ("more", "over") else "<"
        return [(one[0], said.Limit(sign, 0.0, match.start(how), match.end(how), other=behind[0]))]

    def of(self, column: PColumn) -> list[Filter]:
        return [each for each in self.found or () if each.column is column]

    def options(self, group: PColumn) -> bool:
        return len(self.of(group)) > 1

    def strangers(self) -> bool:
        """Return whether the question names something that the table does not have: a country, a name in capitals."""
        taken = [(each.start, each.end) for each in self.found or ()]
        taken += [(each.start, each.end) for each in self.periods]
        own = {word for column in self.table.columns for word in column.words} | set(self.head)
        for mention in mentions(self.text):
            if not any(a < mention.place[1] and mention.place[0] < b for a, b in taken):
                return True
        for match in _NAME.finditer(self.text):
            inside = any(a < match.end() and match.start() < b for a, b in taken)
            known = all(any(same(word, each) for each in own) for word in words_of(match.group()))
            if not inside and not known and match.group() not in _SEASON and not match.group().isupper():
                return True
        return False

    def _wide(self) -> dict[str, PColumn]:
        """Return the columns of one measure in several years, quarters or months, by these; of several, the one named."""
        kinds: dict[str, dict[str, PColumn]] = {}
        for column in self.figures:
            when = periods(column.name)
            if len(when) == 1 and len(column.name) < 40:
                start, end = when[0].start, when[0].end
                rest = f"{column.name[:start]}{column.name[end:].lstrip('年 ')}".strip(" _-()")
                kinds.setdefault(rest, {})[when[0].text] = column
        several = {kind: dict(sorted(years.items())) for kind, years in kinds.items() if len(years) > 1}
        named = [kind for kind in several if kind and _says(self.text, kind)]
        if len(several) > 1 and len(named) != 1:
            return {}
        self.kind = named[0] if named else next(iter(several), "")
        return several.get(self.kind, {})

    def key(self) -> PColumn | None:
        """Return the column that names the rows: the first of text that has another value in each, or nearly so."""
        texts = [column for column in self.table.of_type("text") if self.table.unique(column)]
        numbers = [column for column in self.table.of_type("number") if is_number_of_row(column, self.table)]
        return next(iter([*texts, *numbers, *filter(self.table.leads, self.table.columns)]), None)

    def names_rows(self, word: str) -> bool:
        """Return whether a word names one row: by a column, or by title or file."""
        return (
            names_a_row(word, self.table)
            or any(same(word, each) or people(word, each) for each in self.head)
            or any(cosine(word, each) >= SIBLING for each in titled(self.table))
        )

    def offers(self) -> bool:
        """Return whether the question offers members of one column to choose from: `did Peru or Chile have more`."""
        offered = any(self.options(column) for column in self.table.of_type("text"))
        return offered and self.ranked() and re.search(r"\bor\b|还是", self.text) is not None

    def ranked(self) -> bool:
        """Return whether the question asks for the first or last by some figure."""
        return bool(self.degree) or any(each.search(self.unlimited) for each in (said.MOST, said.LEAST, said.WORST))

    def group(self) -> tuple[PColumn | None, float]:
        """Return the column whose members are asked for and how sure that is; below 0: one is asked for, but not found."""
        offered = [column for column in self.table.of_type("text") if self.options(column)]
        if match := GROUPED.search(self.text):
            for word in words_of(match["what"] or match["zh"] or "")[:2]:
                if found := self._named(word):
                    self.taken = word
                    return found
        if said.WHO.search(self.text):
            return _sure(next(iter(_persons(self.table)), None), 0.5)
        match = _BEST.search(self.text) or _OPENING.search(self.text)
        ranked = self.ranked() or said.GROWTH.search(self.text) is not None
        if self.ranked() and _HEADLESS.search(self.text):
            return _sure(self.key(), 0.4)
        if match and ranked:
            plain = next((each for each in match.groups() if each), "")
            for each in self.found or ():
                plain = plain.replace(self.text[each.start : each.end], " ")
            words = [word for word in words_of(plain) if not said.calculates(word) and not is_degree(word)][:4]
            for at, word in enumerate(words):
                if (found := self._named(word)) and (not at or found[1] == 1):
                    found, word = _headed(self, plain, words[at:], found)
                    if found[0].type == "date" and said.by_time(self.text):
                        return _sure(self.key(), 0.5)  # the row with this date
                    self.taken = word
                    return found
            asks = re.search(r"\bwhich\b|哪|\btop\b|\bname the\b|前.{1,3}[名个家]", self.text, re.I)
            if asks and offered:
                return offered[0], 0.4
            if asks and any(self.names_rows(word) for word in words[:2]):
                return _sure(self.key(), 0.4)
            if asks and not re.search(r"\bwhat\b", self.text, re.I):
                return None, -1.0
        if offered and ranked:
            return offered[0], 0.4
        return (self.key() if ranked and said.count_of(self.text) > 1 else None), 0.0  # `three highest salaries`

    def asked_for(self) -> PColumn | None:
        """Return the column of text that is named right behind `which`, `what` or `list`."""
        match = _ATTRIBUTE.search(self.text)
        if match is None and said.WHO.search(self.text):
            named = _persons(self.table)
            return named[0] if len(named) == 1 else None
        match = match or _OPENING.search(self.text)
        behind = next((each for each in match.groups() if each), "") if match else ""
        words, texts = words_of(behind), [each for each in self.table.of_type("text") if not says_whether(each)]
        self.taken, begun = _begun(behind, texts)
        if begun:
            return begun
        for word in words[:2]:
            named = [column for column in texts if any(same(word, own) for own in column.words) or word == column.name]
            if len(named) == 1:
                self.taken = word
                return named[0]
        rows = next((word for word in words[:2] if self.names_rows(word) and not self._is_head(word)), "")
        self.taken = rows or self.taken
        return self.key() if rows else None

    def _named(self, word: str) -> tuple[PColumn, float] | None:
        if word in ("row", "rows"):
            return None
        scored = [
            (_means(word, column) if column.type == "text" else float(word in column.words), column)
            for column in self.table.of_type("text", "date", "year", "month")
            if not says_whether(column)
        ]
        times = self.table.of_type("date", "year") if word in _YEARS else self.table.of_type("month", "date")
        if word in _TIMES and times:
            return times[0], 1.0
        score, column = max(scored, key=lambda pair: pair[0], default=(0.0, None))
        numeric = max((likeness(word, each) for each in self.figures), default=0.0)
        return (column, score) if column is not None and score >= _ALIKE and score >= numeric else None

    def rest(self, group: PColumn | None) -> list[str]:
        """Return the words that may name the measure."""
        text = list(self.text)
        for each in (*(self.found or ()), *self.periods, *self.limits, *(limit for _, limit in self.bound)):
            for i in range(each.start, each.end):
                text[i] = " "
        plain = "".join(text).replace(self.how_words or "\0", " ")
        words = [word for word in words_of(plain) if self._is_head(word) or not (word in GENERIC or is_degree(word))]
        return [
            word
            for word in words
            if word != self.taken and not (group and any(same(word, each) for each in group.words))
        ]

    def _is_head(self, word: str) -> bool:
        return any(word in column.words for column in self.figures)

    def noun(self) -> list[str]:
        """Return the words of what is counted: `orders` in `how many orders` and in `the most orders`."""
        match = counting(self.text) or MOST_OF.search(self.unlimited)
        if match is None:
            return []
        found = next((each for each in match.groups() if each), "")
        return words_of(re.sub(r"^(?:[间座辆本张块只栋艘头棵]|(?:different|distinct|various|separate)\b)", "", found))

    def value_counted(self) -> bool:
        """Return whether a value stands where the counted noun does: `how many oaks`, `the most croissants`."""
        match = COUNTED.search(self.text) or MOST_OF.search(self.unlimited)
        if match is None or not self.found:
            return False
        return any(-1 <= each.start - _start(match) <= 4 for each in self.found)

    def different(self) -> PColumn | None:
        """Return the column whose different values are counted: `how many products`, where each has several rows."""
        words = self.noun()[:1] if COUNTED.search(self.text) else []
        for column in self.table.of_type("text"):
            named = any(same(word, own) or people(word, own) for word in words for own in column.words)
            if named and column.different and not self.table.unique(column) and not self.of(column):
                return column
        return None

    def counts(self, words: Sequence[str], group: PColumn | None) -> bool:
        """Return whether the rows are what is counted: they are named by a column, a value or the file."""
        counted = counting(self.text)
        compared = self.degree and not MOST_OF.search(self.unlimited)  # the smallest boat is not the fewest boats
        if counted is None and (compared or not self.ranked() or said.GROWTH.search(self.text)):
            return False
        if self.value_counted():
            return True
        after = self.noun()[:2] or list(words)
        heads = [column for column in self.table.of_type("text") if column is not group]
        for word in after or (["row"] if counted and has_cjk(self.text) else []):
            if word in GENERIC and word not in ("people", "person") or self.names_rows(word):
                return True
            if any(likeness(word, column) >= NEAR for column in heads):
                return True
        return False


def _headed(
    meant: Meant, text: str, words: Sequence[str], found: tuple[PColumn, float]
) -> tuple[tuple[PColumn, float], str]:
    """Return the column that the last of two nouns side by side names, and the noun: `material supplier`."""
    if len(words) < 2 or not re.search(rf"\b{words[0]}\w* {words[1]}", text, re.I):
        return found, words[0]
    second = meant._named(words[1])
    return (second, words[1]) if second and second[1] == 1 else (found, words[0])


def counting(text: str) -> re.Match[str] | None:
    """Return what asks for a number or a share of things."""
    return COUNTED.search(text) or PART_OF.search(text)


def _title(table: PTable) -> str:
    return f"{table.title} {re.sub(r'[.][a-z]{2,5}(?= |$)|[._-]', ' ', table.file)}"


def titled(table: PTable) -> list[str]:
    """Return the words of title and file for their meaning, also with a capital: German nouns mean little without."""
    return [form for word in re.findall(r"[^\W\d]{4,}", _title(table)) for form in (word.lower(), word.capitalize())]


def _persons(table: PTable) -> list[PColumn]:
    """Return the columns of text that name people, their names before their numbers."""
    near = {each: cosine("person name", each.said.lower()) for each in table.of_type("text")}
    things = {each: cosine("product name", each.said.lower()) for each in near}
    called = {each for each in near if each.values and all(map(_FULL_NAME.fullmatch, each.values))}
    found = [
        each for each in near if each in called or _PERSON.search(each.name) or near[each] > max(0.3, things[each])
    ]
    return sorted(found, key=lambda each: (each not in called, not _PERSON.search(each.name), -near[each]))


def _undated(when: Sequence[Period], table: PTable) -> Sequence[Period]:
    """Return times without the year that title or file of a table of months say."""
    if not table.times or table.times[0].type != "month":
        return when
    head = f"{table.title} {table.file}"
    parts = [(each, *each.text.partition("-")[::2]) for each in when]
    return [
        each if year not in head else replace(each, text=f"-{month}")
        for each, year, month in parts
        if month or year not in head
    ]


def _begun(text: str, columns: Sequence[PColumn]) -> tuple[str, PColumn | None]:
    """Return the start of a Chinese text that is that of one column's name, and the column: 采购单号 of 采购单有…"""
    shared = {commonprefix([each.name, text]): each for each in columns if has_cjk(text)}
    longest = max(shared, key=len, default="")
    alike = [each for each in columns if each.name.startswith(longest)]
    return (longest, alike[0]) if len(longest) > 1 and len(alike) == 1 else ("", None)


def counterparts(name: PColumn, columns: Sequence[PColumn]) -> list[PColumn]:
    """Return the figures to compare with one, as what was spent with a budget: of its time, or else of none."""
    alike = [
        each
        for each in columns
        if each is not name and each.unit == name.unit and (each.unit or cosine(each.said, name.said) >= NEAR)
    ]
    of_its_time = [each for each in alike if _times_of(each) == _times_of(name)]
    return of_its_time or [each for each in alike if not _times_of(each)]


def _times_of(column: PColumn) -> list[str]:
    return [each.text for each in periods(column.name)]


def _start(match: re.Match[str]) -> int:
    """Return where the noun starts that a match found."""
    return next((match.start(name) for name in match.groupdict() if match[name]), match.end())


def _means(word: str, column: PColumn) -> float:
    """Return how likely a word means a column, 0 to 1."""
    score = likeness(word, column)
    return max(score, 0.9) if any(synonymous(word, own) for own in column.words) else score


def _says(text: str, name: str) -> bool:
    """Return whether a question has a name, or all its words."""
    asked = words_of(text)
    return name in text or all(any(same(word, own) for word in asked) for own in words_of(name) or ["?"])
