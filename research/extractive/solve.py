"""Decide the next step from what was seen, or that the answer is there, or that it is not to be had."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec

from research.extractive.covering import ASKING, cover, names_of, tokens_of, words_of
from research.extractive.evidence import SEARCHES, Evidence, Fact
from research.extractive.fitting import ALIKE, MATCH, NAMING, NEUTRAL, fit, holds, usual, worded
from research.extractive.followup import understood
from research.extractive.patterns import IN_PARTS
from research.extractive.prose import Prose
from research.extractive.question import Question, Target
from research.extractive.reading import read
from research.extractive.reckoning import amount, change, comparison, members_of
from research.extractive.verdict import Action, Computation, Finding, Verdict
from research.text import tokens

KEPT = 40
"""Facts at most that a report keeps."""
PAGES = 3
"""Pages about a thing that are read for one fact before it counts as missing."""


class Solver:
    """One pass over the evidence.  `self.actions` fills up with what is still needed."""

    def __init__(self, evidence: Evidence, *, acting: bool = True) -> None:
        """`acting` False: nothing can be looked up any more, conclude from what is there."""
        self.evidence = evidence
        self.acting = acting
        self.pages = PAGES * (1 + evidence.lessons)
        self.beside: set[str] = set()
        """Words beside a measure that nothing says to be a part of it, or not to be."""
        self.question = self._settled(understood(evidence))
        self.actions: list[Action] = []
        self.missing: list[str] = []

    def _settled(self, question: Question) -> Question:
        """Words beside a measure bind it if sources use them in labels; else they only help to rank."""
        met = (fact for fact in self.evidence.facts if fact not in self.evidence.remembered)
        vocabulary = {token for fact in met for token in fact.label_tokens}

        def settled(target: Target) -> Target:
            bound = tuple(w for w in target.beside if ALIKE.get(w, w) in vocabulary)
            loose = tuple(w for w in target.beside if w not in bound)
            self.beside |= {ALIKE.get(word, word) for word in loose}
            return Target(target.label, (*target.words, *bound), (), (*loose, *target.near), target.share)

        targets = tuple(settled(target) for target in question.targets)
        names, doubtful = question.names, question.doubtful
        if not names:
            # Nothing has a capital: any word left over may be the name of something.
            names = (
                tuple(dict.fromkeys(w for t in targets for w in (*t.words, *t.near)))[:6] if self.evidence.steps else ()
            )
            doubtful = frozenset(names)
        return msgspec.structs.replace(question, targets=targets, names=names, doubtful=doubtful)

    @cached_property
    def prose(self) -> Prose:
        """What the documents of prose make of it."""
        return Prose(self.evidence, self.question.text)

    def verdict(self) -> Verdict:
        """Follow the question's plan as far as the evidence goes: by labelled lines, or else by what prose says."""
        q = self.question
        given = q.names and all(map(self._known, q.names))  # of a follow-up, or remembered
        if self.acting and not given and all(step.name == "recall" for step in self.evidence.steps):
            self._open()
            return self._more()
        found = None if self._only_prose() else self._by_lines()
        if found and (found.actions or found.findings or found.quotes or not self.prose.pages):
            return found
        self.actions = self.prose.next() if self.acting else []
        if self.actions:
            return self._more()
        if reading := read(self.prose):
            return self._end(reading=reading)
        self.missing += self.prose.names
        return found or self._end()

    def _only_prose(self) -> bool:
        """Whether there is prose to answer from, and no labelled lines about anything that is asked."""
        told = {page.n for page in self.prose.pages}
        lines = [fact for fact in self.evidence.facts if fact.n not in told]
        named = {self.evidence.subject_named(name) for name in self.question.names}
        targets = [target for target in self.question.targets if target.label]
        return bool(told) and not any(
            fact.subject in named or any(fit(fact, target) >= MATCH for target in targets) for fact in lines
        )

    def _by_lines(self) -> Verdict:
        """What labelled lines say."""
        q = self.question
        if q.rank:
            return self._free()
        if q.operation == "lookup" and not q.relation and not any(map(self.evidence.subject_named, q.names)):
            # Nothing is about these things as such: some line may say it all the same.
            chosen, whole = self._quotes([word for word in words_of(q.text) if word not in ASKING])
            if whole:
                return self._end(quotes=tuple(chosen))
        resolved = [self._resolve(name) for name in q.names]
        if self.actions:
            return self._more()
        sure = [(n, e) for n, e in zip(q.names, resolved, strict=True) if e or n not in q.doubtful]
        if any(entry for _, entry in sure):
            resolved = [entry for _, entry in sure]
        subjects = list(dict.fromkeys(subject for subject, _ in filter(None, resolved)))
        if not subjects:
            return self._free()
        used = {target for entry in resolved if entry for target in [entry[1]] if target}
        lost = [name for name, entry in sure if entry is None]
        if lost:
            self.missing += lost
            return self._free() if q.operation == "lookup" and not q.relation else self._end()
        targets = [target for target in q.targets if target not in used]
        if q.relation is not None:
            return self._group(subjects, targets, q.relation)
        if not targets:
            return self._named(subjects, sorted(used, key=q.targets.index))
        if q.operation == "growth":
            return self._growth(subjects, targets)
        if q.operation in ("compare", "sum") and len(subjects) > 1:
            return self._compare(subjects, targets)
        return self._lookup(subjects, targets)

    # -- the shapes of questions ------------------------------------------------------------------------------------

    def _open(self) -> None:
        """The first searches: for what is asked of each name, or for the whole question where it may be prose."""
        q = self.question
        if self.evidence.offers("recall") and not self.evidence.steps:
            self._act("recall", {"query": q.text}, "See what is remembered of this.")
            return
        about = " ".join([q.relation.label if q.relation else q.targets[0].text, *map(str, q.years[:1])])
        for name in [name for name in q.names[:6] if not self._known(name)]:
            self._search(
                f"{usual(name)} {about}", f"Look for {about} of {name}." if about.strip() else f"Look for {name}."
            )
        if not any(target.label for target in q.targets):
            self.actions = self.prose.opening()
        elif not q.names:
            self._search(" ".join(words_of(q.text)), "Find out which documents speak of this.")

    def _lookup(self, subjects: Sequence[str], targets: Sequence[Target]) -> Verdict:
        years = self.question.years or (None,)
        findings = [self._find(s, t, y) for s in subjects for t in targets for y in years]
        if self.actions:
            return self._more()
        return self._end([f for f in findings if f])

    def _named(self, subjects: Sequence[str], targets: Sequence[Target]) -> Verdict:
        """The question was which thing has this name: the subject is the answer."""
        findings = [
            Finding(s, t, fact) for s in subjects for t in targets for fact in self.evidence.facts
            if fact.subject == s and fit(fact, t) >= MATCH and any(holds(fact.value, n) for n in self.question.names)
        ]  # fmt: skip
        return self._end(findings[: len(subjects)], chosen=subjects[0])

    def _growth(self, subjects: Sequence[str], targets: Sequence[Target]) -> Verdict:
        years = sorted(self.question.years)[-2:] if len(self.question.years) < 3 else sorted(self.question.years)
        if len(years) == 1:
            latest = self._latest_year(subjects[0], targets[0])
            since = re.search(rf"\bsince\s+{years[0]}", self.question.text.lower()) is not None
            years = [years[0], latest] if since and latest and latest > years[0] else [years[0] - 1, years[0]]
        findings: list[Finding] = []
        for subject in subjects:
            for target in targets[:1]:
                wanted = years or self._last_two(subject, target)
                findings += filter(
                    None, (self._find(subject, target, y, numeric=True) for y in (wanted[0], wanted[-1]))
                )
        if self.actions:
            return self._more()
        if len(findings) != 2 * len(subjects):
            return self._end()
        code = "\n".join(
            change(before.fact, after.fact) for before, after in zip(findings[::2], findings[1::2], strict=True)
        )
        return self._computed(findings, code, "Calculate the change.")

    def _compare(self, subjects: Sequence[str], targets: Sequence[Target]) -> Verdict:
        year = self.question.years[0] if self.question.years else None
        findings = [self._find(subject, targets[0], year, numeric=True) for subject in subjects]
        if self.actions:
            return self._more()
        found = [finding for finding in findings if finding]
        if len(found) != len(subjects):
            return self._end()
        ranked = sorted(found, key=amount, reverse=self.question.most)
        return self._computed(found, comparison(found, self.question), "Compare the figures.", chosen=ranked[0].subject)

    def _group(self, subjects: Sequence[str], targets: Sequence[Target], relation: Target) -> Verdict:
        lists = [self._find(subject, relation) for subject in subjects]
        if self.actions:
            return self._more()
        group = tuple(finding for finding in lists if finding)
        if len(group) != len(subjects):
            return self._end()
        members = members_of(group)
        q = self.question
        if q.operation == "count" or not members:
            return self._end(group)
        if q.pick is None or q.pick.target is None:
            best = max(members, key=lambda m: members[m] * (1 if q.pick is None or q.pick.most else -1))
            return self._of_member(best, targets, group)
        year = q.years[0] if q.years else None
        pick = q.pick.target
        figures = [self._find_named(member, pick, year, numeric=True) for member in list(members)[:20]]
        if self.actions:
            return self._more()
        found = [finding for finding in figures if finding]
        if not found:
            return self._end()
        best = max(found, key=lambda f: amount(f) * (1 if q.pick and q.pick.most else -1)).subject
        code = comparison(found, q)
        computed = self._compute(code, "Find out which one it is.")
        if self.actions:
            return self._more()
        return self._of_member(best, targets, (*group, *found), computed)

    def _of_member(
        self, member: str, targets: Sequence[Target], group: tuple[Finding, ...], computed: Computation | None = None
    ) -> Verdict:
        year = self.question.years[0] if self.question.years else None
        findings = [self._find_named(member, target, year) for target in targets if target != self.question.relation]
        if self.actions:
            return self._more()
        if None in findings:
            return self._end()
        return self._end([f for f in findings if f], computed=computed, chosen=member, group=group)

    def _free(self) -> Verdict:
        """A question in free words: gather sentences until they cover it, following names found on the way."""
        evidence, words = self.evidence, words_of(self.question.text)
        asked = [word for word in words if word not in ASKING]
        pages = [fact for step in evidence.steps if step.name in SEARCHES for fact in step.results]
        chosen, whole = self._quotes(asked)
        if whole:
            return self._end(quotes=tuple(chosen))
        covered = {word for fact in chosen for word in asked if word in tokens_of(fact)}
        visits = [s for s in evidence.steps if s.name == "visit"]
        searches = [s for s in evidence.steps if s.name in SEARCHES]
        promising = sorted(
            (page for page in dict.fromkeys(pages) if page.url not in evidence.visited),
            key=lambda page: -len(tokens_of(page) & set(asked)),
        )
        if len(visits) < 4 and promising and len(tokens_of(promising[0]) & set(asked)) >= 2:
            for page in promising[: 2 if not visits else 1]:
                self._act("visit", {"url": page.url, "goal": self.question.text}, f"Read {page.title}.")
            return self._more()
        open_words = [word for word in asked if word not in covered]
        if len(searches) < 4 and open_words:
            bridge = [name for fact in chosen for name in names_of(fact) if not set(tokens(name)) <= set(words)]
            for query in [" ".join([name, *open_words]) for name in bridge[:2]] + [" ".join(open_words)]:
                if self._search(query, f"Still open: {', '.join(open_words)}. Search again."):
                    return self._more()
        self.missing += open_words
        return self._end()

    def _quotes(self, asked: Sequence[str]) -> tuple[list[Fact], bool]:
        """Sentences that cover the words asked for; and whether they do so well enough to be the answer."""
        chosen = cover(self.evidence.facts, asked)
        held = [tokens_of(fact) & set(asked) for fact in chosen]
        covered = frozenset().union(*held)
        names = set(tokens(" ".join(self.question.names)))
        enough = len(covered) >= max(2, 0.8 * len(asked)) and max(map(len, held), default=0) >= 0.6 * len(asked)
        return chosen, enough and names <= covered | NEUTRAL

    # -- finding one fact -------------------------------------------------------------------------------------------

    def _known(self, name: str) -> bool:
        """Whether something of what is asked is known of just this: what merely sounds like it may be something else."""
        subject = self.evidence.subject_called(name)
        wanted = [*self.question.targets, *filter(None, [self.question.relation])]
        about = [fact for fact in self.evidence.facts if subject and fact.subject == subject]
        return any(fit(fact, target) >= MATCH for fact in about for target in wanted)

    def _resolve(self, name: str) -> tuple[str, Target | None] | None:
        """The subject a name stands for; with the concept that led there when the name is of something in it."""
        subject = self.evidence.subject_named(name)
        if subject:
            return subject, None
        for fact in self.evidence.facts:
            # A demonym, an abbreviation or a former name: reference works list them.
            if fact.label.startswith(NAMING) and holds(fact.value, name) and len(tokens(fact.value)) <= 12:
                return fact.subject, None
        for target in self.question.targets:
            for fact in self.evidence.facts:
                if fit(fact, Target(target.label)) >= MATCH and target.label and holds(fact.value, name):
                    return fact.subject, target
        queries = [f"{usual(name)} {target.label}" for target in self.question.targets if target.label]
        queries += [f"{name} nationality adjective noun", f"{name} country name abbreviation former", usual(name)]
        for query in queries:
            if self._search(query, f"Find out what {name} is or belongs to."):
                return None
        page = next(
            (fact for s in self.evidence.steps if str(s.arguments.get("query")) in queries for fact in s.results
             if holds(fact.line, name) and fact.url not in self.evidence.visited), None
        )  # fmt: skip
        if page and len(self.question.targets) > 1:
            self._act("visit", {"url": page.url, "goal": f"{name} {queries[0]}"}, f"Read where {name} occurs.")
        return None

    def _find_named(
        self, name: str, target: Target, year: int | None = None, *, numeric: bool = False
    ) -> Finding | None:
        subject = self.evidence.subject_named(name)
        if subject:
            return self._find(subject, target, year, numeric=numeric)
        if not self._search(f"{name} {target.text}", f"Look for {target.text} of {name}."):
            self.missing.append(f"{name}: {target.text}")
        return None

    def _find(self, subject: str, target: Target, year: int | None = None, *, numeric: bool = False) -> Finding | None:
        """The line about the subject that fits best; else the next step towards it, or a note that it is missing."""
        fitting = [
            (score, fact) for fact in self.evidence.facts
            if fact.subject == subject and (score := self._score(fact, target, year, numeric)) >= MATCH
        ]  # fmt: skip
        best = max(fitting, key=lambda item: (round(item[0], 2), max(item[1].years, default=0)), default=(0, None))[1]
        if best and not (self.acting and best in self.evidence.remembered and self._half(best, year)):
            return Finding(subject, target, best)
        goal = " ".join([target.text, *([str(year)] if year else [])])
        query = worded(f"{subject} {goal}")
        if self._search(query, f"Look for {goal} of {subject}."):
            return None
        # The pages about the subject: those found for just this first, in the order they were found.
        searches = sorted(
            (step for step in self.evidence.steps if step.name in SEARCHES),
            key=lambda step: step.arguments.get("query") != query,
        )
        urls = dict.fromkeys(fact.url for step in searches for fact in step.results if fact.subject == subject)
        read = {str(s.arguments.get("url")) for s in self.evidence.steps if s.arguments.get("goal") == goal}
        page = next((url for url in urls if url not in read), None)
        if page and len(read & urls.keys()) < self.pages:
            title = next(fact.title for fact in self.evidence.facts if fact.url == page)
            self._act("visit", {"url": page, "goal": goal}, f"Read {title} for {goal}.")
            return None
        if best:
            return Finding(subject, target, best)
        self.missing.append(f"{subject}: {goal}")
        return None

    def _half(self, fact: Fact, year: int | None) -> bool:
        """Whether a remembered line may be less than what is asked, because something else was asked then: one year of a
        series, which may have a later one, or the whole where a part of it is wanted."""
        return bool(year is None and fact.label_years) or not self.beside <= tokens_of(fact)

    def _score(self, fact: Fact, target: Target, year: int | None, numeric: bool) -> float:
        if (numeric and fact.quantity is None) or (fact.cut and not fact.label):
            return 0.0
        if target.share and not IN_PARTS.search(fact.line.lower()):
            return 0.0
        if year is not None and (year not in fact.years if fact.years else fact.url not in self.evidence.visited):
            # A line without a year counts only once its page was read: another line may have the year.
            return 0.0
        return fit(fact, target)

    def _latest_year(self, subject: str, target: Target) -> int | None:
        return max(self._years(subject, target), default=None)

    def _last_two(self, subject: str, target: Target) -> list[int | None]:
        found = self._years(subject, target)
        return sorted(found)[-2:] if len(found) > 1 else [None, None]  # type: ignore[return-value]

    def _years(self, subject: str, target: Target) -> set[int]:
        """The years that a series has; those that are remembered do not say which are the last."""
        fitting = [fact for fact in self.evidence.facts if fact.subject == subject and fit(fact, target) >= MATCH]
        seen = [fact for fact in fitting if not (self.acting and fact in self.evidence.remembered)]
        return {year for fact in seen for year in fact.years}

    # -- steps ------------------------------------------------------------------------------------------------------

    def _search(self, query: str, thought: str) -> bool:
        """Ask for a search, unless it was made already."""
        query = worded(query)
        if query in self.evidence.searched or not self.acting:
            return False
        self._act("search", {"query": query}, thought)
        return True

    def _act(self, name: str, arguments: dict[str, Any], thought: str) -> None:
        action = Action(name, arguments, thought)
        if self.acting and all((a.name, a.arguments) != (name, arguments) for a in self.actions):
            self.actions.append(action)

    def _more(self) -> Verdict:
        return Verdict(self.question, actions=tuple(self.actions))

    def _computed(self, findings: Sequence[Finding], code: str, thought: str, chosen: str = "") -> Verdict:
        computed = self._compute(code, thought)
        return self._more() if self.actions else self._end(findings, computed=computed, chosen=chosen)

    def _compute(self, code: str, thought: str) -> Computation | None:
        """What the code gives; None while it has to be run, and when it cannot be."""
        result = self.evidence.computed(code)
        if result is None and self.evidence.offers("python") and not self.evidence.tried(code):
            self._act("python", {"code": code}, thought)
        return None if result is None else Computation(code, result)

    def _end(self, findings: Sequence[Finding] = (), **more: Any) -> Verdict:
        return Verdict(self.question, findings=tuple(findings), missing=tuple(dict.fromkeys(self.missing)), **more)


def relevant(evidence: Evidence) -> list[Fact]:
    """The facts that any part of the question could need, best first: what a report has to keep."""
    solver = Solver(evidence, acting=False)
    q = solver.question
    targets = [*q.targets, *filter(None, [q.relation, q.pick.target if q.pick else None])]
    scored = [(max((fit(fact, t) for t in targets), default=0.0), fact) for fact in evidence.facts]
    kept = [fact for score, fact in sorted(scored, key=lambda item: -item[0]) if score >= MATCH]
    kept += [fact for fact in evidence.facts if fact.label.startswith(NAMING)]
    return list(dict.fromkeys([*kept, *solver.prose.kept()]))[:KEPT]
