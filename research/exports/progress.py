"""The lines that the command line prints during a run, and its summary at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from research.agent.plan_text import written
from research.citations.shelf import FACTBOOK_NAMES
from research.defaults import FACTBOOK, PAGES
from research.events import events as e
from research.events.view import RunView, forgotten, kinds, searched
from research.parsing.arguments import as_words
from research.text import clip
from research.types import HOLDS, Citation, Observation, Part, Source
from research.web.url_guard import MEMORY

Report = Callable[[int, int, str], None]
"""Called with (done, total, what is counted)."""

OUTCOMES = {
    "answered": "Answered",
    "partly_answered": "Partly answered",
    "rejected": "Answered; the last verdict on the answer is FAIL",
    "rounds": "The limit of rounds was reached; best answer from what is known",
    "tokens": "The token budget is spent; best answer from what is known",
    "cost": "The cost budget is spent; best answer from what is known",
    "time": "The time is up; best answer from what is known",
    "tool_errors": "The tools failed",
    "loop": "The agent repeated itself and was stopped; best answer from what is known",
    "no_evidence": "No answer found",
    "needs_input": "A question to you is open",
    "stopped": "Stopped; what was found so far",
    "failed": "Failed",
}
"""The outcome of a run, in words."""
_SLOW_S = 15.0
"""Seconds after which the user is told what a request waits for."""


def lines(event: e.Event) -> Iterator[str]:
    """Yield the lines for an event, mostly one or none."""
    where = "" if event.agent == "main" else f"{event.agent}: "
    match event:
        case e.Asked(round=number, purpose=purpose):
            yield f"{where}round {number} · {purpose}"
        case e.Replied(reply=reply) if reply.thinking:
            yield f"  {where}{clip(' '.join(reply.thinking.split()), 200)}"
        case e.ToolStarted(call=call):
            values = ", ".join(map(as_words, call.arguments.values()))
            yield f"  {where}{call.name} {clip(' '.join(values.split()), 160)}"
        case e.Edited(observation=seen):
            yield f"    {where}→ edited by the user: {clip(' '.join(seen.text.split()), 160)}"
        case e.ReportEdited(report=report):
            yield f"  {where}report edited by the user: {clip(' '.join(report.split()), 160)}"
        case e.ToolFinished(observation=seen):
            state = "" if seen.ok else "failed: "
            first = f"{len(seen.sources)} sources" if seen.sources else clip(" ".join(seen.text.split()), 160)
            yield f"    {where}→ {state}{first} ({seen.seconds:.1f} s)"
        case e.Withdrawn(error=error, wait_s=wait_s):
            yield f"  {where}{error}; trying again in {wait_s:.0f} s"
        case e.Rejected(problem=problem):
            yield f"  {where}reply refused: {problem}"
        case e.Warned(text=text):
            yield f"  {where}{text}"
        case e.Recalled(observation=seen):
            yield recalled(seen)
        case e.Remembered():
            yield remembered(event, "entry", "entries")
        case e.Concluding(reason=reason):
            yield f"  {where}concluding: {reason}"
        case e.PlanApproved(items=items):
            yield f"  plan approved: {len(items)} {'item' if len(items) == 1 else 'items'}"
        case e.WaitingForUser(plan=True):
            yield "  waits until the plan is approved"
        case e.WaitingForUser(prompt=prompt):
            yield f"  {where}asks: {prompt}"
        case e.Paused(reason=reason):
            yield f"  {where}paused" + (f": {reason}" if reason else "")
        case e.Resumed():
            yield f"  {where}goes on"
        case e.Audited(statements=statements):
            yield from (f"  {each.verdict.replace('_', ' ')}: {clip(each.text, 140)}" for each in statements)
        case e.RunFailed(error=error):
            yield f"  {error}"
        case _:
            pass


class Patience:
    """Reports that a model still reads its prompt: after 15 seconds, and each time the wait has doubled."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, int], float] = {}

    def lines(self, view: RunView, now: float) -> Iterator[str]:
        """Yield a line, if due, for each request without a word of reply; `now` in seconds since the epoch."""
        for current in view.rounds:
            key, seconds = (current.agent, current.ask), now - current.since
            if current.reads_prompt and seconds >= self._told.get(key, _SLOW_S / 2) * 2:
                self._told[key] = seconds
                where = "" if current.agent == "main" else f"{current.agent}: "
                yield f"  {where}the model still reads the prompt of about {current.prompt_tokens:,} tokens ({seconds:.0f} s)"


def summary(view: RunView) -> str:
    """Return the report, its references, and what the run cost."""
    references = [_reference(source) for source in view.cited_sources]
    cost = "unknown" if view.cost_usd is None else f"${view.cost_usd:.2f}"
    about = "about " if view.estimated else ""
    cached = f" ({view.cached_tokens:,} cached)" if view.cached_tokens else ""
    end = (
        "The plan waits for your approval"
        if view.plan_waits
        else OUTCOMES.get(view.outcome or "", "Paused" if view.status == "paused" else "Still running")
    )
    spent = (
        f"{end} · {view.round_count()} rounds · {view.model_calls} model calls · {view.tool_calls} tool calls · "
        f"{about}{view.prompt_tokens + view.completion_tokens:,} tokens{cached} · cost {cost} · {view.seconds:.1f} s"
    )
    answer = f"Answer: {view.short}" if view.short else planned(view)
    memory = [recalled(view.recalled)] if view.recalled else []
    if view.remembered:
        nouns = ("finding", "findings") if view.recipe.remember == "findings" else ("entry", "entries")
        memory.append(remembered(view.remembered, *nouns))
    parts = (
        answer,
        view.report.strip(),
        classes(view),
        "\n".join(references),
        answered(view),
        places(view),
        checked(view),
        lost(view),
        "\n".join(memory),
        spent,
    )
    return "\n\n".join(part for part in parts if part)


