"""Find the country that a description means: by a list of another country, by a value of its own, or by a ranking."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from research._util.glossary import terms
from research.models.extractive.described import RELATED
from research.models.extractive.evidence import Evidence, Fact
from research.models.extractive.finding import Finder
from research.models.extractive.fitting import MATCH, bare, fit, has_words_of
from research.models.extractive.lexicon import filler
from research.models.extractive.meaning import masked, probabilities
from research.models.extractive.members import among
from research.models.extractive.patterns import BORDERS, NAME
from research.models.extractive.phrasebook import vocabulary
from research.models.extractive.places import Mention, mentions, usual
from research.models.extractive.question import BORDER, EXPORTS_TO, IMPORTS_FROM, Pick, Question, Target, parse
from research.models.extractive.ranked import over_all
from research.models.extractive.rankings import TITLE, asked
from research.models.extractive.verdict import Finding, Lead
from research.text import content_tokens, has_cjk

INDEPENDENCE = Target("Independence")
_IDENTIFIES = re.compile(
    r"Capital, name$|Exchange rates, Currency$|Elevation, (?:highest|lowest) point$|Internet country code$|"
    r"National anthem\(s\), title$|Country name, (?:conv|local|form|abbr)|Legislative branch, (?:legislature|chamber) name$|"
    r"Legislative branch - \w+ chamber, chamber name$|Major urban areas|National symbol|Nationality|"
    r"Executive branch, (?:chief of state|head of government)$|Languages$|Independence$|(?:Capital|Country name), etymology$|"
    r"Space launch site\(s\)$|Major (?:lakes|rivers)|National coat of arms|Flag, (?:description|meaning)$|"
    r"National heritage, selected|Natural hazards, volcanism$|Civil aircraft registration"
)
"""Matches labels whose values can describe a country."""
_SURE, _SOME, _WEAK = 0.25, 0.2, 0.03
"""Probabilities of labels.  If the likeliest reaches the first, only labels that reach it may have the value; else all that
have the second part of its probability; below the third, any label, if all lines with the value are about one country."""
LIST, CLEARLY = 0.1, 3
"""Least probability of a list of another country, and least ratio to that of the next list."""
_MANY = 12
"""With this many labels or more, the description does not tell which one it means."""
_REGIONAL = frozenset(
    "north south east west central northern southern eastern western african africa asian asia european europe american america "
    "latin caribbean pacific balkan baltic nordic arab gulf oceania island middle".split()
)
_BY_SIZE = re.compile(r"(?P<people>人口)?(?:最(?:(?P<most>[大多])|[小少]))的?邻国")
_FREED = re.compile(
    r"\b(?:from|of|left|split|broke|seceded|separated)\b[^Ξ]*Ξ|\bformer (?:\w+ )?(?:colony|possession|territory|part)",
    re.I,
)
"""Matches a country that was a part of the one named."""
_RULER = re.compile(r"\(from (?:the )?(?P<name>[^();,]+)\)")
_LITERAL = re.compile(r"[\"“«](?P<quoted>[^\"”»]{2,80})[\"”»]|(?<!\w)(?P<code>\.[a-z]{2})(?!\w)")
_DATE = re.compile(r"\b(?:\d{1,2} [A-Z][a-z]+ )?(?:1[5-9]|20)\d\d\b")


def speaks(text: str) -> bool:
    """Return whether a description has a name, a value or a superlative, so that it may mean one country."""
    return bool(mentions(text) or _values(text, ()) or asked(which(text)))


def lead(finder: Finder, text: str) -> Lead | None:
    """Return the country that a description means; None after adding a step to `finder`, or if it is not clear.

    The question of `finder` is `which` country that is.
    """
    found = mentions(text)
    plain = re.sub(r"Ξ(?:[ ,and]+Ξ)*", "Ξ", masked(text, "Ξ"))
    if found and (BORDERS.search(text.lower()) or re.search(r"\bneighbou?r|\bfrontier\b|\bnext to\b|邻国", text, re.I)):
        return _member(finder, found, BORDER)
    if found:
        listed = _list(re.sub("第[二三四]大", "最大", text))
        if listed in (EXPORTS_TO.label, IMPORTS_FROM.label) and len(found) == 1:
            finder.question = msgspec.structs.replace(finder.question, pick=Pick(None, most=True))
            return _member(finder, found, Target(listed))
        if listed == INDEPENDENCE.label and not _FREED.search(plain):
            return _ruler(finder, found) if len(found) == 1 else None
    values = _values(text, found)
    return _by_value(finder, text, values) if values else _first(finder)


def _list(text: str) -> str:
    """Return the label of another country's list that a description means, because only these lead to a country."""
    shares = probabilities(masked(text))
    first, second, *_ = sorted(
        (EXPORTS_TO.label, IMPORTS_FROM.label, INDEPENDENCE.label), key=lambda each: -shares[each]
    )
    return first if shares[first] >= LIST and shares[first] >= CLEARLY * shares[second] else ""


