"""Ground a question in a reference work: which countries it is about, and which labels answer it, or that none does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from research.models.extractive import items
from research.models.extractive.asked import parts_of
from research.models.extractive.composing import counted, measure_of, with_measure
from research.models.extractive.followup import refers
from research.models.extractive.groups import is_group
from research.models.extractive.lexicon import concepts, filler
from research.models.extractive.meaning import (
    ACCEPT,
    Reading,
    explained,
    labels,
    made,
    masked,
    read,
    read_twice,
    vetoed,
)
from research.models.extractive.measured import relative
from research.models.extractive.members import shares
from research.models.extractive.narrower import narrower
from research.models.extractive.patterns import COMPARATIVE, GROWTH, RATE, SUM, SUPERLATIVE, YEAR, YEAR_OF
from research.models.extractive.phrasebook import vocabulary, wholes
from research.models.extractive.places import Mention, mentions, usual
from research.models.extractive.question import (
    BORDER,
    HEDGED,
    Operation,
    Question,
    Target,
    implied_by,
    measured_growth,
    only_total,
    parse,
    together,
)
from research.models.extractive.rankings import bound_of
from research.models.extractive.spelling import spelt
from research.models.extractive.stems import stem
from research.models.extractive.whether import asks_whether
from research.models.extractive.words import filler as fillers
from research.text import content_tokens, tokens

if TYPE_CHECKING:
    from research.models.extractive.evidence import Evidence

AGREE = 0.5
"""The same for a label that the lexicon finds too."""
LEAST = 0.4
"""The same where the lexicon finds a label whose words the question contains."""
SEVERAL = 0.1
"""Probability that something calculated is asked for, from which on two labels in one clause are not just looked up."""
_TWIN = 0.15
"""Least share of the likeliest label's probability at which a question may mean another one too."""
ENOUGH = 3
"""Content words that make a sentence clear without those before it."""
OVERRULE = 0.85
"""From this probability on, a label overrules another one that the lexicon finds."""
_ABOUT = re.compile(
    r"(?:please )?(?:tell me (?:something |more )?about|describe|introduce|give me (?:an overview|a summary|a profile) of|"
    r"what (?:is|do you know about)) (?:the country )?\{c\}|"
    r"(?:请)?(?:介绍|说说|讲讲)(?:一下)? ?\{c\}(?:的(?:情况|概况|基本情况))?|\{c\}(?:概况|简介|是个?什么样的国家)",
    re.I,
)
"""Matches a question about a country as a whole."""
_PROFILE = (
    "Location",
    "Capital, name",
    "Government type",
    "Area, total",
    "Population, total",
    "Languages",
    "Real GDP per capita",
    "Exports - commodities",
)
"""What is said of a country that is asked about as a whole."""
_WHY = re.compile(
    r"\bwhy\b|\bhow come\b|\b(?:the |main |root )?(?:causes?|reasons?) (?:of|for|behind)\b|what (?:caused|led to|explains|"
    r"drives|drove)|为什么|为何|原因|怎么会|何以"
)
_NEGATED = re.compile(
    r"\b(?:cannot|can['’]?t|(?:do|does|is|are)(?: not|n['’]t)|not|without|lacks?|lacking|have no|has no|with no|never|"
    r"illiterate|illiteracy|offline|non-smok\w+|unable to)\b|没有|不识字|不会|不上网|不吸烟|不抽烟|不通电|文盲"
)
ITS_GROWTH = re.compile(
    r"\W*how (?:fast|quickly|rapidly|much) (?:is|are|does|do) (?:it|that|this|they|(?:that|this|the) (?:number|figure|share))\b"
    r"(?: (?:grow|ris|increas|chang|expand)\w*)(?: (?:each|every|per|a) year| annually)?\W*$|"
    r"\W*[它其]?(?:增长|增加|上升)(?:得)?(?:有?多快|速度(?:是多少|如何|怎么样)?)\W*$",
    re.I,
)
"""Matches a clause for the growth of what the clause before it asks for."""
_PORTION = re.compile(
    r"^(?:Literacy|Electricity access|Internet users, percent|Urbanization, urban|Electricity generation sources|Land use|"
    r"Tobacco use|Obesity|Waste and recycling, percent)"
)
"""Matches labels of percentages, which a question with a negation asks the rest of."""
_THROUGH = re.compile(
    r"\b(?:the|a|an|that|which|what|whichever) (?:[\w-]+ ){0,2}?(?:country|state|nation|one|land|place|partner|neighbou?r|"
    r"buyer|supplier|customer|market|kingdom|republic|member)s? (?:\([^)]*\) )?(?:whose|that|which|with|where|in which|to which|"
    r"from which|of which|having|containing|bordering|called|taking|buying|selling|supplying)\b|\bneighbou?rs?\b|\bwhose\b"
    r"|的那个|其(?:最大|首都|人口)|(?<![几少]个)邻国(?!有哪|是哪些|都有|有几|有多少)|接壤"
)
"""Matches a question for something that is found through something else."""
_LOOSE = frozenset(["Population, total", "Area, total", "Exchange rates, Currency"])
"""Labels that the lexicon finds by words such as *people*, *land* and *money*, which often mean nothing of their own."""
_REALMS = frozenset("federal federation republic kingdom state union islamic democratic people commonwealth".split())
"""Words of official names."""
_ARITHMETIC = re.compile(
    r"\b(?:calculate|compute|compare[ds]?|by (?:what|which|how much|how many)|relative to|difference|minus|"
    r"(?:in )?(?:(?:per ?cent(?:age)? )?points?|per ?cent(?:age)?)|pct|"
    r"how (?:much|many)|from what to what|side by side|ratio|in the year)\b|"
    r"相比|相差|差多少|差|[两三四五六七八]国|哪个?国家?的?|加起来|一共|总共|合计|把",
    re.I,
)
"""Matches the words of a calculation, which do not tell what is calculated."""
_COURTESY = re.compile(
    r"请问|麻烦[你您]?|帮我(?:[查算看]一下)?|现在|目前|当前|如今|"
    r"\b(?:please|currently|at present|right now|these days|nowadays)\b",
    re.I,
)
"""Matches words that say nothing of what is asked: a reference work speaks of the present."""
_MORE_OF = re.compile(r"\b(?:more|fewer|less|most|fewest|least) ([a-z]{3,})\b")
"""Matches what a comparison is of."""
_CURRENCY = re.compile(r"\s{0,9}(?:dollars?|\$|美?元)")
"""Matches after a country in the name of a currency."""
_ASIDE = re.compile(
    r"\([^()]*\)|（[^（）]*）|^[^:：?？]{3,40}[:：](?=[^:：]*\b(?:how|what|which|who|when|where)\b)", re.I
)
"""Words that only give a context."""
_ORDERED = re.compile(
    r"(?<![^.!?。！？])(?>[^.!?。！？]*?\b(?:ignore|disregard|forget)\b)"
    r"[^.!?。！？]*?\b(?:instructions?|rules?|above|sources?|prompts?)\b[^.!?。！？]*+[.!?。！？]?|"
    r"(?<=[.!?。！？])[^.!?。！？]*?\b(?:say|answer|claim|write|reply|respond|state|pretend|insist)\b (?:that|with)\b"
    r"[^.!?。！？]*+[.!?。！？]?|"
    r"(?<![^。！？])(?>[^。！？]*?(?:忽略|无视))[^。！？]*?(?:指令|规则|来源)[^。！？]*+[。！？]?|"
    r"(?<=[。！？])[^。！？]*?(?:请?(?:说|回答|声称|写))[^。！？]*+[。！？]?",
    re.I,
)
"""Sentences that tell what to answer."""


