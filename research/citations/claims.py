"""Claims that come from outside, each with its own sources, as `research check` reads and answers them."""

from __future__ import annotations

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
    """Return the verdict of all sources of a claim together."""
    sources = [Source(1, "", each.title, each.text) for each in claim.sources]
    dead = Citation(1, claim.claim, "dead", reason="no source is given", by="rules")
    (found,) = check_claim(claim.claim, sources, embedder) or (dead,)
    return Judged(claim.id, found.status, found.quote, found.reason, found.by)
