"""Judge the statements of a report by the citations that the checker returned for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isclose, sqrt

from msgspec.structs import replace

from research._util.said import say, spoken
from research._util.sentences import sentences
from research.citations import without_marks
from research.citations.closest import closest
from research.citations.labelled import label_of, told
from research.citations.language import says
from research.citations.marks import Statement, named
from research.citations.reasons import told as why
from research.events.audit_findings import (
    FAILS,
    HOLDS,
    READ,
    AuditedSource,
    AuditedStatement,
    LinkState,
    Nearness,
    Opinion,
    Score,
    TrialVerdict,
)
from research.quantities import Quantity, quantities
from research.text import clip, content_tokens, line_tokens
from research.types import Citation
from research.web.table_text import HEAD

VERDICTS: Mapping[TrialVerdict, str] = {
    "supported": "supported",
    "calculated": "follows by calculation",
    "partial": "partly supported",
    "contradicted": "contradicted",
    "unsupported": "not supported",
    "unverified": "undecided",
    "not_checkable": "not checkable",
    "no_source": "cites no source",
}
STATES: Mapping[LinkState, str] = {
    "reachable": "reachable",
    "redirected": "redirected",
    "gone": "gone",
    "blocked": "blocked",
    "paywalled": "behind a paywall",
    "unreachable": "no answer",
    "unreadable": "unreadable",
    "other_work": "not the cited work",
    "refused": "not opened",
    "not_found": "not found",
    "not_listed": "missing from the reference list",
    "not_asked": "not looked for",
}
"""The words for verdicts and for the states of links; `say` translates them."""
NEARNESS = {
    "alike": "nearly the same in your sources",
    "figure": "another figure in your sources",
    "name": "another name in your sources",
}
"""The words for an open statement that is shown beside such a passage."""
OTHER = ("figure", "name")
"""Of these, those that say something else."""
QUOTED = 600
_NEAR, _ALIKE = 0.25, 0.5
"""Share of the words of a statement, the rare ones counting more, that a passage shown beside it has at least, and from which
it says nearly the same."""
_ORDER: tuple[TrialVerdict, ...] = ("supported", "calculated", "contradicted", "unsupported", "partial", "unverified")


def judged(
    n: int, statement: Statement, sources: Mapping[int, AuditedSource], citations: Sequence[Citation]
) -> AuditedStatement:
    """Return the verdict on a statement; `citations` are those of the sources that were read, by ledger number."""
    text = without_marks(statement.text)
    unread = [sources[each] for each in statement.numbers if sources[each].state not in READ]
    said = line_tokens(text)
    near = sorted(citations, key=lambda each: -len(said & line_tokens(each.quote)))
    best = min(near, key=lambda each: _ORDER.index(_verdict(each)), default=None)
    verdict: TrialVerdict = _verdict(best) if best else "not_checkable"
    found = not statement.numbers and verdict in (*HOLDS, "contradicted")
    if not statement.numbers and not found:
        return AuditedStatement(n, clip(text, 2_000), "no_source", statement.context)
    # A source that was not read might support it, so that only a contradiction counts against the statement.
    if unread and verdict not in (*HOLDS, "contradicted"):
        verdict = "not_checkable"
    return AuditedStatement(
        n,
        clip(text, 2_000),
        verdict,
        statement.context,
        statement.numbers,
        clip(best.quote, QUOTED) if best else "",
        _why_not(unread) if verdict == "not_checkable" else why(best, spoken()) if best else "",
        _correction(text, verdict, best),
        best.by if best else "",
        found=best.n if best and found else 0,
    )


def beside_closest(found: AuditedStatement, quotes: Iterable[tuple[str, str]]) -> AuditedStatement:
    """Return an open statement with the sentence that has most of its words, rare ones counting more, if it has enough.

    `quotes` are below titles, which may name the subject of the statement, but say nothing of it.
    """
    near = [(title, piece) for title, quote in quotes for piece in sentences(quote) if not HEAD.match(piece)]
    goal = told(found.text, (), [title for title, _ in near]).text
    title, passage, share = closest(goal, near)
    if share < _NEAR or not line_tokens(goal) & line_tokens(passage):
        return found
    compared = _nearness(found.text, title, passage) if share >= _ALIKE and not label_of(passage) else ""
    quoted = {"title": title, "passage": clip(passage, QUOTED)}
    if compared:
        return replace(found, reason=say("“{title}”: “{passage}”", **quoted), near=compared)
    said = say("closest passage in your sources, from “{title}”: “{passage}”", **quoted)
    return replace(found, reason=say("; ").join(filter(None, [found.reason, said])))


def _nearness(text: str, title: str, passage: str) -> Nearness:
    """Return whether a passage with the words of a statement has its names and figures, too, or others of the same kind."""
    if says("not", text) != says("not", passage):
        return ""
    own, others = ({_kind_and_value(each) for each in quantities(of)} for of in (text, passage))
    if not own <= others:
        kinds = {kind for kind, _ in own - others}
        return "figure" if any(kind in kinds for kind, _ in others - own) else ""
    if not _names_missing(text, f"{title} {passage}"):
        return "alike"
    return "name" if _names_missing(passage, text) else ""


def _names_missing(text: str, other: str) -> set[str]:
    """Return the words of names in a text, apart from the word that begins it, which another text does not have."""
    said = other.casefold()
    return {
        name for name in named(text.partition(" ")[2] or text) if content_tokens(name) and name.casefold() not in said
    }


def _kind_and_value(figure: Quantity) -> tuple[tuple[str, str], str | float]:
    """Return what figures are compared by: a date as it is written, an ordinal without its unit."""
    if figure.kind == "date":
        return ("date", ""), figure.written.casefold()
    return (figure.kind, "" if figure.kind == "ordinal" else figure.unit), figure.value


def _verdict(citation: Citation) -> TrialVerdict:
    return "unverified" if citation.status == "dead" else citation.status


def _why_not(unread: Sequence[AuditedSource]) -> str:
    return say("; ").join(
        say("{name}: {reason}", name=clip(each.name, 80), reason=each.reason or say(STATES[each.state]))
        for each in unread[:5]
    )


def _correction(text: str, verdict: TrialVerdict, best: Citation | None) -> str:
    """Return the statement with the figure of the source if it has one other figure, and what the source says."""
    if best is None or verdict not in FAILS or not best.quote:
        return ""
    quote = clip(" ".join(best.quote.split()), 300)
    right = next((value for reason in best.reasons for name, value in reason.values if name == "figure"), "")
    said, stated = ([q for q in quantities(each) if q.kind == "number"] for each in (text, right))
    if verdict == "contradicted" and len(said) == len(stated) == 1:
        (old, scale), (new, of_source) = map(_digits, (*said, *stated))
        if old and isclose(scale, of_source) and not said[0].limit:
            proposed = f"{text[: said[0].start]}{new}{text[said[0].start + len(old) :]}"
            return say("better: “{proposed}” – the source says: “{quote}”", proposed=proposed, quote=quote)
    return say("the source says: “{quote}”", quote=quote)


def _digits(figure: Quantity) -> tuple[str, float]:
    """Return the digits that a figure begins with, and how much one of them counts; nothing for any other figure."""
    found = re.match(r"\d[\d,]*(?:\.\d+)?", figure.written)
    number = float(found[0].replace(",", "")) if found else 0.0
    return (found[0], figure.value / number) if found and number else ("", 0.0)


def opinions(
    sources: Mapping[int, AuditedSource], numbers: Sequence[int], each_alone: Mapping[int, Citation]
) -> tuple[Opinion, ...]:
    """Return what each source says of a statement if one supports it and another contradicts it; else nothing."""
    by_ledger = {sources[n].ledger: n for n in numbers if sources[n].ledger}
    found = [
        Opinion(by_ledger[n], _verdict(each), clip(each.quote, QUOTED))
        for n, each in each_alone.items()
        if n in by_ledger
    ]
    verdicts = {each.verdict for each in found}
    return tuple(found) if verdicts & set(HOLDS) and "contradicted" in verdicts else ()


def score(statements: Sequence[AuditedStatement]) -> Score:
    """Return the share of statements that hold, of those with a verdict for or against them."""
    holds = sum(each.verdict in HOLDS for each in statements)
    n = holds + sum(each.verdict in FAILS for each in statements)
    if not n:
        return Score(0, 0, None, 0.0, 1.0)
    p, z = holds / n, 1.959964
    middle, half = (p + z * z / (2 * n)), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    below = 1 + z * z / n
    low, high = (middle - half) / below, (middle + half) / below
    return Score(holds, n, round(p, 6), round(max(0.0, low), 6), round(min(1.0, high), 6))


_BROKEN = frozenset({"other_work", "not_listed", "gone"})
"""States of a source that the author of the report has to mend."""
_WORST: tuple[TrialVerdict, ...] = (
    "contradicted",
    "unsupported",
    "partial",
    "not_checkable",
    "unverified",
    "no_source",
)


def to_fix(
    statements: Sequence[AuditedStatement], sources: Mapping[int, AuditedSource], most: int = 3
) -> list[AuditedStatement]:
    """Return the statements to fix first: the false ones, those whose source is invented or gone, those with another figure."""
    broken = {n for n, each in sources.items() if each.state in _BROKEN}
    wrong = [
        each
        for each in statements
        if each.verdict in FAILS
        or (each.verdict == "not_checkable" and broken & set(each.sources))
        or each.near in OTHER
    ]
    return sorted(wrong, key=lambda each: (each.near != "", _WORST.index(each.verdict), each.n))[:most]