def understood(evidence: Evidence) -> Question:
    """Return the question of a conversation, grounded; with its misspelt words corrected if no label answers it."""
    found = grounded(parse(evidence.question, evidence.nameable))
    if found.targets or not mentions(evidence.question):
        return found
    text, guessed = spelt(evidence.question, evidence.said)
    mended = grounded(parse(text, evidence.nameable)) if guessed else found
    return msgspec.structs.replace(mended, guessed=(*guessed, *mended.guessed)) if mended.targets else found


def grounded(question: Question) -> Question:
    """Return the question with the usual names of its countries, and with the labels that answer it.

    A question without a country, or for a group of countries, stays as it is.  If no label is likely enough the question
    has `nearest` labels and no targets.
    """
    found = subjects(question.text)
    through = _THROUGH.search(_ASIDE.sub(" ", question.text).lower())
    asks_members = [target.label for target in question.targets] == [BORDER.label]
    if not found or (through and not asks_members and not _listed(question, found)):
        return msgspec.structs.replace(question, described=bool(found and through and not question.relation))
    if question.rank and not _targets(question)[0]:
        return question
    if question.relation is not None and question.relation.label == BORDER.label:
        return question
    called = tuple(dict.fromkeys(name for mention in found for name in mention.names))
    foreign = _foreign(question, mentions(question.text))
    guessed = tuple((mention.written, mention.names[0]) for mention in found if mention.guessed)
    shared = any(len(mention.names) > 1 for mention in found)
    named = msgspec.structs.replace(question, names=called, operation=_operation(question, called, shared=shared))
    if _ABOUT.fullmatch(masked(question.text).strip(" .?!。？！")):
        targets = tuple(Target(label, exact=True) for label in _PROFILE)
        return msgspec.structs.replace(named, targets=targets, operation="lookup", rank=False, guessed=guessed)
    if foreign and not _hints(question.text, foreign):
        return items.of_people(named, found, ()) or msgspec.structs.replace(_of_all(question), guessed=guessed)
    why = _WHY.search(question.text.lower())
    measure = None if why or len(called) > 1 or says_label(named) else measure_of(text_of(question))
    if measured := _with_rate(named) or with_measure(named, text_of(question), measure):
        return msgspec.structs.replace(measured, guessed=guessed)
    targets, nearest = _targets(named)
    if named.operation == "growth" and not (targets or named.years):  # `how fast is it growing?` asks for a rate
        rate = msgspec.structs.replace(named, operation="lookup")
        found_rate, _ = _targets(rate)
        if found_rate and all(GROWTH.search(each.label.lower()) for each in found_rate):
            named, targets = rate, found_rate
    if len(called) > 1 and shares(named) and all(target.label in ("", BORDER.label) for target in targets):
        return msgspec.structs.replace(named, targets=(BORDER,), relation=BORDER, operation="lookup", guessed=guessed)
    item = items.of_pair(named, [*(target.label for target in targets), *nearest[:1]])
    if item is None and all(target.label in _LOOSE or items.lists(target.label) for target in targets):
        item = items.of_people(named, found, targets)
    if item:
        return msgspec.structs.replace(item, guessed=guessed)
    opposite = any(_negated(question.text.lower(), target.label) for target in targets)
    if why or opposite or (YEAR_OF.search(question.text.lower()) and question.rank):
        nearest = tuple(dict.fromkeys([*(target.label for target in targets if target.label), *nearest]))
        targets = ()
    elif measured := with_measure(named, text_of(question), counted(text_of(question), targets, nearest)):
        return msgspec.structs.replace(measured, guessed=guessed)
    if targets and named.operation == "growth" and GROWTH.search(targets[0].label.lower()):
        told = len(GROWTH.findall(question.text.lower())) == 1  # a growth rate says how fast something grows
        named = msgspec.structs.replace(named, operation="lookup" if told else "growth")
    return msgspec.structs.replace(
        named,
        doubtful=frozenset(),
        targets=tuple(map(_in_parts, targets)),
        rank=False,
        nearest=nearest if not targets else (),
        guessed=guessed,
        shared=shared,
    )


