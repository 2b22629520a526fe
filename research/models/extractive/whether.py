"""Answer a yes-or-no question from the line that decides it; without such a line, do not answer."""

from __future__ import annotations

import re
from collections.abc import Callable

from research.models.extractive.arithmetic import amount_of
from research.models.extractive.asked import parts_of
from research.models.extractive.claims import Claim, claim, clause, words
from research.models.extractive.evidence import Fact
from research.models.extractive.finding import Finder
from research.models.extractive.opposites import sides
from research.models.extractive.patterns import COMPARATIVE
from research.models.extractive.places import mentions
from research.models.extractive.verdict import Verdict
from research.text import tokens

_UP, _DOWN = (0, 0), (0, 1)
"""Ends of the scale from rising to falling in `sides`."""
_ITEM = re.compile(r"[^,;()]+(?:\([^()]*\)[^,;()]*)*")
_TITLES = frozenset("the a an king queen president prime minister mr mrs dr mount mt lake river city of".split())


def decided(finder: Finder, question: str) -> Verdict | None:
    """Return the next step, or yes or no with the line that decides, or a refusal if the line does not decide.

    Returns None for other questions, and if there is no line.
    """
    asked = claim(finder.question)
    grown = finder.question.operation == "growth"
    if asked is None or asked.target is None or (grown and asked.test in ("", "above", "below")):
        return None
    missing = list(finder.missing)
    year = finder.question.years[0] if finder.question.years and asked.test != "dated" else None
    found = finder.find(asked.subject, asked.target, year)
    if found and found.fact.cut and found.fact.url not in finder.evidence.visited:
        finder.act("visit", {"url": found.fact.url, "goal": found.fact.label}, f"Read {found.fact.title}.")
    if finder.actions:
        return Verdict(finder.question, actions=tuple(finder.actions))
    if found is None:
        finder.missing = missing
        return None
    holds = holding(asked, found.fact.source or found.fact)
    if holds is None:
        return Verdict(finder.question, missing=(question,), closest=(found.fact,))
    return Verdict(finder.question, findings=(found,), decided=holds)


def settled(found: Verdict) -> Verdict:
    """Return a verdict without its findings if the question asks for yes or no and they do not decide it."""
    q = found.question
    if found.decided is not None or found.actions or not found.findings or found.ranked or not clause(q.text):
        return found
    compared = q.operation == "compare" and COMPARATIVE.search(q.text.lower())
    if q.operation == "growth" or compared or (q.operation != "compare" and (found.computed or found.derived)):
        return found
    facts = tuple(dict.fromkeys(finding.fact for finding in found.findings))
    return Verdict(q, missing=(q.text,), closest=facts)


def holding(asked: Claim, fact: Fact) -> bool | None:
    """Return whether a line says what is claimed; None if it does not decide it."""
    return _TESTS[asked.test](asked, fact) if asked.test else None


def asks_whether(question: str) -> bool:
    """Return whether a question asks for yes or no, and offers nothing else."""
    parts = parts_of(question)
    return len(parts) == 1 and parts[0].kind == "whether" and not parts[0].options


def moved(question: str, change: float) -> bool | None:
    """Return whether a figure moved in the direction that a question for yes or no names; None if it names none."""
    said = sides(question) & {_UP, _DOWN}
    if not asks_whether(question) or len(said) != 1:
        return None
    return change > 0 if said == {_UP} else change < 0


def _words(asked: Claim, fact: Fact) -> bool | None:
    if asked.no and asked.no.search(fact.value):
        return False
    return True if asked.yes and asked.yes.search(fact.value) else None


def _positive(asked: Claim, fact: Fact) -> bool | None:
    amount = amount_of(fact)
    return None if amount is None else amount.value > 0


def _zero(asked: Claim, fact: Fact) -> bool | None:
    positive = _positive(asked, fact)
    return None if positive is None else not positive


def _limited(asked: Claim, fact: Fact) -> bool | None:
    """Compare the figure with the limit, which may omit the unit."""
    own, limit = amount_of(fact), asked.limit
    if own is None or limit is None:
        return None
    value = own.value
    if not limit.unit:
        value = own.value.scaleb(-own.power)
    elif not (own.percent and limit.percent) and own.base.partition(" ")[0] != limit.base.partition(" ")[0]:
        return None
    if value == limit.value:
        return None
    return value > limit.value if asked.test == "above" else value < limit.value


def _has(text: str, name: str) -> bool | None:
    """Return whether a text has a name; None if it has only a part of it."""
    if pattern := words("kindred").get(name):
        return re.search(pattern, text, re.I) is not None
    wanted = [token for token in tokens(name) if token not in _TITLES] or tokens(name)
    there = set(tokens(text))
    held = [token for token in wanted if token in there or (len(token) > 4 and any(token in other for other in there))]
    if len(held) == len(wanted):
        return True
    return None if held or not name.isascii() else False


