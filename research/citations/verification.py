"""Verifiers: they read a claim and passages of its sources, and say whether the passages support it.

The rules are one, a cross-encoder another; a language model is one through `judge`.  A verifier that needs a model is given
a function that runs it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from research._util.sentences import sentences
from research.citations.checking import check_claim
from research.citations.reasons import because, judged, one_line
from research.errors import ConfigError
from research.quantities import quantities
from research.text import content_tokens
from research.types import Citation, Judgement, Source, Verdict

RULES: Final = "rules"
CROSS_ENCODER: Final = "cross-encoder:"
MODEL: Final = "model:"
WINDOW: Final = 1_000
"""Characters of a passage that a cross-encoder reads at once; most read 512 tokens."""
WINDOWS: Final = 12
"""Windows of a long source that a cross-encoder reads: those that share most words with the claim."""
NEAREST: Final = 3
"""Windows in which a contradiction counts; a window about something else contradicts any claim."""


SETTLED: Final[frozenset[Verdict]] = frozenset(("supported", "calculated", "contradicted", "dead"))
"""Verdicts of the rules that leave nothing open."""

LOW: Final = because("its measured precision is too low to count")
SILENT: Final = because("the model returned no probability")


class Pair(Struct, frozen=True):
    """A claim, and the passages of the sources that it cites."""

    claim: str
    passages: tuple[str, ...]


class Verifier(Protocol):
    """Judges claims by passages."""

    @property
    def name(self) -> str:
        """Return `rules`, `cross-encoder:PATH_OR_ID` or `model:NAME`."""

    def verify(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """Return one judgement for each pair.  Raises `WorkbenchError` if it cannot judge."""


class Thresholds(Struct, frozen=True, omit_defaults=True):
    """The least probability at which a verdict is said; None: never.  A judge without probabilities counts as certain."""

    support: float | None = 0.0
    contradict: float | None = 0.0
    reject: float | None = None
    """The least probability of not being supported from which a claim counts as unsupported."""
    overrule: float | None = None
    """At which the verdict replaces that of the rules where both are certain and disagree."""
    arithmetic: bool = False
    """Whether it also replaces a calculation of the rules, and a contradiction by a figure that no passage states."""


CAREFUL: Final = Thresholds(support=0.98, contradict=0.98, reject=0.98)
"""For a cross-encoder that has not been measured."""
TRUSTED: Final = Thresholds(overrule=0.0)
"""For a language model that has not been measured."""


def check_name(name: str) -> None:
    """Raise `ConfigError` unless this is the name of a verifier."""
    if name != RULES and not any(name.startswith(kind) and name != kind for kind in (CROSS_ENCODER, MODEL)):
        raise ConfigError(
            f"unknown judge {name!r}; known: uncertain, all, off, {RULES}, {CROSS_ENCODER}PATH_OR_ID, {MODEL}PROVIDER:NAME"
        )


def to_judge(citations: Iterable[Citation], *, everything: bool) -> dict[str, None]:
    """Return the statements that a judge has yet to read: those that the rules leave open, or all that cite a source."""
    settled = frozenset(("dead",)) if everything else SETTLED
    return {each.claim: None for each in citations if not each.judgements and each.status not in settled}


def decided(judgement: Judgement, thresholds: Thresholds) -> Judgement:
    """Return the judgement with the verdict that its thresholds allow."""
    if judgement.probability is None:
        sides = {"supported": thresholds.support, "contradicted": thresholds.contradict}
        if sides.get(judgement.status, 0.0) is None:
            return replace(judgement, status="unverified", reason=str(LOW))
        return judgement
    status: Verdict = "unverified"
    if thresholds.support is not None and judgement.probability >= thresholds.support:
        status = "supported"
    elif thresholds.contradict is not None and (judgement.contradicted or 0.0) >= thresholds.contradict:
        status = "contradicted"
    elif thresholds.reject is not None and 1 - judgement.probability >= thresholds.reject:
        status = "unsupported"
    return replace(judgement, status=status)


def overrules(judgement: Judgement, thresholds: Thresholds, citation: Citation) -> bool:
    """Return whether the verdict replaces a different one of the rules."""
    if thresholds.overrule is None:
        return False
    calculated = citation.status == "calculated"
    invented = judgement.status == "supported" and not _states_figures(judgement.quote, citation.claim)
    if (calculated or invented) and not thresholds.arithmetic:
        return False
    sure = max(judgement.probability or 0.0, judgement.contradicted or 0.0)
    return judgement.probability is None or sure >= thresholds.overrule


def _states_figures(quote: str, claim: str) -> bool:
    stated = quantities(quote)
    return all(any(q.states(seen) for seen in stated) for q in quantities(claim) if q.kind == "number" and not q.weak)


def shares_figure(quote: str, claim: str) -> bool:
    """Return whether a quote has a figure of the claim, in whatever unit, or the claim has none.

    A line that has nothing to do with the claim rarely has one of its figures.
    """
    wanted = [q for q in quantities(claim) if q.kind == "number" and not q.weak]
    stated = quantities(quote)
    return not wanted or any(q.states(seen) or q.value == seen.value for q in wanted for seen in stated)


def fused(citation: Citation, judgement: Judgement, *, overrule: bool = False) -> Citation:
    """Return the citation with the verdict of rules and judge together, and with what each of them said.

    Where one of them is certain and the other abstains, the first counts.  Where both are certain and disagree, the judge's
    counts if it may overrule, otherwise nobody's.  A judge without probabilities supports nothing without a quote, and a
    contradiction without the line of the source that shows it is no more than a lack of support.
    """
    if citation.status == "dead":
        return citation
    ruled = Judgement(citation.by or RULES, citation.status, None, citation.reason)
    citation = replace(citation, by=ruled.by, judgements=(ruled, judgement))
    rules, said = citation.status, judgement.status
    held, denied = rules in ("supported", "calculated"), rules == "contradicted"
    if said == "supported" and judgement.probability is None and not judgement.quote:
        said = "unverified"
    if said == "contradicted" and not judgement.quote:
        said = "unsupported"
    reasons = judged(replace(judgement, status=said))
    if said == rules == "unverified":
        return replace(citation, reason=one_line(reasons), reasons=reasons)
    if said == "unverified" or (said == "supported" and held) or (said != "supported" and denied):
        return citation
    if (held or denied) and not overrule:
        reasons = (because("the rules and {judge} disagree", judge=judgement.by.removeprefix(MODEL)), *reasons)
        return replace(citation, status="unverified", reason=one_line(reasons), reasons=reasons)
    quote = judgement.quote or citation.quote
    return replace(citation, status=said, by=judgement.by, reason=one_line(reasons), reasons=reasons, quote=quote)


class Rules:
    """The rules of `check`, as a verifier."""

    name = RULES

    def verify(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return one judgement for each pair."""
        return [self._one(pair) for pair in pairs]

    def _one(self, pair: Pair) -> Judgement:
        pages = [passage.partition("\n") if "\n" in passage else ("", "", passage) for passage in pair.passages]
        sources = [Source(1, "", title, body) for title, _, body in pages]
        dead = Citation(1, pair.claim, "dead", reason="no source is given")
        (found,) = check_claim(pair.claim, sources) or (dead,)
        return Judgement(RULES, found.status, None, found.reason, quote=found.quote)


