"""The head of a run, which stays in sight: outcome, parts, citations, time, tokens, cost, and what can be done with it."""

from __future__ import annotations

import streamlit as st

from pages.parts.run import naming, report
from pages.parts.shared import titles
from pages.parts.shared.home import bench as current_bench
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import PHASES, count, lasted, money, short
from research import plugins
from research.citations.verification import to_judge
from research.defaults import AUDIT
from research.errors import REFUSED, ConfigError
from research.events.branches import VERIFY
from research.events.recipe import Recipe
from research.events.view import RunView, holds, stated
from research.exports.progress import OUTCOMES
from research.store import RunRow
from research.text import clip
from research.types import FAILS, HOLDS
from research.workbench.workbench import Workbench

ALONE_S = 10.0
"""After this time in the queue, the page suggests starting a worker."""
SHOWN = 300
"""Maximum characters of the question above the run."""
APART = "\u2003"
"""Between two figures of the head."""
SIGNS = {
    "check_circle": "✓",
    "rule": "◐",
    "search_off": "∅",
    "error": "✕",
    "broken_image": "✕",
    "flag": "⚑",
    "stop_circle": "■",
    "pause_circle": "‖",
    "pending": "●",
    "contact_support": "…",
    "gavel": "≡",
    "help": "?",
}
"""Signs where there are no Material symbols, as in tables, by those."""
NO_BREAK = "\u00a0"


def is_interrupted(row: RunRow) -> bool:
    """Return whether the run's process has died and the run does not continue by itself."""
    return row.status == "running" and current_bench().engine.reclaimer.interrupted(row)


def state(row: RunRow) -> str:
    """Return the state of a run in a few words."""
    if row.damaged:
        return t("Damaged")
    if row.ending != "running":
        return titles.ending(row.ending, audit=row.recipe.framework == AUDIT)
    if row.status == "paused":
        return t("Paused")
    return t("Interrupted") if is_interrupted(row) else t("Running")


def look(row: RunRow) -> tuple[str, str]:
    """Return colour and Material symbol of a run's state."""
    if row.damaged:
        return "red", "broken_image"
    if row.ending != "running":
        return titles.look(row.ending, audit=row.recipe.framework == AUDIT)
    if row.status == "paused" or is_interrupted(row):
        return "orange", "pause_circle"
    return "blue", "pending"


def dot(row: RunRow) -> str:
    """Return the sign of a run's state in its colour, as Markdown; `state` has the words."""
    colour, icon = look(row)
    return f":{colour}[:material/{icon}:]"


def title(row: RunRow, live: bool) -> None:
    """Set the browser tab's title to the question and the state."""
    question = clip(" ".join(row.question.split()), 60)
    if row.status == "waiting_input":
        st.set_page_config(page_title=t("Waiting for you · {question}", question=question))
    elif live:
        st.set_page_config(page_title=f"● {question}")
    else:
        st.set_page_config(page_title=question)


def question(text: str) -> None:
    """Draw the question as the title of the page."""
    line = " ".join(text.split())
    with st.container(key="run-question"):
        st.title(plain(clip(line, SHOWN)), anchor=False)
    if len(line) > SHOWN:
        with st.expander(t("Full question"), type="compact"):
            st.text(text)


def live(bench: Workbench, row: RunRow, view: RunView, now: float) -> None:
    """Draw the head of an active run with its pause and stop buttons."""
    requested = bench.store.requests([row.id]).get(row.id)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        row = bench.store.run(row.id)
        if row.status == "queued":
            state = t("waiting for a worker")
        elif requested == "stop":
            state = t("stopping …")
        elif requested == "pause":
            state = t("pausing …")
        else:
            state = _where(view, row.recipe)
        seconds = view.elapsed(now) if view.started else now - row.created
        badge = f":blue-badge[● {state}]"
        st.markdown(APART.join([badge, *_spent(view, row.recipe, seconds)]), width="stretch")
        st.button(
            t("Pause"),
            key="pause",
            icon=":material/pause:",
            disabled=requested is not None,
            shortcut="P",
            on_click=_request,
            args=(bench, row.id, "pause"),
        )
        st.button(
            t("Stop"),
            key="stop",
            icon=":material/stop:",
            disabled=requested == "stop",
            shortcut="Shift+S",
            on_click=_request,
            args=(bench, row.id, "stop"),
        )
    if row.status == "queued" and now - row.heartbeat > ALONE_S:
        st.info(
            t("No worker has started this run yet. Whoever runs this server has to start one."),
            icon=":material/hourglass_empty:",
        )
    if why := bench.engine.blocked(row.id):
        st.warning(plain(why), title=t("The run is waiting: its results can't be saved right now"))
    elif silent_s := bench.engine.silence(row):
        st.warning(
            t(
                "Its process has not responded for {n} seconds. If you end that process, the run continues.",
                n=round(silent_s),
            ),
            icon=":material/hourglass_empty:",
        )


def _request(bench: Workbench, run_id: str, what: str) -> None:
    try:
        bench.engine.pause(run_id) if what == "pause" else bench.engine.stop(run_id)
    except REFUSED as error:
        st.toast(plain(spoken(error)), icon=":material/error:")  # the run ended before the click arrived


def inactive(view: RunView, row: RunRow, number: int, last: int) -> None:
    """Draw the verdict on a run that is not active, and which of its rounds is shown."""
    found = [badge(view, row), *_parts(view), *_citations(view), *_spent(view, row.recipe, view.elapsed(view.updated))]
    if number < last:
        found = [f":material/history: **{t('Round {number} of {last}', number=number, last=last)}**", found[0]]
    st.markdown(APART.join(found), width="stretch")


