"""Check each statement of an answer against the sources it cites."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from research.citations.arithmetic import counts_items, names_operation, operands_of, rounds_to
from research.citations.degrees import overstated
from research.citations.figures import check_comparison, check_date, check_figure, missing_figure
from research.citations.marks import Statement, statements, without_marks
from research.citations.matching import Problem, closeness, common_figures, cover, embedding_text, match, weights_of
from research.citations.measures import Quantity
from research.citations.names import Names, contains_name, is_country
from research.citations.owners import misattributed
from research.citations.quantities import quantities
from research.citations.reading import Figure, Sentence, lines_of
from research.citations.relations import reversed_relations
from research.citations.wording import contradictions
from research.types import Citation, Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from research.types import Embedder

Status = Literal["supported", "partial", "unsupported"]

ENOUGH = 0.5
"""Share of a claim's words, by weight, from which a claim without figures is supported."""
SOME = 0.3
"""The same for a claim whose figures hold; below it, the claim is partial."""
LITTLE = 0.25
"""Below this a claim without figures is unsupported."""
NEAR = 0.55
"""Cosine of claim and line from which their meaning is the same, whatever the words."""
FAR = 0.4
"""Cosine of claim and nearest line below which they have nothing in common."""


class Finding(Struct, frozen=True):
    """What the cited sources say about one claim."""

    problems: tuple[Problem, ...]
    figures: int
    """Number of figures that hold."""
    share: float
    """Share of the claim's words, by weight, that the lines contain."""
    lines: tuple[Sentence, ...]
    """The lines used as evidence, best first."""
    nearest: float = 0.0
    """The highest cosine of the claim with a line; 0 without an encoder."""
    arithmetic: bool = False
    """The claim names a sum, a difference or the like, whose words need not be in the source."""
    computed: bool = False
    """None of the claim's figures is in the source: all were computed from figures that are."""


def check(
    answer: str, sources: Sequence[Source], computed: Iterable[str] = (), embedder: Embedder | None = None
) -> tuple[Citation, ...]:
    """Check each cited statement against the quotes of its sources; return one `Citation` per statement and number.

    `dead`: no source has that number.  `supported`: the relevant lines have the figures, names and direction, or the
    figures follow from `computed`, the outputs of the python tool.  `partial`: something is missing.  `unsupported`: the
    source says otherwise or nothing of the kind.  `embedder` helps to match different words of the same meaning.
    """
    found = statements(answer)
    checker = _Checker(answer, {n for each in found for n in each.numbers}, sources, computed, embedder)
    return tuple(citation for statement in found for citation in checker.citations(statement))


class _Scope(Struct, frozen=True):
    """The lines that one claim is compared with."""

    lines: Sequence[Sentence]
    weights: dict[str, float]
    """Weight of each word of the claim."""
    near: dict[int, float]
    """Cosine with the claim by `id` of the line, for some lines."""
    close: dict[int, float]
    """Similarity to the claim, from words and cosine, by `id` of the line."""
    rank: list[Sentence]
    """The lines, most similar first."""


def _scope(claim: Sentence, lines: Sequence[Sentence], near: dict[int, float]) -> _Scope:
    weights = weights_of(claim, lines)
    close = {id(line): match(claim.keys, line, weights) + near.get(id(line), 0.0) for line in lines}
    rank = sorted(lines, key=lambda line: -(close[id(line)] + common_figures(claim, line)))
    return _Scope(lines, weights, near, close, rank)


def _distinct(lines: Iterable[Sentence]) -> list[Sentence]:
    return list({id(line): line for line in lines}.values())