def _of_all(question: Question) -> Question:
    """Return the question without targets if it asks for a part of what one of them gives."""
    labels = tuple(each.label for each in question.targets if narrower(question.text, each.label))
    return msgspec.structs.replace(question, targets=(), nearest=labels) if labels else question


def _with_rate(question: Question) -> Question | None:
    """Return the question as one for a measure and its rate of growth: *How many are there, and how fast is that growing?*

    One for yes or no has no targets: the sign of the rate decides it.
    """
    if question.operation != "growth" or question.years:
        return None
    clauses = _clauses(text_of(question))
    if len(clauses) == 1 and len(question.names) == 1 and asks_whether(clauses[0]):
        rate = _rate(clauses[0])
        return msgspec.structs.replace(question, targets=(), nearest=(rate,), operation="lookup") if rate else None
    if len(clauses) != 2 or not ITS_GROWTH.match(clauses[1]):
        return None
    first, _ = _meant(clauses[0], parse(clauses[0]), "lookup")
    if len(first) != 1 or not first[0].label:
        return None
    head, _, part = first[0].label.partition(", ")
    of = part if part not in ("", "total", "total population") else head
    rate = _rate(f"how fast is the {of.lower()} growing in {{c}}?")
    if not rate:
        return None
    both = msgspec.structs.replace(first[0], asked=clauses[0]), Target(rate, exact=True, asked=clauses[1])
    return msgspec.structs.replace(question, targets=both, operation="lookup", rank=False)