def badge(view: RunView, row: RunRow) -> str:
    """Return the state of a run that is not active as Markdown: a sign and a word, coloured."""
    if view.running:
        colour, icon, words = "orange", "power_off", t("Interrupted")
    elif row.status == "paused" and not view.error:
        colour, icon, words = "orange", "pause_circle", t("Paused")
    elif view.plan_waits:
        colour, icon, words = "blue", "checklist", t("Waiting for you: approve the plan")
    else:
        outcome, audit = view.outcome or "failed", view.given is not None
        colour, icon = titles.look(outcome, audit=audit)
        words = t("No certain answer") if _shows_closest(view) else titles.ending(outcome, audit=audit)
    return f":{colour}-badge[:material/{icon}: {words}]"


def _shows_closest(view: RunView) -> bool:
    """Return whether a run without an answer quotes what comes closest to one."""
    return view.outcome == "no_evidence" and view.given is None and bool(view.citations)


def ending(view: RunView) -> str:
    """Return the outcome of a run in words, with the number of parts answered if not all are."""
    words = t("No certain answer") if _shows_closest(view) else t(OUTCOMES[view.outcome or "failed"])
    if view.outcome != "partly_answered" or len(view.parts) < 2:
        return words
    good = sum(part.status == "answered" for part in view.parts)
    return f"{words} · " + t("{good} of {all} parts", good=good, all=len(view.parts))


def _parts(view: RunView) -> list[str]:
    """Return how many parts of the question are answered, if it has several."""
    if len(view.parts) < 2:
        return []
    good = sum(part.status == "answered" for part in view.parts)
    return [t("**{good} of {all}** parts", good=good, all=len(view.parts))]


def _citations(view: RunView) -> list[str]:
    """Return how many citations were checked, and how many of them a source supports or denies."""
    # a refusal's passages support no answer, and a check's result has its own count
    if view.given is not None or view.outcome in (None, "needs_input", "no_evidence"):
        return []
    if not view.citations:
        told = view.report and view.outcome != "tool_errors"
        return [t(":orange[:material/link_off: No citations]")] if told else []
    given = list(stated(view).values())
    good, bad = sum(each in HOLDS for each in given), sum(each in FAILS for each in given)
    colour, icon = ("green", "verified") if holds(view) else ("orange", "rule")
    if checked := len(given) - given.count("unverified"):
        said = t("**{n} of {all}** citations checked, **{good}** confirmed", n=checked, all=len(given), good=good)
    else:
        said = t("{citations} not verified", citations=count(len(given), "citation"))
    found = [f":{colour}[:material/{icon}:] {said}"]
    if bad:
        found.append(t(":red[:material/close: **{n}** failed the check]", n=bad))
    return found


def _checking(view: RunView) -> str:
    """Return how many statements of the finished report are checked: by the rules, before, or by the judge just now."""
    left = len(to_judge(view.citations, everything=not view.recipe.judges_open))
    asked = (each for each in reversed(view.rounds) if each.purpose == VERIFY)
    read = sum((each.reply.answer if each.reply else each.draft).count('"verdict"') for each in asked)
    total = len(stated(view))
    return t("Checking citations: {read} of {total}", read=total - left + min(read, left), total=total)


def _where(view: RunView, recipe: Recipe) -> str:
    """Return `round 4 of 30`, without the limit if it is unknown; the phase, if the model sums up, judges or frames; or how
    far the finished report is checked.
    """
    if view.citations:
        return _checking(view)
    phases = {naming.role(each) for each in view.rounds if each.ask and each.reply is None}
    if len(phases) == 1 and (phase := phases.pop()):
        return t(PHASES[phase][1])
    if report.is_written(view):
        return t(PHASES["writer"][1])
    number = max(1, view.round_count())
    limit = _rounds(recipe)
    if limit is None or len(view.agents) > 1 or number > limit:
        return t("Round {number}", number=number)
    return t("Round {number} of {limit}", number=number, limit=limit)


def _rounds(recipe: Recipe) -> int | None:
    """Return the round limit of the framework, or None if it has none."""
    try:
        options = plugins.framework.get(recipe.framework).options
    except ConfigError:
        return None  # an imported run may name an unknown framework
    default = next((option.default for option in options if option.name == "rounds"), None)
    limit = recipe.framework_options.get("rounds", default)
    return limit if isinstance(limit, int) else None


def _spent(view: RunView, recipe: Recipe, seconds: float) -> list[str]:
    """Return time, tokens and cost, each with its limit if it has one."""
    budget = recipe.budget
    spent = short(view.prompt_tokens + view.completion_tokens)
    if budget.tokens is not None:
        tokens = t("{spent} of {budget} tokens", spent=spent, budget=short(budget.tokens))
    else:
        tokens = t("{spent} tokens", spent=spent)
    took = lasted(seconds)
    if budget.seconds is not None:
        took = t("{spent} of {budget}", spent=took, budget=lasted(budget.seconds))
    cost = plain(money(view.cost_usd))
    if view.cost_usd is None:
        cost = t("cost unknown")
    if budget.usd is not None:
        cost = t("{spent} of {budget}", spent=cost, budget=plain(money(budget.usd)))
    # A figure and its unit stay on one line.
    return [f":gray[{each.replace(' ', NO_BREAK)}]" for each in (took, tokens, cost)]
