"""Check that a figure of a claim has, in the source, the same subject, measure and year."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from research.citations.lexicon import negated, opposed, sides, two_sided
from research.citations.matching import Problem, has, match
from research.citations.measures import Quantity, fits
from research.citations.names import Names, contains_name, is_country
from research.citations.quantities import quantities
from research.citations.reading import Figure, Sentence, stems, years
from research.citations.reasons import because

RIVAL = 0.3
"""By how much another line must match the claim's words better for its figure to be the expected one."""


_PERCENT = re.compile(r"%|percent|per cent|\bpoints?\b|百分|占", re.I)
_TIMES = re.compile(r"\s{0,3}(?:times\b|-?fold\b|倍)", re.I)
_TIMES_OF = re.compile(r"\btimes\b|-?fold\b|\bratio\b|twice|double|\b(?:half|third|quarter)s?\b|倍|/|\bper\b", re.I)


def same_kind(claim: Sentence, q: Quantity, line: Sentence, s: Quantity) -> bool:
    """Return whether two figures, one of which may lack a unit, can be the same: not 7% and 7, nor `7 times` and 7 ports."""
    if _TIMES.match(claim.text, q.end) and not _TIMES_OF.search(line.text):
        return False
    one, two = q.unit == "%", s.unit == "%"
    if one == two:
        return True
    if not one:
        return _PERCENT.search(claim.text) is not None
    written = f"{line.title}\n{line.context}\n{line.text}"
    return _PERCENT.search(written) is not None and all(each.unit != "%" for each in line.quantities)


def check_figure(
    names: Names,
    claim: Sentence,
    figure: Figure,
    line: Sentence,
    seen: Figure,
    lines: Sequence[Sentence],
    weights: dict[str, float],
    near: dict[int, float],
) -> list[Problem]:
    """Return the reasons why a figure of the claim is not this figure `seen` in a line of the source."""
    found: list[Problem] = []
    q, s = figure.quantity, seen.quantity
    others = [
        other
        for other in line.figures
        if other is not seen
        and other.own != seen.own
        and fits(q.unit, other.quantity.unit)
        and not q.states(other.quantity)
        and other.quantity.kind == s.kind
        and not other.quantity.weak
    ]
    if q.value * s.value < 0 and not ({(0, 1), (16, 1)} & sides(claim.text) or negated(claim.text)):
        found.append(
            Problem(because("the source has {figure}, with its sign", figure=s.written), against=True, kind="sign")
        )
    found += _check_years(claim, figure, line, seen, others)
    found += _check_names(names, figure, line, seen, others)
    if line.cjk == claim.cjk:
        found += _check_measure(claim, figure, line, seen, others, lines, weights, near, names.words(claim.text))
    return found


def _check_years(
    claim: Sentence, figure: Figure, line: Sentence, seen: Figure, others: Sequence[Figure]
) -> list[Problem]:
    """Check that the figure of the source is of the year that the claim names."""
    claimed = (
        years(figure.own)
        or years(figure.near)
        or (claim.years if len(claim.years) == 1 == len(claim.figures) else frozenset())
    )
    if not claimed:
        return []
    own = years(seen.own) or years(line.label) or (line.years if len(line.years) == 1 else frozenset())
    if own & claimed or _spans(own, claimed):
        return []
    if own:
        said = ", ".join(str(year) for year in sorted(own))
        return [
            Problem(
                because(
                    "the source gives {figure} for {other}, not {name}",
                    figure=seen.quantity.written,
                    other=said,
                    name=_listed(claimed),
                ),
                against=True,
                kind="year",
            )
        ]
    if any(years(other.own) & claimed for other in others):
        return [
            Problem(
                because(
                    "the source does not give {figure} for {name}",
                    figure=seen.quantity.written,
                    name=_listed(claimed),
                ),
                against=True,
                kind="year",
            )
        ]
    return []


def _check_names(names: Names, figure: Figure, line: Sentence, seen: Figure, others: Sequence[Figure]) -> list[Problem]:
    """Check that the names beside the claim's figure are beside the source's too, and not beside another figure."""
    found = []
    own = names.of(figure.own) or names.of(figure.near)
    beside = [name for _, name, _ in names.of(seen.own)]
    held = [k for _, _, k in names.of(seen.own)]
    for _, written, key in own:
        if contains_name(seen.own, key):
            continue
        elsewhere = [other for other in others if contains_name(other.own, key)]
        if beside and any(contains_name(figure.own, k) for k in held):
            continue
        if elsewhere and beside:
            found.append(
                Problem(
                    because(
                        "the source gives {figure} for {other}, not {name}",
                        figure=seen.quantity.written,
                        other=beside[0],
                        name=written,
                    ),
                    against=True,
                    kind="owner",
                )
            )
        elif contains_name(line.text, key) or contains_name(line.context, key):
            continue
        else:
            said = [
                name
                for _, name, k in names.of(line.text) or names.of(line.title)
                if is_country(k) == is_country(key) and not contains_name(figure.own, k)
            ]
            reason = (
                because("the source says {other}, not {name}", other=said[0], name=written)
                if said
                else because("the source does not give {figure} for {name}", figure=seen.quantity.written, name=written)
            )
            found.append(Problem(reason, against=bool(said) and is_country(key), kind="owner"))
    return found


