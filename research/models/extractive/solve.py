"""Decide from the evidence: take another step, answer, or state that there is no answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import msgspec

from research.models.extractive import composing, items
from research.models.extractive.arithmetic import addable, change, comparison, hindrance, in_order, year_of
from research.models.extractive.asked import parts_of
from research.models.extractive.covering import ASKING, closest, quoted, words_of
from research.models.extractive.evidence import Evidence, Fact
from research.models.extractive.finding import Finder
from research.models.extractive.fitting import (
    ALIKE,
    MATCH,
    NAMING,
    fit,
    has_words_of,
    usual_name,
)
from research.models.extractive.free import free
from research.models.extractive.grounding import asking_sentences, understood
from research.models.extractive.groups import is_group
from research.models.extractive.members import among, past
from research.models.extractive.own import apart, better
from research.models.extractive.patterns import COMPARATIVE, DENIES, GROWTH, SUM, WEIGHS
from research.models.extractive.phrasebook import vocabulary, wholes
from research.models.extractive.places import mentions
from research.models.extractive.prose import Prose
from research.models.extractive.question import Question, Target, parse
from research.models.extractive.ranked import over_all
from research.models.extractive.rankings import TITLE, Ranking, asked, bound_of, excluded_from, portion, standing
from research.models.extractive.reading import read
from research.models.extractive.verdict import Finding, Verdict
from research.models.extractive.whether import asks_whether, settled
from research.text import has_cjk

_ABSENT = re.compile(r"^0 km \(landlocked\)")
"""Matches the figure of something that a country does not have."""
_YEARS = re.compile(r"\byears\b|年来|[几多]年|近.年", re.I)
"""Matches a question for the change over all years of a series: *over the last three years*."""
_EACH_YEAR = re.compile(r"(?<!between )\d{4}年?(?:,? and (?:in )?|, |[和、与及])\d{4}")
"""Matches a question for the figures of several years: *in 2022 and 2023*, not *between 2022 and 2023*."""
_NEAR = 3
"""Labels in which what a question for yes or no says is looked for."""
MAX_FACTS = 40
"""Most facts in a report."""


class Solver:
    """One pass over the evidence.  Collects the steps that are still needed in `finder.actions`."""

    def __init__(self, evidence: Evidence, *, acting: bool = True) -> None:
        """With `acting` False no further step can be taken: conclude from the evidence there is."""
        self.evidence = evidence
        self.acting = acting
        self.question, beside = _bind_words(evidence, understood(evidence))
        self.finder = Finder(evidence, self.question, beside, acting=acting)
        # Without the subjects that were found: `World` is one, and would take a word of `World Heritage Sites`.
        self.ranking = ranking(evidence.question)

    @cached_property
    def prose(self) -> Prose:
        """The analysis of the documents of prose."""
        return Prose(self.evidence, self.question.text)

    def verdict(self) -> Verdict:
        """Return the next steps or the answer, from labelled lines if possible, or else from prose."""
        q = self.question
        names = {step.name for step in self.evidence.steps} - {"query"}
        if self.evidence.own and self.acting and not names:
            self._open()
            return self.finder.more()
        if self.ranking and (ranked := over_all(self.finder, self.ranking)):
            return better(self.prose, ranked, acting=self.acting) or settled(ranked)
        given = q.names and all(map(self.finder.knows, q.names))  # from a follow-up or the memory
        if self.acting and not given and names <= {"recall"}:
            self._open()
            return self.finder.more()
        if alone := apart(self.evidence, q):
            return self._by_prose(alone) or self.finder.end()
        found = None if only_prose(self.prose, self.question) else settled(self._by_lines())
        if found and not found.actions and (own := better(self.prose, found, acting=self.acting)):
            return own
        if found and (found.actions or found.findings or found.quotes or not self.prose.pages):
            return found
        if by_prose := self._by_prose(self.prose):
            return by_prose
        self.finder.missing += self.prose.names
        return found or self.finder.end()

    def _by_prose(self, prose: Prose) -> Verdict | None:
        """Return the next steps or the answer from prose; if own documents do not answer, what comes nearest in them."""
        self.finder.actions = prose.needed() if self.acting else []
        if self.finder.actions:
            return self.finder.more()
        reading = read(prose)
        if self.acting and not (reading and reading.stated):
            self.finder.actions = prose.onward()
        if self.finder.actions:
            return self.finder.more()
        return self.finder.end(reading=reading) if reading else None

    def _by_lines(self) -> Verdict:
        """Return the next steps or the answer from labelled lines."""
        q = self.question
        denied = DENIES.search(asking_sentences(q.text).lower()) is not None
        if q.rank:
            return self.finder.end() if denied else free(self.finder)
        if q.operation == "lookup" and not (denied or q.relation or any(map(self.evidence.subject_named, q.names))):
            # No document has these names as its subject, but some line may still answer the question.
            chosen, whole = quoted(self.evidence, [word for word in words_of(q.text) if word not in ASKING], q.names)
            if whole:
                return self.finder.end(quotes=tuple(chosen))
        resolved = [self.finder.resolve(name) for name in q.names]
        if self.finder.actions:
            return self.finder.more()
        sure = [(n, e) for n, e in zip(q.names, resolved, strict=True) if e or n not in q.doubtful]
        if any(entry for _, entry in sure):
            resolved = [entry for _, entry in sure]
        subjects = list(dict.fromkeys(subject for subject, _ in filter(None, resolved)))
        if not subjects:
            return self.finder.end() if denied else free(self.finder)
        if q.nearest:
            return self._unclear(subjects)
        if q.described and said_in(q.text, subjects):
            self.finder.missing.append(q.text)
            return self.finder.end()
        used = {target for entry in resolved if entry for target in [entry[1]] if target}
        lost = [name for name, entry in sure if entry is None]
        if lost:
            self.finder.missing += lost
            return free(self.finder) if q.operation == "lookup" and not q.relation else self.finder.end()
        targets = [target for target in q.targets if target not in used]
        if len(subjects) == 1 and (measure := composing.asked(q)):
            return composing.derive(self.finder, measure, subjects[0]) or self._unclear(subjects)
        if denied and q.relation is None:
            return self._unclear(subjects)
        if targets and targets[0].item:
            return items.answer(self.finder, subjects[0], targets[0])
        if q.relation is not None:
            return among(self.finder, subjects, targets, q.relation)
        if not targets:
            if said_in(q.text, subjects):
                return self._lookup(subjects, sorted(used, key=q.targets.index))
            if mentions(q.text):  # `the longest river in Portugal` does not ask which country has the name
                self.finder.missing.append(q.text)
                return self.finder.end()
            return self.finder.end(naming(self.evidence, q, subjects, used), chosen=subjects[0])
        if q.operation == "growth":
            return self._growth(subjects, targets)
        if q.operation in ("compare", "sum", "mean") and len(subjects) > 1 and targets[0].label not in wholes():
            listed = q.operation == "compare" and not WEIGHS.search(q.text.lower())
            return self._listed(subjects, targets) if listed else self._compare(subjects, targets)
        return self._lookup(subjects, targets)

    # -- the shapes of questions ------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Start with a recall or the first searches: one per name, or the whole question if no measure is named."""
        q = self.question
        if self.evidence.offers("recall") and not self.evidence.steps:
            self.finder.act("recall", {"query": q.text}, "See what is remembered of this.")
            return
        measure = q.relation.label if q.relation else q.targets[0].text if q.targets else q.nearest[0]
        about = " ".join([measure, *map(str, q.years[:1])])
        for name in [name for name in q.names[:6] if not self.finder.knows(name)]:
            self.finder.search(
                f"{usual_name(name)} {about}", f"Look for {about} of {name}." if about.strip() else f"Look for {name}."
            )
        if not any(target.label for target in q.targets) and not q.nearest:
            self.finder.actions = self.prose.opening()
        elif not q.names:
            self.finder.search(" ".join(words_of(q.text)), "Find out which documents speak of this.")
        if self.evidence.own:  # in the question's own words, before those of the Factbook replace them
            opening = self.prose.opening()[:1]
            self.finder.actions = [*opening, *(each for each in self.finder.actions if each not in opening)]

    def _lookup(self, subjects: Sequence[str], targets: Sequence[Target]) -> Verdict:
        years = self.question.years or (None,)
        self.finder.missing += [f"{', '.join(subjects)}: {' '.join(t.words)}" for t in targets if t.lost]
        wanted = [target for target in targets if not target.lost]
        findings = [self.finder.find(s, t, y) for s in subjects for t in wanted for y in years]
        found = [part for finding in findings if finding for part in self.finder.parts(finding)]
        if self.finder.actions:
            return self.finder.more()
        if wanted and wanted[0].asked == wanted[-1].asked and not any(f.target == wanted[0] for f in found):
            found = []  # of one clause the likeliest label is missing, so the others say something else
        absent = [finding.fact for finding in found if _ABSENT.search(finding.fact.value)]
        if absent and len(absent) == len(found):
            self.finder.missing.append(self.question.text)
            return self.finder.end(closest=tuple(absent))
        near = () if found else closest(self.evidence, self.question.text, subjects, [t.label for t in wanted])
        return self.finder.end(items.picked(found, self.question.text), closest=near)

    def _unclear(self, subjects: Sequence[str]) -> Verdict:
        """Return the facts that come nearest to a question that no label answers."""
        labels = self.question.nearest or tuple(target.label for target in self.question.targets)
        for label in labels[: _NEAR if asks_whether(self.question.text) else 1]:
            for subject in subjects[:2]:
                self.finder.search(f"{subject} {label}", f"Look for {label}.")
        if self.finder.actions:
            return self.finder.more()
        self.finder.missing.append(self.question.text)
        return self.finder.end(closest=closest(self.evidence, self.question.text, subjects, labels))

    def _growth(self, subjects: Sequence[str], targets: Sequence[Target]) -> Verdict:
        years = _ends(self.finder, subjects[0], targets[0])
        whole = _YEARS.search(self.question.text)
        pairs, series = list[tuple[Finding, Finding]](), list[Finding | None]()
        for subject in subjects:
            wanted = years or self.finder.years_of(subject, targets[0])[0 if whole else -2 :]
            if len(subjects) == 1 and len(wanted) > 2:
                series = [self.finder.find(subject, targets[0], year, numeric=True) for year in wanted]
            ends = [self.finder.find(subject, targets[0], y, numeric=True) for y in (wanted[0], wanted[-1])]
            pairs += [(ends[0], ends[1])] if ends[0] and ends[1] else []
        if self.finder.actions:
            return self.finder.more()
        if len(pairs) != len(subjects):
            return self._of_years(subjects, targets[0], years)
        findings = [finding for pair in pairs for finding in pair]
        if _EACH_YEAR.search(self.question.text) and not GROWTH.search(self.question.text.lower()):
            return self._of_years(subjects, targets[0], years)
        for before, after in pairs:
            if obstacle := hindrance([before.fact, after.fact]):
                return self.finder.end(list(dict.fromkeys(findings)), hindrance=obstacle)
        code = "\n".join(change(before.fact, after.fact) for before, after in pairs)
        return self._computed(findings, code, "Calculate the change.", group=tuple(filter(None, series)))

    def _of_years(self, subjects: Sequence[str], target: Target, years: Sequence[int]) -> Verdict:
        """Return those of the years asked for that there are; no answer if it is their change that is asked for."""
        given = [
            Finding(fact.subject, target, fact)
            for fact in self.evidence.facts
            if fact.subject in subjects and fact.label_years and fit(fact, target) >= MATCH
        ]
        span = range(years[0], years[-1] + 1) if years else ()
        wanted = years if _EACH_YEAR.search(self.question.text) else span
        inside = (each for each in given if each.fact.label_years[0] in wanted)
        by_year = {(each.subject, each.fact.label_years): each for each in inside}
        if len(by_year) > 1 and not GROWTH.search(self.question.text.lower()):
            return self.finder.end([by_year[key] for key in sorted(by_year)])
        return self.finder.end(closest=tuple({each.fact.line: each.fact for each in given}.values()))

    def _listed(self, subjects: Sequence[str], targets: Sequence[Target]) -> Verdict:
        """Return the figures of several things that are not weighed; of two also the difference and ratio."""
        found = self._lookup(subjects, targets)
        facts = [finding.fact for finding in found.findings]
        if found.actions or not len(facts) == len(subjects) == 2 or hindrance(facts):
            return found
        return self._computed(found.findings, comparison(found.findings, self.question), "Compare the figures.")

    def _compare(self, subjects: Sequence[str], targets: Sequence[Target]) -> Verdict:
        if len({target.label for target in targets if target.label}) > 1:  # a comparison answers for one of them only
            return self._lookup(subjects, targets)
        self.finder.missing += [" ".join(target.words) for target in targets if target.lost]
        year = self.question.years[0] if self.question.years else None
        findings = [self.finder.find(subject, targets[0], year, numeric=True) for subject in subjects]
        if self.finder.actions:
            return self.finder.more()
        found = self._of_one_year([finding for finding in findings if finding])
        if len(found) != len(subjects) and (len(found) < 2 or self.question.operation != "compare"):
            return self.finder.end(found)
        if self.question.operation == "sum" and weighs_sum(self.question.text):
            return self._unclear(subjects)
        if self.question.operation == "sum" and not addable([finding.fact for finding in found]):
            return self.finder.end(found)
        if obstacle := hindrance([finding.fact for finding in found]):
            return self.finder.end(found, hindrance=obstacle)
        if self.question.operation != "compare":
            return self._computed(found, comparison(found, self.question), "Calculate it from these figures.")
        limit = bound_of(self.question.text) if len(found) > 2 else None
        if limit and any(each.subject == limit.name for each in found):  # `larger than France, Spain or Sweden`
            return past(self.finder, found, (), limit)
        chosen = in_order(found, most=self.question.most)[0].subject
        return self._computed(found, comparison(found, self.question), "Compare the figures.", chosen=chosen)

    def _of_one_year(self, found: Sequence[Finding]) -> list[Finding]:
        """Return figures to compare of the latest year that all have, if each is of another."""
        years = [set(self.finder.years_of(each.subject, each.target)) | {year_of(each.fact)} for each in found]
        shared = set[int | None].intersection(*years) - {None} if years else set()
        if not shared or len({year_of(each.fact) for each in found}) == 1 or self.question.years:
            return list(found)
        year = max(filter(None, shared))
        alike = [self.finder.find(each.subject, each.target, year, numeric=True) for each in found]
        return [same or each for same, each in zip(alike, found, strict=True)]

    # -- verdicts

    def _computed(self, findings: Sequence[Finding], code: str, thought: str, **more: Any) -> Verdict:
        computed = self.finder.compute(code, thought)
        return self.finder.more() if self.finder.actions else self.finder.end(findings, computed=computed, **more)


