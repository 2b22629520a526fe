"""Parse the conversation: the question, the calls, and the facts in the results.

The model has no other memory, so it works with every context strategy and any conversation can be continued.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from msgspec import Struct

from research import plugins
from research._util.said import translated
from research._util.sentences import sentences, unwrapped, with_headings
from research.defaults import FACTBOOK, OWN_DOCUMENTS
from research.models.extractive.followup import lost, standing
from research.models.extractive.places import REGIONAL, usual
from research.models.extractive.words import readable
from research.parsing.markup import enclosed
from research.protocols.tagged import read_calls
from research.text import language_of, tokens
from research.types import Message
from research.web.table_text import HEAD, ROW

_SOURCE = re.compile(r"^\[(\d+)\] (.+)\n<(\S+)>\n((?:>.*(?:\n|$))*)", re.M)
_RESPONSE = re.compile(
    r'<tool_response id="[^"]{0,200}" name="[^"]{0,200}"( failed="true")?>\n((?:(?!<tool_response ).)*?)\n</tool_response>',
    re.S,
)
_LABEL = re.compile(r"^([^:：.!?]{2,110}?)(?::(?!\d)|：)\s*(\S.*)$", re.S)
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_QUANTITY = re.compile(
    r"(?P<sign>[-−]?)\$?(?P<number>\d[\d,]*(?:\.\d+)?)\s?(?P<scale>trillion|billion|million|thousand)?\s?"
    r"(?P<unit>%|percentage points|years?|sq km|km|nm|m\b|births|deaths|children)?"
)


class Quantity(Struct, frozen=True):
    """A number with its scale and unit."""

    written: str
    """The digits as in the source, without thousands separators: `3.732`."""
    scale: str = ""
    unit: str = ""


class Fact(Struct, frozen=True, dict=True):
    """One line or sentence of a source."""

    n: int
    url: str
    title: str
    line: str
    source: Fact | None = None
    """The line as its source has it, if this one is a translation."""

    @cached_property
    def subject(self) -> str:
        """The subject of the document: its title up to the first ` · `."""
        return self.title.split(" · ")[0].strip()

    @property
    def own(self) -> bool:
        """Whether it is in one of the user's own documents in the library."""
        return self.url.startswith("library://") and not self.url.startswith(f"library://{FACTBOOK}/")

    @cached_property
    def label(self) -> str:
        """The text before the colon in a line such as `Median age, total: 42.7 years`; empty for prose."""
        match = _LABEL.match(self.line)
        return match.group(1).strip() if match and len(match.group(1).split()) <= 16 else ""

    @cached_property
    def value(self) -> str:
        """The text after the label; the whole line for prose."""
        return self.line[len(self.label) :].lstrip(":： ") if self.label else self.line

    @cached_property
    def years(self) -> tuple[int, ...]:
        """The years in the label, or else those in the value."""
        return self.label_years or tuple(int(year) for year in _YEAR.findall(self.value))

    @cached_property
    def label_years(self) -> tuple[int, ...]:
        """The years in the label, which mark the line as one of a series."""
        return tuple(int(year) for year in _YEAR.findall(self.label))

    @cached_property
    def quantity(self) -> Quantity | None:
        """The first number of the value."""
        match = _QUANTITY.search(self.value)
        if match is None or self.cut:
            return None
        sign = "-" if match["sign"] and not self.value[: match.start()].rstrip().endswith(tuple("0123456789")) else ""
        return Quantity(sign + match["number"].replace(",", ""), match["scale"] or "", match["unit"] or "")

    @cached_property
    def cut(self) -> bool:
        """Whether the line was truncated."""
        return self.line.endswith("…")

    @cached_property
    def label_tokens(self) -> frozenset[str]:
        return frozenset(t for t in tokens(self.label) if not t.isdigit())

    @cached_property
    def head_tokens(self) -> frozenset[str]:
        """The words of the label up to its first comma, which name the measure; the rest names a part of it."""
        return frozenset(t for t in tokens(self.label.split(",")[0]) if not t.isdigit())

    @cached_property
    def all_tokens(self) -> frozenset[str]:
        return frozenset(tokens(self.line))


