"""What the offline model says of its own answer: which parts of the question were found, and the answer in one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from research.citations import without_marks
from research.models.extractive import chinese
from research.models.extractive.arithmetic import year_of
from research.models.extractive.asked import Asked, parts_of
from research.models.extractive.fitting import bare
from research.models.extractive.grounding import weighs_only
from research.models.extractive.kinds import fits
from research.models.extractive.members import counts
from research.models.extractive.narrower import narrower
from research.models.extractive.patterns import WEIGHS
from research.models.extractive.phrasebook import wholes
from research.models.extractive.question import parse
from research.models.extractive.table_words import DIFFERENCE, TIMES
from research.models.extractive.verdict import Finding, Ranked, Verdict
from research.models.extractive.words import directions, reason
from research.models.extractive.write import plain_of
from research.models.extractive.write_ranked import TIED
from research.parsing.answer_account import write_account
from research.quantities import quantities
from research.text import has_cjk
from research.types import Part

_EMPHASIS = re.compile(r"[*_`]{1,3}")
_BOLD = re.compile(r"\*\*([^*\n]{1,120})\*\*(\s?[(（]\d{4}[^()（）]{0,12}[)）])?(?!\s?[;；])")
"""Words in bold type, with the year behind them, unless they begin a list."""
_AGAIN = re.compile(r"\s?[(（][^()（）]{0,60}[)）]$")
"""The same figure again in another form, as in *1.2 % (1.17 %)*."""
_ABOUT = re.compile(r"\*\*[^*\n]{1,120}\*\*(?:[:：]|的)")
"""The subject at the start of a line."""
_BEYOND = re.compile(r"\bby how (?:much|many)\b|[多大高长少低小短]多少", re.I)
"""What asks by how much one thing has more, besides which does."""
_THAN = re.compile(
    r"\bhow (?:much|many)\b.*\bthan\b|\bby (?:how much|what)\b.*\bexceed|比.*[多大高长少低小短]多少", re.I
)
"""Matches a question how far the first thing that it names exceeds the second."""
_WHO = re.compile(r"\bwho\b|谁|哪位|何人", re.I)
_IN_ONE_LINE = 5
"""Most measures of one thing that a short answer names."""
_EVIDENCE = "\n### "
"""What comes before the quotes of an answer."""


Answered = tuple[str, Verdict, str]
"""A question, what was found, and the text that says it."""


def account(items: Sequence[Answered], planned: Sequence[str] = ()) -> str:
    """Return the lines that end an answer (`parsing.account`); of a planned one, its parts are the plan's items."""
    _, verdict, text = items[0]
    parts = [part for item in items for part in judged(*item)]
    short = [in_one_line(parts_of(each), its, said) for each, its, said in items]
    whole = all(short) and all(part.status == "answered" for part in parts)
    own = {each: (its, said) for each, its, said in items}
    planned_parts = [_item(each, *own.get(each, (verdict, text))) for each in planned]
    return write_account(_joint(text).join(short) if whole else "", planned_parts or parts)


def judged(question: str, verdict: Verdict, text: str) -> list[Part]:
    """Return the parts of a question, each with the reason if it was not found."""
    asked = parts_of(question)
    bare = _EMPHASIS.sub("", without_marks(text))
    alone = sum(not part.cause for part in asked) <= 1
    lacks = [_lack(part, verdict, bare, alone=alone) for part in asked]
    if verdict.gaps and not (verdict.chosen or any(lacks)):  # of several things that are asked about, one is not there
        said: Callable[[str], str] = chinese.term if has_cjk(text) else str
        told = dict.fromkeys(said(f"{each.subject}: {each.fact.label}") for each in verdict.findings)
        lost = [Part(said(each), "not_found", reason(question, "not in the sources")) for each in verdict.gaps]
        return [*(Part(each, "answered") for each in told), *lost]
    return [Part(part.text, "not_found" if lack else "answered", lack) for part, lack in zip(asked, lacks, strict=True)]


def _item(question: str, verdict: Verdict, text: str) -> Part:
    lack = next((part.reason for part in judged(question, verdict, text) if part.status == "not_found"), "")
    return Part(question, "not_found" if lack else "answered", lack)


