"""The report at the end of a run: the answer above an evolving report, or the reason for having none above the model's words."""

from __future__ import annotations

import re

from research import prompts
from research.agent.run import Run
from research.citations import cited, without_marks
from research.parsing.arguments import as_words
from research.parsing.report_sections import SECTION, without_plans
from research.text import clip
from research.types import Outcome, ToolCall

_LIMITS = {
    "rounds": ("rounds", "轮数"),
    "tokens": ("tokens", "词元"),
    "cost": ("cost", "费用"),
    "time": ("time", "时间"),
}
"""What each limit limits, in English and Chinese."""
TRIED = 20
"""Maximum number of calls listed in the report of a run without sources."""


def with_answer(answer: str, report: str, language: str) -> str:
    """Return the facts of the report with the answer above them; empty if the answer contains them all."""
    facts = without_plans(report).strip()
    said = {"", *(line.strip() for line in answer.splitlines())}
    if all(line.strip() in said for line in facts.splitlines() if not SECTION.match(line)):
        return ""
    return f"{answer}\n\n{prompts.text('report_heading', language)}\n\n{facts}"


def without_sources(run: Run, outcome: Outcome, words: str, ended: Outcome) -> str:
    """Return the report of a run that saw no source: the limit it `ended` at, the calls it tried, and the model's words."""
    language = run.language
    parts = [prompts.text("tool_errors" if outcome == "tool_errors" else "unseen", language)]
    if ended in _LIMITS:
        parts.append(prompts.text("spent", language, limit=_LIMITS[ended][language == "zh"]))
    if run.context.cut_by == "time" and run.context.failure:
        parts.append(f"{_one_line(run.context.failure)}.")
    # Each line once: a model may repeat a call many times.
    lines = dict.fromkeys(
        f"- {_code(call)}{'' if seen.ok else f': {_one_line(seen.text)}'}" for call, seen in run.context.tool_calls
    )
    if lines:
        parts.append("\n".join([prompts.text("tried", language), "", *list(lines)[-TRIED:]]))
    own = without_marks(words)  # which need not repeat that
    parts += _quoted("own_words", "" if own.startswith(_refusal(language)) else own, language)
    return "\n\n".join(parts)


def after_failed_search(run: Run, why: str, words: str) -> str:
    """Return a refusal that says first that a search failed, and so does not say that there is no answer."""
    cause = re.split(r"\.\s|。", why)[0]  # the rest is advice to the model
    said = prompts.text("to_user/search_failed", run.language, why=_one_line(cause).rstrip("."))
    return f"{said}\n\n{words.replace(_refusal(run.language), '').strip()}".strip()


def _refusal(language: str) -> str:
    """Return the words in bold type with which a refusal begins."""
    return "**".join(prompts.text("unseen", language).split("**")[:2]) + "**"


def failed(run: Run, words: str, report: str) -> str:
    """Return the report of a failed run: the cause, then what the model wrote and what was seen, labelled as such."""
    language, found = run.language, run.findings()
    cause = _one_line(run.context.failure or prompts.text("no_reply", language))
    parts = [prompts.text("failed", language, cause=cause)]
    written = report or run.transcript.report
    for text in dict.fromkeys((words, written)):
        parts += _quoted("unfinished_words", text.removesuffix(found), language)
    if found and not cited("\n".join((words, written))):
        parts.append(found)
    return "\n\n".join(parts)


def _quoted(label: str, words: str, language: str) -> list[str]:
    """Return the label with the words as a quotation; empty if the model wrote nothing."""
    if not words.strip() or words == prompts.text("nothing", language):
        return []
    quotation = "\n".join(f"> {line}".rstrip() for line in words.strip().splitlines())
    return [prompts.text(label, language), quotation]


def _code(call: ToolCall) -> str:
    """Return a call as one line of inline code, its own backticks replaced."""
    arguments = ", ".join(map(as_words, call.arguments.values()))
    return "`" + clip(f"{call.name}({arguments})".replace("`", "'").replace("\n", " "), 120) + "`"


def _one_line(text: str) -> str:
    return clip(" ".join(text.split()) or "nothing", 200)