class Step(Struct, frozen=True):
    """A tool call and its result."""

    name: str
    arguments: dict[str, object]
    text: str
    facts: tuple[Fact, ...]
    ok: bool = True

    @property
    def searches(self) -> bool:
        """Whether its tool returns results for a query."""
        return plugins.tool.traits(self.name).searches

    @property
    def results(self) -> tuple[Fact, ...]:
        """The first fact of each source, in order."""
        return tuple({fact.n: fact for fact in reversed(self.facts)}.values())[::-1]


class Evidence:
    """The question, the steps and the facts in a conversation."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._system = next((m.content for m in messages if m.role == "system"), "")
        said = "\n".join(m.content for m in messages if m.role == "user")
        block = _inside("earlier", said)
        self.written = readable(_question(messages))
        """The question as the user wrote it."""
        self.question = standing(self.written, _EXCHANGE.findall(block))
        """The question, completed from those of a conversation before it."""
        self.context = ""
        """What the user said before it, if it is a part of a longer question."""
        self.language = language_of(self.question)  # also of its parts, whose names may be in another one
        self.lost = bool(block) and lost(self.question)
        """Whether it asks about something that none of these names."""
        recalled = _facts(_inside("recalled", said))
        self.planned = tuple(_PLANNED.findall(_inside("plan", said)))
        """The items of the plan that the user approved."""
        given = _facts(block)
        queried = {fact.n for fact in given if fact.line.startswith(_RESULT)}  # rows, not statements
        self.given = (*(fact for fact in given if fact.n not in queried), *recalled)
        """Facts from earlier runs."""
        self.steps = (*_noted(messages), *_steps(messages))
        recalled += [fact for step in self.steps if step.name == "recall" for fact in step.facts]
        self.facts = tuple(dict.fromkeys([*self.given, *(fact for step in self.steps for fact in self._said(step))]))
        # Compare lines, not sources: a source may be found again without this line of it.
        seen = {(fact.n, fact.line) for step in self.steps if step.name != "recall" for fact in step.facts}
        recalled_only = {(fact.n, fact.line) for fact in recalled} - seen
        self.remembered = frozenset(fact for fact in self.facts if (fact.n, fact.line) in recalled_only)
        """Facts that come from the memory only."""

    def _said(self, step: Step) -> tuple[Fact, ...]:
        """Return the facts of a step that are statements.

        Where tables can be queried, the rows of a user's file that is only tables are not; those within prose are.
        """
        if not self.offers("query"):
            return step.facts
        return tuple(
            fact
            for fact in step.facts
            if step.name != "query" and not (fact.own and ROW.match(fact.line) and fact.n not in self._written)
        )

    @cached_property
    def behind(self) -> dict[Fact, Fact]:
        """The sentence behind each one in the same paragraph."""
        visits = (step.text for step in self.steps if step.name == "visit")
        return {one: other for text in visits for pieces in _paragraphs(text) for one, other in pairwise(pieces)}

    @cached_property
    def _written(self) -> frozenset[int]:
        """The numbers of the sources that have prose."""
        facts = (fact for step in self.steps if step.name != "query" for fact in step.facts)
        return frozenset(fact.n for fact in facts if fact.line[:1] not in ("|", "#") and not HEAD.match(fact.line))

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        """The subjects of all documents, in the order found."""
        return tuple(dict.fromkeys(fact.subject for fact in self.facts))

    @cached_property
    def met(self) -> tuple[str, ...]:
        """The subjects found in this conversation, not only in the memory."""
        return tuple(dict.fromkeys(fact.subject for fact in self.facts if fact not in self.remembered))

    @property
    def nameable(self) -> tuple[str, ...]:
        """The subjects to recognise in a question even without capitals.

        Before the first search this excludes subjects from the memory: a remembered Samoa would match a part of American
        Samoa, which has not been found yet.
        """
        return self.subjects if self.searched else self.met

    @cached_property
    def said(self) -> frozenset[str]:
        """All words of the facts."""
        return frozenset().union(*(fact.all_tokens for fact in self.facts))

    @cached_property
    def searched(self) -> frozenset[str]:
        """The queries that were searched."""
        return frozenset(str(s.arguments.get("query")) for s in self.steps if s.searches)

    @cached_property
    def visited(self) -> frozenset[str]:
        """The urls that were visited."""
        return frozenset(str(s.arguments.get("url")) for s in self.steps if s.name == "visit")

    def computed(self, code: str) -> str | None:
        """Return the output of the python tool for this code; None if it was not run or failed."""
        runs = (step for step in self.steps if step.name == "python" and step.arguments.get("code") == code)
        return next((step.text.strip() for step in runs if step.ok), None)

    def tried(self, code: str) -> bool:
        """Return whether this code was run, successfully or not."""
        return any(step.name == "python" and step.arguments.get("code") == code for step in self.steps)

    @classmethod
    def of_task(cls, messages: Sequence[Message]) -> Evidence:
        """Parse the last message if it describes a task: question, report so far, transcript of the history."""
        text = messages[-1].content
        asked = re.search(r"(?:Question: |问题：)(.+?)(?:\n\n|\Z)", text, re.S)
        turns = [
            Message("assistant" if role == "assistant" else "user", content.strip())
            for role, content in re.findall(
                r"^\[(assistant|user)\] (.*?)(?=^\[(?:assistant|user)\] |\Z)", text, re.S | re.M
            )
        ]
        question = asked.group(1).strip() if asked else ""
        before = re.split(r"^\[(?:assistant|user)\] ", text, maxsplit=1, flags=re.M)[0]
        return cls([messages[0], Message("user", f"{question}\n\n<report>\n{before}\n</report>"), *turns])

    @property
    def wants_report(self) -> bool:
        """Whether every reply must contain an evolving report."""
        return "<report>" in self._system

    @property
    def lessons(self) -> int:
        """The number of reflections on earlier attempts in the system prompt."""
        return sum(1 for mark in _LESSONS if mark in self._system)

    @property
    def own(self) -> bool:
        """Whether the user's own documents are searched, too."""
        return any(translated(OWN_DOCUMENTS, language) in self._system for language in ("en", "zh"))

    def offers(self, tool: str) -> bool:
        """Return whether the system prompt lists the tool."""
        return f"- {tool}:" in self._system

    def description_of(self, tool: str) -> str:
        """Return how the system prompt describes a tool; empty if it is not offered."""
        start = self._system.find(f"- {tool}:")
        return self._system[start:].partition("\n  {")[0] if start >= 0 else ""

    def subject_called(self, name: str) -> str | None:
        """Return the subject with exactly this name or its usual name; None if there is none."""
        words = (_plain(name), _plain(usual(name) or name))
        return min((subject for subject in self.subjects if _plain(subject) in words), key=len, default=None)

    def subject_named(self, name: str) -> str | None:
        """Return the result of `subject_called`, or else a subject that contains the name or is its demonym's origin.

        The looser match ignores subjects from the memory: a search for Niger would not have found Nigeria.
        """
        wanted = _plain(usual(name) or name)
        if wanted <= REGIONAL:
            return self.subject_called(name)
        known = {subject: _plain(subject) for subject in self.met}
        longer = [subject for subject, words in known.items() if wanted <= words and len(words) <= len(wanted) + 3]
        made = [subject for subject, words in known.items() if _demonym(wanted, words)]
        return (self.subject_called(name) or min(longer or made, key=len, default=None)) if wanted else None


