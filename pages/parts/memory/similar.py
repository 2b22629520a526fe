"""Near-duplicates among entries: a statement and the quote it was made from say the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from research.memory import Entry, Match
from research.text import content_tokens

WEAK, LEAST = 0.6, 0.35
"""A search result below this share of the best one, or below this similarity, is a weak match."""
TOP: Final = 3
"""The first results of the search by words are never weak: an id or a name may be unlike anything in meaning."""


def merged(found: Sequence[Entry | Match]) -> list[tuple[Entry | Match, list[Entry]]]:
    """Return the entries, each with later ones that say the same of the same source.

    One that names its subject represents the others.
    """
    groups: dict[object, list[Entry | Match]] = {}
    for each in found:
        entry = entry_of(each)
        said = frozenset(content_tokens(entry.text)) - frozenset(content_tokens(entry.title))
        same = (entry.url, said) if entry.kind == "finding" and entry.url else entry.id
        groups.setdefault(same, []).append(each)
    result = []
    for group in groups.values():
        first = next((each for each in group if not subject(entry_of(each))), group[0])
        result.append((first, [entry_of(each) for each in group if each is not first]))
    return result


def subject(entry: Entry) -> str:
    """Return what a quote is about, from the title of its source; empty if its words name it, as a summary does."""
    if entry.provenance != "page" or not entry.url:
        return ""
    name = re.split(" [·›] ", entry.title)[0].strip()
    return "" if name.casefold() in entry.text.casefold() else name


def strong(found: Sequence[Match]) -> list[Match]:
    """Return the results without the tail of weak matches; the best one is never weak."""
    best = max((each.cosine for each in found), default=0.0)
    least = min(best, max(LEAST, WEAK * best))
    return [each for each in found if each.cosine >= least or 0 < each.word_rank <= TOP]


def entry_of(each: Entry | Match) -> Entry:
    return each.entry if isinstance(each, Match) else each
