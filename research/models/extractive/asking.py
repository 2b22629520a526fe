"""Whether a question asks for a labelled line, by the offline model's reading of the question."""

from __future__ import annotations

import re
from functools import lru_cache

from research.models.extractive.composing import SIGNS, measure_of
from research.models.extractive.described import beyond
from research.models.extractive.evidence import Fact
from research.models.extractive.fitting import MATCH, bare_label, fit
from research.models.extractive.grounding import answers, says_label
from research.models.extractive.places import mentions
from research.models.extractive.question import parse
from research.models.extractive.rankings import TITLE
from research.models.extractive.rankings import asked as ranked
from research.models.extractive.table_gate import covers

_CELLS = re.compile(
    r"(?P<file>[^›]{1,200}?)(?: › [^›]{1,100}){0,3} › [A-Z]{1,3}\d+(?::[A-Z]{1,3}\d+)? \((?P<heads>[^›]+)\)"
)
"""Cells of a table with the heads of their columns, as the citation check quotes them."""

LINE = "line"
"""What `asks_for` returns for a line that answers by itself."""


@lru_cache(maxsize=4096)
def asks_for(question: str, line: str) -> str:
    """Return whether a question asks for what a line such as `Median age, total: 42.7 years` states, as `AsksFor` says."""
    if line.startswith(TITLE):
        ranking = ranked(parse(question))
        label = line.removeprefix(TITLE).partition(", ")[0]
        return LINE if ranking is not None and label == ranking.label.partition(", ")[0] else ""
    if cells := _CELLS.fullmatch(line):
        return LINE if covers(question, cells["heads"].split(", "), cells["file"].rpartition(".")[0]) else ""
    question = beyond(question)
    fact = Fact(0, "", "", line)
    if not fact.label:
        return ""
    named = {name for mention in mentions(question) for name in mention.names}
    measure = measure_of(question) if len(named) == 1 and not says_label(parse(question)) else None
    if measure and bare_label(fact.label) in measure.labels:
        labels = list(dict.fromkeys(measure.labels))
        sign = SIGNS.get(measure.kind)
        return f"{sign}{labels.index(bare_label(fact.label))}/{len(labels)}" if sign else LINE
    targets = [target for target in parse(question).targets if target.label]
    fits = any(fit(fact, target) >= MATCH for target in targets) or answers(question, bare_label(fact.label))
    return LINE if fits else ""
