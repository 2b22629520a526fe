"""What a round is called: by its first call, or by its phase if it sums up, judges or frames."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from pages.parts.run import details
from pages.parts.shared.language import later, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import BESIDE, ICONS, PHASES, agent_name, count, is_act, lasted, tool_title
from research.defaults import FACTBOOK
from research.events.branches import PROPOSE, VERIFY
from research.events.rounds import CallView, RoundView
from research.events.view import RunView
from research.parsing.arguments import as_words
from research.text import clip
from research.types import Observation, ToolCall

SUBJECT: Final = 60
"""Maximum characters of an argument, a result or a title."""
CODE: Final = ("code", "sql")
"""Arguments that are written for a machine: neither a round's name nor what is told about it."""
ARGUMENTS: Final = {
    "goal": later("looking for"),
    "year": later("year"),
    "year_from": later("from year"),
    "year_to": later("to year"),
    "site": later("site"),
}
"""What the arguments of our tools are called; those of other tools have their own names."""


_FACTBOOK: Final = f"library://{FACTBOOK}/"
_TABLE: Final = re.compile(r"^table \w+ \(([^()\n]+?)(?:, [\d,]+ rows?)?\)", re.M)
"""Matches a table as the tool `query` describes it: its file and sheet."""


def role(current: RoundView) -> str:
    """Return the role for which the model is asked, if it is one of `PHASES`; else an empty text."""
    return current.role if current.role in PHASES else ""


def is_round(current: RoundView) -> bool:
    """Return whether a request counts as a round; summing up, reading pages and checking do not."""
    return role(current) not in BESIDE


def line(view: RunView, current: RoundView, now: float | None) -> str:
    """Return number and name of a round, then what is known of its calls, as Markdown.

    Requests beside the rounds have no number.
    """
    who = "" if current.agent == "main" else f"{plain(agent_name(current.agent))} · "
    called = plain(clip(name(view, current, now), 100))
    number = f"**{current.number}**  " if is_round(current) and current.number else ""
    head = called if current.purpose == VERIFY else f"{number}{who}{called}"  # a judge's agents only tell batches apart
    if current.asked and not current.calls:
        said = [plain(clip(" ".join(each.split()), SUBJECT)) for each in (current.asked, current.replied) if each]
        return f"{head}  \n:gray[:small[{' → '.join(said)}]]"
    if not current.calls:
        took = current.seconds if current.done else now - current.started if now and current.ask else None
        return f"{head}  :gray[:small[{lasted(took)}]]" if took is not None else head
    return "  \n".join([head, *(f":gray[:small[{each}]]" for each in _calls(view, current, now))])


def icon(current: RoundView) -> str:
    """Return the Material symbol of a round that is done."""
    if any(call.observation and not call.observation.ok for call in current.calls):
        return ":material/error:"
    if current.calls:
        return f":material/{ICONS.get(current.calls[0].call.name, 'build')}:"
    if current.asked:
        return f":material/{ICONS['ask_user']}:"
    if called := _called(current):
        return f":material/{ICONS.get(called[0].name, 'build')}:"
    phase = role(current)
    return f":material/{PHASES[phase][0] if phase else 'edit_note'}:"


def name(view: RunView, current: RoundView, now: float | None) -> str:
    """Return what a round does or did; `now` is None for a run that is not active."""
    if current.purpose == PROPOSE:
        return t("Write the plan")
    if calls := [each.call for each in current.calls] or _called(current):
        first = action(view, calls[0])
        return f"{first} +{len(calls) - 1}" if len(calls) > 1 else first
    if current.ask == 0:
        return t("Before the first round")
    if current.reply is None and now is None:
        return t("Interrupted")
    if phase := role(current):
        return t(PHASES[phase][1])
    if current.reply is None:
        thinking, body = details.thought(current)
        return t("Writing") if body.strip() else t("Thinking") if thinking.strip() else t("Reading the prompt")
    return t("Ask you") if current.asked else t("Write the answer")


def _called(current: RoundView) -> Sequence[ToolCall]:
    """Return the calls of a reply that are about to start; a question to the user and a phase have their own names."""
    if current.reply is None or current.reply.answer or current.asked or role(current):
        return ()
    return current.reply.calls


def action(view: RunView | None, call: ToolCall) -> str:
    """Return what a call does, with its main argument; not escaped for Markdown."""
    if call.name == "visit":
        return t("Read {page}", page=_ends(view and _title(view, call) or _address(call)))
    title = tool_title(call.name)
    subject, _ = _arguments(call)
    return t("{name}: {value}", name=title, value=subject) if subject else title


