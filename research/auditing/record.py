"""The trial record: a report about a report, in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from research._util.said import say
from research.auditing.trial import score, to_fix
from research.auditing.words import STATES, VERDICTS
from research.events.audit import READ, AuditedSource, AuditedStatement, Miscount, TrialVerdict
from research.text import clip

_FIRST = 3
_LISTED = 200
"""Most statements without a source that are listed."""
_SIGNS: Mapping[TrialVerdict, str] = {
    "supported": "✓",
    "calculated": "✓",
    "partial": "◐",
    "contradicted": "✗",
    "unsupported": "✗",
    "unverified": "?",
    "not_checkable": "?",
    "no_source": "–",
}


class Record(Struct, frozen=True):
    """What is known about a report so far."""

    title: str
    statements: Sequence[AuditedStatement]
    sources: Sequence[AuditedSource]
    miscounts: Sequence[Miscount] = ()
    notes: Sequence[str] = ()

    @property
    def by_number(self) -> dict[int, AuditedSource]:
        """Return the sources by the number that the report gives them."""
        return {each.n: each for each in self.sources}

    @property
    def first(self) -> list[AuditedStatement]:
        """Return the statements to fix first."""
        return to_fix(self.statements, self.by_number, _FIRST)

    @property
    def headline(self) -> str:
        """Return how many of all statements hold, fail and are open, in the language that is spoken."""
        found = score(self.statements)
        if found.share is None:
            return (
                say("No statement of this report could be judged.")
                if self.statements
                else say("Nothing to check was found.")
            )
        return say(
            "{confirmed} of {all} statements confirmed, {wrong} wrong, {open} not checked.",
            confirmed=found.holds,
            all=len(self.statements),
            wrong=found.judged - found.holds,
            open=len(self.statements) - found.judged,
        )

    @property
    def markdown(self) -> str:
        """Return all of it, in the language that is spoken."""
        parts = [
            f"# {say('Check of “{title}”', title=_plain(self.title) or say('a report'))}",
            self.headline,
            "\n".join(_overview(self.statements, self.by_number)),
            *_section(say("Fix first"), _to_fix(self.first, self.by_number)),
            self.details,
        ]
        return "\n\n".join(part for part in parts if part)

    @property
    def details(self) -> str:
        """Return the sources and the statements that are not to be fixed first, in the language that is spoken."""
        sources, first = self.by_number, self.first
        judged = [_line(each, sources) for each in self.statements if each.verdict != "no_source" and each not in first]
        sums = [f"- “{_plain(each.text)}”: {_plain(each.reason)}" for each in self.miscounts]
        parts = [
            *_section(say("Sources"), _links(sources)),
            *_section(say("Statements"), judged),
            *_section(say("Sources that disagree"), _disagreements(self.statements, sources)),
            *_section(say("Numbers that do not add up"), sums),
            *_section(say("Statements without a source"), list(_unsourced(self.statements))),
            *_section(say("Limits of this check"), [f"- {note}" for note in self.notes]),
        ]
        return "\n\n".join(part for part in parts if part)


def _overview(statements: Sequence[AuditedStatement], sources: Mapping[int, AuditedSource]) -> Iterator[str]:
    counts = Counter(each.verdict for each in statements)
    yield " · ".join(f"{_SIGNS[each]} {counts[each]} {say(VERDICTS[each])}" for each in VERDICTS if counts[each])
    read = sum(each.state in READ for each in sources.values())
    if sources:
        yield ""
        yield say("{read} of {all} sources were read.", read=read, all=len(sources))


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title}", "\n".join(lines)] if lines else []


def _to_fix(first: Sequence[AuditedStatement], sources: Mapping[int, AuditedSource]) -> list[str]:
    return [
        f"{place}. “{_plain(each.text)}”{_marks(each, sources)} – {say(VERDICTS[each.verdict])}. {_why(each)}".rstrip()
        for place, each in enumerate(first, 1)
    ]


def _line(each: AuditedStatement, sources: Mapping[int, AuditedSource]) -> str:
    text = f"- {_SIGNS[each.verdict]} {_plain(each.text)}{_marks(each, sources)}"
    return f"{text} – *{say(VERDICTS[each.verdict])}*. {_why(each)}".rstrip()


def _why(each: AuditedStatement) -> str:
    """Return the reason and what would make it true, as one or two sentences."""
    said = [each.reason, each.correction]
    if each.verdict in ("supported", "calculated") and each.quote:
        said = [f"“{clip(' '.join(each.quote.split()), 300)}”", each.reason if each.found else ""]
    return " ".join(_sentence(_plain(text)) for text in said if text)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?", "。", "”")) else ".")


def _marks(each: AuditedStatement, sources: Mapping[int, AuditedSource]) -> str:
    """Return the marks of the sources that were read, by their number in this run."""
    read = (sources[n].ledger for n in each.sources if n in sources)
    numbers = dict.fromkeys(filter(None, (*read, each.found)))
    return f" [{', '.join(map(str, numbers))}]" if numbers else ""


def _links(sources: Mapping[int, AuditedSource]) -> list[str]:
    rows = []
    for each in sources.values():
        where = f"{_plain(each.name)}{f' [{each.ledger}]' if each.ledger else ''}"
        reason = "" if each.state in READ and not each.reason else _plain(each.reason)
        rows.append(f"| {_cell(where)} | {say(STATES[each.state])} | {_cell(reason)} | {each.cited} |")
    if not rows:
        return []
    head = f"| {say('Source')} | {say('Link')} | {say('Reason')} | {say('Cited by')} |"
    return [head, "| --- | --- | --- | --- |", *rows]


def _disagreements(statements: Sequence[AuditedStatement], sources: Mapping[int, AuditedSource]) -> list[str]:
    lines = []
    for each in statements:
        if each.opinions:
            lines.append(f"- {_plain(each.text)}")
            lines += [
                f"    - {_plain(sources[o.source].name)}: {say(VERDICTS[o.verdict])}. “{_plain(clip(o.quote, 300))}”"
                for o in each.opinions
            ]
    return lines


def _unsourced(statements: Sequence[AuditedStatement]) -> Iterator[str]:
    found = [each for each in statements if each.verdict == "no_source"]
    if reason := next((each.reason for each in found if each.reason), ""):
        yield f"{_sentence(reason)}\n"
    yield from (f"- {_plain(each.text)}" for each in found[:_LISTED])
    if len(found) > _LISTED:
        yield f"- {say('and {number} more', number=len(found) - _LISTED)}"


def _plain(text: str) -> str:
    """Return foreign text as one line that is neither a link, a picture, a citation nor HTML."""
    return (
        " ".join(text.split()).replace("<", "‹").replace(">", "›").replace("[", "(").replace("]", ")").replace("`", "'")
    )


def _cell(text: str) -> str:
    return text.replace("|", "/")
