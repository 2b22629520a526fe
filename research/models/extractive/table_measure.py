"""Find the column of figures that a question is about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.models.extractive import table_words as said
from research.models.extractive.similarity import cosine
from research.models.extractive.table_columns import NEAR, best, same, words_of
from research.models.extractive.table_degrees import measured
from research.models.extractive.table_meant import COUNTED, MOST_ALONE, Meant, counting
from research.models.extractive.table_nouns import quantity
from research.models.extractive.table_reading import PColumn
from research.models.extractive.table_synonyms import means, synonymous
from research.models.extractive.table_units import UNITS, unit_of
from research.models.extractive.times import DAY
from research.text import has_cjk

_PIECES = re.compile(r"(?:多少|几)[个台套件部辆本支只张箱瓶盒](?![^\W\d_])")
"""Matches a question for pieces of goods, of which a row may have several: 卖了多少台."""


class Measured(Meant):
    """One question read against one table, with what it measures."""

    def measure(self, words: Sequence[str], group: PColumn | None) -> tuple[PColumn | None, float]:
        """Return the column of figures that the words mean, and how sure that is."""
        columns, noun = self.figures, self.noun()
        counted = noun and counting(self.text) and not self._named_by(noun[0])
        if counted and noun[0] not in UNITS and (self.names_rows(noun[0]) or self.different()):
            return None, 0.0
        if self.table.by_month:  # no things are counted, but the months in which something is so
            if noun[:1] == ["month"]:
                return None, 0.0
            found_in = best(words, columns, self._beside(words))
            return (columns[0], found_in.score if found_in else 0.5) if columns else (None, 0.0)
        if self.wide:
            by = self._by_degree(words) if self.degree and not said.GROWTH.search(self.text) else (None, 0.0)
            return by if by[0] else self._of_years(words)
        if noun and (found := self._counted(noun)) is not None:
            return found
        most = [word for word in words if len(word) > 1 and not said.calculates(word)]
        if group and most and re.search("最[多少]", self.text) and all(map(self._only_names_a_row, most)):
            return None, 0.0  # 哪个城市员工最多
        # A name of several words as it stands in the table is not those words by chance: the reply *Goals for*.
        phrase = has_cjk(self.text)
        inside = [column for column in columns if column.name in self.text and (phrase or " " in column.said)]
        if inside:
            return max(inside, key=lambda column: len(column.name)), 1.0
        when = self.table.times
        if group and when and said.by_time(self.text) and not self.degree:
            found_when = best(words, [*columns, *when])
            if found_when is None or found_when.column in when:
                return when[0], 0.6
        if self.how:
            asked = [column for column, _ in measured(self.how, columns)]
            chosen = best(words, asked) if len(asked) > 1 else None
            return (chosen.column if chosen else asked[0], 1.0) if chosen or len(asked) == 1 else (None, 0.0)
        if self.degree and not said.GROWTH.search(self.text):
            return self._by_degree(words)
        if said.GROWTH.search(self.text) and len(columns) == 1 and all(map(said.calculates, words)):
            return columns[0], 0.5  # `which region grew fastest` of a table with one figure
        if self.found and _PIECES.search(self.text) and (pieces := quantity(self.table)):
            return pieces, 1.0
        alike = [
            each for each in columns if any(synonymous(word, own) for word in words for own in (each.name, *each.words))
        ]
        if len(alike) == 1 and not any(map(self._is_head, words)):
            return alike[0], 0.9
        found_best = best(words, columns, self._beside(words))
        if found_best is None and group and len(columns) == 1 and MOST_ALONE.search(self.unlimited):
            return columns[0], 0.5  # `which service brought in the most`
        return (found_best.column, found_best.score) if found_best else (None, 0.0)

    def _of_years(self, words: Sequence[str]) -> tuple[PColumn | None, float]:
        """Return the measure of a table with a column for each year: that of the years, or another one."""
        own, title = [*words_of(self.kind), *self.head], self.table.title if has_cjk(self.text) else ""
        named = (
            [word for word in (*words, *self.noun()[:1]) if word in title or any(means(word, each) for each in own)]
            or self.kind
            and self.kind in self.text
        )
        rest = [column for column in self.figures if column not in self.wide.values()]
        inside = [column for column in rest if has_cjk(column.name) and column.name in self.text]
        if inside and not named:
            return max(inside, key=lambda column: len(column.name)), 1.0
        left = [word for word in words if not said.calculates(word)]
        other = best(left, rest)
        if other is not None and not (other.score < 1 and named):
            return other.column, other.score
        if left and not named and cosine(" ".join(left), self.kind or " ".join(self.head) or "?") < NEAR:
            return None, 0.0
        latest = list(self.wide)[-1]  # without a period in the question, the latest year is meant; no quarter is
        year = next((each.text for each in self.periods if each.text in self.wide), latest if latest.isdigit() else "")
        return (self.wide[year], 1.0 if named else 0.5) if year else (None, 0.0)

    def _counted(self, noun: Sequence[str]) -> tuple[PColumn | None, float] | None:
        """Return the column that adds up what is counted, (None, 0) if rows or values are counted; None if neither is clear."""
        first = noun[:1]
        whole = [column for column in self.figures if self._units(column, noun)]
        if len(whole) == 1:
            return whole[0], 1.0
        if first and first[0] in UNITS:  # `how many kilograms`
            match = best(noun[1:], [column for column in self.figures if unit_of(column.unit) == UNITS[first[0]]])
            return (match.column, match.score) if match else None
        counting = [
            column
            for column in self.figures
            if unit_of(column.unit) not in UNITS.values()  # the value of contracts in euros is not how many there are
            and any(means(word, own) for word in first for own in column.words)
        ]
        if len(set(counting)) == 1:
            return counting[0], 1.0
        if counting:
            return None
        if any(map(self.names_rows, first)):
            return None, 0.0
        if self.found and self.value_counted() and (pieces := quantity(self.table)):
            return pieces, 1.0
        if COUNTED.search(self.text) and not has_cjk(self.text):
            return None, 0.0
        return None

    def time(self) -> PColumn | None:
        """Return the column of dates that periods or a change refer to."""
        dated = any(DAY.search(each.text) for each in self.periods)
        when = [each for each in self.table.times if not dated or DAY.search(each.low)]
        if not when or (when[0].type == "month" and any(each.text[0] != "-" for each in self.periods)):
            return None
        if when[0].type == "year" and any("-" in each.text for each in self.periods):
            return None  # no month of a table by years
        words = words_of(self.text)
        named = [column for column in when if any(same(word, each) for word in words for each in column.words)]
        return (named or when)[0]

    def _named_by(self, word: str) -> bool:
        """Return whether a column of figures is named by a word, or the years of a table are about it."""
        years = words_of(self.kind) if self.wide else []
        return any(means(word, own) for own in (*years, *(own for each in self.figures for own in each.words)))

    def _only_names_a_row(self, word: str) -> bool:
        return self.names_rows(word) and not self._named_by(word)

    def one_row(self) -> bool:
        """Return whether a value that the question names is that of one row."""
        return any(self.table.unique(each.column) for each in self.found or ())

    def _units(self, column: PColumn, noun: Sequence[str]) -> bool:
        """Return whether a column is named by a whole noun, or has it as its unit: `rainy days`, 台."""
        if has_cjk(self.text):
            return bool(column.unit) and column.unit in noun and column.name in self.text
        names = column.words
        return len(names) > 1 and all(any(same(word, own) for word in noun[: len(names)]) for own in names)

    def _by_degree(self, words: Sequence[str]) -> tuple[PColumn | None, float]:
        """Return the column by which things are old, fast or cheap, or the one that the words name."""
        means = measured(self.degree, [*self.figures, *self.table.times])
        named = [each for each in self.figures if any(same(word, own) for word in words for own in each.words)]
        exact = None if any(column in named for column, _ in means) else best(words, named, self._beside(words))
        sizes = self.degree in ("large", "larg", "big", "bigg", "small")
        if exact is None and sizes and not means:
            exact = best(words, self.figures, self._beside(words))
            if exact is None and len(self.figures) == 1 and words and all(map(self.names_rows, words)):
                return self.figures[0], 0.6  # the smallest contract has the smallest of its only figure
        if exact is not None and all(each is not exact.column for each, _ in means):
            return exact.column, exact.score
        if len(means) > 1:
            chosen = exact or best(words, [column for column, _ in means])
            means = [(column, high) for column, high in means if chosen and column is chosen.column]
        if len(means) != 1:
            return None, 0.0
        column, self.highest = means[0]
        return column, 1.0

    def _beside(self, words: Sequence[str]) -> int | None:
        """Return the position of the word next to a superlative."""
        mark = said.MOST.search(self.text) or said.LEAST.search(self.text)
        if mark is None or not words:
            return None
        places = [self.text.lower().find(word[:5]) for word in words]
        return min(range(len(words)), key=lambda i: abs(places[i] - mark.start()) if places[i] >= 0 else 10**6)
