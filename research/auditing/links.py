"""Say what became of a source: read, redirected, gone, blocked, behind a paywall, or another work than the one cited."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from research._util.said import say
from research.auditing.references import Reference
from research.citations import shelf
from research.citations.marks import named
from research.events.audit_findings import LinkState
from research.text import clip, content_tokens, without_accents
from research.types import Observation, Source

ALIKE = 0.6
"""Share of the words of a title that a page must contain to be the work of that title."""
GUESSED = 0.34
"""The same where the title was guessed from the order of an entry's parts."""
HALF = 0.5
"""The same for a document that the user may choose."""
_SHORT = 2_500
"""Characters of a page that says nothing but why it is not shown."""
_PAYWALL = re.compile(
    r"subscribe (?:now )?to (?:continue|read|unlock|get)|subscription (?:is )?required|(?:sign|log) in to (?:continue|read)|"
    r"for subscribers only|subscribers? only|this (?:article|content) is (?:for|reserved for|available to) "
    r"(?:paying )?(?:subscribers|members)|"
    r"purchase (?:access|this article)|buy (?:this )?article|already a subscriber|continue reading with|get full access|"
    r"订阅后(?:可|继续)|仅限(?:订阅|会员)|付费(?:阅读|内容)|登录后(?:可|继续)",
    re.I,
)
_BLOCK = re.compile(
    r"verify (?:that )?you are (?:a )?human|access denied|are you a robot|enable javascript and cookies|checking your browser|"
    r"unusual traffic|captcha|人机验证|访问被拒绝",
    re.I,
)
_GONE = re.compile(
    r"\b404\b|page (?:was )?not found|no longer (?:available|exists)|page (?:does|doesn[’']t) (?:not )?exist|"
    r"页面不存在|找不到页面",
    re.I,
)


class Found(Struct, frozen=True):
    """What became of a source."""

    state: LinkState
    reason: str = ""


def state_of(reference: Reference, seen: Observation) -> Found:
    """Return the state of a source after the call that read it."""
    if not seen.ok or not seen.sources:
        return _failed(seen)
    page = seen.sources[0]
    short = len(page.quote) < _SHORT
    if short and (_GONE.search(page.title) or (len(page.quote) < 600 and _GONE.search(page.quote[:300]))):
        return Found("gone", say("the page says that it does not exist"))
    if short and _PAYWALL.search(page.quote):
        return Found("paywalled", say("the page asks for a subscription or a login"))
    if len(page.quote) < 800 and _BLOCK.search(f"{page.title}\n{page.quote}"):
        return Found("blocked", say("the site asks whether a person reads it"))
    if why := mismatch(reference, page.title, page.quote, page.csl):
        return Found("other_work", why)
    if reference.url and _address(page.url) != _address(reference.url):
        return Found("redirected", say("it now is at {url}", url=clip(page.url, 200)))
    return Found("reachable")


def _failed(seen: Observation) -> Found:
    code = seen.code
    status = int(code.removeprefix("status ")) if code.startswith("status ") else 0
    states: dict[int, LinkState] = {404: "gone", 410: "gone", 402: "paywalled"}
    if status:
        state = states.get(status, "blocked" if status < 500 else "unreachable")
        return Found(state, say("the server answered with status {status}", status=status))
    others: dict[str, LinkState] = dict.fromkeys(("timeout", "network", "no host"), "unreachable")
    others["refused"] = "refused"
    return Found(others.get(code, "unreadable"), clip(seen.text.split("; try another source")[0], 300))


