"""Answer from prose: the sentences nearest to the question, by words and by meaning, and a name, number or date in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from research.models.extractive.asked import options
from research.models.extractive.cases import case_of
from research.models.extractive.evidence import Fact
from research.models.extractive.followup import lost
from research.models.extractive.kinds import Kind, kind_of
from research.models.extractive.passages import Page, Wanted, alike, keys
from research.models.extractive.patterns import YEAR
from research.models.extractive.polarity import agrees
from research.models.extractive.prose import CITED, Prose
from research.models.extractive.scoring import BACK, SURE, Scorer, Sentence, amount
from research.models.extractive.similarity import cosine
from research.models.extractive.stems import stem
from research.models.extractive.table_plan import NAMES
from research.models.extractive.table_words import LEAST, MOST
from research.models.extractive.verdict import Reading
from research.quantities import quantities
from research.text import STOP_WORDS, content_tokens, has_cjk, tokens

_STRANGE = 1 / 3
"""If at least this share of the question's names is unknown, the documents are about something else."""
_CLOSE = 0.01
"""Probability from which a sentence is shown as the closest passage."""
_LIKELY = 0.05
"""Probability from which the first sentence is shown before the others: of 3 such, 2 answer what has an answer at all."""
_QUOTED = 3
"""Most sentences to quote."""
_HEADING = 4
"""Most words of a line that may be a heading: 4. New shop."""
_TIMED = ("year", "date", "number")
"""Kinds of answers that are figures."""
_BESIDE = 1.0
"""How far below the best score that of a second sentence may be."""

_SPAN_OF_YEARS = re.compile(
    r"\b(?:after|before|by|from|since|until|between)\b|以来|以后|之后|以前|之前|[从自至到]", re.I
)
_PERSON = {"person": 0.38, "a person's job": 0.37}
"""Least cosines of a noun for people; `allowance` has .41 and .29, `department` .33 and .35."""
_ALIKE = 0.65
"""Least cosine of two nouns for the same people; 学生 and 教师 have .6, `worker` and `employee` .85."""
_IS = re.compile(r"\b(?:is|are|was|were)\s(?:\w+\s(?:to|at|by)\s)?|[是为]\s?")
"""Matches the verb before a complement: `is`, `is limited to`, `was set at`."""
_ENDS = re.compile(r"[.!?:;。！？：；…]\W*$|^\|")
"""Matches a sentence or a row of a table; a title has no stop behind it."""
_WHO = re.compile("谁|哪位|何人")
_COMPLEMENT = re.compile(
    r"(?:the|an?)\s[^,;:.()]{3,60}?(?=[,;:.(]|\s(?:which|who|that|because|but)\b)|[^，。；：（]{2,30}?(?=[，。；：（])"
)
"""Matches the complement, up to the end of the clause."""


