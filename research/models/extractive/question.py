"""Parse a question: names, the measures it asks for, years, and the arithmetic between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal

from msgspec import Struct

from research.models.extractive import patterns
from research.models.extractive.lexicon import concepts, filler, openers
from research.models.extractive.phrasebook import Measure
from research.models.extractive.places import mentions
from research.models.extractive.words import readable
from research.text import STOP_WORDS, has_cjk, tokens

Found = tuple[str, tuple[int, int]]
"""The label of a concept, or a name, with its start and end in the question."""
Operation = Literal["lookup", "growth", "compare", "sum", "mean", "count"]


class Target(Struct, frozen=True):
    """One thing that a question asks for: a concept by its label, or plain words, and words that narrow it down."""

    label: str = ""
    words: tuple[str, ...] = ()
    """Tokens of the question that belong to it, as in `population` of *penguins*; a source must contain them too."""
    beside: tuple[str, ...] = ()
    """Tokens next to it, e.g. `density`; they belong to it if sources use them in labels."""
    near: tuple[str, ...] = ()
    """Other tokens of the clause, e.g. `women`; a line with them is preferred."""
    exact: bool = False
    """Whether only lines with this label fit, or one in `also`."""
    also: tuple[str, ...] = ()
    """Labels that serve if there is no line with the first one."""
    twins: tuple[str, ...] = ()
    """Labels that say the same of something else, which the question may mean too: the next election of parliament."""
    lost: bool = False
    """Whether no label answers this part of the question."""
    asked: str = ""
    """The part of the question, if its own words may differ from those of the label."""
    item: tuple[str, ...] = ()
    """Words that name the item of a list that is asked for."""
    given: bool = False
    """Whether the whole list answers if it has no such item."""

    @property
    def text(self) -> str:
        """The target in words, for queries."""
        return " ".join(filter(None, [self.label, *self.words, *self.beside, *self.near[:2]]))


class Pick(Struct, frozen=True):
    """Selects the member of a group with the most or least of something."""

    target: Target | None
    """None selects by the figure in the list itself, as for the longest border."""
    most: bool


class Question(Struct, frozen=True):
    """A parsed question."""

    text: str
    names: tuple[str, ...]
    """Proper names, as written: of a thing, or of something in it, such as its capital."""
    doubtful: frozenset[str]
    """Names that may be common words: single words with a capital at the start of a sentence."""
    targets: tuple[Target, ...]
    years: tuple[int, ...]
    operation: Operation
    most: bool = True
    """For a comparison: whether the larger one is asked for."""
    relation: Target | None = None
    """The list that leads from a name to a group, such as the border countries of Germany."""
    pick: Pick | None = None
    rank: bool = False
    """Whether it has a superlative without a group to choose from: only a source that states it can answer."""
    nearest: tuple[str, ...] = ()
    """The likeliest labels if none of them is likely enough to answer; then there are no targets."""
    guessed: tuple[tuple[str, str], ...] = ()
    """Misspelt names, each with the name that was understood."""
    shared: bool = False
    """Whether a name belongs to several countries, which are all looked up."""
    measure: Measure | None = None
    """What is calculated from the lines of the targets, if no line is what the question asks for."""
    described: bool = False
    """Whether the country that is asked about is described by another: `the state that broke away from Sudan`."""


BORDER = Target("Land boundaries, border countries")
EXPORTS_TO = Target("Exports - partners")
IMPORTS_FROM = Target("Imports - partners")

HEDGED = {  # concepts whose own words contain a superlative
    "Elevation, highest point",
    "Elevation, lowest point",
    "Major urban areas - population",
    "Exports - partners",
    "Imports - partners",
    "Exports - commodities",
    "Imports - commodities",
}
_IMPLIED = {
    word: label
    for label, words in (
        ("Real GDP per capita", "richest wealthiest poorest richer wealthier poorer 富 穷 更富 更穷 最富 最穷"),
        ("Median age, total", "oldest youngest older younger 更老 最老 更年轻 最年轻"),
        ("Area, total", "largest biggest smallest larger bigger smaller greater tiniest 大 小 更大 更小 最大 最小"),
    )
    for word in words.split()
}
"""The measure that a superlative or comparative is of."""


@cache
def _empty(chinese: bool) -> frozenset[str]:
    """Return the tokens that never say which fact is meant.

    The Chinese ones apart: loading the segmenter takes longer than parsing an English question.
    """
    words = frozenset(word for word in STOP_WORDS | filler() if has_cjk(word) == chinese)
    return words.union(tokens(" ".join(words)))


def parse(text: str, known: tuple[str, ...] = ()) -> Question:
    """Parse a question.

    Words that are not understood stay in `Target.words`, so that a source must contain them.  `known` are subjects of
    documents, which are recognised as names without capitals.
    """
    text = " ".join(readable(text).split())
    if patterns.GROWTH.search(measured_growth().sub(" ", text).lower()):
        text = measured_growth().sub(lambda match: f"{match['of']} growth rate" if match["of"] else match[0], text)
    return _parse(text, known)


@cache
def measured_growth() -> re.Pattern[str]:
    """Matches a growth that is itself a measure, so that it can change: *GDP growth*."""
    nouns = {each.label.split()[-3] for each in concepts() if each.label.endswith(" growth rate")}
    return re.compile(rf"\b(?P<of>{'|'.join(sorted(nouns))}) growth(?: rate)?\b|增长率", re.I)


@lru_cache(maxsize=256)
def _parse(text: str, known: tuple[str, ...]) -> Question:
    lower = text.lower().replace("’", "'")
    taken = [False] * len(text)

    def take(match: re.Match[str]) -> None:
        for index in range(*match.span()):
            taken[index] = True

    years = tuple(dict.fromkeys(int(match.group()) for match in patterns.YEAR.finditer(text)))
    for match in patterns.YEAR.finditer(text):
        take(match)
    proper = _asked(text, _proper(text, lower, known), lower)
    found = _heads(lower, _concepts(lower, taken, proper))
    superlative, comparative = _superlative(lower, found), patterns.COMPARATIVE.search(lower)
    borders = _borders(lower, taken)
    relation = BORDER if borders else None
    if borders:
        take(borders)
        superlative = superlative or comparative
        if superlative:
            take(superlative)
        found = [(label, span) for label, span in found if label != BORDER.label]
    if (mark := superlative or comparative) and mark.group() in _IMPLIED:
        take(mark)
    names = tuple(dict.fromkeys(name for name, (a, b) in proper if not all(taken[a:b])))
    words, beside, near = _rest(text, taken, proper, found)
    openings = _openings(text)
    doubtful = frozenset(n for n, (a, _) in proper if a in openings and " " not in n and n not in known)
    labels = _meant(lower, [label for label, _ in sorted(found, key=lambda item: item[1])])

    pick = _ranked_by(lower, found, superlative) if borders and superlative else None
    if pick and pick.target and len(labels) > 1 and pick.target.label in labels:
        labels.remove(pick.target.label)
    if mark and (labels == ["Population, total"] or not (labels or pick or words)):
        labels = _implied(mark, labels)
    if borders and not labels and not pick:
        labels = [BORDER.label]
    operation, years = _operation(lower, labels, years, names, alone=only_total((*words, *beside, *near)))
    targets = tuple(Target(label, words, beside, near) for label in dict.fromkeys(labels))
    if not targets and (words or not pick):
        targets = (Target(words=words),)
    if pick and not targets:
        targets = (pick.target,) if pick.target else (relation or BORDER,)

    if borders and patterns.COUNT.search(lower) and not pick:
        operation = "count"
    if pick:
        operation = "lookup"
    return Question(
        text=text,
        names=names,
        doubtful=doubtful,
        targets=targets,
        years=years,
        operation=operation,
        most=mark is None or mark.group("most") is not None,
        relation=relation if pick or operation == "count" or labels != [BORDER.label] else None,
        pick=pick,
        rank=superlative is not None and not borders and len(names) < 2 and operation == "lookup",
    )


def _implied(mark: re.Match[str], labels: list[str]) -> list[str]:
    """Return the label that a superlative or comparative implies: `the oldest country`, `the youngest population`."""
    implied = _IMPLIED.get(mark.group())
    return [implied] if implied and not (labels and implied == "Area, total") else labels


def implied_by(text: str) -> str:
    """Return the label of the measure that a comparative or superlative is of: `poorer`; empty if it says none."""
    lower = text.lower()
    mark = patterns.SUPERLATIVE.search(lower) or patterns.COMPARATIVE.search(lower)
    return _IMPLIED.get(mark.group(), "") if mark else ""


def _superlative(lower: str, found: Sequence[Found]) -> re.Match[str] | None:
    """Return the first superlative that is not a part of a concept."""
    hedged = [span for label, span in found if label in HEDGED]
    hedged += [match.span() for match in patterns.ORDERED.finditer(lower)]
    return next(
        (m for m in patterns.SUPERLATIVE.finditer(lower) if not any(a <= m.start() < b for a, b in hedged)), None
    )


def _borders(lower: str, taken: list[bool]) -> re.Match[str] | None:
    """Return the words that ask for the countries on the border."""
    matches = (m for m in patterns.BORDERS.finditer(lower) if not all(taken[m.start() : m.end()]))
    return next((m for m in matches if not patterns.OWN_BORDERS.search(lower[: m.start() + 1])), None)


def _meant(lower: str, labels: list[str]) -> list[str]:
    """Drop measures that are only a reference: debt in percent of *GDP*, the *population* with the lowest median age."""
    left = list(dict.fromkeys(labels))
    if len(left) > 1 and patterns.YARDSTICK.search(lower):
        left = [label for label in left if not label.startswith("Real GDP (")]
    if len(left) > 1 and patterns.POPULACE.search(lower):
        left = [label for label in left if label != "Population, total"]
    return left or labels


def _concepts(lower: str, taken: list[bool], proper: list[Found]) -> list[Found]:
    """Find the concepts with their places, and mark them as taken.

    A name inside an expression is not taken: "how long can *Ann* live".
    """
    found: list[Found] = []
    inside = {index for _, (a, b) in proper for index in range(a, b)}
    masked = list(lower)
    for concept in concepts():
        for match in concept.pattern.finditer("".join(masked)):
            span = [index for index in range(*match.span()) if index not in inside]
            if not any(lower[index].isalnum() for index in span):
                continue
            found.append((concept.label, match.span()))
            for index in span:
                masked[index] = "\x00"
                taken[index] = True
    return found


def _heads(lower: str, found: list[Found]) -> list[Found]:
    """Drop what only narrows down the concept right behind it, as Chinese compounds do: `人口` of `人口年龄中位数`."""
    begun = {a for _, (a, _) in found}
    return [(label, (a, b)) for label, (a, b) in found if not (b in begun and has_cjk(lower[a:b]))]


def _proper(text: str, lower: str, known: tuple[str, ...]) -> list[Found]:
    """Find the names with their places: quoted titles, known subjects, other names of places, capitalised words."""
    found: list[Found] = []
    free = list(text)

    def claim(name: str, start: int, end: int) -> None:
        found.append((name, (start, end)))
        free[start:end] = " " * (end - start)

    for match in re.finditer(r"[\"“«「《]([^\"”»」》]{2,80})[\"”»」》]|(?<!\w)(\.[a-z]{2,3})(?!\w)", text):
        claim(match.group(1) or match.group(2), *match.span())
    cased = any(char.isupper() for char in text[1:].replace("GDP", "").replace("PPP", ""))
    for mention in () if cased else mentions(text):
        claim(mention.written, *mention.place)
    for name in sorted(known, key=len, reverse=True):
        bare = name.lower().removeprefix("the ")
        edge = r"(?<!\w)" if bare.isascii() else ""
        for match in re.finditer(edge + re.escape(bare) + (r"(?!\w)" if edge else ""), "".join(free).lower()):
            claim(name, *match.span())
    openings = _openings(text)
    for match in patterns.NAME.finditer("".join(free)):
        if match.start() in openings:
            # Every sentence starts with a capital, so a concept's words in that place are not a name.
            spans = [m.end() for c in concepts() if (m := c.pattern.match(lower, match.start())) and m.group().strip()]
            skipped = min(max(spans, default=match.start()), match.end()) - match.start()
            found += _trimmed(" " * skipped + match.group()[skipped:], match.start())
        else:
            found += _trimmed(match.group(), match.start())
    return sorted(found, key=lambda item: item[1])


def _asked(text: str, proper: list[Found], lower: str) -> list[Found]:
    """Return the names in the sentences that ask something; all names if there are none in these."""
    start, asking = 0, []
    for end in [*(m.end() for m in re.finditer(r"[.!?](?:\s|$)", text)), len(text)]:
        sentence = lower[start:end]
        if "?" in sentence or any(c.pattern.search(sentence) for c in concepts()):
            asking += [entry for entry in proper if start <= entry[1][0] < end]
        start = end
    return asking or proper


def _trimmed(words: str, start: int) -> list[Found]:
    """Split a run of capitalised words into names: cut after possessives, without common words at the ends."""
    found = []
    for part in re.finditer(r"(?:(?!['’]s?\s).)+", words):
        pieces = list(re.finditer(r"\S+", part.group()))
        while pieces and _common(pieces[0].group()):
            pieces.pop(0)
        while pieces and _common(pieces[-1].group()):
            pieces.pop()
        if (
            len(pieces) > 2
            and pieces[1].group() == "of"
            and start + part.start() == 0
            and pieces[0].group() not in _REALMS
        ):
            pieces = [piece for piece in pieces[2:] if piece.group() != "the"]
        if not pieces:
            continue
        a, b = part.start() + pieces[0].start(), part.start() + pieces[-1].end()
        name = re.sub(r"(?:['’]s?|[.,])$", "", words[a:b])
        if len(name) > 1 and not name.isdigit() and not re.match(r"I['’]", name) and name not in _REGIONAL:
            found.append((name, (start + a, start + b)))
    return found


_OF_EDGES = re.compile(r"\b(?:borders?|frontiers?|boundar(?:y|ies)) (?:is|are|was)(?: the)? $|(?:边界|国界|边境)$")
_BESIDE = 30
_REGIONAL = frozenset(["African", "American", "Asian", "Caribbean", "European", "Latin American", "Oceanian"])
"""Adjectives that name no country: a European microstate is not the European Union."""
_REALMS = frozenset(["Republic", "Isle", "Kingdom", "Gulf", "Strait", "Commonwealth", "Duchy", "Federation"])


def _common(word: str) -> bool:
    bare = word.lower().strip("'’.,?!()").removesuffix("'s")
    return (
        bare in STOP_WORDS
        or bare in filler()
        or bare in openers()
        or patterns.SUPERLATIVE.fullmatch(bare) is not None
        or patterns.COMPARATIVE.fullmatch(bare) is not None
    )


def _openings(text: str) -> set[int]:
    """Return the positions where sentences and clauses start."""
    return {match.end() for match in re.finditer(r"(?:^|[.?!:;]\s)[\s\"“(]*", text)}


def _rest(
    text: str, taken: list[bool], proper: list[Found], found: list[Found]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the content words that are not taken, part of a name, or filler, in three groups.

    First the words after a concept and "of", or all words if there is no concept; then the words next to a concept
    (`population density`); then the others.
    """
    inside = {index for _, (a, b) in proper for index in range(a, b)}
    keep = _asking(text, taken)
    masked = "".join(
        text[index] if keep[index] and not used and index not in inside else "|" if index in inside else " "
        for index, used in enumerate(taken)
    )
    masked = patterns.GROWTH.sub(lambda m: " " * len(m.group()), masked.lower())
    words: list[str] = []
    beside: list[str] = []
    near: list[str] = []
    for match in re.finditer(r"[^\s|,;:.?!()\"“”/&=%]+", masked):
        kept = _content(match.group())
        before = {text[b : match.start()].strip(" -").lower() for _, (_, b) in found if match.start() >= b}
        after = {text[match.end() : a].strip(" -") for _, (a, _) in found if match.end() <= a}
        group = words if not found or "of" in before else beside if "" in before | after else near
        group.extend(kept)
    return tuple(dict.fromkeys(words)), tuple(dict.fromkeys(beside)), tuple(dict.fromkeys(near))