def only_prose(prose: Prose, question: Question) -> bool:
    """Return whether there are documents of prose, but no labelled line about anything in the question."""
    pages = {page.n for page in prose.pages}
    lines = [fact for fact in prose.evidence.facts if fact.n not in pages]
    named = {prose.evidence.subject_named(name) for name in question.names}
    targets = [target for target in question.targets if target.label]
    return bool(pages) and not any(
        fact.subject in named or any(fit(fact, target) >= MATCH for target in targets) for fact in lines
    )


def ranking(question: str) -> Ranking | None:
    """Return what the question asks of all countries; None if it names some to choose from, or one is to be found first."""
    if one := standing(question) or portion(question):
        return one
    excluded, text = excluded_from(question)
    several = len({mention.names for mention in mentions(text) if not is_group(mention.written)}) > 1
    narrowed = several or "所在的国家" in text or DENIES.search(text.lower())
    found = None if narrowed else asked(parse(text))
    if found is None or not excluded:
        return found
    return msgspec.structs.replace(found, excluded=frozenset(excluded)) if found.kind == "top" else None


def weighs_sum(text: str) -> bool:
    """Return whether a clause compares what several things have together, which is more than their sum."""
    clauses = [part.text.lower() for part in parts_of(text)]
    return any(SUM.search(clause) and COMPARATIVE.search(clause) for clause in clauses)