def read(prose: Prose) -> Reading | None:
    """Return the answer from the chosen documents; None if they are about something else."""
    wanted = prose.wanted
    unknown = [name for name in prose.names if not any(_holds(page, name, prose) for page in prose.pages)]
    strange = wanted.share(frozenset[str]().union(*map(keys, unknown))) >= _STRANGE
    unsure = prose.own and has_cjk(wanted.text)  # what the segmenter takes for a name may be none
    if strange and not unsure:
        return None
    kind = kind_of(wanted.text)
    scorer = Scorer(wanted, prose.known, kind)
    pages = [page for page in prose.pages if page.lines]
    ranked = scorer.scored(_ways(pages, prose) or dict.fromkeys(pages if unsure else (), frozenset()))
    if not ranked or ranked[0].probability < _CLOSE:
        return None
    fitting = [said for said in ranked if kind == "whether" or agrees(said.fact.line, wanted.text, wanted.asked)]
    chosen = fitting if fitting and fitting[0].probability >= _CLOSE else ranked
    whole = [said for said in fitting if said.things and _does(said, wanted) and _says_all(said, wanted)]
    missing = not (chosen[0].things or chosen[0].beside) or not _does(chosen[0], wanted)
    alone = kind in (*_TIMED, "person") and len(whole) == 1 and missing
    if alone:
        chosen = fitting = ranked = whole  # below its heading, it says all that is asked, with a figure or who does it
    first = chosen[0]
    # Beside one that says more of the question, but denies it or does not, another is no answer.
    stated = (
        chosen is fitting
        and not strange
        and (alone or first.probability > SURE)
        and ranked[0].own <= first.own | keys(first.page.title)
    )
    stated = stated and _suits(first, wanted, kind)
    best = [said for said in chosen if said.score >= first.score - _BESIDE and _adds(said, first)][:_QUOTED]
    if kind in (None, "whether"):
        best = _section(best)
    rivals = {said.things for said in best if said.things and first.own <= said.own}
    clear = rivals == {scorer.things(first.fact.line, first.page, firm=True)}
    one = stated and clear and len(first.things) == 1 and wanted.asked <= first.own and not options(wanted.text)
    quotes = [said.fact for said in best]
    if not stated and prose.own:
        near = [said.fact for said in chosen[:_QUOTED] if said.probability >= _CLOSE]
        quotes = list(dict.fromkeys([*near, *_passage(first)]))
    else:
        further = first.beside or _further(first, prose, scorer)
        quotes = _led(first, [*quotes[:1], *((further,) if further and further not in quotes else ()), *quotes[1:]])
    quoted = {said.page.n for said in best}
    others = {said.page.n: said.fact for said in reversed(ranked) if said.page.n not in quoted}
    order = [page.n for page in prose.chosen if page.n in others][: CITED - len(quoted)]
    return Reading(
        best=tuple(quotes),
        others=tuple(others[n] for n in order),
        span=_span(first, kind, prose, named=one) if stated else "",
        unknown=tuple(unknown),
        stated=stated,
        likely=not stated and chosen is fitting and first.probability >= _LIKELY,
    )


def _suits(said: Sentence, wanted: Wanted, kind: Kind | None) -> bool:
    """Return whether a sentence has what the question asks for, and says it of the same thing, people and year."""
    line = said.fact.line
    if kind in ("date", "year") and not said.things and not re.search(r"\d", line):
        return False
    if not said.things and not (quantities(line) if kind == "number" else _ENDS.search(line)):
        return False  # no figure is named, or it is a title
    if kind == "person":
        named = said.things or said.beside or not lost(line)  # *she* is no name
        if not named or not _does(said, wanted):
            return False
    if kind != "whether" and keys(line) <= wanted.words.keys():
        return False  # a heading adds nothing
    same = not _otherwise(said, wanted) and not _unranked(said, wanted.text)
    return same and not _of_another_year(said, wanted.text) and not _of_others(said, wanted)


def _says_all(said: Sentence, wanted: Wanted) -> bool:
    """Return whether a sentence has each word of the question, with its title, heading, and the sentence before it."""
    head = said.page.heads[said.fact.line].rpartition("\n")[2]
    at = said.page.lines.index(said.fact)
    before = said.page.lines[at - 1].line if at else ""
    above = f"{head if head.startswith('#') else ''} {before}"
    return wanted.words.keys() <= said.own | wanted.held(said.page, above)


def _does(said: Sentence, wanted: Wanted) -> bool:
    """Return whether a sentence has the deed that a Chinese question asks *who* did, or else anybody; others always do."""
    asked = _WHO.split(wanted.text, maxsplit=1)
    if len(asked) == 1:
        return True
    deed = next((word for word in content_tokens(asked[1]) if stem(word) in wanted.words), "")
    have = content_tokens(said.fact.line)
    if not deed:
        return bool(said.things or said.beside) or any(map(_is_person, have))
    # A word of one letter has many others for it.
    return len(deed) < 2 or stem(deed) in said.own or any(cosine(deed, word) >= _ALIKE for word in have)