def _rate(text: str) -> str:
    """Return the label of the rate of growth that a text asks for; empty if it is not certain."""
    found = read(text)
    return found.label if found.sure >= ACCEPT and RATE.search(found.label) else ""


def _negated(text: str, label: str) -> bool:
    """Return whether a question in lower case asks for those outside a percentage: *who do not live in towns*."""
    return _PORTION.search(label) is not None and _NEGATED.search(text) is not None


def text_of(question: Question) -> str:
    """Return the text of a question without instructions what to answer."""
    return _ORDERED.sub(" ", question.text).strip() or question.text


def _operation(question: Question, subjects: Sequence[str], *, shared: bool) -> Operation:
    """Return the operation, now that it is known how many countries there are."""
    if len(subjects) == 1 or shared:
        return "lookup" if question.operation in ("compare", "sum", "mean") else question.operation
    if question.operation == "lookup" and len(question.names) < 2 and len(_clauses(question.text)) == 1:
        alone = all(only_total((*each.words, *each.beside, *each.near)) for each in question.targets)
        return together(question.text.lower(), alone=alone)
    return question.operation


def _listed(question: Question, found: Sequence[Mention]) -> bool:
    """Return whether a comparison names the countries to choose from."""
    return question.operation == "compare" and len({name for mention in found for name in mention.names}) > 1


def subjects(text: str) -> list[Mention]:
    """Return the countries that a question is about, without those that are units or that it offers as an answer."""
    found = [each for each in mentions(text) if not _CURRENCY.match(text[each.place[1] :].lower())]
    if len({name for mention in found for name in mention.names}) < 2:
        return found
    limit = bound_of(text)
    if limit and limit.name:  # `larger than Spain, France or Italy` offers no answer to a question about Spain
        return found
    options = [option for part in parts_of(text) for option in part.options]
    offered = [each for each in found if any(each.written in option for option in options)]
    return [each for each in found if each not in offered] or found


def _foreign(question: Question, found: Sequence[Mention]) -> tuple[str, ...]:
    """Return the names in a question that are not countries."""
    covered = [question.text[slice(*mention.place)].lower() for mention in found]
    known = {name.lower() for mention in found for name in mention.names}
    known |= {option.lower() for part in parts_of(question.text) for option in part.options}
    weighed = question.operation == "compare" and COMPARATIVE.search(question.text.lower()) is not None
    return tuple(
        name
        for name in question.names
        if name.lower() not in known
        and usual(name) is None  # a language, or a part of another name
        and (is_group(name) or weighed or not set(tokens(name)) <= vocabulary() | _REALMS)
        and not any(name.lower() in words or words in name.lower() for words in covered)
        and name not in question.doubtful
    )


