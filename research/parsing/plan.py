"""ReWOO plans: `Plan: why`, then `#E1 = tool[input]`; or `Plan: tool("input") → #E1`.

Source: Xu et al. 2023, "ReWOO: Decoupling Reasoning from Observations" (arXiv:2305.18323).
One invalid step or unknown tool makes the whole plan invalid, and nothing runs.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from research._util.said import say
from research.parsing.calls import Tools
from research.parsing.parsed import CUT, PlanStep, Reading, format_error, plain

STEPS = 50
"""Most steps of a plan."""

_LINE = re.compile(
    r"^[ \t*_`>+\-•]*+(?:\d{1,3}[.)][ \t*_`]*+)?"
    r"(?P<why>(?:Plan|Step|计划|步骤)[ \t]*+\d*+[ \t*_]*+[:：][ \t*_]*+)?(?P<step>(?=[#＃]E\d{1,9}[ \t`*_]*+[=＝:：]))?",
    re.M,
)
_STEP = re.compile(r"[#＃]E(\d{1,9})[ \t`*_]*+[=＝](?!=)[ \t`*_]*+([^\s\[\]［］]{0,80}+)[ \t]*+([\[［])")
_ARROW = re.compile(
    r"^(?P<head>[ \t*_`>+\-•]*+(?:\d{1,3}[.)][ \t*_`]*+)?(?:(?:Plan|Step|计划|步骤)[ \t]*+\d*+[ \t*_]*+[:：][ \t*_]*+)?)"
    r"(?P<tool>[^\s()（）\[\]=:：]{1,80})[ \t]*+[(（](?P<input>.*)[)）][ \t`*_]*+(?:→|⇒|->|=>)[ \t`*_]*+"
    r"(?:(?P<step>[#＃]E\d{1,9})|\w{1,20})[ \t`*_.。]*+$",
    re.M,
)
_IN_QUOTES = re.compile(r"\s*(?:\"([^\"]*)\"|'([^']*)'|“([^“”]*)”)\s*")
_REFERENCE = re.compile(r"[#＃]E(\d{1,9})(?!\d)")
_TAIL = re.compile(r"[ \t`*_.;,。；，]*+(?:</\w+>)?[ \t`*_]*+(?=\n|\Z)")
_BRACKETS = {"[": re.compile(r"[\[\]]"), "［": re.compile(r"[［］]")}
_THINK = re.compile(r"</?think(?:ing)?>", re.I)


class _BadPlan(ValueError):
    def __init__(self, message: str, code: str = "bad_plan") -> None:
        super().__init__(message)
        self.code = code


def read_plan(text: str, tools: Tools, finish_reason: str = "stop") -> Reading:
    """Return the steps in order; a reference to anything but an earlier step is an error, and so is an unknown tool."""
    text = text.encode("utf-8", "replace").decode()
    thinking, body = _reasoning(text)
    seen: dict[str, Any] = {"thinking": thinking, "said": text, "words": body.strip()}
    if not text.strip():
        return format_error("refused" if finish_reason == "content_filter" else "empty", **seen)
    if finish_reason in CUT:
        return format_error("truncated", say("The plan was cut off at the length limit. Be shorter."), **seen)
    try:
        steps = list(_steps(_ARROW.sub(lambda line: _turned(line, tools), body), tools))
    except _BadPlan as error:
        return format_error(error.code, str(error), **seen)
    if not steps:
        return format_error("bad_plan", say("The reply held no step of the form #E1 = tool[input]."), **seen)
    return Reading("plan", steps=tuple(steps), **seen)


def _turned(line: re.Match[str], tools: Tools) -> str:
    """Return `tool(input) → #E1` as `#E1 = tool[input]`; a step that gives the answer is the solver's task."""
    head, tool, given, step = line.group("head", "tool", "input", "step")
    if step is None:
        return line[0] if tools is None or tool in tools else ""
    quoted = _IN_QUOTES.fullmatch(given)
    return f"{head}{step} = {tool}[{next(filter(None, quoted.groups()), '') if quoted else given}]"