def _further(first: Sentence, prose: Prose, scorer: Scorer) -> Fact | None:
    """Return the sentence behind one that leaves a part of the question open, if it has another figure in the same unit."""
    behind = prose.evidence.behind.get(first.fact)
    if behind is None or not prose.wanted.asked - first.own:
        return None
    units = {each.unit for each in quantities(first.fact.line) if each.kind == "number"}
    things = scorer.things(behind.line, first.page)
    return behind if any(each.unit in units for thing in things for each in quantities(thing)) else None


def _led(first: Sentence, quotes: Sequence[Fact]) -> list[Fact]:
    """Return the sentences to quote, behind the one that names what the first of them refers back to."""
    if not BACK.match(first.fact.line):
        return list(quotes)
    section = _lines_of(first)
    at = section.index(first.fact)
    start = section.index(first.beside) if first.beside in section[:at] else max(0, at - 1)
    before = section[start:at]
    return [*before, *(fact for fact in quotes if fact not in before)]


def _ways(pages: Sequence[Page], prose: Prose) -> dict[Page, frozenset[str]]:
    """Return the documents that the question leads to, with the keys of the sentences that led there.

    It leads to the documents that contain one of its names, and from there to those mentioned in words of the question.
    """
    named = [page for page in pages if not prose.names or any(_holds(page, name, prose) for name in prose.names)]
    ways = {page: frozenset[str]() for page in named}
    for page in named:  # grows during the loop
        for other in pages:
            lines = prose.about(page, other)
            said = prose.wanted.held(page, " ".join(fact.line for fact in lines)) if lines else frozenset[str]()
            if other not in ways and said & prose.wanted.asked:
                ways[other] = ways[page] | said
                named.append(other)
    return ways


def _holds(page: Page, name: str, prose: Prose) -> bool:
    """Return whether a document contains most of a name by weight, with a similar spelling."""
    have = page.keys | prose.wanted.held(page)
    held = {at for at in keys(name) if at in have or any(alike(at, other) for other in have)}
    return prose.wanted.share(held, keys(name)) > 0.6


def _adds(said: Sentence, first: Sentence) -> bool:
    """Return whether a sentence says as much of the question as the first, or more of it; titles say nothing."""
    return not first.own - keys(first.page.title) - said.own or not said.own <= first.own


def _otherwise(said: Sentence, wanted: Wanted) -> bool:
    """Return whether a sentence has a word of the question with another qualifier: paid leave is no sick leave."""
    missing = wanted.asked - said.held
    asked = {noun for qualifier, noun in _pairs(wanted.text) if qualifier in missing and noun in wanted.asked}
    return any(noun in asked and other not in wanted.words for other, noun in _pairs(said.fact.line))


def _unranked(said: Sentence, question: str) -> bool:
    """Return whether a question asks which thing is the first or last by something, and a sentence says of none that it is."""
    return NAMES.search(question) is not None and any(
        each.search(question) and not each.search(said.fact.line) for each in (MOST, LEAST)
    )


def _of_another_year(said: Sentence, question: str) -> bool:
    """Return whether the year that a sentence speaks of, in it or last before it, is none of the question."""
    asked = set() if _SPAN_OF_YEARS.search(question) else set(YEAR.findall(question))
    lines = said.page.lines
    before = [said.page.title, *(fact.line for fact in lines[: lines.index(said.fact) + 1])]
    last = next((years for line in reversed(before) if (years := set(YEAR.findall(line)))), asked)
    return bool(asked) and asked.isdisjoint(last)


def _of_others(said: Sentence, wanted: Wanted) -> bool:
    """Return whether a question is about people whom a sentence does not name, while it names others: nurses.

    A sentence that other documents led to names them by their names.
    """
    if said.left < wanted.words.keys():
        return False
    title = f"{said.page.heads[said.fact.line]} {said.page.title}"
    asked = [word for at, word in wanted.words.items() if at in wanted.asked - said.held and _is_person(word)]
    named = [word for word in content_tokens(f"{said.fact.line} {title}") if _is_person(word)]
    return any(named and max(cosine(word, other) for other in named) < _ALIKE for word in asked)