def _content(words: str) -> list[str]:
    """Return the tokens that may say which fact is meant."""
    told = (
        t for t in tokens(words) if not t.isdigit() and (len(t) > 1 or has_cjk(t)) and not re.search("[哪谁]|什么", t)
    )
    return [t for t in told if t not in _empty(has_cjk(t))]


def _asking(text: str, taken: list[bool]) -> list[bool]:
    """Return which characters belong to a clause with a concept; all characters if there is no such clause."""
    keep = [False] * len(text)
    start = 0
    for end in [*(m.end() for m in re.finditer(r"[:;.!?](?:\s|$)|\?", text)), len(text)]:
        if any(taken[index] and text[index].isalpha() for index in range(start, end)):
            keep[start:end] = [True] * (end - start)
        start = end
    return keep if any(keep) else [True] * len(text)


def _ranked_by(lower: str, found: Sequence[Found], superlative: re.Match[str]) -> Pick:
    """Return what the superlative ranks by: a concept next to it or after `by`, what the word implies, or the border."""
    most = superlative.group("most") is not None
    end = superlative.end()
    after = [(label, a, b) for label, (a, b) in found if a >= superlative.start() - 1]
    # In Chinese the measure precedes the superlative: 人口最多.
    before = next((label for label, (_, b) in found if b == superlative.start()), None)
    near = before or next((label for label, a, b in after if a <= superlative.start() < b or a - end <= 3), None)
    by = re.search(r"\b(?:by|in terms of) ", lower[end:])
    if by:
        near = next((label for label, a, _ in after if 0 <= a - end - by.end() <= 6), near)
    word = superlative.group()
    if near is not None:
        return Pick(Target(near), most)
    beside = lower[max(superlative.start() - _BESIDE, 0) : superlative.start()]
    edges = re.search("border|frontier|bound|[边国]界|边境", lower[end:]) or _OF_EDGES.search(beside)
    if re.search("longest|shortest|[长短]", word) and edges:
        return Pick(None, most)
    return Pick(Target(found[-1][0] if found else _IMPLIED.get(word, "Area, total")), most)


def _operation(
    lower: str, labels: list[str], years: tuple[int, ...], names: tuple[str, ...], *, alone: bool
) -> tuple[Operation, tuple[int, ...]]:
    rate = any("growth rate" in label for label in labels)
    before = patterns.BEFORE.search(lower) is not None
    if before and len(years) == 1:
        years = (years[0] - 1, years[0])
    others = measured_growth().sub(" ", lower) if rate or has_cjk(lower) else lower
    changes = patterns.GROWTH.search(others) is not None or before
    if len(years) > 1:
        return "growth", years
    if changes and len(names) < 2:
        return "growth", years
    return together(lower, alone=alone) if len(names) > 1 else "lookup", years


def only_total(words: Sequence[str]) -> bool:
    """Return whether the words beside a measure say no more than that its figures are added up."""
    return all(patterns.TOTAL.fullmatch(word) for word in words)


def together(lower: str, *, alone: bool) -> Operation:
    """Return what a question in lower case asks of the figures of several things; `alone` if it says only the measure."""
    if patterns.SUM.search(lower):
        return "sum"
    if patterns.WEIGHS.search(lower):
        return "compare"
    return "sum" if alone and patterns.TOTAL.search(lower) else "mean" if patterns.MEAN.search(lower) else "compare"
