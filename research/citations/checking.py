"""Check each statement of an answer against the sources it cites."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from math import isclose
from typing import TYPE_CHECKING

from msgspec import Struct

from research._util.glossary import chinese_label, label_terms, measures, says, translates
from research.citations import tabular
from research.citations.arithmetic import counts_items
from research.citations.degrees import overstated
from research.citations.derived import Derivation, derive, operation_only, operators
from research.citations.evidence import gather
from research.citations.figures import check_comparison, check_date, check_figure, missing_figure, same_kind
from research.citations.marks import Statement, statements, without_marks
from research.citations.matching import Problem, closeness, common_figures, cover, embedding_text, match, weights_of
from research.citations.names import Names, contains_name, is_country, names
from research.citations.owners import misattributed
from research.citations.quantities import quantities
from research.citations.reading import Figure, Sentence, lines_of
from research.citations.reasons import because, one_line
from research.citations.relations import reversed_relations
from research.citations.verdicts import Finding, Status, meaning_may_tell, verdict
from research.citations.wording import contradictions
from research.types import Citation, Reason, Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from research.types import Embedder

SOME = 0.3
"""Share of words that counts for a claim in another language than its source, if its figures hold."""
LITTLE = 0.25
"""The same if it has none."""
ENOUGH = 0.5
"""Share of words that counts for a claim with the meaning of its source."""
NEAR = 0.55
"""Cosine of claim and line from which their meaning is the same, whatever the words."""


def check(
    answer: str, sources: Sequence[Source], computed: Iterable[str] = (), embedder: Embedder | None = None
) -> tuple[Citation, ...]:
    """Check each cited statement against the quotes of its sources; return one `Citation` per statement and number.

    `dead`: no source has that number.  `supported`: the cited lines state it.  `calculated`: its figures follow from the
    cited ones, by the formula in the reason.  `contradicted`: the lines state something else of the same.  `unverified`:
    the rules cannot tell.  `computed` are outputs of the python tool, which support nothing by themselves.  `embedder`
    helps to match different words of the same meaning.
    """
    found = statements(answer)
    return tuple(each for some in check_statements(found, answer, sources, computed, embedder) for each in some)


def check_statements(
    found: Sequence[Statement],
    answer: str,
    sources: Sequence[Source],
    computed: Iterable[str] = (),
    embedder: Embedder | None = None,
) -> Iterator[list[Citation]]:
    """Check the statements of an answer as `check` does; yield the citations of each."""
    checker = _Checker(answer, {n for each in found for n in each.numbers}, sources, computed, embedder)
    for i, statement in enumerate(found):
        yield checker.citations(statement, _around(found, i))


def _around(found: Sequence[Statement], i: int) -> tuple[str, str]:
    """Return the four statements before one, and the rest of its sentence if a mark cut it (`[1], against …`)."""
    before = "\n".join(without_marks(each.text)[-_LONGEST_CLAIM:] for each in found[max(i - 4, 0) : i])
    behind = found[i + 1].text[:_LONGEST_CLAIM] if i + 1 < len(found) else ""
    return before, without_marks(behind) if behind.startswith((",", "，", ";", "；")) else ""


def check_claim(claim: str, sources: Sequence[Source], embedder: Embedder | None = None) -> tuple[Citation, ...]:
    """Check one sentence without marks against all given sources; return one `Citation` per source."""
    numbers = tuple(dict.fromkeys(source.n for source in sources))
    checker = _Checker(claim, numbers, sources, (), embedder)
    return tuple(checker.citations(Statement(claim, numbers=numbers)))


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
    close = {
        id(line): match(claim.keys, line, weights)
        + near.get(id(line), 0.0)
        + (claim.cjk and not line.cjk and says(claim.text, line.label))
        for line in lines
    }
    rank = sorted(lines, key=lambda line: -(close[id(line)] + common_figures(claim, line)))
    return _Scope(lines, weights, near, close, rank)


def _distinct(lines: Iterable[Sentence]) -> list[Sentence]:
    return list({id(line): line for line in lines}.values())


_SERIES = re.compile(r",? (?:1[5-9]|20)\d\d$")
"""The year at the end of the label of a series."""


def _stated(claim: Sentence) -> Iterable[Figure]:
    """Return the figures of a claim without those in the Chinese name of a measure: 15 in 15至64岁人口比例."""
    spans = [match.span() for match in label_terms().finditer(claim.text)] if claim.cjk else []
    return [each for each in claim.figures if not any(a <= each.quantity.start < b for a, b in spans)]


def _by_glossary(claim: Sentence, lines: Sequence[Sentence], share: float) -> float:
    """Return the share of words of a Chinese claim about labelled lines in English, by the terms for their labels."""
    if not claim.cjk or not lines or not chinese_label(lines[0].label):
        return share
    if not any(says(claim.text, line.label) for line in lines):
        return min(share, LITTLE) if measures(claim.text) else share  # the claim names another measure
    rest = claim.text
    for _, written, key in names(claim.text):
        rest = rest.replace(written, " ") if contains_name(lines[0].title, key) else rest
    stated = bool(_stated(claim)) or translates(rest, lines[0].text)
    return max(share, ENOUGH) if stated else share


_EMPHASIS = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_LONGEST_CLAIM = 2_000
"""Characters of a statement that the rules check; they compare each with each."""
_MOST_CLAIMS = 500
"""Cited statements of one report that the rules check."""
BY = "rules"
"""The judge named in every verdict here."""


def _limit(claim: str, n: int) -> Reason | None:
    """Return why the nth claim of a report is left unchecked, so that no report occupies the checker for long."""
    if len(claim) > _LONGEST_CLAIM:
        return because("the statement has more than {number} characters", number=f"{_LONGEST_CLAIM:,}")
    if n > _MOST_CLAIMS:
        return because("the report cites in more than {number} statements", number=f"{_MOST_CLAIMS:,}")
    return None


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
        self.tables = tabular.by_number(source for source in sources if source.n in cited)
        self.names = Names([answer, *(f"{source.title}\n{source.quote}" for source in sources)])
        self.computed = [q for text in computed for q in quantities(text) if q.kind in ("number", "year")]
        self.checked = 0
        self.embedder = embedder
        self.vectors: dict[str, NDArray[np.float32]] = {}

    def citations(self, statement: Statement, around: tuple[str, str] = ("", "")) -> list[Citation]:
        """Return a citation for each number that a statement cites; `around` is the text before, and its continuation."""
        if not statement.numbers:
            return []
        claim = without_marks(statement.text)
        known = [n for n in statement.numbers if n in self.lines]
        dead = [n for n in statement.numbers if n not in known]
        why = {n: because("no source has the number {number}", number=n) for n in dead}
        found = [Citation(n, claim, "dead", reason=str(why[n]), by=BY, reasons=(why[n],)) for n in dead]
        self.checked += 1
        if known and (limit := _limit(claim, self.checked)) is not None:
            found += [Citation(n, claim, "unverified", reason=str(limit), by=BY, reasons=(limit,)) for n in known]
        elif told := tabular.citations(claim, {n: self.tables[n] for n in known}, BY):
            found += told
        elif known:
            before, behind = (_EMPHASIS.sub("", text) for text in around)
            sentence = Sentence(_EMPHASIS.sub("", claim), f"{statement.context}\n{before}", behind=behind)
            lines = [line for n in known for line in self.lines[n]]
            finding = self.find(sentence, lines, {})
            status, reasons = verdict(finding)
            # The encoder is slow, so it is used only where a comparison of words is inconclusive.
            if self.embedder and status == "unverified" and meaning_may_tell(finding):
                finding = self.find(sentence, lines, self._meaning(sentence, lines))
                status, reasons = verdict(finding)
            for n in known:
                found.append(self._citation(n, claim, sentence, status, reasons, finding, alone=len(known) == 1))
        return sorted(found, key=lambda citation: statement.numbers.index(citation.n))

    def _citation(
        self,
        n: int,
        claim: str,
        sentence: Sentence,
        status: Status,
        reasons: tuple[Reason, ...],
        finding: Finding,
        *,
        alone: bool,
    ) -> Citation:
        own = [line for line in finding.lines if line.n == n] or sorted(
            self.lines[n], key=lambda line: -closeness(sentence, line)
        )
        figures = [q for q in sentence.quantities if q.kind == "number"]
        # A claim with two figures may come from two lines.
        inputs = [line for each in finding.derived for line in each.lines if line.n == n]
        bearing = inputs or [line for line in own if any(q.states(seen) for q in figures for seen in line.quantities)]
        quote = "\n".join(dict.fromkeys(line.text for line in bearing[:3])) or (own[0].text if own else "")
        if status == "supported" and not (alone or self._adds(n, sentence, finding)):
            status = "unverified"
            reasons = (because("the other sources support this; this one adds nothing to it"),)
        return Citation(n, claim, status, quote, one_line(reasons), BY, reasons=reasons)

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
        problems, used, held, derived = self._figures(claim, scope)
        for q in claim.quantities:
            if q.kind in ("year", "date"):
                problems += check_date(q, claim, used, lines, weights)
        comparison = check_comparison(self.names, claim, lines, weights)
        if comparison is not None:
            trouble, pair = comparison
            problems += trouble
            held += 2 * (not trouble)
            used += pair
        covering = cover(claim, rank)
        inputs = [line for each in derived for line in each.lines]
        used = _distinct([*used, *inputs] or covering)
        evidence = used + [line for line in covering if line not in used]
        problems += self._missing_names(claim, evidence, lines)
        if comparison is None:
            problems += contradictions(self.names, claim, evidence, weights)
            candidates = _distinct([*evidence, *rank[:5]])
            problems += reversed_relations(claim, candidates)
            problems += overstated(claim, candidates)
            problems += misattributed(self.names, claim, candidates)
        share = self._share(claim, evidence, held + len(derived), scope)
        share = _by_glossary(claim, used if held or derived else used[:1], share)
        nearest = max(near.values(), default=0.0)
        near_lines = _distinct([*evidence, *rank[:4]])
        return Finding(
            claim,
            tuple(dict.fromkeys(problems)),
            held,
            share,
            tuple(evidence),
            nearest,
            tuple(derived),
            gather(self.names, claim, near_lines),
            self._bare(claim, evidence),
            comparison is not None,
        )

    def _bare(self, claim: Sentence, evidence: Sequence[Sentence]) -> bool:
        """Return whether a claim is only names and figures: no words, no header of a table, no label of a line."""
        labels = [_SERIES.sub("", line.label).casefold() for line in evidence if line.label]
        if "|" in claim.text or any(label in claim.text.casefold() for label in labels):
            return False
        return not claim.keys - self.names.words(claim.text) - operators()

    def _figures(self, claim: Sentence, scope: _Scope) -> tuple[list[Problem], list[Sentence], int, list[Derivation]]:
        """Look up each figure of a claim.

        Return the problems, the lines that state a figure, how many figures hold, and how others follow from the lines.
        """
        problems: list[Problem] = []
        used: list[Sentence] = []
        missing: list[Figure] = []
        derived: list[Derivation] = []
        held = 0
        for figure in _stated(claim):
            judged = [
                (
                    check_figure(self.names, claim, figure, line, seen, scope.lines, scope.weights, scope.near),
                    line,
                )
                for line in scope.lines
                for seen in line.figures
                if figure.quantity.states(seen.quantity) and same_kind(claim, figure.quantity, line, seen.quantity)
            ]
            # The difference of 5 trillion and 3 is written like one of them.
            alone = operation_only(self.names, claim, figure.quantity)
            if alone and (found := derive(self.names, claim, figure.quantity, scope.rank)):
                derived.append(found)
                continue
            if not judged:
                missing.append(figure)
                continue
            trouble, line = min(
                judged,
                key=lambda pair: (sum(2 if p.against else 1 for p in pair[0]), -scope.close[id(pair[1])]),
            )
            # `41.0%` may follow from two shares although a line has 41 of something else, and `9%` from 8.5% and 0.5%.
            exact = any(
                figure.quantity.unit == each.quantity.unit and isclose(figure.quantity.value, each.quantity.value)
                for each in line.figures
            )
            if trouble and not exact and (found := derive(self.names, claim, figure.quantity, scope.rank)):
                derived.append(found)
                continue
            problems += trouble
            held += not any(problem.against for problem in trouble)
            used.append(line)
        for figure in missing:
            q = figure.quantity
            if found := derive(self.names, claim, q, scope.rank):
                derived.append(found)
            elif not any(counts_items(q, line.text) for line in scope.rank[:4]):
                problems.append(self._missing(figure, scope.rank))
        return problems, used, held, derived

    def _missing(self, figure: Figure, rank: Sequence[Sentence]) -> Problem:
        """Return the problem of a figure that no line states and that follows from none."""
        if any(figure.quantity.states(each) for each in self.computed):
            written = figure.quantity.written
            return Problem(
                because(
                    "the python tool printed {figure}, but the cited sources do not give its inputs", figure=written
                )
            )
        return missing_figure(figure, rank)

    def _share(self, claim: Sentence, evidence: Sequence[Sentence], held: int, scope: _Scope) -> float:
        """Return the share of the claim's words, by weight, that the evidence contains."""
        words = claim.keys - self.names.words(claim.text) - operators()
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
                reason = because("the source is about {other}, not {name}", other=titles[0], name=written)
                found.append(Problem(reason, against=True, kind="owner"))
            elif contains_name(whole, key):
                found.append(Problem(because("the source does not say this of {name}", name=written)))
            else:
                found.append(Problem(because("the source does not mention {name}", name=written), kind="name"))
        return found