@lru_cache(maxsize=4_096)
def _is_person(word: str) -> bool:
    """Return whether a noun is one for people: `trainee`, 学生."""
    return all(cosine(word, each) >= least for each, least in _PERSON.items())


def _pairs(text: str) -> list[tuple[str, str]]:
    """Return the keys of words that stand side by side, without stop words."""
    words = ["" if has_cjk(word) or word in STOP_WORDS else stem(word) for word in tokens(text)]
    return [(one, two) for one, two in pairwise(words) if one and two]


def _span(said: Sentence, kind: Kind | None, prose: Prose, *, named: bool) -> str:
    """Return the short answer in a sentence, empty if that is not clear: what it says a thing is, or its only thing.

    A sentence says it right behind its verb, where the subject is all that is asked about.
    """
    line, asked = said.fact.line, prose.wanted.asked - keys(said.page.title)
    if (case := case_of(line, prose.wanted.text)) != line:
        results = [each for each in quantities(case) if each.kind == "number" and not each.limit]
        return amount(case, results[0]) if kind == "number" and len(results) == 1 else case
    figures = {each.start: each for each in quantities(line) if each.kind == "number"}
    clauses = [(each.start(), each.end()) for each in re.finditer(r"(?:[^，,;；]|,(?=\d))+", line)]
    rivals = [(a, b) for a, b in clauses if asked <= keys(line[a:b]) and any(a <= at < b for at in figures)]
    if kind == "number" and asked and len(rivals) > 1:
        return ""  # the same is said with several figures
    if kind in (None, "name", "number") or (kind == "person" and has_cjk(line)):
        for verb in _IS.finditer(line):
            if not asked <= keys(line[: verb.start()]):
                continue
            figure = figures.get(verb.end())
            beside = not rivals or rivals[0][0] <= verb.start() < rivals[0][1]
            if figure and not figure.weak and beside and kind != "person":
                return amount(line, figure)
            if kind != "number" and not figure and (stated := _COMPLEMENT.match(line, verb.end())):
                return stated[0]
    clause = next((each for each in re.split("[，,;；]", line) if asked <= keys(each)), line)  # of several people
    if not named or said.things[0] not in clause or (kind == "name" and figures):
        return ""
    return _with_nouns(said.things[0], line) if kind == "place" and has_cjk(line) else said.things[0]


def _with_nouns(place: str, line: str) -> str:
    """Return a Chinese place with the nouns behind it, which belong to it: 河湾 in 河湾礼堂."""
    import rjieba

    for word, tag in rjieba.tag(line[line.find(place) + len(place) :]):
        if tag[0] not in "an":
            break
        place += word
    return place


def _passage(said: Sentence) -> list[Fact]:
    """Return a sentence and then those next to it in its section, which may say what it does not; headings say nothing."""
    lines = [fact for fact in _lines_of(said) if fact is said.fact or len(tokens(fact.line)) > _HEADING]
    at = lines.index(said.fact)
    return [said.fact, *(fact for fact in lines[max(0, at - 1) : at + 2] if fact is not said.fact)]


def _lines_of(said: Sentence) -> list[Fact]:
    """Return the lines of the section of a sentence, without its heading."""
    lines = said.page.lines
    at = lines.index(said.fact)
    heads = [-1, *(n for n, fact in enumerate(lines) if fact.line.startswith("#")), len(lines)]
    return list(lines[max(n for n in heads if n <= at) + 1 : min(n for n in heads if n > at)])


def _section(best: Sequence[Sentence]) -> list[Sentence]:
    """Return those sentences that are in the same section as the first, in the order of the document."""
    section = _lines_of(best[0])
    return sorted((said for said in best if said.fact in section), key=lambda said: section.index(said.fact))