def which(text: str) -> Question:
    """Return the question which country a description means."""
    if not has_cjk(text):
        return parse(f"Which country is {text}?")
    found = _BY_SIZE.search(text)
    pick = (
        Pick(Target("Population, total" if found["people"] else "Area, total"), found["most"] is not None)
        if found
        else None
    )
    return msgspec.structs.replace(parse(f"{text}是哪个国家？"), pick=pick)


def leads_to(fact: Fact, text: str) -> bool:
    """Return whether a line may tell which country a description means."""
    if fact.title.startswith(TITLE):
        return True
    if any(fact.label == target.label for target in (BORDER, EXPORTS_TO, IMPORTS_FROM, INDEPENDENCE)):
        return True
    q = which(text)
    if q.pick and q.pick.target and fit(fact, q.pick.target) >= MATCH:
        return True
    values = _values(text, mentions(text))
    return _IDENTIFIES.match(bare(fact.label)) is not None and any(_has(fact, group) for group in values)


# -- by a list of another country ---------------------------------------------------------------------------------------


def _subjects(finder: Finder, found: Sequence[Mention], about: str) -> list[str]:
    """Return the countries that a description names; none if a step was added, or one is not known."""
    names = dict.fromkeys(each.names[0] for each in found if len(each.names) == 1)
    subjects = finder.subjects(list(names), about)
    return [] if finder.actions else [each for each in subjects if each] if all(subjects) else []


def _member(finder: Finder, found: Sequence[Mention], relation: Target) -> Lead | None:
    """Return the neighbour or trading partner that is the only one, or has the most of something."""
    subjects = _subjects(finder, found, relation.label)
    verdict = among(finder, subjects, (), relation) if subjects else None
    if verdict is None or verdict.actions or any(each.fact.cut for each in verdict.group):
        return None
    name = verdict.shared[0] if len(verdict.shared) == 1 else verdict.chosen
    if not name:
        return None
    chosen = finder.evidence.subject_named(name) or usual(name) or name
    return None if verdict.missing else Lead(chosen, verdict.group)


def _ruler(finder: Finder, found: Sequence[Mention]) -> Lead | None:
    """Return the country from which another became independent."""
    freed = [finder.find(each, INDEPENDENCE) for each in _subjects(finder, found, INDEPENDENCE.label)]
    match = _RULER.search(freed[0].fact.value) if freed and freed[0] else None
    name = usual(match["name"]) if match else None
    return Lead(name, tuple(filter(None, freed))) if name else None


# -- by a value of its own ----------------------------------------------------------------------------------------------


def _values(text: str, found: Sequence[Mention]) -> list[tuple[str, ...]]:
    """Return names, codes and dates that a line about the described country must contain; else the unusual words."""
    if has_cjk(text):
        return [(name,) for name in _english(text)] or [(each.written,) for each in found if each.written.isascii()]
    rest, values = text, []
    for match in _LITERAL.finditer(text):
        values.append(match["quoted"] or match["code"])
        rest = rest.replace(match.group(), " , ")
    values += _DATE.findall(rest)
    rest = _DATE.sub(" , ", rest)
    for name in (match.group().removesuffix("-using").removesuffix("-speaking") for match in NAME.finditer(rest)):
        words = [word for word in re.sub(r"['’]s?$", "", name).split() if word.lower() not in _REGIONAL]
        while (
            words
            and (words[0].lower() in filler() or set(content_tokens(words[0])) <= vocabulary())
            and rest.startswith(words[0])
        ):
            words = words[1:]
        name = " ".join(words)
        if len(name) > 1 and not any(name in each.written or each.written == name for each in found):
            values.append(name)
    values += [each.written for each in found if _FREED.search(masked(text, "Ξ"))]
    if values:
        return [tuple(dict.fromkeys(values))]
    said = " ".join(each.written for each in found).lower()
    odd: list[tuple[str, ...]] = [
        (word.removesuffix("-using").removesuffix("-speaking"),)
        for word in re.findall(r"[^\W\d][\w'’-]{2,}", re.sub(RELATED, " ", rest, flags=re.I))
        if content_tokens(word)
        and not set(content_tokens(word)) <= vocabulary() | filler()
        and word.lower() not in said
    ]
    return odd or [(each.written,) for each in found]