def _hints(text: str, names: Sequence[str]) -> bool:
    """Return whether the names appear only in asides."""
    rest = _ASIDE.sub(" ", text)
    return not any(name in rest for name in names)


def _targets(question: Question) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """Return a target for each part of the question, or none and the nearest labels."""
    text = text_of(question)
    clauses = _clauses(text)
    listed = question.operation == "compare" and not any(_weighs(clause) or weighs_only(clause) for clause in clauses)
    if len(clauses) > 1 and question.operation in ("compare", "sum", "mean") and not listed:
        return _compared(clauses, question)
    if len(clauses) == 1 or not (listed or question.operation == "lookup"):
        return _meant(text, question, question.operation)
    found: list[Target] = []
    nearest: list[str] = []
    for clause in clauses:
        targets, near = ((), ()) if found and _says_no_measure(clause) else _meant(clause, parse(clause), "lookup")
        found += targets or [Target(words=(clause,), lost=True)]
        nearest += near
    kept = () if all(target.lost for target in found) else tuple(dict.fromkeys(found))
    return kept, tuple(dict.fromkeys(nearest))


def _says_no_measure(clause: str) -> bool:
    """Return whether a clause only asks on, of something that it does not name: *and for how long?*"""
    return not refers(clause) and not mentions(clause) and not {*content_tokens(clause)} - filler()


def _compared(clauses: Sequence[str], question: Question) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """Return the target of the clause that compares; others, such as `and what is its capital?`, are lost.

    What asks by how much is answered with the comparison.
    """
    weighing = [each for each in clauses if _weighs(each)]
    chosen = weighing[0] if weighing else question.text
    if weighs_only(chosen):
        chosen, clauses = question.text, ()  # the clause before it says the measure
    targets, nearest = _target(chosen, parse(chosen).targets, question.operation)
    others = [clause for clause in clauses if clause != chosen and weighing]
    asking = [each for each in others if not weighs_only(each)]
    lost = [
        Target(words=(each,), lost=True) for each in asking if {*content_tokens(_ARITHMETIC.sub(" ", each))} - filler()
    ]
    return (*targets, *lost) if targets else (), nearest


def _weighs(clause: str) -> bool:
    return any(how.search(clause.lower()) for how in (COMPARATIVE, SUPERLATIVE, SUM))


def weighs_only(text: str) -> bool:
    """Return whether a clause compares without saying what: `which is larger?`."""
    rest = SUPERLATIVE.sub(" ", COMPARATIVE.sub(" ", _ARITHMETIC.sub(" ", text.lower())))
    said = mentions(text) or any(concept.pattern.search(text.lower()) for concept in concepts())
    return rest != text.lower() and not said and not {*content_tokens(rest)} - filler()


def _meant(text: str, question: Question, operation: str) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """Return what a clause asks for; beside a superlative, the lexicon's labels count only if they rank themselves."""
    kept = tuple(target for target in question.targets if not question.rank or target.label in HEDGED)
    ranks = question.rank and not kept and SUPERLATIVE.search(text.lower()) is not None
    return _target(text, kept, operation, ranks)


def _clauses(text: str) -> list[str]:
    """Return the parts of a question; a part without a question word goes on with the next one."""
    parts = parts_of(text)
    return [part.text for part in parts] if len(parts) > 1 else [text]


def asking_sentences(text: str) -> str:
    """Return the sentences that ask, if they say enough by themselves."""
    sentences = re.findall(r"[^.?!。？！]+(?:\.(?=\w)[^.?!。？！]*)*[.?!。？！]*", text)
    asking = " ".join(each.strip() for each in sentences if each.rstrip().endswith(("?", "？")))
    return asking if len(content_tokens(asking)) >= ENOUGH else text