def planned(view: RunView) -> str:
    """Return the plan that waits to be approved, with what it may take; empty if none does."""
    if not view.plan_waits:
        return ""
    expected = f"\n\nExpected: {view.forecast.line}" if view.forecast else ""
    return f"Plan:\n{written(view.plan)}{expected}"


def classes(view: RunView) -> str:
    """Return one line on the classes of the cited sources; empty if none is known."""
    found = kinds(view)
    return "Sources cited: " + " · ".join(f"{number} {name}" for name, number in found.items()) if found else ""


def _reference(source: Source) -> str:
    if source.url.startswith(MEMORY):
        return f"[{source.n}] {source.title} (entry {source.memory} of the memory)"
    about = filter(None, (source.kind, "RETRACTED" if source.retracted else "", "from memory" if source.memory else ""))
    said, addresses = ", ".join(about), " ".join(f"<{url}>" for url in source.addresses)
    notes = f"\n    {'; '.join(source.notes)}" if source.notes else ""
    return f"[{source.n}] {source.title} {addresses}{f' ({said})' if said else ''}{notes}"


def recalled(seen: Observation) -> str:
    """Return one line on what was recalled before the first round."""
    if not seen.ok:
        return f"Nothing was recalled from memory: {clip(' '.join(seen.text.split()), 300)}"
    if not seen.private:
        return "Recalled nothing from memory"
    number = len(entries(seen))
    if not number:
        return "Recalled from memory what can be read and not cited"
    return f"Recalled {number} {'entry' if number == 1 else 'entries'} from memory"


def entries(seen: Observation) -> tuple[str, ...]:
    """Return the ids of the memory entries in an observation."""
    return tuple(dict.fromkeys(source.memory for source in seen.sources if source.memory))


def remembered(event: e.Remembered, one: str, many: str) -> str:
    """Return one line on what the memory stored of a run; `one` and `many` name an entry."""
    number, known = len(event.added), len(event.known)
    what = f"{number} new {one if number == 1 else many}" if number else "nothing new"
    return f"Kept {what}{f' ({known} known)' if known else ''}"


def answered(view: RunView) -> str:
    """Return one line on the parts of the question that the report answers; empty if it answers the whole question."""
    missing = [part for part in view.parts if part.status == "not_found"]
    if not missing:
        return ""
    named = "; ".join(f"{part.text} ({part.reason})" if part.reason else part.text for part in missing)
    if len(view.parts) == 1:
        return f"Not answered: {missing[0].reason}" if missing[0].reason else "Not answered"
    return f"{len(view.parts) - len(missing)} of {len(view.parts)} parts answered; not found: {named}"


def missing(view: RunView) -> list[Part]:
    """Return the parts not found; none if the whole question is refused, since the report says so."""
    whole = view.outcome == "no_evidence" and len(view.parts) == 1
    return [] if whole else [part for part in view.parts if part.status == "not_found"]


def quiet(outcome: str | None, citation: Citation) -> bool:
    """Return whether a tick is left out: a quoted passage that does not answer the question is not a success."""
    return outcome == "no_evidence" and citation.status in HOLDS


def places(view: RunView) -> str:
    """Return one line on what was searched and where nothing was found; empty if nothing was searched."""
    found = [place_name(name) for name, each in searched(view).items() if each.results]
    empty = [place_name(name) for name, each in searched(view).items() if not each.results]
    said = [f"Searched: {', '.join(found)}"] if found else []
    if empty:
        said.append(f"{'n' if found else 'Searched, and n'}othing found in {', '.join(empty)}")
    return "; ".join(said)


def place_name(place: str) -> str:
    """Return a reader's name for a collection or service; a folder's without its path."""
    if place == FACTBOOK:
        return FACTBOOK_NAMES["en"]
    if place == PAGES:
        return "pages of earlier runs"
    return place.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or place


def lost(view: RunView) -> str:
    """Return one line for each version of an evolving report that lost much; empty if none did, or nothing was found."""
    return "\n".join(
        f"{'' if agent == 'main' else f'{agent}: '}the report of round {loss.round} no longer contains {len(loss.gone)} of "
        f"{loss.supported} supported statements"
        for agent, losses in (forgotten(view) if view.outcome != "no_evidence" else {}).items()
        for loss in losses
        if loss.much
    )


def checked(view: RunView) -> str:
    """Return one line on the check of the report against its sources; empty if nothing was checked, or the report says so."""
    if view.given is not None:
        return ""
    parts = [f"{number} {status}" for status, number in view.verdicts.items() if number]
    if view.uncited:
        parts.append(f"sentences without a source: {len(view.uncited)}")
    if view.removed:
        parts.append(f"addresses taken out, because no source had shown them: {', '.join(view.removed)}")
    return "Checked: " + " · ".join(parts) if parts else ""


@contextmanager
def bar(stream: TextIO) -> Iterator[Report]:
    """Yield a function that reports progress: a counter on a terminal, elsewhere a line per stage."""

    def report(done: int, total: int, what: str) -> None:
        if stream.isatty():
            stream.write(f"\r{what}: {done:,} of {total:,}" + ("\n" if done >= total else ""))
        elif done in (0, total):
            stream.write(f"{what}: {total:,}\n")
        stream.flush()

    yield report
