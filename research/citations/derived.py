"""Recompute figures of a claim that no source states from figures that the cited sources do state.

All values are in base units.  The claim must name the operation, the operands must share unit, year and measure, and the
result must match to the written precision; otherwise nothing is derived.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from math import prod

from msgspec import Struct

from research._util.glossary import said, says
from research.citations.arithmetic import (
    CHANGE,
    DIFFERENCE,
    MEAN,
    OPERANDS,
    RATIO,
    SUM,
    equals,
)
from research.citations.lexicon import sides
from research.citations.matching import has
from research.citations.measures import Quantity
from research.citations.names import Names, contains_name, is_country
from research.citations.order import Order, portion, stated
from research.citations.quantities import quantities
from research.citations.reading import Sentence, stems, years
from research.citations.wholes import part_of, wholes

POOL = 14
"""Maximum number of figures of the sources that are combined."""
_YEARLY = re.compile(r"\b(?:a|per|each|every) year\b|\bannual(?:ly|ized|ised)?\b|每年|年均", re.I)
_PER_AREA = re.compile(r"\bper (?:sq|square)\b|[每/]平方(?:公里|千米)", re.I)
_PER_HEAD = re.compile(r"\bper (?:capita|person|head|inhabitant|resident)\b|人均|[每/]人", re.I)
_SPAN = re.compile(
    r"\b(?:after|before|later|earlier|for|between|aged?|old|lasted|over|spent|separat\w+|gap|lifespan|when|took|"
    r"within|until|elapsed|apart)\b|后|前|岁|历时|用了|花了|持续|长达|隔|约有|时间|享年|终年|期间",
    re.I,
)
_OLD = re.compile(r"\b(?:aged?|old|lived|lifespan|at the age of)\b|岁|享年|终年", re.I)
_AGED = re.compile(r"\bage[ds]?(?: of)?(?: about| around| nearly)? $", re.I)
_RATE = re.compile(r"\s?[A-Za-z() ]{0,300}/(?P<per>1,?000|100,?000)\b")
_TAKEN = re.compile(r"\bdifference (?:of|between)\b|\bminus\b|减去|之差", re.I)
_REST = re.compile(
    r"\b(?:not|without|rest|remain\w*|others?|else|outside|besides?|except|lacks?|no|non-?\w+)\b|其余|以外|之外|其他|剩|没|不|未|无",
    re.I,
)
_BRACKET = re.compile(r"[(（][^()（）]*[)）]")
_PRONOUN = re.compile(
    r"\W{0,9}(?:(?:in|by|on|at) [^,]{1,30},? )?(?:he|she|it|they|his|her|its|their)\b|\W{0,9}(?:他|她|它|该|其)", re.I
)


_TAIL = re.compile(r"[^,.;:，。；：()（）]*")


@lru_cache(maxsize=1)
def operators() -> frozenset[str]:
    """Return the stems of words that name an operation, a comparison or a person, not what is measured."""
    return stems(
        "difference gap combined together sum altogether times ratio average mean differs against compared "
        "versus points highest lowest age aged old died lived he she they "
        "took take lasted spent elapsed passed 用 历时 花 持续 "
        "合计 总计 共计 一共 总共 总和 相差 差距 差额 之差 两者 倍 平均"
    )


class Operand(Struct, frozen=True):
    """A figure of a source, with what it is a figure of."""

    quantity: Quantity
    line: Sentence
    words: frozenset[str]
    years: frozenset[int]


class Derivation(Struct, frozen=True):
    """How a figure of a claim follows from figures of the sources."""

    formula: str
    lines: tuple[Sentence, ...]


def derive(names: Names, claim: Sentence, q: Quantity, rank: Sequence[Sentence]) -> Derivation | None:
    """Return how a figure of a claim follows from the sources, whose lines come most similar first; None if it does not."""
    aged = not q.unit and _AGED.search(claim.text[: q.start])
    if (aged or q.unit == "years") and (found := _duration(names, claim, q, rank)):
        return found
    pool = list(_operands(names, claim, q, rank))[:POOL]
    for operands, value, unit, formula in _results(names, claim, q, pool):
        made = Quantity("number", "", value, 0.0, unit or q.unit, 0, 0)
        if (
            value
            and unit == q.unit
            and _same_trade(claim, operands)
            and (equals(q, value) or ((q.weak or q.hedge) and q.states(made)))
        ):
            lines = tuple({id(each.line): each.line for each in operands}.values())
            return Derivation(f"{formula} = {q.written}", lines)
    return None


_TRADE = sides("imports") | sides("exports")


def _same_trade(claim: Sentence, operands: Sequence[Operand]) -> bool:
    """Return whether a claim about exports or imports is made from lines about them, if all lines have labels."""
    labels = [each.line.label for each in operands]
    return not all(labels) or sides(claim.text) & _TRADE <= sides(" ".join(labels))


def operation_only(names: Names, claim: Sentence, q: Quantity) -> bool:
    """Return whether a claim is only an operation with its result (`The difference is 3% of GDP`).

    Names, the measure and the year are in the sentence before.
    """
    tail = _TAIL.match(claim.text, q.end)
    unit = stems(tail[0]) if tail and len(tail[0].split()) <= 4 else frozenset()
    named = SUM.search(claim.text) or DIFFERENCE.search(claim.text) or RATIO.search(claim.text)
    figures = [each for each in quantities(claim.context) if each.kind == "number"]
    terms = stems(" ".join(said(claim.text))) if claim.cjk else frozenset()
    return bool(named) and len(figures) > 1 and not claim.keys - names.words(claim.text) - operators() - unit - terms


def _operands(names: Names, claim: Sentence, q: Quantity, rank: Sequence[Sentence]) -> Iterator[Operand]:
    """Yield the figures that the claim may be about: of its names and years, and with a word in common."""
    called = [key for _, _, key in names.of(claim.text) or names.of(claim.context) if is_country(key)]
    outside = operation_only(names, claim, q)
    about_text = f"{claim.text}\n{claim.context}" if outside else claim.text
    given = quantities(claim.context) if outside else ()
    words, dated = stems(about_text), claim.years or years(claim.context)
    # In another language than the lines, terms of the glossary tell which of them are meant.
    meant = {line.label for line in rank[:40] if claim.cjk and not line.cjk and says(about_text, line.label)}
    for line in rank[:40]:
        if meant and line.label not in meant:
            continue
        titles = [key for _, _, key in names.of(line.title) if is_country(key)]
        if titles and called and not set(titles) & set(called):
            continue
        for figure in line.figures:
            s = figure.quantity
            if s.kind != "number" or not s.value or s.hedge in ("over", "under"):
                continue
            if s.weak and not q.weak and not stated(claim.text, Operand(s, line, frozenset(), frozenset())):
                continue
            if given and not any(each.states(s) for each in given):
                continue
            own = years(figure.own) or years(line.label) or (line.years if len(line.years) == 1 else frozenset())
            if dated and own and not own & dated:
                continue
            about = stems(line.label) or stems(figure.own) or stems(line.text)
            if (
                meant
                or about & words
                or sides(line.label or figure.own) & sides(about_text)
                or _PER_AREA.search(claim.text)
            ):
                yield Operand(s, line, about, own)


_Result = tuple[tuple[Operand, ...], float, str, str]


def _results(names: Names, claim: Sentence, q: Quantity, pool: Sequence[Operand]) -> Iterator[_Result]:
    """Yield operands, value, unit and formula for each operation that the claim names."""
    text = claim.text
    if (SUM.search(text) or MEAN.search(text)) and not _TAKEN.search(text):
        for n in range(2, min(len(pool), OPERANDS) + 1):
            for some in combinations(pool, n) if len(pool) <= 8 else _neighbours(pool, n):
                if len({each.quantity.unit for each in some}) == 1 and _alike(claim, some):
                    total = sum(each.quantity.value for each in some)
                    written = " + ".join(each.quantity.written for each in some)
                    if SUM.search(text):
                        yield some, total, q.unit if some[0].quantity.unit == q.unit else "?", written
                    if MEAN.search(text):
                        yield some, total / n, some[0].quantity.unit, f"({written}) ÷ {n}"
    for a, b in combinations(pool, 2):
        yield from _pair(names, claim, q, a, b)
    repeated = [each for each in pool if each.quantity.written in text]
    yield from _portions(text, repeated)
    if q.unit == "%":
        yield from _of_sums(text, pool)


def _of_sums(text: str, pool: Sequence[Operand]) -> Iterator[_Result]:
    """Yield the share of a figure in the sum of several, or of a sum in one; the claim must state each and say which is which."""
    found = portion(text, pool)
    if found is None:
        return
    top, whole = ([pool[n] for n in each] for each in found)
    some = list(dict.fromkeys([*top, *whole]))
    if len({each.quantity.unit for each in some}) > 1 or len({_subject(each) for each in some}) > 1:
        return
    one, two = (sum(each.quantity.value for each in part) for part in (top, whole))
    written = (" + ".join(each.quantity.written for each in part) for part in (top, whole))
    formula = " ÷ ".join(f"({each})" if "+" in each else each for each in written)
    if two > 0:
        yield tuple(some), 100 * one / two, "%", formula


def _portions(text: str, pool: Sequence[Operand]) -> Iterator[_Result]:
    """Yield what percentages and rates give, alone or of a whole; the claim must state each of these figures."""
    shares = [(each, per) for each in pool if (per := _per(each)) > 1]
    wholes = [each for each in pool if _per(each) == 1]
    for share, per in shares:
        if per == 100 and _REST.search(text):
            yield (share,), 100 - share.quantity.value, "%", f"100% − {share.quantity.written}"
    for whole in wholes:
        two, unit = whole.quantity, whole.quantity.unit
        alike = [(each, per) for each, per in shares if _subject(each) == _subject(whole)]
        parts = [(each, per) for each, per in alike if _is_part(each, whole)]
        chained = (pair for pair in combinations(alike, 2) if _chained(pair[0][0], pair[1][0], whole))
        for some in (*((each,) for each in parts), *chained):
            factors = [each.quantity.value / per for each, per in some]
            written = " × ".join(
                f"{each.quantity.written} ÷ {per:,}" if per != 100 else each.quantity.written for each, per in some
            )
            operands = (*(each for each, _ in some), whole)
            yield operands, prod(factors) * two.value, unit, f"{written} × {two.written}"
        for share, per in parts:
            if per == 100:
                value = (100 - share.quantity.value) / 100 * two.value
                yield (share, whole), value, unit, f"(100% − {share.quantity.written}) × {two.written}"


def _is_part(share: Operand, whole: Operand) -> bool:
    """Return whether a percentage or rate is of a whole: by the table of labels, or because its line says `% of …`."""
    found = wholes(share.line.label)
    if found:
        return found == (whole.line.label,)
    after = share.line.text[share.quantity.end :]
    return part_of(after, whole.line.label or whole.line.text[whole.quantity.end :])


def _chained(one: Operand, two: Operand, whole: Operand) -> bool:
    """Return whether two rates are multiplied: deaths per birth, births per head, heads."""
    labels = {each.line.label for each in (one, two, whole)}
    return any({each.line.label, *wholes(each.line.label)} == labels for each in (one, two))


def _per(operand: Operand) -> int:
    """Return what a figure is per: 100 for a percentage, 1,000 for `deaths/1,000 population`, 1 for an amount."""
    if operand.quantity.unit == "%":
        return 100
    match = _RATE.match(operand.line.text, operand.quantity.end)
    return int(match["per"].replace(",", "")) if match else 1


def _subject(operand: Operand) -> str:
    return operand.line.title.split(" · ")[0]


def _neighbours(pool: Sequence[Operand], n: int) -> Iterator[tuple[Operand, ...]]:
    for start in range(len(pool) - n + 1):
        yield tuple(pool[start : start + n])


def _pair(names: Names, claim: Sentence, q: Quantity, a: Operand, b: Operand) -> Iterator[_Result]:
    text, pair = claim.text, (a, b)
    one, two = a.quantity, b.quantity
    if one.unit != two.unit:
        yield from _rates(text, q, a, b)
        return
    if one.value == two.value or one.written == two.written:
        return
    series = bool(a.years and b.years and not a.years & b.years)
    large, small = (a, b) if abs(one.value) > abs(two.value) else (b, a)
    big, little = large.quantity, small.quantity
    if not (_alike(claim, pair) or _both_stated(claim, pair) or (series and _same_series(claim, a, b))):
        return
    order = Order(text, q, large, small)
    if not _directed(names, claim, large, small, order):
        return
    if DIFFERENCE.search(text):
        yield pair, abs(one.value - two.value), one.unit, f"{big.written} − {little.written}"
    if RATIO.search(text) and not q.unit:
        yield from _ratios(names, claim, large, small, order)
    if q.unit != "%" or one.unit == "%":
        return
    if not series or _both_stated(claim, pair):
        # without a word which is which it is the smaller one of the larger one
        told = order.share()
        top, base = (small, large) if told is None or Order(text, q, small, large).share() else (large, small)
        allowed = top is small or _both_stated(claim, pair)  # what is over 100% might be meant the other way round
        if allowed and (told is None or Order(text, q, top, base).share()):
            formula = f"{top.quantity.written} ÷ {base.quantity.written}"
            yield pair, 100 * top.quantity.value / base.quantity.value, "%", formula
    if CHANGE.search(text):
        yield from _changes(text, pair, order if large is a else Order(text, q, a, b), series=series)


def _ratios(names: Names, claim: Sentence, large: Operand, small: Operand, order: Order) -> Iterator[_Result]:
    first, second = (_place(names, claim, each) for each in (large, small))
    told = order.ratio()
    top, base = (large, small) if first < second or (first == second and told is not False) else (small, large)
    ratio = top.quantity.value / base.quantity.value
    yield (large, small), ratio, "", f"{top.quantity.written} ÷ {base.quantity.written}"


def _changes(text: str, pair: tuple[Operand, Operand], order: Order, *, series: bool) -> Iterator[_Result]:
    """Yield changes in percent; between two measures only if the claim compares them."""
    a, b = pair
    old, new = (a, b) if not series or max(a.years) < max(b.years) else (b, a)
    told = order.compared()
    measures = bool(a.line.label and b.line.label) and not series and a.line.label != b.line.label
    if measures and told is None and _subject(a) == _subject(b):
        return
    for first, last in ((old, new),) if series else ((old, new), (new, old)):
        if not series and told is (first is a):
            continue
        change = abs(last.quantity.value / first.quantity.value - 1)
        written = f"({last.quantity.written} − {first.quantity.written}) ÷ {first.quantity.written}"
        yield pair, 100 * change, "%", written
    span = abs(max(a.years, default=0) - max(b.years, default=0))
    if series and span > 1 and _YEARLY.search(text) and old.quantity.value * new.quantity.value > 0:
        rate = abs((new.quantity.value / old.quantity.value) ** (1 / span) - 1)
        yield pair, 100 * rate, "%", f"({new.quantity.written} ÷ {old.quantity.written})^(1/{span}) − 1"


def _both_stated(claim: Sentence, pair: tuple[Operand, Operand]) -> bool:
    """Return whether a claim has the labels and figures of both lines, and their years if these differ."""
    a, b = pair
    same = not a.years or not b.years or bool(a.years & b.years)
    dated = same or bool(claim.years & a.years and claim.years & b.years)
    return dated and _subject(a) == _subject(b) and all(stated(claim.text, each) for each in pair)


def _rates(text: str, q: Quantity, a: Operand, b: Operand) -> Iterator[_Result]:
    """Yield densities and amounts a head: the only quotients of unlike units."""
    if _subject(a) != _subject(b):
        return
    for top, base in ((a, b), (b, a)):
        if top.quantity.unit != q.unit:
            continue
        factor = 0.0
        if _PER_AREA.search(text) and base.quantity.unit == "area":
            factor = 1e6
        elif _PER_HEAD.search(text) and not base.quantity.unit and base.quantity.value > 1_000:
            factor = 1.0
        if factor:
            formula = f"{top.quantity.written} ÷ {base.quantity.written}"
            yield (top, base), factor * top.quantity.value / base.quantity.value, q.unit, formula


def _alike(claim: Sentence, operands: Sequence[Operand]) -> bool:
    """Return whether figures are of one year, and of one measure unless the claim names each."""
    dated = [each.years for each in operands if each.years]
    if len(dated) > 1 and not frozenset.intersection(*dated):
        return False
    return _measures(claim, operands)


def _measures(claim: Sentence, operands: Sequence[Operand]) -> bool:
    """Return whether operands from labelled lines measure the same, or the claim has a word for what tells them apart."""
    common = frozenset.intersection(*(each.words for each in operands))
    for each in operands:
        apart = each.words - common
        if (
            each.line.label
            and apart
            and not (
                apart & claim.keys or sides(" ".join(apart)) & sides(claim.text) or says(claim.text, each.line.label)
            )
        ):
            return False
    return True


def _same_series(claim: Sentence, a: Operand, b: Operand) -> bool:
    """Return whether two figures are one measure in two years, and the claim names both years or a change."""
    if a.line.title != b.line.title or not _measures(claim, (a, b)):
        return False
    if claim.years:
        return bool(claim.years & a.years and claim.years & b.years)
    return CHANGE.search(claim.text) is not None


def _directed(names: Names, claim: Sentence, large: Operand, small: Operand, order: Order) -> bool:
    """Return whether the claim has the two the right way round, if it says which is larger or that one grew."""
    ends = sides(claim.text)
    up, down = (0, 0) in ends, (0, 1) in ends
    if large.years and small.years and not large.years & small.years:
        grew = max(large.years) > max(small.years)
        return up in (down, grew)
    first, second = (_place(names, claim, each) for each in (large, small))
    more, less = (1, 0) in ends, (1, 1) in ends
    if first == second or first < 0 or second < 0:
        return (more and less) or order.larger(less=less) is not False
    if re.search(r"\bthan\b|比", claim.text) and not (more and less):
        return (first < second) != less
    return True


def _place(names: Names, claim: Sentence, operand: Operand) -> int:
    """Return where the claim has the name that a figure is about; -1 if nowhere."""
    about = f"{operand.line.title}\n{operand.line.text}" if operand.line.label else operand.line.text
    found = [place for place, _, key in names.of(claim.text) if contains_name(about, key)]
    return found[0] if len(found) == 1 else -1


def _duration(names: Names, claim: Sentence, q: Quantity, rank: Sequence[Sentence]) -> Derivation | None:
    """Return how an age or duration follows from two years or dates that share words with the claim."""
    called = [key for _, _, key in names.of(claim.text)]
    words = claim.keys - operators()
    for line in rank[:12]:
        about = f"{line.title}\n{line.context if _PRONOUN.match(line.text) else ''}\n{line.text}"
        if line.cjk != claim.cjk or not all(contains_name(about, key) for key in called):
            continue
        spans = [match[0] for match in _BRACKET.finditer(line.text)] if _OLD.search(claim.text) else []
        if 2 * sum(has(Sentence(about), key) for key in words) >= len(words):
            spans.append(line.text)
        for span in spans:
            dated = [each for each in quantities(span) if each.kind in ("year", "date") and _year(each)]
            if len(dated) == 2 and (formula := _between(q, *dated)):
                return Derivation(formula, (line,))
    if not _SPAN.search(claim.text):
        return None
    moments: list[tuple[int, str, Sentence, frozenset[str]]] = []
    for line in rank[:12]:
        if line.cjk != claim.cjk:
            continue
        for clause in line.clauses:
            found = years(clause)
            shared = (stems(clause) | (stems(line.title) if line.label else frozenset())) & claim.keys
            if len(found) == 1 and shared:
                moments.append((min(found), str(min(found)), line, frozenset(shared)))
    for (a, early, one, mine), (b, late, two, theirs) in combinations(moments, 2):
        if a != b and mine != theirs and _elapsed(q, a, b):
            first, last = (early, late) if a < b else (late, early)
            lines = (one,) if one is two else (one, two)
            return Derivation(f"{last} − {first} = {q.written}", lines)
    return None


def _year(q: Quantity) -> int:
    return q.date[0] if q.kind == "date" else int(q.value)


def _between(q: Quantity, one: Quantity, two: Quantity) -> str:
    """Return the formula of the years between two dates, completed ones if both have a day; empty if it is not `q`."""
    first, last = sorted((one, two), key=lambda each: each.date if each.kind == "date" else (int(each.value), 0, 0))
    passed = _year(last) - _year(first)
    if first.date[2] and last.date[2] and first.date[1:] > last.date[1:]:
        passed -= 1
    return f"{last.written} − {first.written} = {q.written}" if passed > 0 and _is_years(q, passed) else ""


def _elapsed(q: Quantity, one: int, two: int) -> bool:
    return _is_years(q, abs(one - two))


def _is_years(q: Quantity, passed: int) -> bool:
    return equals(q, passed) or bool(q.hedge and q.states(Quantity("number", "", passed, 0.0, "years", 0, 0)))
