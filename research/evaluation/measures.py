"""What one run's answer and report are worth: agreement with gold answers, the evidence cited, honest refusals.

Citations are counted in the manner of FACT (DeepResearch Bench, Du et al. 2025, arXiv:2506.11763): of the pairs of a
statement and a source, those that the source bears out; a report that cites nothing has no precision.  The verdicts are
those of the run itself (`research.citations`), so that they are the same for every model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final

from msgspec import Struct

from research.citations.marks import without_marks
from research.evaluation.agreement import cmrc, hotpot
from research.evaluation.datasets import Question
from research.types import Source
from research.view import RunView

CITED = 5
"""Sources that count as evidence, in the order in which the report cites them: who cites everything proves nothing."""


class Scores(Struct, frozen=True, omit_defaults=True):
    """Each from 0 to 1, except `effective_citations`; None where the question leaves it open."""

    exact_match: float | None = None
    f1: float | None = None
    right: float | None = None
    """1: a gold answer, or a number near enough, is the verdict, whatever is said around it; an unanswerable question is
    right when it is refused."""
    refused: float | None = None
    """1: said that the sources do not hold it.  Of unanswerable questions alone."""
    evidence_recall: float | None = None
    """1: every gold document is among the first `CITED` that the report cites."""
    evidence_share: float | None = None
    """The share of gold documents that is."""
    evidence_seen: float | None = None
    """1: every gold document is among all that the run saw: found, whether or not it was used."""
    citation_precision: float | None = None
    effective_citations: float | None = None
    """Number of citations that their sources bear out."""
    race: float | None = None
    """Of a judge: the report's points, as a share of those of report and reference together."""


MEASURES: Final = Scores.__struct_fields__

UNANSWERED: Final = ("no_evidence", "tool_errors", "needs_input", "stopped", "failed")
"""Outcomes of a run that has no answer, whatever its text holds."""

Names = Callable[[Source], Collection[str]]
"""The ids under which a dataset may know a source."""

_SCALES: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "万": 1e4, "亿": 1e8, "万亿": 1e12}
_NUMBER = re.compile(
    r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)\s*(thousand|million|billion|trillion|万亿|万|亿)?(\s*(?:%|％|per ?cent))?",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\bno (?:\w+ )?(?:information|data|evidence|figure|answer|record|source)|\bcannot (?:be )?(?:answer|determine|find)|"
    r"\b(?:does|do|did|could|is|are|was|were) not (?:\w+ )?(?:state|hold|contain|give|say|mention|include|provide|report|"
    r"find|found|available|exist|answer)|没有(?:找到|查到|提供|给出|提到|提及|关于|相关|记载)|(?:并?未)(?:找到|提供|给出|提及|"
    r"提到|记载|包含)|无法(?:回答|确定|得知|找到)|不(?:包含|含有|存在)",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
_TITLES = re.compile(r"(?:\s*^#{1,6} .*$)+", re.MULTILINE)


def measure(question: Question, view: RunView, names: Names) -> Scores:
    """The scores of a run that has ended; `race` is left to the judge."""
    said = without_marks(view.answer) if view.outcome not in UNANSWERED else ""
    exact = f1 = right = refused_ = None
    if not question.answerable:
        right = refused_ = float(refused(view))
    elif question.answers:
        exact, f1 = (cmrc if question.language == "zh" else hotpot)(said, question.answers)
        right = float(is_right(question, said))
    recall, share = evidence(question.gold, view.cited_sources[:CITED], names)
    seen, _ = evidence(question.gold, view.seen_sources, names)
    pairs = {(each.n, each.claim): each.status == "supported" for each in view.citations}
    return Scores(
        exact_match=exact, f1=f1, right=right, refused=refused_, evidence_recall=recall, evidence_share=share,
        evidence_seen=seen,
        citation_precision=sum(pairs.values()) / len(pairs) if pairs else None,
        effective_citations=float(sum(pairs.values())),
    )  # fmt: skip


def evidence(gold: Sequence[str], sources: Sequence[Source], names: Names) -> tuple[float | None, float | None]:
    """Whether all gold documents are among the sources, and the share that is; None where none is named."""
    if not gold:
        return None, None
    known = {name for source in sources for name in names(source)}
    found = len(known & set(gold))
    return float(found == len(set(gold))), found / len(set(gold))


def refused(view: RunView) -> bool:
    """Whether a run says that there is no answer: by its outcome, or in the first sentences of its own words."""
    return view.outcome == "no_evidence" or (
        view.outcome not in UNANSWERED and _REFUSAL.search(_verdict(view.answer)[:400]) is not None
    )


def is_right(question: Question, answer: str) -> bool:
    """Whether what stands before the next heading, which is the verdict and not its evidence, gives a gold answer."""
    verdict = _verdict(answer)
    if question.value is not None:
        return any(
            abs(number - abs(question.value)) <= question.tolerance for number in _numbers(verdict, question.unit)
        )
    if question.answers[0].casefold() in ("yes", "no", "是", "否"):
        return verdict.casefold().startswith(question.answers[0].casefold())
    place = min((found for gold in question.answers if (found := _place(verdict, gold)) is not None), default=None)
    others = [found for other in question.over if (found := _place(verdict, other)) is not None]
    return place is not None and all(place < other for other in others)


def _verdict(answer: str) -> str:
    titles = _TITLES.match(answer)  # a report of sections begins with some
    head = _HEADING.split(answer[titles.end() :] if titles else answer, maxsplit=1)[0]
    return head.replace("**", "").strip()


def _place(text: str, wanted: str) -> int | None:
    """Where a text stands, in any case and as whole words: `129` is not in `1,290` or in `129.5`."""
    found = re.search(
        rf"(?<![^\W\u3400-\u9fff])(?<!\d[.,]){re.escape(wanted)}(?![^\W\u3400-\u9fff])(?![.,]\d)", text, re.IGNORECASE
    )
    return found.start() if found else None


def _numbers(text: str, unit: str) -> list[float]:
    """The numbers of a text, scale words applied; signs do not count, for a fall may be told in words."""
    return [
        float(digits.replace(",", "")) * _SCALES.get(scale.lower(), 1.0)
        for digits, scale, percent in _NUMBER.findall(text)
        if percent or unit != "%"
    ]
