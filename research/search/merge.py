"""Merge the results of several searchers into one list, with each page and each paper once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from research.text import content_tokens, numbers, tokens
from research.types import Passage
from research.web import csl

_RANK = 60
"""The constant of reciprocal rank fusion, Cormack, Clarke and Büttcher 2009."""
_ALIKE = 0.85
"""Texts that share at least this part of their shingles are copies."""
_SHINGLE = 3
"""Words in a shingle."""
_ENOUGH = 12
"""Texts with fewer shingles are too short to compare."""

# Parameters that track visitors and never select content; ambiguous ones (`ref`, `source`, `uid`) are not listed.
_TRACKING = re.compile(
    r"utm_\w+|ga_\w+|_ga|_gl|gclid|gclsrc|dclid|gbraid|wbraid|gad_source|gad_campaignid|srsltid|fbclid|fb_action_\w+|"
    r"msclkid|yclid|ysclid|twclid|ttclid|li_fat_id|igshid|igsh|mc_[ce]id|_hsenc|_hsmi|__hs\w+|hsctatracking|mkt_tok|"
    r"pk_\w+|mtm_\w+|piwik_\w+|matomo_\w+|ref_src|ref_url|oly_(?:anon|enc)_id|vero_(?:conv|id)|wickedid|s_cid|cmpid|"
    r"guccounter|guce_referrer\w*|_openstat|at_(?:medium|campaign|custom\d)|__twitter_impression",
    re.IGNORECASE,
)
_DEVICE = {"m", "mobile", "amp", "touch"}
_WWW = re.compile(r"www\d{0,2}")

Same = Callable[[Passage, Passage], bool]


@lru_cache(maxsize=4_096)
def canonical(url: str) -> str:
    """Return a key that is equal for urls of the same page; it need not be a working url itself.

    Drops scheme, `www.`, mobile host, default port, fragment, tracking parameters and a trailing slash; sorts the
    parameters and normalises escapes.  A text that is not a web address is returned unchanged.
    """
    from w3lib.url import canonicalize_url

    try:
        parts = urlsplit(canonicalize_url(url))  # escapes, order of parameters, fragment, international hosts
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return url
    if parts.scheme not in ("http", "https") or not host:
        return url
    query = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if not _TRACKING.fullmatch(pair[0])]
    place = _desktop(host) + ("" if port in (None, 80, 443) else f":{port}")
    return f"{place}{parts.path.rstrip('/')}" + (f"?{urlencode(query)}" if query else "")


def _desktop(host: str) -> str:
    """Return `en.wikipedia.org` for `en.m.wikipedia.org`."""
    try:
        ip_address(host)
    except ValueError:
        *before, name, top = host.rstrip(".").rjust(len(host) + 1, ".").split(".")
        if any(before):
            kept = [label for label in before if label and label not in _DEVICE and not _WWW.fullmatch(label)]
            return ".".join([*kept, name, top])
    return host


def fused(rankings: Sequence[Sequence[Passage]], same: Same) -> list[Passage]:
    """Fuse the rankings into one by reciprocal rank.  Passages that are the `same` merge, with the fields of both."""
    groups: list[tuple[float, Passage]] = []
    for rank in range(max(map(len, rankings), default=0)):
        for ranking in rankings:
            if rank >= len(ranking):
                continue
            passage, worth = ranking[rank], 1 / (_RANK + rank)
            for place, (score, known) in enumerate(groups):
                if same(known, passage):
                    groups[place] = (score + worth, _joined(known, passage))
                    break
            else:
                groups.append((worth, passage))
    return [passage for _, passage in sorted(groups, key=lambda group: -group[0])]


def same_page(a: Passage, b: Passage) -> bool:
    """Return whether the two are one page under two urls, copies on two sites, or files that repeat each other."""
    return canonical(a.url) == canonical(b.url) or _copies(a, b) or _repeats(a, b) or _repeats(b, a)


def same_paper(a: Passage, b: Passage) -> bool:
    """Compare by DOI, by arXiv number, or by title and an author; a preprint and its journal version are the same."""
    for identify in (lambda p: p.csl.get("DOI", ""), lambda p: csl.arxiv_id(p.csl)):
        if identify(a) and identify(a) == identify(b):
            return True
    if canonical(a.url) == canonical(b.url):
        return True
    titles = content_tokens(a.title), content_tokens(b.title)
    if titles[0] != titles[1] or not titles[0]:
        return False
    dois = {p.csl["DOI"] for p in (a, b) if "DOI" in p.csl}
    if len(dois) == 2 and not (_preprint(a.csl) or _preprint(b.csl)):
        return False  # an editorial has the same title and author each year
    families = [{_family(author) for author in p.csl.get("author", ())} for p in (a, b)]
    return bool(families[0] & families[1]) if all(families) else len(titles[0]) >= 4


def _family(author: dict[str, str]) -> str:
    return " ".join(tokens(author.get("family") or author.get("literal", "")))


def _joined(first: Passage, other: Passage) -> Passage:
    if _repeats(other, first) and not _repeats(first, other):
        first, other = other, first  # nothing is lost, and the quote is its own
    fields: dict[str, Any] = {**other.csl, **first.csl}
    counts = [count for count in map(csl.citations, (first.csl, other.csl)) if count is not None]
    if counts:
        fields["custom"] = csl.cited(max(counts))
    if csl.retracted(first.csl) or csl.retracted(other.csl):
        fields["custom"] = {**(fields.get("custom") or {}), "retracted": True}
    published = next((p.csl for p in (first, other) if p.csl.get("container-title") and not _preprint(p.csl)), None)
    if published is not None and _preprint(first.csl):  # cite the reviewed version
        for name in ("type", "container-title", "volume", "issue", "page", "DOI", "issued"):
            if name in published:
                fields[name] = published[name]
    return msgspec.structs.replace(first, quote=first.quote or other.quote, csl=fields)


def _preprint(fields: dict[str, Any]) -> bool:
    return fields.get("type") == "article" or "arxiv" in str(fields.get("container-title", "")).lower()


def _copies(a: Passage, b: Passage) -> bool:
    """Return whether two web pages have nearly the same words; see `_repeats` for documents of the library."""
    if not (a.url.startswith("http") and b.url.startswith("http")):
        return False
    one, two = _shingles(a.title, a.quote), _shingles(b.title, b.quote)
    if min(len(one), len(two)) < _ENOUGH or len(one & two) < _ALIKE * len(one | two):
        return False
    return set(numbers(a.quote)) == set(numbers(b.quote))  # the same sentence for another year is another fact


def _repeats(a: Passage, b: Passage) -> bool:
    """Return whether a library document has title and quote of another, of some length, word for word."""
    if a.url.startswith("http") or b.url.startswith("http"):
        return False
    own, other = (tokens(f"{p.title} {p.quote}") for p in (a, b))
    return len(other) >= _ENOUGH and f" {' '.join(other)} " in f" {' '.join(own)} "


@lru_cache(maxsize=1_024)
def _shingles(*texts: str) -> frozenset[tuple[str, ...]]:
    return frozenset(words[i : i + _SHINGLE] for words in map(tokens, texts) for i in range(len(words) - _SHINGLE + 1))