BEHIND = re.compile(r"\n\n<(?:earlier|recalled|plan|report|previous_research_summary)>")
"""Matches the start of the blocks after the question in its message."""
_RESULT = "Result of "
"""How the result of a query begins."""
_EXCHANGE = re.compile(
    r"^(?:Earlier question: |之前的问题：)(.*)\n(?:Earlier report:|之前的报告：)\n((?:>.*(?:\n|$))*)", re.M
)
_PLANNED = re.compile(r"^- (.+?)(?: \[[^\[\]\n]+\])?$", re.M)
_REPLIED = re.compile(r"^(?:(?:The user was asked: |向用户提问：).*\n|The user replied: |用户答复：)", re.M)
"""What precedes the user's reply to a question of ours."""
_LESSONS = ("## Lessons from earlier attempts", "## 之前尝试的经验")
_NOTE = re.compile(r"^- (?P<title>[^“”\n]+?): “(?P<line>[^“”\n]+)” \[(?P<n>\d+)\]$", re.M)
_REMEMBERED = re.compile(r"^### (?:Remembered|来自记忆)\n((?:- .*(?:\n|$))*)", re.M)
_TRIED = re.compile(r"^- (?P<name>search|visit|python|recall|query) (?P<arguments>\{.*\})(?: = (?P<result>.*))?$", re.M)


def _question(messages: Sequence[Message]) -> str:
    """Return the user's question without the blocks added to it, with the user's replies and not what was asked."""
    asked = next((message.content for message in messages if message.role == "user"), "")
    return _REPLIED.sub("", BEHIND.split(asked)[0])