Predict = Callable[[Sequence[tuple[str, str]]], Sequence[tuple[float, float]]]
"""Maps (passage, claim) to the probabilities that the passage supports and contradicts the claim."""


class CrossEncoderVerifier:
    """A cross-encoder that reads claim and passage together.

    Natural language inference: Bowman et al. 2015; over windows of a long source: Laban et al. 2022, "SummaC".
    """

    def __init__(self, name: str, predict: Predict) -> None:
        """`name` is a path or an id, without `cross-encoder:`."""
        self.name = f"{CROSS_ENCODER}{name}"
        self._predict = predict

    def verify(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return the probabilities for each pair with the window that gives them; `decided` turns them into a verdict."""
        texts = [windows(pair) for pair in pairs]
        inputs = [(window, pair.claim) for pair, own in zip(pairs, texts, strict=True) for window in own]
        scores = iter(self._predict(inputs) if inputs else ())
        return [self._judgement([(window, *next(scores)) for window in own]) for own in texts]

    def _judgement(self, scored: Sequence[tuple[str, float, float]]) -> Judgement:
        if not scored or not all(map(_is_probability, (p for _, *both in scored for p in both))):
            return Judgement(self.name, "unverified", reason=str(SILENT))
        best = max(scored, key=lambda each: each[1])
        against = max(scored[:NEAREST], key=lambda each: each[2])
        quote, contradicted = (best[0], 0.0) if best[1] >= 0.5 else (against[0], against[2])
        return Judgement(self.name, "unverified", best[1], "", contradicted, quote)


def _is_probability(value: float) -> bool:
    return math.isfinite(value) and -1e-6 <= value <= 1 + 1e-6


def windows(pair: Pair, size: int = WINDOW, most: int = WINDOWS, between: str = " ") -> list[str]:
    """Cut the passages into windows of whole sentences; return those that share most words with the claim, best first.

    `between` stands between two sentences; the title is the first line.
    """
    found = list(dict.fromkeys(window for passage in pair.passages for window in _cut(passage, size, between)))
    words = set(content_tokens(pair.claim))
    return sorted(found, key=lambda text: -len(words & set(content_tokens(text))))[:most]


def _cut(passage: str, size: int, between: str) -> Iterator[str]:
    title, _, body = passage.partition("\n") if "\n" in passage else ("", "", passage)
    head = f"{title.strip()[:120]}\n" if title.strip() else ""
    window = ""
    for sentence in sentences(body) or [body]:
        for start in range(0, len(sentence), size):
            piece = sentence[start : start + size].strip()
            if window and len(window) + len(piece) + 1 > size:
                yield head + window
                window = ""
            window = f"{window}{between}{piece}".strip()
    if window:
        yield head + window


def appears(quote: str, passages: Sequence[str]) -> bool:
    """Return whether a quote is in the passages, apart from whitespace, capitals and the form of quotation marks."""
    parts = [_plain(part) for part in _OMISSION.split(quote)]
    whole = _plain("\n".join(passages))
    return any(parts) and all(part in whole for part in parts)


def shares(quote: str, passages: Sequence[str]) -> bool:
    """Return whether a line of a quote, or what stands between two omissions, is in the passages of one source."""
    whole = _plain("\n".join(passages))
    parts = [part for line in quote.splitlines() for part in _OMISSION.split(line)]
    return any(len(content_tokens(part)) > 1 and _plain(part) in whole for part in parts)


_OMISSION: Final = re.compile(r"\.\.\.|…|\[\.\.\.\]")


def _plain(text: str) -> str:
    straight = text.translate(str.maketrans("“”‘’", "\"\"''")).casefold()
    return " ".join(straight.strip(" \t\n\"'").split())