def _check_measure(
    claim: Sentence,
    figure: Figure,
    line: Sentence,
    seen: Figure,
    others: Sequence[Figure],
    lines: Sequence[Sentence],
    weights: dict[str, float],
    near: dict[int, float],
    called: frozenset[str],
) -> list[Problem]:
    """Check that the figure measures what the claim says, by the words beside it and by better matching lines.

    `called` are the words of names, which `_check_names` checks.
    """
    q = figure.quantity
    known = stems(line.title) | stems(line.label) | called
    own, beside = stems(figure.own) - known, stems(seen.own) - known
    if opposed(sides(figure.own), sides(seen.own)) and (own & beside or all(map(two_sided, own))):
        reason = because("the source seems to have the opposite beside {figure}", figure=seen.quantity.written)
        return [Problem(reason, against=True, kind="opposite figure")]
    foreign = {key for key in beside - own if not two_sided(key)}
    for other in others if foreign else ():
        there = stems(other.own) - known
        if (own & there) - beside and not (own & beside) - there:
            return [_instead(other, seen)]
    mine, theirs = _beside(figure) - called, _beside(seen) - called
    for other in others if not figure.quantity.weak else ():
        there = _beside(other) - called
        if (there - theirs) and (there - theirs) <= mine and not (theirs - there) <= mine:
            return [_instead(other, seen)]
    local = (stems(figure.near) or own) - called
    here = match(local, line, weights) if local else 1.0
    if here > 0.9 or (len(local) == 1 and all(map(two_sided, local))):
        return []
    missing = {key for key in local if not has(line, key)}
    for rival in lines:
        if rival is line or rival.cjk != claim.cjk:
            continue
        there_share = match(local, rival, weights)
        # another line also has the word that makes the difference: male, exports, youth
        side = there_share > here and any(has(rival, key) for key in missing if two_sided(key))
        if not (side and there_share >= 0.6) and not there_share >= max(0.45, here + RIVAL):
            continue
        if there_share < 0.9 and near and near.get(id(line), 0.0) >= near.get(id(rival), 0.0) + (0.1 if side else 0.0):
            continue
        given = [f.quantity for f in rival.figures if q.unit == f.quantity.unit]
        said = rival.label or rival.text[:60]
        if given and not any(q.states(g) for g in given):
            reason = because("the source gives {figure} for this ({words})", figure=given[0].written, words=said)
            return [Problem(reason, against=here < 0.5, kind="measure")]
        if not given and here < 0.2:
            what = line.label or line.text[:60]
            written = seen.quantity.written
            return [
                Problem(because("the source has {figure} for something else ({words})", figure=written, words=what))
            ]
    return []


def _instead(other: Figure, seen: Figure) -> Problem:
    figure, stated = other.quantity.written, seen.quantity.written
    reason = because("the source gives {figure} for this, not {stated}", figure=figure, stated=stated)
    return Problem(reason, kind="measure")


Comparison = tuple[list[Problem], tuple[Sentence, Sentence]]
"""Problems of a comparison, and the two lines that it was checked against."""

_THAN = re.compile(r"\bthan\b|比|高于|低于|大于|小于|多于|少于|超过")
_MORE = 1
"""Index of the scale from more to less in `OPPOSITES`."""


def check_comparison(
    names: Names, claim: Sentence, lines: Sequence[Sentence], weights: dict[str, float]
) -> Comparison | None:
    """Check a claim such as `A has more of it than B` against the figures that the sources give for A and B.

    Returns None for other claims, claims with figures, and sources without them.  Figures of the claim's year come first.
    """
    ends = {end for scale, end in sides(claim.text) if scale == _MORE}
    called = list(dict.fromkeys(key for _, _, key in names.of(claim.text)))
    measure = frozenset(k for k in claim.keys - names.words(claim.text) if not two_sided(k))
    if claim.figures or not _THAN.search(claim.text) or len(ends) != 1 or len(called) != 2 or not measure:
        return None
    found = []
    for name in called:
        about = [
            line
            for line in lines
            if line.figures and (contains_name(line.title, name) or contains_name(line.text, name))
        ]
        about = [line for line in about if line.years & claim.years] or about
        if not about:
            return None
        best = max(about, key=lambda line: match(measure, line, weights))
        if match(measure, best, weights) < 0.5:
            return None
        found.append((best, best.figures[0].quantity))
    (one, a), (two, b) = found
    if one is two or a.unit != b.unit or a.value == b.value:
        return None
    if (a.value > b.value) == (ends == {0}):
        return [], (one, two)
    reason = because("the sources give {figure} and {other}", figure=a.written, other=b.written)
    return [Problem(reason, against=True, kind="comparison")], (one, two)