def replied(messages: Sequence[Message]) -> Sequence[Message]:
    """Return a task whose question was answered with questions of ours as one that has the user's replies in it."""
    said = [message.content for message in messages[2:] if message.role == "user" and _REPLIED.search(message.content)]
    task, found, behind = messages[1].content.partition("\n\n<")
    return [messages[0], Message("user", "\n".join([task, *said]) + found + behind)] if said else messages


def _inside(tag: str, text: str) -> str:
    """Return the lines between the first such tags; empty without them."""
    return next((text[start:end] for _, start, end, _ in enclosed(text, f"<{tag}>\n", f"\n</{tag}>")), "")


def _noted(messages: Sequence[Message]) -> list[Step]:
    """Parse the steps in an evolving report or a summary: quoted lines, and the calls made before."""
    text = "\n".join(m.content for m in messages if m.role == "user" and _RESPONSE.search(m.content) is None)
    kept = enclosed(text, "<(?:report|previous_research_summary)>", "</")
    text += "\n".join([text[start:end] for start, _, _, end in kept])
    steps = []
    remembered = "\n".join(_REMEMBERED.findall(text))
    for name, part in (("notes", _REMEMBERED.sub("", text)), ("recall", remembered)):
        facts = tuple(Fact(int(m["n"]), m["title"], m["title"], m["line"]) for m in _NOTE.finditer(part))
        steps += [Step(name, {}, "", facts)] if facts else []
    for match in _TRIED.finditer(text):
        result = json.loads(match["result"]) if match["result"] else ""
        steps.append(Step(match["name"], json.loads(match["arguments"]), result, ()))
    return steps


def note(fact: Fact) -> str:
    """Return a fact as a line of a report, which `_noted` can parse."""
    line = fact.line.replace("“", '"').replace("”", '"')
    return f"- {fact.title}: “{line}” [{fact.n}]"


def tried(step: Step) -> str:
    """Return a call as a line of a report, with the result if it is a calculation or a query."""
    kept = step.name in ("python", "query") and step.ok
    result = f" = {json.dumps(step.text.strip(), ensure_ascii=False)}" if kept else ""
    return f"- {step.name} {json.dumps(step.arguments, ensure_ascii=False)}{result}"


def _plain(name: str) -> frozenset[str]:
    return frozenset(tokens(name)) - {"the", "of", "and"}


def _demonym(adjectives: frozenset[str], names: frozenset[str]) -> bool:
    """Return whether one word is the adjective of the other, as Japanese, Brazilian, Italian, Armenian are."""
    if len(adjectives) != 1 or len(names) != 1:
        return False
    (adjective,), (name,) = adjectives, names
    stem = name.rstrip("aeiouy")
    return (
        len(stem) >= 3
        and adjective.startswith(stem)
        and re.fullmatch(r"[aeiouy]{0,2}(?:n|an|ian|ese|ish|i|ean|er|ic|s)?e?s?", adjective[len(stem) :]) is not None
    )


def _steps(messages: Sequence[Message]) -> list[Step]:
    steps = []
    calls: list[tuple[str, dict[str, object]]] = []
    for message in messages:
        if message.role == "assistant":
            calls = read_calls(message.content)
        elif calls and message.role == "user":
            for (name, arguments), (failed, text) in zip(calls, _RESPONSE.findall(message.content), strict=False):
                steps.append(Step(name, arguments, text, tuple(_facts(text)), not failed))
            calls = []
    return steps


def _facts(text: str) -> list[Fact]:
    return [fact for pieces in _paragraphs(text) for fact in pieces]


def _paragraphs(text: str) -> Iterator[list[Fact]]:
    """Yield the sentences of each paragraph of the sources quoted."""
    for n, title, url, quoted in _SOURCE.findall(text):
        lines = [html.unescape(raw.removeprefix(">").strip()) for raw in quoted.splitlines()]
        for line in lines if url.startswith(f"library://{FACTBOOK}/") else with_headings(unwrapped(lines)):
            whole = line.startswith(("#", "|")) or (_LABEL.match(line) and len(line) < 400)
            pieces = [line] if whole else sentences(line, clauses=False)
            yield [Fact(int(n), url, title.strip(), piece) for piece in pieces if piece not in ("", "…")]