def said_in(question: str, subjects: Sequence[str]) -> bool:
    """Return whether a question names all of these countries."""
    return set(subjects) <= {name for mention in mentions(question) for name in mention.names}


def naming(
    evidence: Evidence, question: Question, subjects: Sequence[str], targets: Collection[Target]
) -> list[Finding]:
    """Return the findings for a question of the kind "which country has this name": the subject is the answer."""
    findings = [
        Finding(s, t, fact)
        for s in subjects
        for t in sorted(targets, key=question.targets.index)
        for fact in evidence.facts
        if fact.subject == s and fit(fact, t) >= MATCH and any(has_words_of(fact.value, n) for n in question.names)
    ]
    return findings[: len(subjects)]


def _ends(finder: Finder, subject: str, target: Target) -> list[int]:
    """Return the years that a change is asked between: those named, or the one named and the year before or the latest."""
    q = finder.question
    years = sorted(q.years)[-2:] if len(q.years) < 3 else sorted(q.years)
    if len(years) == 1:
        latest = finder.latest_year(subject, target)
        since = re.search(rf"\bsince\s+{years[0]}", q.text.lower()) is not None
        years = [years[0], latest] if since and latest and latest > years[0] else [years[0] - 1, years[0]]
    return years


def _bind_words(evidence: Evidence, question: Question) -> tuple[Question, frozenset[str]]:
    """Attach the words beside a measure to it if sources use them in labels; else use them for ranking only.

    Returns the question and the words that were not attached.
    """
    found = (fact for fact in evidence.facts if fact not in evidence.remembered)
    labels = {token for fact in found for token in fact.label_tokens}
    unbound: set[str] = set()

    def with_bound_words(target: Target) -> Target:
        bound = tuple(w for w in target.beside if ALIKE.get(w, w) in labels)
        loose = tuple(w for w in target.beside if w not in bound)
        unbound.update(ALIKE.get(word, word) for word in loose)
        near = (*loose, *target.near)
        return msgspec.structs.replace(target, words=(*target.words, *bound), beside=(), near=near)

    targets = tuple(with_bound_words(target) for target in question.targets)
    names, doubtful = question.names, question.doubtful
    if not names:
        # Without capitals, a rare word may be a name; Chinese names of countries are known.
        words = dict.fromkeys(
            w for t in targets for w in (*t.words, *t.near) if w not in vocabulary() and not has_cjk(w)
        )
        names = tuple(words)[:6] if evidence.steps else ()
        doubtful = frozenset(names)
    return msgspec.structs.replace(question, targets=targets, names=names, doubtful=doubtful), frozenset(unbound)


def relevant(evidence: Evidence) -> list[Fact]:
    """Return the facts that some part of the question could need, best first, for the report."""
    solver = Solver(evidence, acting=False)
    q = solver.question
    targets = [*q.targets, *filter(None, [q.relation, q.pick.target if q.pick else None])]
    scored = [(max((fit(fact, t) for t in targets), default=0.0), fact) for fact in evidence.facts]
    kept = [fact for score, fact in sorted(scored, key=lambda item: -item[0]) if score >= MATCH]
    kept += [fact for fact in evidence.facts if fact.label.startswith(NAMING)]
    if solver.ranking:
        kept = [fact for fact in evidence.facts if fact.title.startswith(TITLE)] + kept
    return list(dict.fromkeys([*kept, *solver.prose.report_lines()]))[:MAX_FACTS]