class _Checker:
    def __init__(
        self,
        answer: str,
        cited: Container[int],
        sources: Sequence[Source],
        computed: Iterable[str],
        embedder: Embedder | None,
    ) -> None:
        self.lines: dict[int, list[Sentence]] = {}
        for source in sources:
            if source.n in cited:
                self.lines.setdefault(source.n, []).extend(lines_of(source))
        self.names = Names([answer, *(f"{source.title}\n{source.quote}" for source in sources)])
        self.computed = [q for text in computed for q in quantities(text) if q.kind in ("number", "year")]
        self.embedder = embedder
        self.vectors: dict[str, NDArray[np.float32]] = {}

    def citations(self, statement: Statement) -> list[Citation]:
        """Return a citation for each number that a statement cites."""
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
            # The encoder is slow, so it is used only where a comparison of words is inconclusive.
            if self.embedder and status != "supported" and not any(p.figure for p in finding.problems):
                finding = self.find(sentence, lines, self._meaning(sentence, lines))
                status, reason = _status(finding)
            for n in known:
                found.append(self._citation(n, claim, sentence, status, reason, finding, alone=len(known) == 1))
        return sorted(found, key=lambda citation: statement.numbers.index(citation.n))

    def _citation(
        self, n: int, claim: str, sentence: Sentence, status: Status, reason: str, finding: Finding, *, alone: bool
    ) -> Citation:
        own = [line for line in finding.lines if line.n == n] or sorted(
            self.lines[n], key=lambda line: -closeness(sentence, line)
        )
        figures = [q for q in sentence.quantities if q.kind == "number"]
        # A claim with two figures may come from two lines.
        bearing = [line for line in own if any(q.states(seen) for q in figures for seen in line.quantities)]
        quote = "\n".join(dict.fromkeys(line.text for line in bearing[:3])) or (own[0].text if own else "")
        if status == "supported" and not (alone or finding.computed or self._adds(n, sentence, finding)):
            return Citation(n, claim, "partial", quote, "the other sources bear this out; this one adds nothing to it")
        return Citation(n, claim, status, quote, reason)

    def _adds(self, n: int, sentence: Sentence, finding: Finding) -> bool:
        """Return whether one source, among several of a statement, states part of it."""
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
        """Compare a claim with all lines of its sources.  `near` holds cosines of some lines, by `id`."""
        scope = _scope(claim, lines, near)
        weights, rank = scope.weights, scope.rank
        problems, used, held = self._figures(claim, scope)
        for q in claim.quantities:
            if q.kind in ("year", "date"):
                problems += check_date(q, claim, used, lines, weights)
        comparison = check_comparison(self.names, claim, lines, weights)
        if comparison is not None:
            trouble, pair = comparison
            problems += trouble
            held += 2 * (not trouble)
            used += pair
        computed = bool(claim.figures) and not used
        covering = cover(claim, rank)
        used = _distinct(used or covering)
        evidence = used + [line for line in covering if line not in used]
        # No line has a computed figure, so its names may be in any line of the cited sources.
        problems += self._missing_names(claim, lines if computed else evidence, lines)
        if comparison is None:
            problems += contradictions(self.names, claim, evidence, weights)
            candidates = _distinct([*evidence, *rank[:5]])
            problems += reversed_relations(claim, candidates)
            problems += overstated(claim, candidates)
            problems += misattributed(self.names, claim, candidates)
        share = self._share(claim, evidence, held, scope)
        nearest = max(near.values(), default=0.0)
        arithmetic = names_operation(claim.text)
        return Finding(tuple(dict.fromkeys(problems)), held, share, tuple(evidence), nearest, arithmetic, computed)

    def _figures(self, claim: Sentence, scope: _Scope) -> tuple[list[Problem], list[Sentence], int]:
        """Look up each figure of a claim.  Return the problems, the lines that state a figure, and how many hold."""
        problems: list[Problem] = []
        used: list[Sentence] = []
        missing: list[Figure] = []
        held = 0
        for figure in claim.figures:
            if figure.quantity.weak and self._derived(claim, figure.quantity, ()) is not None:
                held += 1
                continue
            judged = [
                (
                    check_figure(self.names, claim, figure, line, seen, scope.lines, scope.weights, scope.near),
                    line,
                )
                for line in scope.lines
                for seen in line.figures
                if figure.quantity.states(seen.quantity)
            ]
            if not judged:
                missing.append(figure)
                continue
            trouble, line = min(
                judged,
                key=lambda pair: (sum(2 if p.against else 1 for p in pair[0]), -scope.close[id(pair[1])]),
            )
            problems += trouble
            held += not any(problem.against for problem in trouble)
            used.append(line)
        for figure in missing:
            verdict = self._derived(claim, figure.quantity, scope.rank[:6])
            held += verdict is not None
            problems += [missing_figure(figure, scope.rank)] if verdict is None else verdict
        return problems, used, held

    def _share(self, claim: Sentence, evidence: Sequence[Sentence], held: int, scope: _Scope) -> float:
        """Return the share of the claim's words, by weight, that the evidence contains."""
        words = claim.keys - self.names.words(claim.text)
        share = match(words, Sentence(" ".join(f"{x.text} {x.context}" for x in evidence)), scope.weights)
        if evidence and any(scope.near.get(id(line), 0.0) >= NEAR for line in evidence):
            share = max(share, ENOUGH)
        if any(line.cjk != claim.cjk for line in evidence):  # words of another language never match
            share = max(share, SOME if held or scope.near else LITTLE)
        return share

    def _meaning(self, claim: Sentence, lines: Sequence[Sentence]) -> dict[int, float]:
        """Return the cosine of the claim with the most likely lines, by `id` of the line."""
        if self.embedder is None or not lines:
            return {}
        weights = weights_of(claim, lines)
        stating = [
            line for line in lines if any(f.quantity.states(s.quantity) for f in claim.figures for s in line.figures)
        ]
        ranked = sorted(lines, key=lambda line: -(match(claim.keys, line, weights) + common_figures(claim, line)))
        chosen = _distinct([*stating[:3], *ranked[:3]])
        texts = [claim.text, *map(embedding_text, chosen)]
        new = [text for text in dict.fromkeys(texts) if text not in self.vectors]
        self.vectors.update(zip(new, self.embedder.encode(new), strict=True))
        own = self.vectors[claim.text]
        return {id(line): float(own @ self.vectors[embedding_text(line)]) for line in chosen}

    def _missing_names(self, claim: Sentence, evidence: Sequence[Sentence], lines: Sequence[Sentence]) -> list[Problem]:
        """Return a problem for each name of the claim that the evidence does not contain.

        `lines` are all lines of the sources: a name found only there is one that the source says something else of.
        """
        found = []
        text = "\n".join(f"{line.context}\n{line.text}" for line in evidence)
        whole = "\n".join(f"{line.title}\n{line.text}" for line in lines)
        for _, written, key in self.names.of(claim.text):
            if contains_name(text, key):
                continue
            titles = [name for line in evidence[:1] for _, name, k in self.names.of(line.title) if is_country(k)]
            if (
                is_country(key)
                and titles
                and not any(
                    contains_name(claim.text, k) for _, _, k in self.names.of(evidence[0].title) if is_country(k)
                )
            ):
                found.append(Problem(f"the source is about {titles[0]}, not {written}", against=True))
            elif contains_name(whole, key):
                found.append(Problem(f"the source does not say this of {written}"))
            else:
                found.append(Problem(f"{written} does not stand in the source"))
        return found

    def _derived(self, claim: Sentence, q: Quantity, rank: Sequence[Sentence]) -> list[Problem] | None:
        """Return no problems for a figure that was computed or follows from other figures; None if it does neither."""
        if any(rounds_to(c, q) for c in self.computed):
            return []
        own = [f.quantity for f in claim.figures if f.quantity is not q]
        if operands_of(claim.text, q, own):
            return []
        for line in rank[:4]:
            if operands_of(claim.text, q, [*own, *(f.quantity for f in line.figures)][:8]) or counts_items(
                q, line.text
            ):
                return []
        seen = [f.quantity for line in rank[:4] for f in line.figures if not f.quantity.weak][:10]
        times = re.search(r"倍|\btimes\b", claim.text)
        return [] if q.unit != "%" and (times or not q.weak) and operands_of(claim.text, q, seen) else None


def _status(finding: Finding) -> tuple[Status, str]:
    """Return status and reason.  `unsupported` needs a contradiction, or almost no words and meaning in common."""
    reason = "; ".join(dict.fromkeys(p.reason for p in sorted(finding.problems, key=lambda p: not p.against)[:3]))
    if any(problem.against for problem in finding.problems):
        return "unsupported", reason
    nothing = finding.share < LITTLE and not finding.figures and finding.nearest < FAR
    missing = [problem for problem in finding.problems if problem.figure]
    if missing and not finding.figures and not finding.arithmetic:
        return "unsupported", reason
    if finding.problems:
        return ("unsupported" if nothing else "partial"), reason
    if finding.arithmetic and finding.computed:
        return "supported", ""  # no source contains words such as "a difference of"
    if finding.share >= (SOME if finding.figures else ENOUGH):
        return "supported", ""
    return ("unsupported", "the source says nothing like it") if nothing else ("partial", _VAGUE)


_VAGUE = "much of the wording does not stand in the source"
