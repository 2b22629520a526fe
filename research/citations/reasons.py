"""Explain a verdict.  `_util/said_zh.toml` has the Chinese of the texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from research._util.said import catalogue, translated
from research.text import clip, has_cjk
from research.types import Citation, Judgement, Reason

JUDGED: Final = {
    "supported": "judged by {judge}: yes",
    "partial": "judged by {judge}: in part",
    "unsupported": "judged by {judge}: no",
    "contradicted": "judged by {judge}: no, the source says otherwise",
    "unverified": "judged by {judge}: cannot tell",
}
_QUERY: Final = re.compile(r"(.+?): (?:SELECT|WITH)\b", re.I)
"""The reason of a figure that a query returned: the figure, then the SQL, which the steps of the run show."""
_LINE: Final = 160
"""Most characters of the passage in a reason."""


def because(text: str, /, **values: object) -> Reason:
    """Return a reason; `values` fill the placeholders of its text."""
    return Reason(text, tuple((name, str(value)) for name, value in values.items()))


OPEN: Final = because("rules can't decide this, and no model has checked it")
DEAD: Final = because("no source has this number")


def judged(judgement: Judgement) -> tuple[Reason, ...]:
    """Return what a judge said, and why if it gave a reason or a line of the source."""
    said = because(JUDGED.get(judgement.status, JUDGED["unverified"]), judge=judgement.by.removeprefix("model:"))
    line = clip(" ".join(judgement.quote.split()), _LINE)
    why = judgement.reason or (f"“{line}”" if line else "")
    return (said, because("because {why}", why=why)) if why else (said,)


def one_line(reasons: Iterable[Reason], language: str = "en") -> str:
    """Return reasons in a language, on one line."""
    return ("；" if language == "zh" else "; ").join(_translated(each, language) for each in reasons)


def told(citation: Citation, language: str) -> str:
    """Return the reason for a verdict in that language.

    Earlier versions saved other reasons, or none; in another language those of today take their place.
    """
    reasons = citation.reasons or ((Reason(citation.reason),) if citation.reason else ())
    if queried := [found[1] for each in reasons if (found := _QUERY.match(each.text))]:
        return one_line([because("a query over these rows gives {figures}", figures=", ".join(queried))], language)
    if language == "en" and citation.reason:
        return citation.reason
    known = citation.status == "calculated" or all(each.text in catalogue() or has_cjk(each.text) for each in reasons)
    return one_line(reasons if reasons and known else _todays(citation), language)


def _todays(citation: Citation) -> tuple[Reason, ...]:
    """Return why a citation has its verdict, without the reasons that were saved with it."""
    if citation.judgements:
        return judged(citation.judgements[-1])
    return {"dead": (DEAD,), "unverified": (OPEN,)}.get(citation.status, ())


def _translated(reason: Reason, language: str) -> str:
    if reason.text not in catalogue():  # a formula, or words of others, in which no slot is filled
        return reason.text
    values = {name: translated(value, language) for name, value in reason.values}
    return translated(reason.text, language).format(**values) if values else translated(reason.text, language)
