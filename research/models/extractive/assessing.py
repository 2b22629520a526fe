"""Judge whether a report answers each part of a question, by its cited statements and what they are based on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from research.citations import statements, without_marks
from research.citations.marks import sentences_of
from research.models.extractive.asked import Asked, asks_only, named, parts_of
from research.models.extractive.coverage import AsksFor, Gaps, Told, future, gaps, has, joined, over_all
from research.models.extractive.kinds import fits, selected
from research.models.extractive.names import contains_name, key
from research.models.extractive.opposites import sides
from research.models.extractive.shortening import LONGEST, asks_one_figure, refuses, short_answer
from research.models.extractive.words import reason
from research.quantities import quantities
from research.text import has_cjk, readable
from research.types import FAILS, Citation, Outcome, Part, Source

SOME = 0.34
"""The same as `coverage.ENOUGH` for the best of several statements that answer together."""
_THROUGH = re.compile(
    r"\b(?:the|some|a|an|which|that|what) (?:\w+ ){0,2}?\w+ (?:whose|that|which|with|where|who|in which|from which|"
    r"containing)\b|"
    r"\bwhose\b|\bthat (?:country|place|person|film|band|team)\b|\bneighbou?rs?\b|其|邻国|所在|的那个|该",
    re.I,
)
"""A question for something that is found through something else: *the country whose capital is …*."""
_OF = re.compile(r"\bof (?:the |a )?\w+|['’]s \w+", re.I)
_WORDS = 8
"""Most words that a reason names."""


class Assessment(Struct, frozen=True):
    """What the gate says of a report."""

    parts: tuple[Part, ...]
    outcome: Outcome
    """`answered`, `partly_answered` or `no_evidence`."""
    short: str = ""
    """The answer in one line, if the question has one."""


def assess(
    question: str,
    report: str,
    citations: Sequence[Citation],
    sources: Sequence[Source],
    asks_for: AsksFor | None = None,
) -> Assessment:
    """Judge a report: which parts of the question it answers, the outcome that follows, and the short answer.

    `asks_for` as for `coverage.gaps`.
    """
    question = readable(question)
    asked = parts_of(question)
    told = told_in(report, citations, sources)
    if not told:
        why = reason(question, "none of the cited statements holds" if citations else "nothing is cited")
        return Assessment(tuple(Part(part.text, "not_found", why) for part in asked), "no_evidence")
    if refuses(report):
        why = reason(question, "the report says that no passage states it")
        return Assessment(tuple(Part(part.text, "not_found", why) for part in asked), "no_evidence")
    seen = "\n\n".join(f"{source.title}\n{source.quote}" for source in sources)
    found: list[Part] = []
    lines: list[str] = []
    for part in asked:
        why, best = _judge(part, told, report, seen, asks_for)
        found.append(Part(part.text, "not_found" if why else "answered", why))
        # One figure does not answer for several things.
        several = part.kind == "number" and len(named(part.text)) > 1 and not asks_one_figure(part.text)
        lines.append(short_answer(part, best, report if len(asked) == 1 else "") if best and not several else "")
    answered = sum(part.status == "answered" for part in found)
    outcome: Outcome = "answered" if answered == len(found) else "partly_answered" if answered else "no_evidence"
    joint = "；" if has_cjk(question) else "; "
    short = joint.join(dict.fromkeys(lines)) if all(lines) and asks_only(question, asked) else ""
    return Assessment(tuple(found), outcome, short if len(short) <= LONGEST else "")


def told_in(report: str, citations: Sequence[Citation], sources: Sequence[Source]) -> list[Told]:
    """Return the cited statements of a report in order, with what each is based on; one without a mark goes on."""
    checked: dict[str, list[Citation]] = {}
    for citation in citations:
        checked.setdefault(citation.claim, []).append(citation)
    titles = {source.n: source.title for source in reversed(sources)}
    found: list[Told] = []
    for statement in statements(report):
        claim = without_marks(statement.text)
        own = [citation for citation in checked.get(claim, ()) if citation.status not in FAILS]
        text = re.sub(r"[*_`]{1,3}", "", claim)
        if not statement.numbers and found and statement.before:  # goes on from the one before: *That is 3 km more*
            found[-1] = msgspec.structs.replace(found[-1], text=f"{found[-1].text}\n{text}")
        if not statement.numbers or not own:
            continue
        context = "\n".join(filter(None, (statement.context, without_marks(statement.before))))
        numbers = {citation.n for citation in own}
        evidence = [*(citation.quote for citation in own), *(titles.get(n, "") for n in sorted(numbers))]
        vouched = any(citation.status in ("supported", "calculated", "partial") for citation in own)
        pages = [source.quote for source in sources if source.n in numbers]
        heads = (sentences_of(page.lstrip().partition("\n")[0]) for page in pages)
        openings = "\n".join(head[0] for head in heads if head)  # the rule below a table's header has no sentence
        formulas = "\n".join(dict.fromkeys(each.reason for each in own if each.status == "calculated"))
        seen = "\n".join(dict.fromkeys(evidence))
        found.append(Told(f"{text}\n{context}".strip(), seen, "\n".join(pages), openings, formulas, vouched))
    return found


def _judge(
    part: Asked, told: Sequence[Told], report: str, seen: str, asks_for: AsksFor | None
) -> tuple[str, Told | None]:
    """Return why a part counts as not found, empty if it is answered, and the statement that answers it."""
    everything = joined(told)
    if part.open:
        missing = gaps(part, everything).names
        return (_about(part, "nothing cited is about {words}", missing) if missing else "", told[0])
    if future(part.text) and not future(everything.text):
        return reason(part.text, "no source can state what is still to come"), None
    judged = [(gaps(part, each, asks_for), each) for each in told]
    closed = [each for gap, each in judged if gap.closed]
    lacking = [
        "" if gap.worked else fits(part.text, part.kind, each.text, each.evidence) for gap, each in judged if gap.closed
    ]
    best = next((each for each, lack in zip(closed, lacking, strict=True) if not lack), None)
    best = _led(part, judged, told, seen, best) or best or _led(part, judged, told, seen)
    best = best or _weighed(part, told)
    if best is None and (best := _together(part, told, seen, asks_for)) is None:
        if closed:
            return reason(part.text, "the report does not give {lack}", lack=lacking[0]), None
        nearest = min((gap for gap, _ in judged), key=lambda gap: (len(gap.names), gap.opposite, -gap.share))
        return _reason(part, nearest), None
    named = part.options and not _ends(part.options)
    if named and has_cjk(part.text) == has_cjk(everything.evidence) and not _chosen(part.options, report):
        return _about(part, "the report names none of {words}", part.options), None
    if over_all(part) and not selected(best.all):
        return reason(part.text, "nothing cited compares all of them"), None
    if part.many and (count := _items(part, told)) < part.many:
        return reason(part.text, "{count} of {many} are named", count=count, many=part.many), None
    return "", best


def _led(
    part: Asked, judged: Sequence[tuple[Gaps, Told]], told: Sequence[Told], seen: str, before: Told | None = None
) -> Told | None:
    """Return the first labelled line that answers, with the lines that led to it; with `before`, only an earlier one."""
    for gap, each in judged:
        if each is before:
            return None
        whole = _led_to(gap, each, told, seen) if gap.labelled and not (before and gap.closed) else None
        if whole and (gap.worked or not fits(part.text, part.kind, whole.text, whole.evidence, labelled=True)):
            return whole
    return None


def _led_to(gap: Gaps, line: Told, told: Sequence[Told], seen: str) -> Told | None:
    """Return a labelled line joined with the statements that led to its subject (*run from Dushanbe*); None if it fails.

    The names and years that the line lacks must be in passages about its subject, or in statements that name it.
    """
    subjects, chain = [_subject(line)], [line]
    for _ in told:  # a statement about one subject may name the next one
        more = [each for each in told if each not in chain and any(contains_name(each.all, key(s)) for s in subjects)]
        chain += more
        subjects += [_subject(each) for each in more]
    own = [passage for passage in seen.split("\n\n") if passage.startswith(f"{subjects[0]} · ")]
    about = "\n".join([*own, *(each.all for each in chain)])
    if gap.opposite or not all(contains_name(about, key(name)) for name in gap.names):
        return None
    return joined(chain) if all(re.search(rf"(?<!\d){year}(?!\d)", about) for year in gap.years) else None


def _subject(told: Told) -> str:
    """Return what the document of a statement is about."""
    return told.evidence.rpartition("\n")[2].partition(" · ")[0]


def _weighed(part: Asked, told: Sequence[Told]) -> Told | None:
    """Return the statements that give a date or a figure for each of the things a question offers, if they do.

    A comparison by dates or figures need not repeat the words of the question: `older` follows from two dates of birth.
    """
    found = []
    for option in part.options:
        about = [each for each in told if option.casefold() in each.text.casefold()]
        best = next((each for each in about if quantities(each.text.partition("\n")[0])), None)
        if best is None:
            return None
        found.append(best)
    kinds = [{q.kind for q in quantities(each.text)} for each in found]
    return joined(found) if len(found) > 1 and kinds[0] & kinds[1] else None


def _ends(options: Sequence[str]) -> bool:
    """Return whether the options are directions, which a figure gives without naming them: *above or below*."""
    found = [sides(option) for option in options]
    scales = [{scale for scale, _ in each} for each in found]
    return all(found) and bool(set.intersection(*scales)) and len(set(found)) > 1


def _together(part: Asked, told: Sequence[Told], seen: str, asks_for: AsksFor | None) -> Told | None:
    """Return the statements that together answer a comparison or a question about several things, if they do."""
    through = _THROUGH.search(part.text) is not None
    if not (through or part.many or len(named(part.text)) > 1 or _OF.search(part.text)):
        return None
    found = [gaps(part, each, asks_for) for each in told]
    if not through and not any(gap.share >= min(SOME, gap.needed) and not gap.opposite for gap in found):
        return None
    whole = joined([each for each, gap in zip(told, found, strict=True) if not gap.opposite] or told)
    if through:
        whole = msgspec.structs.replace(whole, evidence=f"{whole.evidence}\n{seen}")
    gap: Gaps = gaps(part, whole, asks_for)
    return whole if gap.closed and not fits(part.text, part.kind, whole.text, whole.evidence) else None


def _reason(part: Asked, gap: Gaps) -> str:
    if gap.opposite and not gap.names:
        return reason(part.text, "the report states the opposite measure")
    if not gap.uncovered:
        return reason(part.text, "nothing cited covers it")
    return _about(part, "nothing cited covers {words}", gap.uncovered)


def _about(part: Asked, words: str, named: Iterable[str]) -> str:
    """Return a reason that names up to eight words."""
    joint = "" if has_cjk(part.text) else ", "
    return reason(part.text, words, words=joint.join(f"“{word}”" for word in list(named)[:_WORDS]))


def _chosen(options: Sequence[str], report: str) -> list[str]:
    """Return the options that a report names, or may mean by `both` and `neither`."""
    if re.search(r"\b(?:both|neither|equal(?:ly)?|the same)\b|都|均|两者", report, re.I):
        return list(options)
    plain = without_marks(report)
    return [
        option
        for option in options
        if option.casefold() in plain.casefold()
        or contains_name(plain, key(option))
        or (option.islower() and has(plain, option.split()[-1]))
    ]


def _items(part: Asked, told: Sequence[Told]) -> int:
    """Return how many things the statements name, as names or as items of a list."""
    text = "\n".join(each.text.partition("\n")[0] for each in told)
    asked = {key(name) for name in named(part.text)}
    called = {key(name) for name in named(f"- {text}")} - asked
    listed = max((len(re.split(r"[,;、；]|\band\b|和", each.text.partition("\n")[0])) for each in told), default=0)
    return max(len(called), listed, len(told) if not has_cjk(text) else 0)
