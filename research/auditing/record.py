"""The trial record: a report about a report, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from research._util.said import counted, say, spoken
from research.auditing.trial import NEARNESS, OTHER, STATES, VERDICTS, to_fix
from research.events.audit_findings import (
    FAILS,
    HOLDS,
    READ,
    AuditedSource,
    AuditedStatement,
    Miscount,
    Opinion,
    TrialVerdict,
)
from research.text import clip

_FIRST = 3
_SIGNS: Mapping[TrialVerdict, str] = {
    "supported": "✓",
    "calculated": "✓",
    "partial": "◐",
    "contradicted": "✗",
    "unsupported": "✗",
    "unverified": "?",
    "not_checkable": "?",
    "no_source": "?",
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
        """Return how many of all statements fail, differ from the sources, hold and are open, in the language that is spoken."""
        groups = self._groups()
        if not self.statements:
            return say("Nothing to check was found.")
        if len(groups["open"]) == len(self.statements):
            return say("No statement of this report could be judged.")
        said = {
            "wrong": say("{number} wrong", number=len(groups["wrong"])),
            "other": say("{number} with another figure or name in your sources", number=len(groups["other"])),
            "confirmed": say("{number} confirmed", number=len(groups["confirmed"])),
            "open": say("{number} undecided", number=len(groups["open"])),
        }
        counts = say(", ").join(words for name, words in said.items() if groups[name])
        statements = counted(len(self.statements), "statement", spoken())
        return say("{statements}: {counts}.", statements=statements, counts=counts)

    @property
    def markdown(self) -> str:
        """Return all of it, in the language that is spoken."""
        parts = [
            f"# {say('Check of “{title}”', title=_plain(self.title) or say('a report'))}",
            self.headline,
            *_section(say("Fix first"), _to_fix(self.first, self.by_number)),
            self.details,
        ]
        return "\n\n".join(part for part in parts if part)

    @property
    def details(self) -> str:
        """Return the sources and the statements that are not to be fixed first, in the language that is spoken."""
        sources = self.by_number
        read = sum(each.state in READ for each in sources.values())
        how_many = (
            say("{read} of {all} sources were read.", read=read, all=len(sources))
            if read < len(sources)
            else say("All sources were read: {number}.", number=read)
        )
        links = [how_many, "", *_links(sources)]
        sums = [
            f"- {say('{name}: {reason}', name=f'“{_plain(each.text)}”', reason=_plain(each.reason))}"
            for each in self.miscounts
        ]
        uncited = sum(bool(each.found) for each in self.statements)
        alike = sum(each.near == "alike" for each in self.statements)
        groups = self._groups()
        parts = [
            say("Of the undecided, nearly the same in your sources: {number}.", number=alike) if alike else "",
            say("Statements without a citation, judged by sources found for them: {number}.", number=uncited)
            if uncited
            else "",
            *_section(say("Sources"), links if sources else ()),
            *self._listed(say("Wrong"), groups["wrong"]),
            *self._listed(say("Another figure or name in your sources"), groups["other"]),
            *self._listed(say("Confirmed"), groups["confirmed"]),
            *self._listed(say("Undecided"), groups["open"]),
            *_section(say("Sources that disagree"), _disagreements(self.statements, sources)),
            *_section(say("Numbers that do not add up"), sums),
            *_section(say("Limits of this check"), [f"- {note}" for note in self.notes]),
        ]
        return "\n\n".join(part for part in parts if part)

    def _groups(self) -> dict[str, list[AuditedStatement]]:
        """Return the statements that are wrong, beside another figure or name, confirmed and undecided, each once."""
        groups: dict[str, list[AuditedStatement]] = {"wrong": [], "other": [], "confirmed": [], "open": []}
        for each in sorted(self.statements, key=lambda each: each.n):
            judged = "wrong" if each.verdict in FAILS else "confirmed" if each.verdict in HOLDS else "open"
            groups["other" if each.near in OTHER else judged].append(each)
        return groups

    def _listed(self, title: str, group: Sequence[AuditedStatement]) -> list[str]:
        """Return the section of these statements, which says how many they are; none if all are above."""
        lines = [_line(each, self.by_number) for each in group if each not in self.first]
        if lines and (above := len(group) - len(lines)):
            lines.insert(0, f"{say('Listed under “Fix first”: {number}.', number=above)}\n")
        return _section(say("{title} ({number})", title=title, number=len(group)), lines)


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title}", "\n".join(lines)] if lines else []


def _to_fix(first: Sequence[AuditedStatement], sources: Mapping[int, AuditedSource]) -> list[str]:
    said = ((f"“{_plain(each.text)}”{_marks(each, sources)}", _verdict(each), _why(each)) for each in first)
    return [
        f"{place}. {say('{text} – {verdict}. {why}', text=text, verdict=verdict, why=why)}".rstrip()
        for place, (text, verdict, why) in enumerate(said, 1)
    ]


def _line(each: AuditedStatement, sources: Mapping[int, AuditedSource]) -> str:
    text = f"- {_SIGNS[each.verdict]} {_plain(each.text)}{_marks(each, sources)}"
    verdict = f"*{_verdict(each)}*"
    return say("{text} – {verdict}. {why}", text=text, verdict=verdict, why=_why(each)).rstrip()


def _verdict(each: AuditedStatement) -> str:
    return say(NEARNESS[each.near] if each.near else VERDICTS[each.verdict])


_ENDS = (".", "!", "?", "。", ".”", "!”", "?”", "。”")


def _why(each: AuditedStatement) -> str:
    """Return the reason and what would make it true, as one or two sentences."""
    said = [each.reason, each.correction]
    if each.verdict in ("supported", "calculated") and each.quote:
        said = [
            f"“{clip(' '.join(each.quote.split()), 300)}”",
            each.reason if each.found or each.verdict == "calculated" else "",
        ]
    *first, last = [_plain(text) for text in said if text] or [""]
    ended = [*(_sentence(text, _ENDS) for text in first), _sentence(last)]
    return ("" if spoken() == "zh" else " ").join(ended)


def _sentence(text: str, ends: tuple[str, ...] = (*_ENDS, "”")) -> str:
    stop = "。" if spoken() == "zh" else "."
    return f"{text[:1].upper()}{text[1:]}" + ("" if not text or text.endswith(ends) else stop)


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
    head = f"| {say('Source')} | {say('Link')} | {say('Reason')} | {say('Cited by')} |"
    return [head, "| --- | --- | --- | --- |", *rows]


def _disagreements(statements: Sequence[AuditedStatement], sources: Mapping[int, AuditedSource]) -> list[str]:
    lines = []
    for each in statements:
        if each.opinions:
            lines.append(f"- {_plain(each.text)}")
            lines += [
                f"    - {say('{name}: {reason}', name=_plain(sources[o.source].name), reason=_opinion(o))}"
                for o in each.opinions
            ]
    return lines


def _opinion(each: Opinion) -> str:
    return f"{_sentence(say(VERDICTS[each.verdict]))}{'' if spoken() == 'zh' else ' '}“{_plain(clip(each.quote, 300))}”"


def _plain(text: str) -> str:
    """Return foreign text as one line that is neither a link, a picture, a citation nor HTML."""
    return (
        " ".join(text.split()).replace("<", "‹").replace(">", "›").replace("[", "(").replace("]", ")").replace("`", "'")
    )


def _cell(text: str) -> str:
    return text.replace("|", "/")
