"""Find one fact in the evidence, or the next step towards it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from research.models.extractive.covering import tokens_of
from research.models.extractive.evidence import Evidence, Fact
from research.models.extractive.fitting import MATCH, NAMING, as_query, fit, has_words_of, usual_name
from research.models.extractive.phrasebook import wholes
from research.models.extractive.places import REGIONAL
from research.models.extractive.question import Question, Target
from research.models.extractive.verdict import Action, Finding, Verdict
from research.text import tokens

_LEFT = 15.0
"""Most that the parts of a whole may lack of 100 % together: some of a GDP belongs to no sector."""
PAGES = 3
"""Pages about a thing to read for one fact before it counts as missing."""


class Finder:
    """Looks up single facts.  Collects in `actions` the steps still needed, in `missing` what cannot be found."""

    def __init__(self, evidence: Evidence, question: Question, beside: frozenset[str], *, acting: bool) -> None:
        """`beside` are words next to a measure that may or may not be a part of it.

        With `acting` False no further step can be taken: `actions` stays empty.
        """
        self.evidence = evidence
        self.question = question
        self.beside = beside
        self.acting = acting
        self.pages = PAGES * (1 + evidence.lessons)
        self.actions: list[Action] = []
        self.missing: list[str] = []

    def more(self) -> Verdict:
        """Return the steps that are still needed."""
        return Verdict(self.question, actions=tuple(self.actions))

    def end(self, findings: Sequence[Finding] = (), **more: Any) -> Verdict:
        """Return an answer, with what could not be found."""
        return Verdict(self.question, findings=tuple(findings), missing=tuple(dict.fromkeys(self.missing)), **more)

    def knows(self, name: str) -> bool:
        """Return whether there is a fitting fact about the subject with exactly this name, not one with a similar name."""
        subject = self.evidence.subject_called(name)
        wanted = [*self.question.targets, *filter(None, [self.question.relation])]
        about = [fact for fact in self.evidence.facts if subject and fact.subject == subject]
        return any(fit(fact, target) >= MATCH for fact in about for target in wanted)

    def resolve(self, name: str) -> tuple[str, Target | None] | None:
        """Return the subject that a name refers to, and a target whose value in that subject contains the name.

        The target is None if the subject itself has the name.  Returns None after adding a step, or if the name cannot be
        resolved.
        """
        subject = self.evidence.subject_named(name)
        if subject:
            return subject, None
        if REGIONAL.issuperset(tokens(name)):  # `Africa` is not South Africa
            return None
        for fact in self.evidence.facts:
            # Reference works list demonyms, abbreviations and former names.
            if fact.label.startswith(NAMING) and has_words_of(fact.value, name) and len(tokens(fact.value)) <= 12:
                return fact.subject, None
        for target in self.question.targets:
            for fact in self.evidence.facts:
                if fit(fact, Target(target.label)) >= MATCH and target.label and has_words_of(fact.value, name):
                    return fact.subject, target
        labels = [target.label for target in self.question.targets if target.label]
        for query in [*(f"{usual_name(name)} {label}" for label in labels), usual_name(name)]:
            if self.search(query, f"Find out what {name} is or belongs to."):
                break
        return None

    def subjects(self, names: Sequence[str], about: str) -> list[str | None]:
        """Return the subjects with these names, after a search for those that are not known exactly."""
        for name in names:
            if self.evidence.subject_called(name) is None:
                self.search(f"{name} {about}", f"Look for {about} of {name}.")
        return [self.evidence.subject_named(name) for name in names]

    def find_named(
        self, name: str, target: Target, year: int | None = None, *, numeric: bool = False
    ) -> Finding | None:
        subject = self.evidence.subject_named(name)
        if subject:
            return self.find(subject, target, year, numeric=numeric)
        if not self.search(f"{name} {target.text}", f"Look for {target.text} of {name}."):
            self.missing.append(f"{name}: {target.text}")
        return None

    def find(self, subject: str, target: Target, year: int | None = None, *, numeric: bool = False) -> Finding | None:
        """Return the best line about the subject; else add the next step towards it, or note that it is missing."""
        fitting = [
            (score, fact)
            for fact in self.evidence.facts
            if fact.subject == subject and (score := self._score(fact, target, year, numeric)) >= MATCH
        ]
        best = max(fitting, key=_rank, default=(0, None))[1]
        remembered = best in self.evidence.remembered and best is not None and self._half(best, year)
        if best and not (self.acting and (remembered or self._earlier(best, year))):
            return Finding(subject, target, best)
        goal = " ".join([target.text, *([str(year)] if year else [])])
        query = as_query(f"{subject} {goal}")
        if self.search(query, f"Look for {goal} of {subject}."):
            return None
        # Read the pages about the subject in the order found, those of this query first.
        searches = sorted(
            (step for step in self.evidence.steps if step.searches),
            key=lambda step: step.arguments.get("query") != query,
        )
        urls = dict.fromkeys(fact.url for step in searches for fact in step.results if fact.subject == subject)
        read = {str(s.arguments.get("url")) for s in self.evidence.steps if s.arguments.get("goal") == goal}
        page = next((url for url in urls if url not in read), None)
        if page and len(read & urls.keys()) < self.pages:
            title = next(fact.title for fact in self.evidence.facts if fact.url == page)
            self.act("visit", {"url": page, "goal": goal}, f"Read {title} for {goal}.")
            return None
        if best:
            return Finding(subject, target, best)
        twins = (self.find(subject, Target(label, exact=True, asked=target.asked), year) for label in target.twins)
        if found := next(filter(None, twins), None):  # no president is elected in a kingdom, but a parliament is
            return replace(found, target=target)
        self.missing.append(f"{subject}: {goal}")
        return None

    def parts(self, finding: Finding) -> list[Finding]:
        """Return all parts of the whole that is asked for, the largest first, if a line is one of them; else that line.

        They are shares of one source that add up to about 100 %.  With a line stand its twins in the same source.
        """
        fact, whole = finding.fact, finding.target.label
        if fact.label not in wholes().get(whole, ()):
            twins = finding.target.twins
            near = [each for each in self.evidence.facts if each.url == fact.url and each.label in twins]
            if twins and not near and self.acting and fact.url not in self.evidence.visited:
                self.act("visit", {"url": fact.url, "goal": f"{whole}; {'; '.join(twins)}"}, f"Read {fact.title}.")
            return [finding, *(replace(finding, fact=each) for each in near)]
        lines = [each for each in self.evidence.facts if each.url == fact.url and each.label in wholes()[whole]]
        shares = {each: float(each.quantity.written) for each in lines if each.quantity and each.quantity.unit == "%"}
        if not shares:
            return [finding]
        if self.acting and fact.url not in self.evidence.visited:
            self.act("visit", {"url": fact.url, "goal": whole}, f"Read {fact.title} for {whole}.")
        elif abs(sum(shares.values()) - 100) <= _LEFT:
            return [replace(finding, fact=each) for each in sorted(shares, key=lambda each: -shares[each])]
        else:
            self.missing.append(f"{finding.subject}: {whole}")
        return []

    def _earlier(self, fact: Fact, year: int | None) -> bool:
        """Return whether a document not read yet may have more: a later line of a series, or the rest of a line."""
        return (fact.cut or (year is None and bool(fact.label_years))) and fact.url not in self.evidence.visited

    def _half(self, fact: Fact, year: int | None) -> bool:
        """Return whether a remembered line may not suffice, because it was found for another question.

        It may be one year of a series that has later ones, or the whole where a part is asked for.
        """
        return bool(year is None and fact.label_years) or not self.beside <= tokens_of(fact)

    def _score(self, fact: Fact, target: Target, year: int | None, numeric: bool) -> float:
        if (numeric and fact.quantity is None) or (fact.cut and not fact.label):
            return 0.0
        if year is not None and (year not in fact.years if fact.years else fact.url not in self.evidence.visited):
            # A line without a year counts only after its page was read, because another line may have the year.
            return 0.0
        return fit(fact, target)

    def latest_year(self, subject: str, target: Target) -> int | None:
        return max(self._years(subject, target), default=None)

    def years_of(self, subject: str, target: Target) -> Sequence[int | None]:
        """Return the years of a series in order; twice None if there is no series."""
        found = self._years(subject, target)
        return sorted(found) if len(found) > 1 else (None, None)

    def _years(self, subject: str, target: Target) -> set[int]:
        """Return the years of a series, without remembered ones, which may not include the latest."""
        fitting = [fact for fact in self.evidence.facts if fact.subject == subject and fit(fact, target) >= MATCH]
        seen = [fact for fact in fitting if not (self.acting and fact in self.evidence.remembered)]
        return {year for fact in seen for year in fact.years}

    def search(self, query: str, thought: str) -> bool:
        """Add a search; return False if it was made already or no step may be taken."""
        query = as_query(query)
        if query in self.evidence.searched or not self.acting:
            return False
        self.act("search", {"query": query}, thought)
        return True

    def act(self, name: str, arguments: dict[str, Any], thought: str) -> None:
        action = Action(name, arguments, thought)
        if self.acting and all((a.name, a.arguments) != (name, arguments) for a in self.actions):
            self.actions.append(action)

    def compute(self, code: str, thought: str) -> bool:
        """Return whether the code was run; a step is added if it must be run first."""
        result = self.evidence.computed(code)
        if result is None and self.evidence.offers("python") and not self.evidence.tried(code):
            self.act("python", {"code": code}, thought)
        return result is not None


def _rank(found: tuple[float, Fact]) -> tuple[float, bool, int]:
    """Return how well a line fits: whole ones before those that were cut, the latest last."""
    score, fact = found
    return round(score, 2), not fact.cut, max(fact.years, default=0)
