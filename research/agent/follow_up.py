"""The findings that a follow-up starts with: earlier questions, their reports and the passages they cite."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from research import plugins, prompts
from research.citations import cited, source_text
from research.events.events import Earlier, Edited, Event, Exchange, Recalled, ToolFinished
from research.events.view import RunView
from research.text import clip
from research.types import Source
from research.web.url_guard import is_private

EXCHANGES = 4
"""Questions that a chain of follow-ups remembers: the first, which names the topic, and the last ones."""
QUESTION, REPORT, OLDER = 2_000, 6_000, 1_200
"""Characters of a question, of the last report, and of each report before it."""
PASSAGES, QUOTED = 300, 60_000
"""Most passages, and most of their characters, that citations are checked against."""
COMPUTED = 20
"""Most results of calculations."""
PROMPT_ROOM = 12_000
"""Characters of earlier findings that a prompt contains; about 3,000 tokens."""


def findings_of(view: RunView, events: Sequence[Event]) -> Earlier:
    """Return what a follow-up of this run starts with; its size is bounded however long the chain is."""
    before = view.earlier
    previous = (
        [msgspec.structs.replace(each, report=clip(each.report, OLDER)) for each in before.exchanges] if before else []
    )
    report = clip(view.report or view.answer, REPORT)
    everything = [*previous, Exchange(clip(view.question, QUESTION), report)]
    exchanges = (*everything[:1], *everything[1:][-EXCHANGES + 1 :])
    finished = [event for event in events if isinstance(event, ToolFinished | Recalled)]
    unedited = [event.observation for event in finished if not isinstance(event, Edited)]
    printed = [each.text for each in unedited if each.ok and plugins.tool.traits(each.name).calculates]
    computed = (*(before.computed if before else ()), *(clip(text, 1_000) for text in printed))[-COMPUTED:]
    return Earlier(exchanges, _sources(view, exchanges), computed, saw_private(before, events))


def saw_private(before: Earlier | None, events: Sequence[Event]) -> bool:
    """Return whether a run had private data in its context: found by itself, or inherited."""
    finished = (event for event in events if isinstance(event, ToolFinished | Recalled))
    return (before is not None and before.private) or any(is_private(event.observation) for event in finished)


def _sources(view: RunView, exchanges: Sequence[Exchange]) -> tuple[Source, ...]:
    """Return as many passages as fit, by number; passages that the latest reports cite come first."""
    order = list(dict.fromkeys(n for each in reversed(exchanges) for n in cited(each.report)))
    numbers = sorted(view.sources, key=lambda n: order.index(n) if n in order else len(order))
    room = QUOTED
    fitting: list[Source] = []
    for source in (source for n in numbers for source in view.sources[n]):
        room -= len(source.quote) + len(source.title) + len(source.url)
        if room < 0 or len(fitting) == PASSAGES:
            break
        fitting.append(source)
    return tuple(sorted(fitting, key=lambda source: source.n))


def earlier_findings(earlier: Earlier, language: str, room: int = PROMPT_ROOM) -> str:
    """Return the earlier findings as quoted material for a prompt, in about `room` characters."""
    *older, last = earlier.exchanges
    parts = [_exchange(each, language, room // 10) for each in older]
    parts.append(_exchange(last, language, room // 3))
    remaining = room - sum(map(len, parts))
    order = list(dict.fromkeys(n for each in reversed(earlier.exchanges) for n in cited(each.report)))
    ranked = sorted(earlier.sources, key=lambda source: order.index(source.n) if source.n in order else len(order))
    quoted = []
    for source in ranked:
        text = source_text(msgspec.structs.replace(source, quote=clip(source.quote, max(200, room // 8))))
        remaining -= len(text)
        if remaining < 0:
            break
        quoted.append((source.n, text))
    sources = "\n\n".join(text for _, text in sorted(quoted, key=lambda each: each[0]))
    findings = prompts.text("earlier", language, exchanges="\n\n".join(parts), sources=sources or "-")
    return prompts.quoted("earlier", findings)


def _exchange(each: Exchange, language: str, room: int) -> str:
    report = "\n".join(f"> {line}" for line in clip(each.report, room).splitlines())
    question = " ".join(clip(each.question, max(200, room // 3)).split())
    return prompts.text("earlier_exchange", language, question=question, report=report)
