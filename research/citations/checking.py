"""Whether the cited sources bear out each statement of an answer."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from research.citations.arithmetic import counted, cued, follows, rounds_to
from research.citations.degrees import overstated
from research.citations.figures import against, compared, dated, missing_figure
from research.citations.marks import Statement, statements, without_marks
from research.citations.matching import Problem, closeness, cover, match, shared, told_as, weights_of
from research.citations.measures import Quantity
from research.citations.names import Names, holds, is_country
from research.citations.owners import of_another
from research.citations.quantities import quantities
from research.citations.reading import Figure, Sentence, lines_of
from research.citations.relations import turned_round
from research.citations.wording import directions
from research.types import Citation, Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from research.types import Embedder

Status = Literal["supported", "partial", "unsupported"]

ENOUGH = 0.5
"""Share of a claim's words, by weight, that make it supported when it has no figures."""
SOME = 0.3
"""The same when its figures hold; below it, and without the encoder's help, it is partial."""
LITTLE = 0.25
"""Below this a claim without figures is unsupported."""
NEAR = 0.55
"""Cosine of claim and line from which the encoder vouches for words that differ."""
FAR = 0.4
"""Cosine of claim and nearest line below which they have no meaning in common."""


class Finding(Struct, frozen=True):
    """What the cited sources say about one claim."""

    problems: tuple[Problem, ...]
    figures: int
    """Figures that hold."""
    share: float
    """Of the claim's words, by weight, that stand in the lines used."""
    lines: tuple[Sentence, ...]
    """The lines used, best first."""
    nearest: float = 0.0
    """The highest cosine of the claim with a line, where an encoder was asked."""
    reckoned: bool = False
    """The claim speaks of a sum or a difference, which need not stand in the source."""
    derived: bool = False
    """None of its figures stands there: all were computed from those that do."""


def check(
    answer: str, sources: Sequence[Source], computed: Iterable[str] = (), embedder: Embedder | None = None
) -> tuple[Citation, ...]:
    """Check each cited statement against the quotes of the sources it names: one `Citation` a statement and number.

    `dead`: no source has that number.  `supported`: figures, names and direction stand in the lines that speak of it, or
    the figures were computed (`computed`: outputs of the python tool).  `partial`: some of it does not stand there.
    `unsupported`: the source says otherwise, or none of it stands there.  `embedder` helps where words differ.
    """
    told = statements(answer)
    checker = _Checker(answer, {n for each in told for n in each.numbers}, sources, computed, embedder)
    return tuple(citation for statement in told for citation in checker.citations(statement))


