"""A comparison as one Markdown file: question, numbers, steps side by side, sources, and every report.

All quoted text is untrusted and goes through the same functions as in the export of a run.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from research.compare.alignment import Step, align
from research.compare.numbers import Figures, differences, figures, sources
from research.events.view import RunView
from research.exports.document import STATUSES
from research.exports.labels import Words, words_of
from research.exports.markdown import front, plain, table
from research.exports.markdown import markdown as report_of
from research.store.saved import Comparison, Opinion
from research.text import clip, language_of

_SHOWN = 160
"""Characters of a query, an address or a title in a table."""
_UNLIKE: Final = {
    "question": "The runs were not asked the same question: compare with care.",
    "budget": "The runs do not have the same budget: compare with care.",
}
_VOTES: Final = {1: "better", 0: "", -1: "worse"}


def markdown(comparison: Comparison, views: Sequence[RunView], opinions: Mapping[str, Opinion]) -> str:
    """Return the file.  `views` are the runs that still exist, in the order of their columns."""
    say = Words(language_of(comparison.question))
    parts = [
        front(_head(comparison, views)),
        f"# {plain(clip(' '.join(comparison.question.split()), 200))}",
        *_doubts(comparison, views, say),
        *_table(views, opinions, say),
        *_steps(views, say),
        *_sources(views, say),
        *(_report(place, view, say) for place, view in enumerate(views, 1)),
    ]
    return "\n\n".join(parts) + "\n"


def _head(comparison: Comparison, views: Sequence[RunView]) -> dict[str, object]:
    created = datetime.datetime.fromtimestamp(comparison.created, datetime.UTC)
    return {
        "title": comparison.question,
        "date": created.isoformat(timespec="seconds"),
        "comparison": comparison.id,
        "comparable": not differences(views),
        "runs": [view.run for view in views],
        "recipes": [f"{view.recipe.label} ({view.recipe.hash})" for view in views],
    }


def _doubts(comparison: Comparison, views: Sequence[RunView], say: Words) -> Iterator[str]:
    """Yield the warnings: why the runs are not comparable, and which runs were deleted."""
    for each in differences(views):
        yield say(_UNLIKE[each])
    there = {view.run for view in views}
    if gone := [run for run in comparison.runs if run not in there]:
        yield say("Deleted since: {runs}.", runs=", ".join(map(plain, gone)))


def _table(views: Sequence[RunView], opinions: Mapping[str, Opinion], say: Words) -> Iterator[str]:
    columns = [figures(view) for view in views]
    given = [opinions.get(view.run) for view in views]

    def counted(each: Figures, number: int) -> str:
        return say("about {number}", number=f"{number:,}") if each.estimated else f"{number:,}"

    rows = {
        "Run": [each.run for each in columns],
        "State": [say(each.status) for each in columns],
        "Rounds": [f"{each.rounds:,}" for each in columns],
        "Model calls": [f"{each.model_calls:,}" for each in columns],
        "Tool calls": [f"{each.tool_calls:,}" for each in columns],
        "Tokens in": [counted(each, each.prompt_tokens) for each in columns],
        "Tokens out": [counted(each, each.completion_tokens) for each in columns],
        "Cost": [say("unknown") if each.cost_usd is None else f"${each.cost_usd:.4f}" for each in columns],
        "Seconds": [f"{each.seconds:.1f}" for each in columns],
        "Sources seen": [f"{each.sources:,}" for each in columns],
        "Sources cited": [f"{each.cited:,}" for each in columns],
        "Sentences without a source": ["" if each.uncited is None else f"{each.uncited:,}" for each in columns],
        "Vote": [say(_VOTES[each.vote]) if each and each.vote else "" for each in given],
        "Note": [each.note if each else "" for each in given],
    }
    lines = [[say(name), *cells] for name, cells in rows.items() if any(cells)]
    for status, words in STATUSES.items():
        cells = [
            f"{each.citations[status]:,}" if each.citations and each.citations.get(status) else "" for each in columns
        ]
        if any(cells):
            names = {words_of(view)(words) for view in views}
            lines.append([say("Citations: {status}", status=" / ".join(sorted(names))), *cells])
    yield f"## {say('Numbers')}"
    yield _tabular(["", *_names(views)], lines)


def _steps(views: Sequence[RunView], say: Words) -> Iterator[str]:
    rows = [["" if step is None else _step(step, say) for step in row] for row in align(views)]
    if rows:
        yield f"## {say('Steps')}"
        yield say("The same query or page stands in one row.")
        yield _tabular(_names(views), rows)


def _step(step: Step, say: Words) -> str:
    who = "" if step.round.agent == "main" else f"{step.round.agent.removeprefix('main/')}: "
    if step.call is None:
        return f"{who}{say('answer') if step.answers else step.round.purpose}"
    seen = step.call.observation
    found = "" if seen is None or not seen.sources else f" → {say('{number} sources', number=len(seen.sources))}"
    state = f" ({say('not finished')})" if seen is None else "" if seen.ok else f" ({say('failed')})"
    return f"{who}{step.tool}: {clip(step.asked, _SHOWN)}{found}{state}"


def _sources(views: Sequence[RunView], say: Words) -> Iterator[str]:
    pages = sources(views)
    if not pages:
        return
    yield f"## {say('Sources')}"
    yield say("In brackets the numbers that a report cites, in parentheses those only seen.")
    rows = []
    for page in pages:
        held = zip(page.numbers, page.cited, strict=True)
        cells = [" ".join(f"[{n}]" if cited else f"({n})" for n in own) for own, cited in held]
        rows.append([clip(page.title or page.url, _SHOWN), *cells])
    yield _tabular(["", *_names(views)], rows)


def _report(place: int, view: RunView, say: Words) -> str:
    """Return the exported report of a run, with its title replaced by the recipe."""
    _, _, alone = report_of(view).partition("\n---\n\n")
    _, _, body = alone.strip().partition("\n\n")
    failed = say("The run failed: {error}", error=plain(clip(view.error, 500))) if view.error else ""
    text = "\n\n".join(filter(None, [failed, body])) or say("There is no report.")
    return f"# {place}. {plain(words_of(view).way(view.recipe))} / {plain(words_of(view).model(view.recipe.model))}\n\n{text}"


def _names(views: Sequence[RunView]) -> list[str]:
    return [f"{place}. {words_of(view).way(view.recipe)}" for place, view in enumerate(views, 1)]


def _tabular(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table whose cells show literally."""
    return table(list(map(plain, head)), [list(map(plain, row)) for row in rows])
