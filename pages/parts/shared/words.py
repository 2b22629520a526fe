"""Numbers, dates and names as every page shows them."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pages.parts.shared.language import current, later, t
from research import plugins
from research._util.registry import derived

if TYPE_CHECKING:
    from research.workbench.estimate import Span

VERDICTS = {
    "supported": ("green", "check", later("Supported: the quote states this.")),
    "calculated": ("green", "calculate", later("Calculated from the figures cited; the formula is below.")),
    "partial": ("orange", "rule", later("Partly supported: the quote contains some of it.")),
    "unverified": ("gray", "radio_button_unchecked", later("Not verified: compare it with the passage below.")),
    "unsupported": ("red", "close", later("Not supported: the quote does not say this.")),
    "contradicted": ("red", "close", later("Contradicted: the source says otherwise.")),
    "dead": ("red", "link_off", later("Points to no source: this run has no source with this number.")),
}
"""Colour, Material symbol and sentence for each verdict on a citation."""

VERDICT_NAMES = {
    "supported": later("supported"),
    "calculated": later("calculated"),
    "partial": later("partly supported"),
    "unverified": later("not verified"),
    "unsupported": later("not supported"),
    "contradicted": later("contradicted"),
    "dead": later("point to no source"),
}
"""Title of each verdict."""

TOOLS = {
    "search": later("Search"),
    "visit": later("Read a page"),
    "query": later("Query tables"),
    "python": later("Calculate"),
    "scholar": later("Search for papers"),
    "recall": later("Search memory"),
    "ask_user": later("Ask you"),
    "final_answer": later("Write the answer"),
}
"""Title of each tool; frameworks name those of their own."""

JUDGES = {
    "uncertain": later("what the rules leave open"),
    "all": later("every statement"),
    "off": later("off: rules only"),
}
"""Title of what a judge of citations reads."""

ICONS = {
    "search": "search",
    "visit": "article",
    "query": "table",
    "python": "calculate",
    "scholar": "school",
    "recall": "neurology",
    "ask_user": "contact_support",
}
"""Material symbol of each tool."""

PHASES = {
    "planner": ("checklist", later("Planning")),
    "summariser": ("summarize", later("Summing up")),
    "writer": ("edit_note", later("Writing the report")),
    "critic": ("rate_review", later("Reviewing the draft")),
    "reader": ("article", later("Reading a page")),
    "judge": ("fact_check", later("Checking citations")),
}
"""Material symbol and title of a request by its role; those of a researcher are named by their calls."""

BESIDE = frozenset(("summariser", "reader", "judge"))
"""Roles whose requests are beside the rounds: they sum up, read a page or check, and have no number of their own."""


AGENTS = {
    "main": later("main"),
    "researcher": later("researcher-{n}"),
    "run": later("run-{n}"),
    "trial": later("trial-{n}"),
    "judge": later("judge-{n}"),
    "reader": later("reader"),
}
"""Title of an agent, by the first part of its name."""


def agent_name(path: str) -> str:
    """Return the name of an agent without the main agent above it: `researcher-1`; not escaped for Markdown."""
    return "/".join(map(_part, path.removeprefix("main/").split("/")))


def _part(name: str) -> str:
    kind, _, number = name.partition("-")
    title = AGENTS.get(kind, "")
    return t(title, n=number) if title and number.isdecimal() == ("{n}" in title) else name


def tool_title(name: str) -> str:
    """Return the title of a tool, or its name if it has none; not escaped for Markdown."""
    title = TOOLS.get(name) or _own_tools().get(name)
    return t(title) if title else name


def is_act(name: str) -> bool:
    """Return whether a call is an act of a framework, such as handing in a section, rather than the use of a tool."""
    return name in _own_tools()


@derived
def _own_tools() -> Mapping[str, str]:
    return {name: title for entry in plugins.framework.all() for name, title in entry.calls.items()}


def clock(seconds: float) -> str:
    """Return `00:12`, `1:02:03`."""
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def lasted(seconds: float) -> str:
    """Return `under 0.1 s`, `0.4 s`, `12 s`, `3 min 20 s`, `60 min`."""
    if seconds < 0.05:
        return t("under 0.1 s")
    if seconds < 10:
        return t("{n} s", n=f"{seconds:.1f}")
    if seconds < 100:
        return t("{n} s", n=f"{seconds:.0f}")
    if seconds % 60 < 1:
        return t("{n} min", n=f"{seconds // 60:.0f}")
    return t("{minutes} min {n} s", minutes=f"{seconds // 60:.0f}", n=f"{seconds % 60:.0f}")


def read(tokens: int, cached: int) -> str:
    """Return the tokens of a prompt, with those that the service read from its cache."""
    return t("{n} ({cached} cached)", n=f"{tokens:,}", cached=f"{cached:,}") if cached else f"{tokens:,}"


def short(count: int) -> str:
    """Return `812`, `3.1k`, `2.4M`."""
    if count < 1_000:
        return str(count)
    return f"{count / 1_000:.1f}k" if count < 999_950 else f"{count / 1_000_000:.1f}M"


def percent(share: float) -> str:
    """Return `45 %`; translations may set it solid."""
    return t("{n} %", n=f"{100 * share:.0f}")


def between(spans: Sequence[Span]) -> str:
    """Return the sum of several estimates: `3.1k–2.4M`."""
    low, high = short(round(sum(span.low for span in spans))), short(round(sum(span.high for span in spans)))
    return low if low == high else f"{low}–{high}"


def money(usd: float | None) -> str:
    """Return `$0.00`, `$0.0031`, `unknown`; not yet escaped for Markdown."""
    if usd is None:
        return t("unknown")
    return f"${usd:.2f}" if usd == 0 or usd >= 0.01 else f"${usd:.4f}"


def cost(usd: float | None) -> str:
    """Return what was spent: `cost $0.03`, `cost unknown`; not yet escaped for Markdown."""
    return t("cost unknown") if usd is None else t("cost {cost}", cost=money(usd))


def count(number: int, what: str) -> str:
    """Return `1 source`, `1,204 sources`; translated nouns contain the measure word: `3 个来源`."""
    if current() != "en":
        return f"{number:,} {t(what)}"
    many = "es" if what.endswith(("s", "ch")) else "s"
    return f"{number:,} {what}" + ("" if number == 1 else many)


def times(number: int, verdict: str) -> str:
    """Return how many citations have a verdict: `2 supported`."""
    return t("{n} {verdict}", n=f"{number:,}", verdict=t(VERDICT_NAMES[verdict]))


def when(seconds: float) -> str:
    """Return the local time to the minute."""
    from babel.dates import format_datetime

    local = datetime.datetime.fromtimestamp(seconds)
    return format_datetime(local, "d MMM y, HH:mm" if current() == "en" else "y年M月d日 HH:mm", locale=current())


def ago(seconds: float) -> str:
    """Return `5 minutes ago`, or the date after a week."""
    from babel.dates import format_timedelta

    passed = time.time() - seconds
    if passed < 60:
        return t("just now")
    if passed > 7 * 86_400:
        return when(seconds)
    return format_timedelta(datetime.timedelta(seconds=-passed), add_direction=True, locale=current(), threshold=1.0)


def unique_labels(options: Sequence[str], name: Callable[[str], str]) -> Callable[[str], str]:
    """Return a function that gives each option a unique label, because Streamlit distinguishes options by label alone."""
    names: dict[str, str] = {}
    used: Counter[str] = Counter()
    for each in options:
        words = name(each)
        used[words] += 1
        names[each] = words if used[words] == 1 else f"{words} ({used[words]})"
    return names.__getitem__