def _by_value(finder: Finder, text: str, values: Sequence[tuple[str, ...]]) -> Lead | None:
    """Return the only country with a line that has the values of a description."""
    words = [word for group in values for word in group]
    labels = _labels(text, words)
    about = " ".join(words)
    for label in (*labels[:3], ""):
        finder.search(f"{about} {label}", f"Look for {label} {about}." if label else f"Look for {about}.")
        if finder.actions:
            return None
        if hit := _hit(finder.evidence, labels, values):
            return hit
    return None


def _labels(text: str, values: Sequence[str]) -> list[str]:
    """Return the labels that a description may give the value of, likeliest first."""
    rest = text
    for value in values:
        rest = rest.replace(value, " ")
    shares = probabilities(masked(" ".join(rest.split())))
    known = [target.label for target in parse(text).targets if _IDENTIFIES.match(target.label)]
    likely = sorted((label for label in shares if _IDENTIFIES.match(label)), key=lambda label: -shares[label])
    top = shares[likely[0]]
    kept = (
        likely
        if top < _WEAK
        else [label for label in likely if shares[label] >= max(top >= _SURE and _SURE, _SOME * top)]
    )
    return list(dict.fromkeys([*known, *kept]))


def _hit(evidence: Evidence, labels: Sequence[str], values: Sequence[tuple[str, ...]]) -> Lead | None:
    """Return the country with the values under the likeliest label that has them; None if several countries have them."""
    hits = [hit for label in labels if (hit := _under(evidence, label, values))]
    if not hits or "" in (hit.name for hit in hits[:1]):
        return None
    return hits[0] if len(labels) < _MANY or len({hit.name for hit in hits}) == 1 else None


def _under(evidence: Evidence, label: str, values: Sequence[tuple[str, ...]]) -> Lead | None:
    """Return the country with the values under a label; one without a name if several countries have them."""
    lines = [fact for fact in evidence.facts if _of_country(fact) and bare(fact.label) == label and not fact.cut]
    lines = [fact for fact in lines if any(_has(fact, group) and fact.subject not in group for group in values)]
    subjects = list(dict.fromkeys(fact.subject for fact in lines))
    if not subjects:
        return None
    return Lead(subjects[0] if len(subjects) == 1 else "", (Finding(subjects[0], Target(lines[0].label), lines[0]),))


def _english(text: str) -> list[str]:
    """Return the English names of the longest city or currency name in a Chinese description."""
    found = [(zh, en) for kind in ("city", "phrase") for en, zh in terms(kind).items() if len(zh) > 1 and zh in text]
    longest = max((len(zh) for zh, _ in found), default=0)
    return [en for zh, en in found if len(zh) == longest and zh not in ("首都", "国家")]


def _has(fact: Fact, values: Sequence[str]) -> bool:
    return all(has_words_of(fact.value, value) for value in values)


def _of_country(fact: Fact) -> bool:
    return not fact.title.startswith(TITLE) and fact.subject not in ("World", "European Union")


# -- by a ranking -------------------------------------------------------------------------------------------------------


def _first(finder: Finder) -> Lead | None:
    """Return the country that has the most or least of something in a part of the world."""
    ranking = asked(finder.question)
    if ranking is None or ranking.kind != "top" or not ranking.sure or ranking.first != 1:
        return None
    verdict = over_all(finder, ranking)
    if verdict is None or verdict.ranked is None or finder.actions:
        return None
    rows = verdict.ranked.rows
    return Lead(rows[0].name, ranked=verdict.ranked) if len(rows) == 1 and verdict.ranked.count <= 1 else None