class _Checker:
    def __init__(
        self, answer: str, cited: Container[int], sources: Sequence[Source], computed: Iterable[str],
        embedder: Embedder | None,
    ) -> None:  # fmt: skip
        self.lines: dict[int, list[Sentence]] = {}
        for source in sources:
            if source.n in cited:
                self.lines.setdefault(source.n, []).extend(lines_of(source))
        self.names = Names([answer, *(f"{source.title}\n{source.quote}" for source in sources)])
        self.computed = [q for text in computed for q in quantities(text) if q.kind in ("number", "year")]
        self.embedder = embedder
        self.vectors: dict[str, NDArray[np.float32]] = {}

    def citations(self, statement: Statement) -> list[Citation]:
        """What comes of one statement: a citation for each number that it names."""
        if not statement.numbers:
            return []
        claim = without_marks(statement.text)
        known = [n for n in statement.numbers if n in self.lines]
        found = [
            Citation(n, claim, "dead", reason=f"no source has the number {n}")
            for n in statement.numbers
            if n not in known
        ]
        if known:
            sentence = Sentence(re.sub(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}", "", claim), statement.context)
            lines = [line for n in known for line in self.lines[n]]
            finding = self.find(sentence, lines, {})
            status, reason = _status(finding)
            # The encoder is slow: it is asked only where words alone leave doubt.
            if self.embedder and status != "supported" and not any(p.figure for p in finding.problems):
                finding = self.find(sentence, lines, self._meaning(sentence, lines))
                status, reason = _status(finding)
            for n in known:
                found.append(self._one(n, claim, sentence, status, reason, finding, alone=len(known) == 1))
        return sorted(found, key=lambda citation: statement.numbers.index(citation.n))

    def _one(
        self, n: int, claim: str, sentence: Sentence, status: Status, reason: str, finding: Finding, *, alone: bool
    ) -> Citation:
        own = [line for line in finding.lines if line.n == n] or sorted(
            self.lines[n], key=lambda line: -closeness(sentence, line)
        )
        figures = [q for q in sentence.quantities if q.kind == "number"]
        # A claim with two figures may rest on two lines.
        bearing = [line for line in own if any(q.states(seen) for q in figures for seen in line.quantities)]
        quote = "\n".join(dict.fromkeys(line.text for line in bearing[:3])) or (own[0].text if own else "")
        if status == "supported" and not (alone or finding.derived or self._adds(n, sentence, finding)):
            return Citation(n, claim, "partial", quote, "the other sources bear this out; this one adds nothing to it")
        return Citation(n, claim, status, quote, reason)

    def _adds(self, n: int, sentence: Sentence, finding: Finding) -> bool:
        """Whether a source of a statement that has several says some of it."""
        if any(line.n == n for line in finding.lines):
            return True
        figures = [q for q in sentence.quantities if q.kind in ("number", "date")]
        if any(q.states(seen) for q in figures for line in self.lines[n] for seen in line.quantities):
            return True
        words = sentence.keys
        return (
            not figures and bool(words) and any(len(words & line.all_keys) >= len(words) / 3 for line in self.lines[n])
        )

    def find(self, claim: Sentence, lines: Sequence[Sentence], near: dict[int, float]) -> Finding:
        """Compare a claim with all lines of its sources; `near`: cosines of some of them, by id."""
        weights = weights_of(claim, lines)
        close = {id(line): match(claim.keys, line, weights) for line in lines}
        rank = sorted(lines, key=lambda line: -(close[id(line)] + near.get(id(line), 0.0) + shared(claim, line)))
        problems: list[Problem] = []
        used: list[Sentence] = []
        held = 0
        open_figures: list[Figure] = []
        for figure in claim.figures:
            if figure.quantity.weak and self._derived(claim, figure.quantity, ()) is not None:
                held += 1
                continue
            places = [(line, seen) for line in lines for seen in line.figures if figure.quantity.states(seen.quantity)]
            if not places:
                open_figures.append(figure)
                continue
            judged = [
                (against(self.names, claim, figure, line, seen, lines, weights, near), line) for line, seen in places
            ]
            trouble, line = min(
                judged,
                key=lambda pair: (
                    sum(2 if p.against else 1 for p in pair[0]), -close[id(pair[1])] - near.get(id(pair[1]), 0.0)
                ),
            )  # fmt: skip
            problems += trouble
            held += not any(problem.against for problem in trouble)
            used.append(line)
        for figure in open_figures:
            verdict = self._derived(claim, figure.quantity, rank[:6])
            if verdict is None:
                problems.append(missing_figure(figure, rank))
            else:
                held += 1
                problems += verdict
        for q in claim.quantities:
            if q.kind in ("year", "date"):
                problems += dated(q, claim, used, lines, weights)
        comparison = compared(self.names, claim, lines, weights)
        if comparison is not None:
            trouble, pair = comparison
            problems += trouble
            held += 2 * (not trouble)
            used += pair
        reckoned = bool(claim.figures) and not used
        if not used:
            used = cover(claim, rank)
        used = list({id(line): line for line in used}.values())
        extra = [line for line in cover(claim, rank) if line not in used]
        evidence = used + extra
        # A computed figure stands on no line; those it is about are the sources that are cited together.
        problems += self._named(claim, used, lines if reckoned else evidence, lines)
        if comparison is None:
            problems += directions(self.names, claim, evidence, weights)
            told = list({id(line): line for line in (*evidence, *rank[:5])}.values())
            problems += turned_round(claim, told)
            problems += overstated(claim, told)
            problems += of_another(self.names, claim, told)
        plain = claim.keys - self.names.words(claim.text)
        share = match(plain, Sentence(" ".join(f"{x.text} {x.context}" for x in evidence)), weights)
        if evidence and any(near.get(id(line), 0.0) >= NEAR for line in evidence):
            share = max(share, ENOUGH)
        if any(line.cjk != claim.cjk for line in evidence):
            share = max(share, SOME if held or near else LITTLE)
        return Finding(
            tuple(dict.fromkeys(problems)),
            held,
            share,
            tuple(evidence),
            max(near.values(), default=0.0),
            cued(claim.text),
            reckoned,
        )

    def _meaning(self, claim: Sentence, lines: Sequence[Sentence]) -> dict[int, float]:
        """Cosines of the claim with the lines that may be meant."""
        if self.embedder is None or not lines:
            return {}
        weights = weights_of(claim, lines)
        stating = [
            line for line in lines if any(f.quantity.states(s.quantity) for f in claim.figures for s in line.figures)
        ]
        ranked = sorted(lines, key=lambda line: -(match(claim.keys, line, weights) + shared(claim, line)))
        chosen = list({id(line): line for line in (*stating[:3], *ranked[:3])}.values())
        texts = [claim.text, *map(told_as, chosen)]
        new = [text for text in dict.fromkeys(texts) if text not in self.vectors]
        self.vectors.update(zip(new, self.embedder.encode(new), strict=True))
        own = self.vectors[claim.text]
        return {id(line): float(own @ self.vectors[told_as(line)]) for line in chosen}

    def _named(
        self, claim: Sentence, used: Sequence[Sentence], evidence: Sequence[Sentence], lines: Sequence[Sentence]
    ) -> list[Problem]:
        """Names of the claim that the lines do not hold; and a subject that is another one's in the source."""
        found = []
        text = "\n".join(f"{line.context}\n{line.text}" for line in evidence)
        whole = "\n".join(f"{line.title}\n{line.text}" for line in lines)
        called = self.names.of(claim.text)
        for _, written, key in called:
            if holds(text, key):
                continue
            titles = [name for line in evidence[:1] for _, name, k in self.names.of(line.title) if is_country(k)]
            if (
                is_country(key)
                and titles
                and not any(holds(claim.text, k) for _, _, k in self.names.of(evidence[0].title) if is_country(k))
            ):
                found.append(Problem(f"the source is about {titles[0]}, not {written}", against=True))
            elif holds(whole, key):
                found.append(Problem(f"the source does not say this of {written}"))
            else:
                found.append(Problem(f"{written} does not stand in the source"))
        return found

    def _derived(self, claim: Sentence, q: Quantity, rank: Sequence[Sentence]) -> list[Problem] | None:
        """Nothing against a figure that was computed, or follows from figures of the claim; None when neither."""
        if any(rounds_to(c, q) for c in self.computed):
            return []
        own = [f.quantity for f in claim.figures if f.quantity is not q]
        if follows(claim.text, q, own):
            return []
        for line in rank[:4]:
            if follows(claim.text, q, [*own, *(f.quantity for f in line.figures)][:8]) or counted(q, line.text):
                return []
        seen = [f.quantity for line in rank[:4] for f in line.figures if not f.quantity.weak][:10]
        times = re.search(r"倍|\btimes\b", claim.text)
        return [] if q.unit != "%" and (times or not q.weak) and follows(claim.text, q, seen) else None


def _status(finding: Finding) -> tuple[Status, str]:
    """The verdict.  `unsupported` is kept for what the source contradicts, or has nearly nothing of, in words or meaning."""
    reason = "; ".join(dict.fromkeys(p.reason for p in sorted(finding.problems, key=lambda p: not p.against)[:3]))
    if any(problem.against for problem in finding.problems):
        return "unsupported", reason
    nothing = finding.share < LITTLE and not finding.figures and finding.nearest < FAR
    missing = [problem for problem in finding.problems if problem.figure]
    if missing and not finding.figures and not finding.reckoned:
        return "unsupported", reason
    if finding.problems:
        return ("unsupported" if nothing else "partial"), reason
    if finding.reckoned and finding.derived:
        return "supported", ""  # in words of its own: "a difference of" stands in no source
    if finding.share >= (SOME if finding.figures else ENOUGH):
        return "supported", ""
    return ("unsupported", "the source says nothing like it") if nothing else ("partial", _VAGUE)


_VAGUE = "much of the wording does not stand in the source"