@lru_cache(maxsize=512)
def _target(
    text: str, targets: tuple[Target, ...], operation: str, ranked: bool = False
) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """Return the targets of a clause, or none if it asks for a part of what they give; and the nearest labels."""
    found, nearest = _likely(text, targets, operation, ranked)
    labels = [each.label for each in found if each.label]
    if any(narrower(text, label, amount=operation == "lookup") for label in labels):
        return (), tuple(dict.fromkeys([*labels, *nearest]))
    return found, nearest


def _likely(
    text: str, targets: tuple[Target, ...], operation: str, ranked: bool
) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """Return the targets of a clause: those of the lexicon if its words explain it, or the likeliest label, or none.

    With `ranked` the clause has a superlative, which only a very likely label answers: `its largest lake`.
    """
    targets = _without_places(text, targets, fillers() if operation == "compare" else frozenset())
    plain = [target for target in targets if target.label]
    if operation == "lookup" and len(plain) == len(targets) == 1 and _literal(text, plain[0].label):
        if vetoed(masked(text), plain[0].label):
            return (), (plain[0].label,)
        return tuple(msgspec.structs.replace(target, asked=text) for target in plain), (plain[0].label,)
    if operation == "lookup" and not plain and (named := _named_by(text)):
        return (Target(named, exact=True, asked=text),), (named,)
    found = _read(text, plain, operation)
    best = found.label
    agreed = any(_same(target.label, best) for target in plain)
    single = operation == "lookup"
    clean = all(not (target.words or target.beside or (single and target.near)) for target in targets)
    if vetoed(masked(text), plain[0].label if plain else best):
        return (), found.ranked
    whole = plain and len(plain) == len(targets)
    if len(plain) > 1 and agreed and found.sure >= OVERRULE:
        plain = [target for target in plain if _same(target.label, best) or target.label not in _LOOSE]
    plain.sort(key=lambda target: not _same(target.label, best))  # the likeliest first: without it there is no answer
    doubted = AGREE if plain and plain[0].label in _LOOSE else OVERRULE
    if single and plain and (found.sure < LEAST or (len(plain) > 1 and made(text).any > SEVERAL)):
        return (), tuple(dict.fromkeys([*(target.label for target in plain), *found.ranked]))
    if operation == "compare" and plain and _of_something_else(text, plain[0].label):
        return (), found.ranked
    said = implied_by(text)
    implied = bool(plain) and plain[0].label == said
    if clean and whole and (agreed or implied or len(plain) > 1 or found.sure < doubted):
        return tuple(msgspec.structs.replace(target, asked=text) for target in plain), found.ranked
    strange = [w for target in targets if target.label for w in target.words if w not in vocabulary()]
    enough = OVERRULE if ranked else AGREE if agreed else ACCEPT
    if strange or (found.sure < enough and not (operation == "compare" and clean and best == said)):
        return (), found.ranked
    if agreed and len(plain) == 1:
        best = next((label for label in found.shares if _same(label, plain[0].label)), best)
    if agreed and len(plain) > 1:
        return tuple(Target(each.label, exact=True, asked=text) for each in plain), found.ranked
    also = tuple(label for label in found.ranked if label != best and _same(label, best))
    return (Target(best, exact=True, also=also, twins=_twins(found, best), asked=text),), found.ranked


def _twins(found: Reading, best: str) -> tuple[str, ...]:
    """Return the labels that differ from the likeliest one only in what they are of, and are not much less likely."""
    tail = best.partition(", ")[2]
    alike = (each for each in found.ranked if each != best and tail and each.partition(", ")[2] == tail)
    return tuple(each for each in alike if found.shares[each] >= _TWIN * found.shares[best])


def _in_parts(target: Target) -> Target:
    """Return the target, which the parts of what it asks for answer together."""
    parts = wholes().get(target.label, ())
    return msgspec.structs.replace(target, exact=True, also=(*target.also, *parts)) if parts else target


def says_label(question: Question) -> bool:
    """Return whether a question asks for one line in the words of its label, so that it needs no classifier."""
    text = text_of(question)
    targets = _without_places(text, question.targets, frozenset())
    single = question.operation == "lookup" and len(targets) == 1
    return single and bool(targets[0].label) and _literal(text, targets[0].label)