def mismatch(reference: Reference, title: str, text: str, csl: dict[str, Any]) -> str:
    """Return why a page is not the work that is cited; empty if it may be."""
    doi = str(csl.get("DOI") or "").casefold().removeprefix("https://doi.org/")
    if doi and reference.doi and doi != reference.doi.casefold():
        return say("its DOI is {found}, not {cited}", found=doi, cited=reference.doi)
    head = f"{title}\n{csl.get('title', '')}\n{text}"
    named = bool(reference.title) and alike(reference.title, head) >= (ALIKE if reference.sure else GUESSED)
    if reference.title and not named:
        return say("the page is “{found}”, not “{cited}”", found=clip(title, 160), cited=clip(reference.title, 160))
    names = _people(csl)
    if names and reference.surnames and reference.sure and not set(reference.surnames) & names:
        whole = set(re.findall(r"[^\W\d_]+", without_accents(head).casefold()))
        if not set(reference.surnames) & whole:
            found = ", ".join(sorted(names)[:3]).title()
            return say("it was written by {found}, not by {cited}", found=found, cited=clip(reference.author, 100))
    issued = (csl.get("issued") or {}).get("date-parts") or [[]]
    year = int(issued[0][0]) if issued[0] else 0
    dated = reference.sure or bool(reference.author)  # else the year may belong to the title
    journal = csl.get("type") == "article-journal" or bool(doi)
    if journal and dated and year and reference.year and abs(year - int(reference.year[:4])) > 1:
        return say("it was published in {found}, not in {cited}", found=year, cited=reference.year)
    return ""


def alike(title: str, text: str) -> float:
    """Return the share of a title's words that a text contains."""
    wanted = set(content_tokens(title))
    return len(wanted & set(content_tokens(text))) / len(wanted) if wanted else 1.0


def best_matches(reference: Reference, sources: Sequence[Source]) -> list[Source]:
    """Return the documents that have the title of a reference: the best one, or several that have it equally.

    Of a country's whole entry in the Factbook it is the first section.
    """
    if found := {each.url: each for each in sources if shelf.means(reference.text, each.title, each.url)}:
        return list(found.values())
    if sections := [each for each in sources if reference.means_country(each.title)]:
        return sections[:1]
    wanted = reference.title or reference.text
    names = set(reference.surnames)
    rated: dict[str, tuple[float, Source]] = {}
    for each in sources:
        title = re.sub(r"\.\w{2,5}$", "", each.title.partition(" › ")[0])
        share = min(alike(wanted, each.title), 1.0)
        back = alike(title, f"{wanted} {reference.text}")
        own = bool(names & set(re.findall(r"[^\W\d_]+", without_accents(each.title).casefold())))
        # where a title was guessed, it may have more around it, such as the name of the series
        inside = not reference.sure and back == 1 and len(set(content_tokens(title))) > 1
        if min(share, back) >= ALIKE or inside or (own and max(share, back) >= ALIKE):
            rated.setdefault(each.url, (share + back, each))
    best = max((rate for rate, _ in rated.values()), default=None)
    return [each for rate, each in rated.values() if rate == best]


def concerns(text: str, source: Source) -> bool:
    """Return whether a document is about what a text names: its country, or a name that it has, too; any if it names none."""
    if " · " in source.title:
        return shelf.names_country(text, source.title)
    names = {word for word in named(text) if content_tokens(word)}
    return not names or any(name in f"{source.title}\n{source.quote}" for name in names)


def may_be_meant(reference: Reference, sources: Sequence[Source]) -> list[Source]:
    """Return the documents that the user can choose from: half of the words of their title are in a reference."""
    near = {each.url: each for each in sources if alike(each.title, f"{reference.title} {reference.text}") >= HALF}
    return list(near.values())


def _people(csl: dict[str, Any]) -> set[str]:
    names = set()
    for each in csl.get("author") or ():
        words = re.findall(
            r"[^\W\d_]{2,}", without_accents(str(each.get("family") or each.get("literal") or "")).casefold()
        )
        names.update(words)
    return names


def _address(url: str) -> str:
    """Return an address as far as a change of it matters."""
    return re.sub(r"^https?://(?:www\.)?", "", url.partition("#")[0], flags=re.I).rstrip("/").casefold()
