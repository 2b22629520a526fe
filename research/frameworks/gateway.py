"""The end of a run that the gateway recorded: the agent's last reply is its report, and what it cites is checked."""

from __future__ import annotations

import re
from typing import Final

from research.agent.context import Steps
from research.agent.run import Run
from research.auditing.styles import Report, read
from research.citations import check, uncited
from research.citations.marks import MARK
from research.errors import RunPaused
from research.plugins import framework
from research.types import Answer, Checked, Outcome, Source

_KEY: Final = re.compile(r"^https?://(?:www\.)?", re.I)


@framework("Gateway", hidden=True, prompt="react", forkable=False)
def gateway(run: Run) -> Steps[Answer]:
    """Take the last reply of another program's agent as its report, and compare what it cites with what its tools returned.

    No request is made.  After the end of the gateway the run waits for the agent's next request, or for a user to resume it.
    """
    yield from ()  # a generator, like every framework
    run.context.check_stop()
    if run.context.journal.reclaimed:
        raise RunPaused(
            "The gateway was ended. The agent's next request goes on with the run; resuming it here ends it."
        )
    return report_of(run, _last_word(run), "answered")


def _last_word(run: Run) -> str:
    """Return the last reply, or the answer in its call, as some frameworks require."""
    replies = [each.reply for each in run.context.journal.replied if each.agent == run.agent]
    if replies and len(replies[-1].calls) == 1 and run.context.journal.observation(replies[-1].calls[0].id) is None:
        given = [value for value in replies[-1].calls[0].arguments.values() if isinstance(value, str)]
        if replies[-1].calls[0].name.startswith("final_") and given:
            return max(given, key=len)
    return next((reply.text for reply in reversed(replies) if reply.text.strip()), "")


def report_of(run: Run, text: str, outcome: Outcome) -> Answer:
    """Return a report that another program wrote, with its citations compared with what the run's tools returned."""
    if not text:
        return Answer("", "no_evidence" if outcome == "answered" else outcome, checked=Checked())
    report = read(text)
    if not report.sources:
        return Answer(text, outcome, text, Checked((), uncited(text, run.question)))
    body, sources = _numbered(report, run.context.ledger.sources)
    citations = check(body, sources, run.context.computed)
    return Answer(text, outcome, body, Checked(citations, uncited(body, run.question)))


def _numbered(report: Report, seen: list[Source]) -> tuple[str, list[Source]]:
    """Return the report with the numbers that the run gave to its sources; others get new ones."""
    numbers = {_key(source.url): source.n for source in seen}
    new = max(numbers.values(), default=0)
    own: dict[int, int] = {}
    for place, reference in enumerate(report.sources, 1):
        key = _key(reference.url)
        if not key or key not in numbers:
            new += 1
            numbers[key or f"#{place}"] = new
        own[place] = numbers[key or f"#{place}"]

    def renumbered(match: re.Match[str]) -> str:
        found = dict.fromkeys(own.get(int(number), int(number)) for number in re.findall(r"\d+", match[1]))
        return f"[{', '.join(map(str, found))}]"

    return MARK.sub(renumbered, report.body), seen


def _key(url: str) -> str:
    return _KEY.sub("", url.partition("#")[0]).rstrip("/").casefold()
