"""Convert the bibliographic fields of search services to CSL JSON.

Format: CSL 1.0.2, `csl-data.json`.  Dates are `{"date-parts": [[2017, 6, 12]]}`; month and day may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from research._util.bounds import short
from research.text import has_cjk

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_ISO = re.compile(r"\s{0,9}(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?=$|[\sT])")
_MONTH_FIRST = re.compile(r"\s{0,9}([A-Za-z]{3})[a-z]{0,300}\.? (\d{1,2}), (\d{4})\b")
_DAY_FIRST = re.compile(r"\s{0,9}(?:[A-Za-z]{3}, )?(\d{1,2}) ([A-Za-z]{3})[a-z]{0,300} (\d{4})\b")
_PARTICLES = frozenset("af al da das de del della den der di dos du el la le ten ter van von zu zur".split())
_SUFFIX = re.compile(r"(?i)(?:jr|sr)\.?|i{2,3}|iv")
_ARXIV = re.compile(r"(?i)(?:arxiv[:./]|/abs/|/pdf/)\s*((?:\d{4}\.\d{4,5})|(?:[a-z-]+(?:\.[a-z]{2})?/\d{7}))(?:v\d+)?")


def date(text: str | None) -> dict[str, Any] | None:
    """Parse a date: ISO, `Mar 5, 2024`, or as in mail headers.  Return None for others, such as `2 days ago`."""
    text = text or ""
    if found := _ISO.match(text):
        parts = [int(part) for part in found.groups() if part]
    elif found := _MONTH_FIRST.match(text):
        parts = [int(found[3]), _month(found[1]), int(found[2])]
    elif found := _DAY_FIRST.match(text):
        parts = [int(found[3]), _month(found[2]), int(found[1])]
    else:
        return None
    if len(parts) > 1 and not 1 <= parts[1] <= 12:
        parts = parts[:1]
    if len(parts) > 2 and not 1 <= parts[2] <= 31:
        parts = parts[:2]
    return {"date-parts": [parts]}


def year(csl: dict[str, Any]) -> int | None:
    """Return the year of publication; None if it is unknown."""
    parts = (csl.get("issued") or {}).get("date-parts") or [[]]
    return parts[0][0] if parts[0] else None


def name(text: str) -> dict[str, str]:
    """Split a name, `Laurens van der Maaten` or `van der Maaten, Laurens`; one-word and Chinese names stay whole."""
    family, comma, given = (part.strip() for part in text.partition(","))
    if comma and given and not _SUFFIX.fullmatch(given):
        return {"family": family, "given": given}
    words = family.split()
    suffix = given or (words.pop() if len(words) > 2 and _SUFFIX.fullmatch(words[-1]) else "")
    if len(words) < 2 or has_cjk(text):
        return {"literal": " ".join(text.split())}
    start = len(words) - 1
    while start > 1 and words[start - 1].lower() in _PARTICLES and words[start - 1].islower():
        start -= 1
    named = {"family": " ".join(words[start:]), "given": " ".join(words[:start])}
    return {**named, "suffix": suffix} if suffix else named


def names(texts: Iterable[str | None]) -> list[dict[str, str]]:
    return [name(text) for text in texts if text and text.strip()]


def written(author: dict[str, str]) -> str:
    """Return a CSL name in reading order: given name, family name, suffix."""
    return author.get("literal") or " ".join(
        filter(None, (author.get("given"), author.get("family"), author.get("suffix")))
    )


def doi(text: str | None) -> str:
    """Return the DOI in lower case, without the resolver's url; empty if there is none."""
    found = re.search(r"10\.\d{4,9}/\S+", text or "")
    return found[0].lower() if found else ""


def arxiv_id(csl: dict[str, Any]) -> str:
    """Return the arXiv number without its version; empty if the fields contain none."""
    for field in ("number", "DOI", "URL"):
        value = str(csl.get(field, ""))
        if "arxiv" in value.lower() and (found := _ARXIV.search(value)):
            return found[1].lower()
    return ""


def cited(count: int | None) -> dict[str, int] | None:
    """Return the value of CSL's `custom` field for this number of citations."""
    return None if count is None else {"citations": count}


def retracted(csl: dict[str, Any]) -> bool:
    """Return whether the work was retracted, as far as the service knows."""
    return bool((csl.get("custom") or {}).get("retracted"))


def citations(csl: dict[str, Any]) -> int | None:
    """Return the number of citations that `cited` stored; None if it is unknown."""
    count: int | None = (csl.get("custom") or {}).get("citations")
    return count


def record(**fields: Any) -> dict[str, Any]:
    """Return a CSL record of the non-empty fields, each cut to its limit; underscores become hyphens.

    The URL is not cut.
    """
    kept = {field.replace("_", "-"): value for field, value in fields.items() if value}
    return {field: value if field == "URL" else short(value) for field, value in kept.items()}


def _month(word: str) -> int:
    word = word.lower()
    return _MONTHS.index(word) + 1 if word in _MONTHS else 0