def _lack(part: Asked, verdict: Verdict, text: str, *, alone: bool) -> str:
    """Return why a part counts as not found; empty if it was."""
    unexplained = part.cause and not verdict.reading
    if unexplained or not answers(verdict) or not (alone or verdict.table or _found(part, verdict)):
        near = verdict.reading or verdict.table  # what comes nearest is shown, and may answer
        labels = verdict.question.nearest
        if labels and not near and (word := narrower(part.text, labels[0])):
            return reason(part.text, "“{word}” alone is not given", word=word)
        return reason(part.text, "no certain answer in the sources" if near else "not in the sources")
    if part.open or verdict.derived or verdict.table:
        return ""
    named = verdict.chosen or verdict.led or any(map(_names, verdict.findings))
    if part.kind == "person" and verdict.findings and not named and _WHO.search(part.text):
        return reason(part.text, "the report does not give {lack}", lack="a name")
    told = directions(text) if verdict.reading else set()  # `contract` may be a noun, not a change
    unsaid = directions(part.text) - told
    if unsaid and verdict.question.operation == "growth" and not verdict.computed:
        return reason(part.text, "the report does not give {lack}", lack="a difference")
    if verdict.question.operation == "mean" and not verdict.computed:
        return reason(part.text, "the report does not give {lack}", lack="the mean")
    lack = fits(part.text, part.kind, text.split(_EVIDENCE)[0], text)
    return reason(part.text, "the report does not give {lack}", lack=lack) if lack else ""


def _names(finding: Finding) -> bool:
    """Return whether a value may be a name: there is a capital or a Chinese character outside of its dates and figures."""
    value, rest, at = finding.fact.value, "", 0
    for each in quantities(value):
        rest, at = rest + value[at : each.start], each.end
    return any(char.isupper() or has_cjk(char) for char in rest + value[at:])


def answers(verdict: Verdict) -> bool:
    """Return whether a verdict states what was asked, rather than what comes near it."""
    if verdict.hindrance and verdict.hindrance.kind != "same":
        return False
    if verdict.reading:
        return verdict.reading.stated
    if any(each.plan.unread for each in verdict.table):
        return False
    return bool(verdict.table or verdict.ranked or verdict.findings or verdict.group or verdict.quotes)


def _found(part: Asked, verdict: Verdict) -> bool:
    """Return whether a verdict has a line for what one of several parts asks for."""
    found = [finding.target for finding in (*verdict.findings, *verdict.group)]
    wanted = {target.label for target in parse(part.text).targets if target.label}
    said = any(target.asked == part.text or target.label in wanted for target in found)
    said = said or bool(verdict.ranked and verdict.ranked.label in wanted)
    said = said and not any(label in gap for label in wanted for gap in verdict.missing)
    if verdict.question.operation in ("compare", "sum", "mean") and weighs_only(part.text):
        return bool(verdict.chosen)
    lost = any(part.text.strip(" ?？") in gap for gap in verdict.missing)
    return said or not (wanted or lost)


def _weighs(part: Asked) -> bool:
    """Return whether a part asks which of several things has more, or by how much."""
    return WEIGHS.search(part.text.lower()) is not None or weighs_only(part.text)


def _joint(text: str) -> str:
    """Return what stands between short answers, in the language of a text."""
    return "；" if has_cjk(text) else "; "


def _comma(text: str) -> str:
    return "、" if has_cjk(text) else ", "