def _beside(figure: Figure) -> frozenset[str]:
    """Return the words beside a figure, with small numbers and ordinals that identify it (`the second prize`)."""
    small = {f"#{q.value:.0f}" for q in quantities(figure.own) if q.weak}
    return stems(figure.own) | small | {"#1" for _ in re.findall(r"\b(?:one|first)\b", figure.own.lower())[:1]}


def check_date(
    q: Quantity, claim: Sentence, used: Sequence[Sentence], lines: Sequence[Sentence], weights: dict[str, float]
) -> list[Problem]:
    """Check that a year or date of the claim is in the sources, and with the same words."""
    if any(q.states(s) or s.states(q) for line in lines for s in (*line.quantities, *quantities(line.context))):
        return [] if claim.figures or q.kind != "year" else _wrong_year(q, claim, lines, weights)
    if q.kind == "year" and any(_spans(line.years, frozenset((int(q.value),))) for line in used):
        return []
    return [Problem(because("the source does not state {figure}", figure=q.written), kind="date")]


def _wrong_year(q: Quantity, claim: Sentence, lines: Sequence[Sentence], weights: dict[str, float]) -> list[Problem]:
    """Report a claim about one year that the source makes, in the same words, about another year only."""
    year = int(q.value)
    same = [line for line in lines if line.cjk == claim.cjk and line.years]
    pieces = [(piece, years(piece)) for line in same for piece in line.clauses]
    total = sum(weights.get(key, 1.0) for key in claim.keys)
    if len(claim.years) != 1 or len(claim.keys) < 2 or not total:
        return []

    def share(text: str) -> float:
        return sum(weights.get(key, 1.0) for key in claim.keys & stems(text)) / total

    here = max((share(piece) for piece, found in pieces if year in found), default=0.0)
    whole = max((share(line.text) for line in same if year in line.years), default=0.0)
    there, found = max(
        ((share(piece), found) for piece, found in pieces if found and year not in found),
        key=lambda pair: pair[0],
        default=(0.0, frozenset()),
    )
    other = max((share(line.text) for line in same if year not in line.years), default=0.0)
    if (there >= 0.6 and not here) or (other >= 0.75 and whole <= other / 2):
        return [
            Problem(
                because("the source does not say this of {name} but of {other}", name=year, other=_listed(found))
                if found
                else because("the source does not say this of {name}", name=year),
                against=there >= 0.75,
                kind="year",
            )
        ]
    return []


def missing_figure(figure: Figure, rank: Sequence[Sentence]) -> Problem:
    """Return the problem of a figure that no line states; `rank` holds the lines, most similar first."""
    q = figure.quantity
    given = [
        f.quantity.written
        for line in rank[:1]
        for f in line.figures
        if f.quantity.unit == q.unit and stems(figure.near) & line.keys
    ]
    reason = because("the source does not state {figure}", figure=q.written)
    if given:
        reason = because("the source does not state {figure}; it has {other}", figure=q.written, other=given[0])
    # a rounded figure close to the source's is not a different figure
    round_ = q.hedge or q.written.rstrip("%").endswith("0") or len(re.sub(r"\D", "", q.written)) <= 2
    close = any(
        f.quantity.unit == q.unit and abs(f.quantity.value - q.value) <= 0.05 * abs(q.value)
        for line in rank[:3]
        for f in line.figures
    )
    return Problem(
        reason,
        figure=not q.weak and not (round_ and close),
        kind="figure" if given and not q.weak and not q.hedge and not _follows(q, rank[:1]) else "",
    )


def _follows(q: Quantity, lines: Sequence[Sentence]) -> bool:
    """Return whether a figure is the sum or difference of two in one line; such a line does not contradict it."""
    for line in lines:
        values = [f.quantity.value for f in line.figures if f.quantity.unit == q.unit]
        for i, a in enumerate(values):
            for b in values[i + 1 :]:
                if any(abs(each - q.value) <= q.half + 1e-9 * abs(q.value) for each in (a + b, abs(a - b))):
                    return True
    return False


def _spans(ranges: frozenset[int], claimed: frozenset[int]) -> bool:
    """Return whether `ranges` holds the two ends of a range that contains all claimed years."""
    return len(ranges) == 2 and all(min(ranges) <= year <= max(ranges) for year in claimed)


def _listed(found: Iterable[int]) -> str:
    return ", ".join(str(each) for each in sorted(found))