def _literal(text: str, label: str) -> bool:
    """Return whether a clause has no telling words but those of the label, and asks for nothing else in them."""
    if relative(text) and not relative(label):
        return False
    return bool(left := _telling(text)) and left <= {*tokens(label)}


def _named_by(text: str) -> str:
    """Return the only label that begins with a telling word of a clause and has the others, too: *gini*; empty if none does."""
    left = _telling(text)
    found = [label for label in labels() if left and left <= {*tokens(label)} and tokens(label)[0] in left]
    return found[0] if len(found) == 1 and not vetoed(masked(text), found[0]) else ""


def _telling(text: str) -> set[str]:
    return {token for token in content_tokens(YEAR.sub(" ", masked(text, ""))) if token not in filler()}


def _of_something_else(text: str, label: str) -> bool:
    """Return whether a comparison is of a thing that no wording of a label has: *more oil* is not in `Exports`."""
    said = explained()[0].get(label, frozenset())
    things = (match[1] for match in _MORE_OF.finditer(masked(text).lower()))
    return any({*map(stem, content_tokens(thing))} - said - filler() for thing in things)


def _explained(text: str, label: str) -> bool:
    """Return whether a label has every telling word of a comparison: *Catholic* is not in `Population, total`."""
    rest = YEAR.sub(" ", masked(text, "")).lower()
    for concept in concepts():
        rest = concept.pattern.sub(" ", rest) if concept.label == label else rest
    return {*content_tokens(rest)} <= filler() | fillers() | {*tokens(label)}


def _without_places(text: str, targets: tuple[Target, ...], empty: frozenset[str]) -> tuple[Target, ...]:
    """Return the targets without `empty` words, and those of countries, which lower-case questions leave among the others."""
    said = empty | {token for mention in mentions(text) for token in tokens(mention.written)}

    def left(words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(word for word in words if word not in said)

    return tuple(
        msgspec.structs.replace(each, words=left(each.words), beside=left(each.beside), near=left(each.near))
        for each in targets
    )


def _read(text: str, plain: Sequence[Target], operation: str) -> Reading:
    """Return the reading of the sentence that asks, or of the whole text if its label is the lexicon's."""
    rest = _ASIDE.sub(lambda match: " ".join([" ", *(each.written for each in mentions(match.group())), " "]), text)
    rest, whole = _measure_only(rest, operation), _measure_only(text, operation)
    more = any(
        each.label in _LOOSE and not _explained(text, each.label) for each in plain
    )  # perhaps no figure is meant
    calculates = operation not in ("lookup", "count") and not more
    found = (read_twice(asking_sentences(rest), whole, calculates=calculates), read(rest, calculates=calculates))
    agreed = any(_same(target.label, found[1].label) for target in plain)
    return found[1] if agreed and found[1].sure > found[0].sure else found[0]


def _measure_only(text: str, operation: str) -> str:
    """Return a question without courtesies, and without the words of the operation on what it asks for."""
    text = _COURTESY.sub(" ", text)
    if operation != "lookup":
        text = _ARITHMETIC.sub(" ", text)
    if operation == "growth":  # of a comparison, *population growth* is the measure
        rates = (match for match in measured_growth().finditer(text) if match[0].lower().endswith(("rate", "率")))
        kept = {match.end("of") + 1 if match["of"] else match.start() for match in rates}
        text = GROWTH.sub(lambda change: change[0] if change.start() in kept else " ", text)
        text = re.sub(r"\bthan\b", " ", COMPARATIVE.sub(" ", text))
    return text


def _same(a: str, b: str) -> bool:
    """Return whether two labels name the same thing, perhaps of another chamber, or in percent of another whole."""
    return _stem(a) == _stem(b)


def _stem(label: str) -> str:
    return re.sub(r" - (?:lower|upper) chamber|, total(?: population)?$| \((?:as )?% .*\)$", "", label.lower())
