"""Claims that come from outside, each with its own sources, as `research check` reads and answers them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from research.citations.checking import check_claim
from research.types import Citation, Embedder, Source, Verdict


class Given(Struct, frozen=True):
    """A source of a claim."""

    text: str
    title: str = ""


class Claim(Struct, frozen=True):
    """A claim, in one sentence, and its sources."""

    id: str | int
    claim: str
    sources: tuple[Given, ...]


class Judged(Struct, frozen=True):
    """The verdict on a claim, with the passage that comes closest to it."""

    id: str | int
    verdict: Verdict
    quote: str
    reason: str
    by: str


def judge(claim: Claim, embedder: Embedder | None = None) -> Judged:
    """Return the verdict on a claim: the best of its sources, which may state it together."""
    sources = [Source(n, "", each.title, each.text) for n, each in enumerate(claim.sources, 1)]
    found = check_claim(claim.claim, sources, embedder)
    best = (
        min(found, key=_order) if found else Citation(0, claim.claim, "dead", reason="no source is given", by="rules")
    )
    return Judged(claim.id, best.status, best.quote, best.reason, best.by)


_ORDER: Sequence[Verdict] = ("supported", "calculated", "contradicted", "unverified", "dead")


def _order(citation: Citation) -> tuple[int, int]:
    return _ORDER.index(citation.status), citation.n