def _ends(name: str) -> str:
    """Return the beginning and the end of a long name, because names of pages that belong together differ at the end."""
    if len(name) <= SUBJECT:
        return name
    _, space, end = name[-SUBJECT // 2 :].partition(" ")
    return f"{clip(name, SUBJECT // 2)} {end}" if space else clip(name, SUBJECT)


def _arguments(call: ToolCall) -> tuple[str, list[str]]:
    """Return the first argument that is not just a number, and the others with their names."""
    given = {name: value for name, value in call.arguments.items() if name not in CODE}
    said = {name: clip(" ".join(as_words(value)[:200].split()), SUBJECT) for name, value in given.items()}
    main = next((name for name, value in given.items() if not isinstance(value, int | float)), "")
    others = [
        t("{name}: {value}", name=t(ARGUMENTS[name]) if name in ARGUMENTS else name.replace("_", " "), value=words)
        for name, words in said.items()
        if name != main and words
    ]
    return said.get(main, ""), [] if is_act(call.name) else others


def _address(call: ToolCall) -> str:
    """Return the address without its scheme, with which Streamlit would make it a link; of a document its place, of a page
    of the Factbook its words.
    """
    url = " ".join(as_words(call.arguments.get("url", ""))[:200].split())
    if url.startswith(_FACTBOOK):
        return url.removeprefix(_FACTBOOK).replace("-", " ").replace("/", " · ")
    return unquote(re.sub(r"^library://[^/]*/", "", url)) if _own(url) else re.sub(r"^https?://(?:www\.)?", "", url)


def _own(url: object) -> bool:
    """Return whether an address is that of a document of the library."""
    return str(url).startswith("library://")


def _title(view: RunView, call: ToolCall) -> str:
    """Return the title of the page that a call opens, if the run has seen it."""
    url = call.arguments.get("url")
    seen = (source.title for passages in view.sources.values() for source in passages if source.url == url)
    return next(seen, "")


def _calls(view: RunView, current: RoundView, now: float | None) -> list[str]:
    """Return the arguments and the result of a single call, or a line for each of several."""
    if len(current.calls) == 1:
        call = current.calls[0]
        _, others = _arguments(call.call)
        if call.call.name == "visit" and _title(view, call.call) and not _own(call.call.arguments.get("url")):
            others.insert(0, clip(_address(call.call), SUBJECT))
        return [*map(plain, others), _result(call, now)]
    lines = [
        f"{plain(clip(action(view, call.call), 2 * SUBJECT))} → {_result(call, now)}"
        for call in current.calls[: details.CALLS]
    ]
    if (left := len(current.calls) - details.CALLS) > 0:
        lines.append(t("and {calls} more", calls=count(left, "call")))
    return lines


def _result(call: CallView, now: float | None) -> str:
    if call.observation is not None:
        return f"{came_back(call.call, call.observation)} · {lasted(call.observation.seconds)}"
    return f"… {lasted(now - call.started)}" if now else t("not finished")


def _sums(call: ToolCall, seen: Observation) -> list[str]:
    """Return each printed line of code after the sum that gave it; none if that is unknown."""
    try:
        tree = ast.parse(str(call.arguments.get("code", "")))
    except (SyntaxError, ValueError):
        return []
    shown = seen.text.strip().splitlines()
    printed = [
        each.value.args[0]
        for each in tree.body
        if isinstance(each, ast.Expr)
        and isinstance(each.value, ast.Call)
        and ast.unparse(each.value.func) == "print"
        and len(each.value.args) == 1
    ]
    if len(printed) != len(shown):
        return []
    inner = [
        each.args[0] if isinstance(each, ast.Call) and ast.unparse(each.func) == "round" else each for each in printed
    ]
    return [
        f"{ast.unparse(sum_)} = {line}" if isinstance(sum_, ast.BinOp) else line
        for sum_, line in zip(inner, shown, strict=True)
    ]


def came_back(call: ToolCall, seen: Observation) -> str:
    """Return what a call brought, in a few words of Markdown."""
    if seen.edited:
        return t("edited by you")
    if seen.sources and seen.ok:
        return count(len(seen.sources), "source")
    if seen.ok and (tables := _TABLE.findall(seen.text)):
        named = (t("CIA World Factbook") if each == "World Factbook" else each for each in tables)
        return plain(clip(t(", ").join(named), 2 * SUBJECT))
    if seen.ok and (sums := _sums(call, seen)):
        return plain(clip("; ".join(sums), 2 * SUBJECT))
    address = as_words(call.arguments.get("url", ""))  # already in the name
    words = seen.text[:500].replace(address, "") if address and not seen.ok else seen.text[:500]
    said = plain(clip(re.sub(r" (?=[（，；])", "", " ".join(words.split())), SUBJECT))
    return said if seen.ok else t("failed: {reason}", reason=said)