def _only(asked: Claim, fact: Fact) -> bool | None:
    return _has(re.sub(r" per US dollar.*", "", fact.value), asked.said) if asked.said else None


def _items(value: str) -> list[tuple[str, float | None]]:
    """Return the items of a list with their percentages."""
    found = []
    for match in re.finditer(r"[^,;()%]+(?:\([^()]*\))?[^,;()%]*%?(?:\s*\([^()]*\))?", value.replace("<", "")):
        share = re.search(r"(\d{1,30}(?:\.\d{1,30})?)\s{0,9}%", re.sub(r"\([^()]{0,300}\)", "", match.group()))
        found.append((match.group(), float(share[1]) if share else None))
    return [each for each in found if each[0].strip(" .")]


def _first(asked: Claim, fact: Fact) -> bool | None:
    """Return whether the item with the greatest share, or else the first one, has the name."""
    if fact.label.startswith("Major urban"):
        return _has(re.split(r", (?=\d)", fact.value)[0], asked.said)
    items = _items(fact.value)
    shares = [share for _, share in items]
    if not items or not asked.said or shares[0] is None or shares[0] != max(filter(None, shares)):
        return None
    if len(shares) > 1 and shares[1] == shares[0]:
        return None
    return _named_by(asked.said, items[0][0])


def _named_by(name: str, item: str) -> bool | None:
    """Return whether an item of a list of countries is this one: `USA` for `united states`."""
    named = {each.lower() for mention in mentions(item) for each in mention.names}
    return name in named if named else _has(item, name)


def _listed(asked: Claim, fact: Fact) -> bool | None:
    if not asked.said:
        return None
    if (
        re.match(r"no (?:regular|indigenous)", fact.value)
        and fact.label.startswith("Military")
        and asked.said == "army"
    ):
        return False
    return True if _has(fact.value, asked.said) else None


def _member(asked: Claim, fact: Fact) -> bool | None:
    """Return whether the organization is in the list, not as an observer or candidate."""
    wanted = words("bodies").get(asked.said, asked.said)
    for item in re.split(r"[,;]\s{0,9}(?![^()]{0,300}\))", re.sub(r"\s{0,9}\(\d{4}\)$", "", fact.value)):
        name, _, remark = item.strip().lower().partition(" (")
        if name == wanted:
            return not re.search(r"observer|candidate|partner|associate|applicant|suspended|withdr", remark)
    return None if fact.cut or not wanted.isascii() else False


def _dated(asked: Claim, fact: Fact) -> bool | None:
    when, _, year = asked.said.rpartition(" ")
    years = {int(each) for each in re.findall(r"(?<!\d)(1\d{3}|20\d\d)(?!\d)", fact.value)}
    if len(years) != 1 or not year.isdigit():
        return None
    own, limit = years.pop(), int(year)
    if when == "by":
        return own <= limit
    if when in ("before", "after"):
        return None if own == limit else (own < limit) == (when == "before")
    return own == limit if when == "in" else None


def _aged(asked: Claim, fact: Fact) -> bool | None:
    """Return whether a person of an age may vote; None unless the line states exactly one age."""
    ages = set(re.findall(r"(?<!\d)\d{2}(?!\d)", fact.value))
    return int(asked.said) >= int(ages.pop()) if len(ages) == 1 else None


def _ruled(asked: Claim, fact: Fact) -> bool | None:
    """Return True if the country became independent from another; None if not, as earlier rulers are not listed."""
    named = {name.lower() for mention in mentions(fact.value) for name in mention.names}
    return True if asked.said in named else None


def _official(asked: Claim, fact: Fact) -> bool | None:
    """Return whether a language is marked as official; if only others are marked, it is not official."""
    marked = [item.group() for item in _ITEM.finditer(fact.value) if "official" in item.group()]
    if any(_has(item, asked.said) for item in marked):
        return True
    return False if marked and not fact.cut else None


def _major(asked: Claim, fact: Fact) -> bool | None:
    """Return whether more than half have the language or religion; None if its parts are listed one by one."""
    own = [share for item, share in _items(fact.value) if _has(item, asked.said)]
    if not own or own[0] is None:
        return None
    return True if own[0] > 50 else False if len(own) == 1 and own[0] < 50 and _largest(fact, own[0]) else None


def _largest(fact: Fact, share: float) -> bool:
    """Return whether another item has more than half, so that this one is not the main one either."""
    return any(other is not None and other > 50 > share for _, other in _items(fact.value))


_TESTS: dict[str, Callable[[Claim, Fact], bool | None]] = {
    "words": _words,
    "positive": _positive,
    "zero": _zero,
    "only": _only,
    "first": _first,
    "listed": _listed,
    "member": _member,
    "dated": _dated,
    "aged": _aged,
    "ruled": _ruled,
    "official": _official,
    "major": _major,
    "above": _limited,
    "below": _limited,
}
