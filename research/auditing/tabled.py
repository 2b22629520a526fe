"""What the user's tables say of statements: each is read as a question with a blank, which a query fills."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

from research.citations.checking import BY, KnowsMeasures, TableFinding
from research.citations.reasons import because, one_line
from research.types import Citation, Observation, Source, Verdict

_ROUNDS = 2
"""A sum is asked for when a look-up has found several rows."""
Use = Callable[[dict[int, dict[str, str]]], Generator[Any, None, dict[int, Observation]]]


def tabled(said: Mapping[int, str], offline: KnowsMeasures, use: Use) -> Generator[Any, None, dict[int, Citation]]:
    """Return what tables say of statements, by place; `use` calls the tool that describes and queries them."""
    described = {i: seen.text for i, seen in (yield from use({i: {"about": text} for i, text in said.items()})).items()}
    results: dict[str, Source | None] = {}
    for _ in range(_ROUNDS):
        wanted = (sql for i, text in said.items() for sql in offline.queries(text, described[i], results))
        asked = dict(enumerate(dict.fromkeys(wanted)))
        seen = yield from use({n: {"sql": sql} for n, sql in asked.items()})
        results |= {sql: next(iter(seen[n].sources), None) for n, sql in asked.items()}
    found = {i: offline.tabled(text, described[i], results) for i, text in said.items()}
    return {i: _citation(said[i], each) for i, each in found.items() if each}


def _citation(claim: str, found: TableFinding) -> Citation:
    reason = (
        because("a query over these rows gives {figures}", figures=found.figure)
        if found.holds
        else because("the source gives {figure}", figure=found.figure)
    )
    status: Verdict = "calculated" if found.holds else "contradicted"
    return Citation(found.n, claim, status, found.sentence, one_line((reason,)), BY, reasons=(reason,))