def in_one_line(asked: Sequence[Asked], verdict: Verdict, text: str) -> str:
    """Return the answer in one line: what it says in bold type, without the names that it is about; empty if it is longer."""
    if verdict.reading:
        return verdict.reading.span
    shown = chinese.verdict(verdict) if has_cjk(text) else verdict
    joint = _joint(text)
    comma = _comma(text)
    if shown.ranked and (said_of := _of_ranking(shown.ranked, asked[0], text)) is not None:
        return said_of
    lines = [
        line for line in text.split(_EVIDENCE)[0].splitlines() if "**" in line and not line.startswith(("|", "- "))
    ]
    operation = verdict.question.operation
    single = len({each.subject for each in shown.findings}) == 1
    if single and len(asked) == 1 and len(shown.findings) > _IN_ONE_LINE:
        return ""
    if shown.shared and not counts(asked[0].text):
        return comma.join(shown.shared) if len(shown.shared) <= TIED else ""
    calculated = bool(verdict.chosen and verdict.computed)
    differs = asked[0].kind != "whether" and DIFFERENCE.search(asked[0].text)
    times = asked[0].kind != "whether" and TIMES.search(asked[0].text)
    beyond = asked[0].kind != "number" and _BEYOND.search(asked[0].text)
    by = _BOLD.search(lines[1]) if calculated and beyond and len(asked) == 1 < len(lines) else None
    if by:
        return joint.join((_bold(lines[0], asked[0], verdict), _AGAIN.sub("", by[1])))
    if calculated and (asked[0].kind == "number" or differs or times):
        # what is calculated from the figures before it: the difference, then the ratio
        lines = lines[-1:] if times else lines[1:]
    elif (
        not verdict.chosen
        and (operation in ("lookup", "compare") or (operation == "growth" and not verdict.computed))
        and not (shown.question.relation and counts(asked[0].text))
        and len(asked) == 1 < len(shown.findings) <= (TIED if shown.question.relation or shown.limit else len(lines))
    ):
        of_each: dict[str, list[str]] = {}
        for each in shown.findings:
            name = _name_of(each, shown.findings) if single else each.subject
            of_each.setdefault(name, []).append(plain_of(each.fact))
        return joint.join(f"{name} {comma.join(said)}" for name, said in of_each.items())
    if (
        verdict.question.targets[:1]
        and verdict.question.targets[0].label in wholes()
        and len(shown.findings) > len(lines)
    ):
        return ""  # the largest part of each thing, and a table of the others
    if operation in ("sum", "mean", "compare") and len(asked) > 1 and not all(map(_weighs, asked)):
        return ""
    said = [_bold(line, part, verdict) for line, part in zip(lines, asked, strict=False)]
    if calculated and said and len(asked) == 1 and _denied(verdict):
        said[0] = joint.join((shown.chosen, said[0]))
    if operation == "growth" and len(asked) == 2 and len(lines) == 1:
        said = [*(plain_of(f.fact) for f in shown.findings if str(year_of(f.fact)) in asked[0].text), *said]
    return joint.join(dict.fromkeys(said)) if len(said) == len(asked) and all(said) else ""


def _denied(verdict: Verdict) -> bool:
    """Return whether the figures say the opposite of what a question takes for granted: *how much larger is Chad than Mali?*"""
    q = verdict.question
    return bool(_THAN.search(q.text) and q.names and verdict.chosen != q.names[0])


def _of_ranking(found: Ranked, asked: Asked, text: str) -> str | None:
    """Return the answer of a ranking in one line: a rank or names; None if it is a figure that the text says."""
    ranking = found.ranking
    if ranking.stands:
        return f"第{found.count + 1}" if has_cjk(text) else f"Number {found.count + 1}"
    if ranking.kind == "members" and found.count > TIED:
        return None
    listed = ranking.kind in ("count", "members") and not counts(asked.text)
    if asked.kind != "number" if ranking.kind == "top" else listed:
        between = _joint(text) if ranking.kind == "top" and ranking.first == 1 else _comma(text)
        return between.join(row.name for row in found.rows) if found.count <= TIED else ""
    return "" if ranking.kind == "top" and len(found.rows) > 1 else None  # the figures of each are in the table


def _name_of(finding: Finding, among: Sequence[Finding]) -> str:
    """Return what tells a figure from others of the same subject: its year in a series, or its label."""
    series = len({bare(each.fact.label) for each in among}) == 1 and year_of(finding.fact)
    return str(series) if series else bare(finding.fact.label)


def _bold(line: str, asked: Asked, verdict: Verdict) -> str:
    """Return what a line says in bold type behind its subject; of one that was chosen, its name unless a number is asked for."""
    found = [_AGAIN.sub("", match[1]) + (match[2] or "") for match in _BOLD.finditer(line)]
    ranked = any(each.plan.operation == "rank" for each in verdict.table)
    named = (verdict.chosen or ranked) and (asked.options or asked.kind != "number")
    if not named and (_ABOUT.match(line) or (verdict.chosen and len(found) > 1)):
        found = found[1:]
    return found[0] if found and not asked.many else ""