def _steps(text: str, tools: Tools) -> Iterator[PlanStep]:
    seen: set[str] = set()
    starts = _starts(text)
    ends = [line for line, _ in starts[1:]] + [len(text)]
    _nothing_lost(text[: starts[0][0]] if starts else text)
    for (line, head), end in zip(starts, ends, strict=False):
        _nothing_lost(text[line : end if head is None else head])
        if head is None:
            continue  # a `Plan:` line whose step is on another line
        match = _STEP.match(text, head)
        if match is None:
            raise _BadPlan(say("{text!r} is not of the form #E1 = tool[input].", text=text[head : head + 40]))
        number, tool, bracket = match.groups()
        step = f"E{number}"
        if tools is not None and tool not in tools:
            raise _BadPlan(
                say(
                    "#{step}: there is no tool {tool!r}. The tools are: {value}.",
                    step=step,
                    tool=tool[:80],
                    value=", ".join(tools),
                ),
                "unknown_tool",
            )
        close = _close(text, match.end(), end, bracket, step)
        _nothing_lost(text[close:end])
        given = plain(text[match.end() : close])
        if not given and tools is not None and tools[tool].parameters.get("required"):
            raise _BadPlan(say("#{step}: the input of {tool} is empty.", step=step, tool=tool))
        deps = tuple(dict.fromkeys(f"E{other}" for other in _REFERENCE.findall(given)))
        if step in seen:
            raise _BadPlan(say("#{step} is given twice.", step=step))
        for other in deps:
            if other not in seen:
                raise _BadPlan(say("#{step} needs #{other}, which is not an earlier step.", step=step, other=other))
        seen.add(step)
        if len(seen) > STEPS:
            count = sum(head is not None for _, head in starts)
            raise _BadPlan(
                say(
                    "The plan has {count} steps; at most {steps} are accepted. Plan only what the answer needs.",
                    count=count,
                    steps=STEPS,
                )
            )
        yield PlanStep(step, tool, given, deps, text[line:head].strip(" \t\n*_`-"))


def _starts(text: str) -> list[tuple[int, int | None]]:
    """Return where steps begin: (position of the text after `Plan:`, position of `#E1 =` or None if there is none)."""
    found: list[tuple[int, int | None]] = []
    words: int | None = None
    for match in _LINE.finditer(text):
        head = match.end() if match["step"] is not None else None
        if match["why"] is not None and head is None:
            line_end = text.find("\n", match.end())
            inline = _STEP.search(text, match.end(), line_end if line_end >= 0 else len(text))
            head = inline.start() if inline else None
        if match["why"] is not None:
            words = match.end("why")
        if head is not None:
            # The text after `Plan:` belongs to the step that follows it.
            found.append((words if words is not None else head, head))
            words = None
        elif match["why"] is not None:
            found.append((match.start(), None))
    return found


def _nothing_lost(text: str) -> None:
    """Raise `_BadPlan` if text between steps contains a step, so that none is lost."""
    if match := _STEP.search(text):
        raise _BadPlan(say("#E{match} does not begin a line.", match=match[1]))


def _close(text: str, start: int, end: int, bracket: str, step: str) -> int:
    """Return where the input of a step ends; it may contain brackets."""
    closing = "]" if bracket == "[" else "］"
    depth = 1
    balanced = None
    for match in _BRACKETS[bracket].finditer(text, start, end):
        depth += 1 if match.group() == bracket else -1
        if depth == 0:
            balanced = match.start()
            break
    segment = text[start:end].rstrip(" \t\n\r`*_")
    ends_with = segment.endswith(closing)
    if balanced is not None and (tail := _TAIL.match(text, balanced + 1, end)):
        rest = text[tail.end() : end]
        # Without a blank line, text up to a later bracket still belongs to the input: `python[# [a]\nprint(1)]`.
        if not rest.strip(" \t\n\r`~") or re.match(r"[^\S\n]*\n[^\S\n]*\n|\n```", rest) or not ends_with:
            return balanced
    if ends_with:
        return start + len(segment) - 1
    raise _BadPlan(say("#{step}: the input does not end with {closing}.", step=step, closing=closing))


def _reasoning(text: str) -> tuple[str, str]:
    """Return (reasoning, plan).  An unclosed `<think>` ends at the first step; a tag in a step's input is text."""
    inputs = list(_inputs(text))
    starts = [start for start, _ in inputs]
    opening: re.Match[str] | None = None
    closing: re.Match[str] | None = None
    for match in _THINK.finditer(text):
        k = bisect_right(starts, match.start()) - 1
        if k < 0 or match.start() > inputs[k][1]:
            if "/" in match.group():
                closing = match
            opening = opening or match
    if closing is not None:
        return text[: closing.start()].strip(), text[closing.end() :]
    if opening is None:
        return "", text
    after = text[opening.end() :]
    first = next((line for line, head in _starts(after) if head is not None), 0)
    return after[:first].strip(), after[first:]


def _inputs(text: str) -> Iterator[tuple[int, int]]:
    """Yield for each step the range from its opening bracket to the last closing one on its line."""
    end = 0
    for match in _STEP.finditer(text):
        if match.start() >= end:
            line_end = text.find("\n", match.end())
            end = line_end if line_end >= 0 else len(text)
            yield match.end(), max(text.rfind("]", match.end(), end), text.rfind("］", match.end(), end))
