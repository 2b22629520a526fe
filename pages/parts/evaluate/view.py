"""One evaluation: its progress while it runs, and its results."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress

import streamlit as st

import research
from pages.parts.evaluate import charts, questions, results, verdict, words
from pages.parts.evaluate import jobs as evaluate_jobs
from pages.parts.run import downloads, head
from pages.parts.run.choices import limits
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.table import tabular
from pages.parts.shared.words import clock, cost, count, lasted, money, short, when
from research.errors import REFUSED, ConfigError, StoreUnavailable
from research.evaluation import Evaluation, Plan
from research.evaluation.findings import findings
from research.evaluation.report import markdown
from research.evaluation.row_exports import rows_csv, texts_of
from research.evaluation.server_evaluations import Evaluations, Progress
from research.text import clip
from research.workbench.workbench import Workbench
from research.workbench.worlds import name_of

TICK_S, REST_S = 1.0, 5.0
"""Polling intervals in seconds while it is active, and when it is not (for changes by other processes)."""
ENOUGH = 10
"""Number of questions from which the charts are shown at once."""
PARTS = 10
"""Number of times the results are redrawn while the evaluation runs."""


def show(bench: Workbench, name: str) -> None:
    """Draw the evaluation with that name, or an error if it does not exist."""
    jobs = evaluate_jobs.of(bench)
    try:
        standing = jobs.progress(name)
    except ConfigError as error:
        st.error(plain(spoken(error)), title=t("Evaluation not found"))
        st.button(t("All evaluations"), icon=":material/arrow_back:", on_click=_leave)
        return
    name = standing.saved.plan.name
    _top(bench, standing)
    _follow(bench, jobs, name, jobs.working(name), _part(standing))
    if any(standing.found.rows.values()):
        plan, found = standing.saved.plan, standing.found
        names = words.labels(plan.candidates)
        verdict.draw(plan, found, names)
        few = len(plan.questions) < ENOUGH
        measure = "" if few else _charts(plan, found, names)
        questions.draw(plan, found, names)
        title = t("Statistics, which say little about so few questions") if few else t("Differences and tables")
        with st.expander(title, type="compact", icon=":material/table_chart:"):
            _tables(plan, found, measure or _charts(plan, found, names), names)
    elif not jobs.working(name):
        st.markdown(t("No results yet. Resume this evaluation, or start another one."))


def _charts(plan: Plan, found: Evaluation, names: Mapping[str, str]) -> str:
    """Draw the charts of a metric that the user chooses, and return it."""
    measure = results.measure(found)
    left, right = st.columns(2, gap="medium")
    with left:
        charts.forest(plan, found, measure, names)
    with right:
        charts.scatter(plan, found, measure, names)
    return measure


def _tables(plan: Plan, found: Evaluation, measure: str, names: Mapping[str, str]) -> None:
    """Draw how certain the differences are, and the tables of all metrics."""
    results.pairs(found, measure, names)
    results.tables(plan, found, names)
    charts.matrix(plan, found, measure)


def _part(standing: Progress) -> int:
    """Return a number that changes a few times during the evaluation, when the results are worth redrawing."""
    if not standing.found.left:
        return PARTS + 1
    return standing.done * PARTS // max(1, standing.total)


def _top(bench: Workbench, standing: Progress) -> None:
    """Draw what is evaluated, and the actions for the whole."""
    plan, found, texts = standing.saved.plan, standing.found, texts_of(bench.store)
    with st.container(key="page-title"):
        st.title(plain(plan.name), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center", key="evaluate-top"):
        st.caption(f"{_shared_settings(plan)} · {when(standing.saved.created)}", width="stretch")
        st.page_link(
            "pages/runs.py", label=t("All runs"), icon=":material/history:", query_params={"tag": f"eval:{plan.name}"}
        )
        downloads.papers(
            lambda: markdown(plan, found),
            f"evaluation {plan.name}",
            lambda: rows_csv(plan, found, texts),
            disabled=not any(found.rows.values()),
        )
        private = any(each.canary for each in plan.questions)
        st.download_button(
            t("Publish"),
            lambda: findings(
                plan, found, bench.store, bench.settings.secrets(), private=private, version=research.__version__
            ),
            f"findings {plan.name}.html",
            "text/html",
            key="evaluate-publish",
            icon=":material/publish:",
            on_click="ignore",
            disabled=not any(found.rows.values()),
            help=t(
                "One HTML file with the question set, the method, the tables, the plots, all transcripts, and the command "
                "that repeats the evaluation."
            ),
        )
        st.button(t("New evaluation"), key="evaluate-new", icon=":material/add:", on_click=_leave)


def _shared_settings(plan: Plan) -> str:
    """Return the settings that all recipes share."""
    each = limits(plan.candidates[0].recipe.budget)
    return " · ".join(
        filter(
            None,
            [
                count(len(plan.questions), "question"),
                count(len(plan.candidates), "recipe"),
                t("{n} trials each", n=plan.trials) if plan.trials > 1 else "",
                t("at most {caps} per run", caps=each) if each else t("no budget"),
                t("{cost} in total", cost=plain(money(plan.max_usd))) if plan.max_usd else "",
                t("recorded world: {name}", name=plain(name_of(plan.world))) if plan.world else "",
                t("judged by {model}", model=plain(plan.judge)) if plan.judge else "",
            ],
        )
    )


def _leave() -> None:
    # A page link to the open page would not change the address.
    for name in ("evaluation", "question"):
        st.query_params.pop(name, None)


def _follow(bench: Workbench, jobs: Evaluations, name: str, working: bool, part: int) -> None:
    """Update the progress from the store; the results are redrawn with the whole page."""

    @st.fragment(run_every=TICK_S if working else REST_S)
    def follow() -> None:
        try:
            standing = jobs.progress(name)
        except ConfigError:  # deleted meanwhile
            st.rerun()
        except StoreUnavailable:
            return  # the next tick asks again
        if (jobs.working(name), _part(standing)) != (working, part):
            st.rerun()
        with st.container(key="evaluate-progress"):
            if working:
                _working(jobs, standing)
            else:
                _resting(bench, jobs, standing)

    follow()


def _working(jobs: Evaluations, standing: Progress) -> None:
    """Draw the progress, each recipe's results so far, the active runs, and the stop button."""
    plan, found = standing.saved.plan, standing.found
    job = jobs.job(plan.name)
    if job is None:
        return
    seconds = time.time() - job.started
    with st.container(horizontal=True, vertical_alignment="center"):
        progress = t("{done} of {total} runs", done=f"{standing.done:,}", total=f"{standing.total:,}")
        parts = [progress, *_to_judge(standing), clock(seconds), plain(cost(found.spent_usd))]
        remaining = job.remaining(found.left)
        if remaining is not None and not job.stopping.is_set():
            some = t("less than a minute left") if remaining < 60 else t("about {time} left", time=lasted(remaining))
            parts.append(some)
        st.markdown(f":primary[●] {' · '.join(parts)}", width="stretch")
        stopping = job.stopping.is_set()
        st.button(
            t("Stopping …") if stopping else t("Stop"),
            key="evaluate-stop",
            icon=":material/stop:",
            disabled=stopping,
            on_click=jobs.stop,
            args=(plan.name,),
            help=t("Active runs are paused; finished runs are kept."),
        )
    st.progress(standing.done / max(1, standing.total))
    if job.indexed is not None:
        read, all_ = job.indexed
        st.caption(t("Making the documents searchable: {share}", share=f"{read / all_:.0%}"))
    _so_far(standing)
    _now(standing)


def _to_judge(standing: Progress) -> list[str]:
    """Return a phrase for the reports that the judge has yet to grade, if there is a judge."""
    if not standing.unjudged:
        return []
    return [t("{reports} left to judge", reports=count(standing.unjudged, "report"))]


def _so_far(standing: Progress) -> None:
    plan = standing.saved.plan
    names = words.labels(plan.candidates)
    rows = []
    for each in plan.candidates:
        done = standing.found.rows[each.name]
        judged = [row.scores.right for row in done if row.scores.right is not None]
        tokens = sum(row.prompt_tokens + row.completion_tokens for row in done)
        rows.append(
            [
                plain(names[each.name]),
                f"{len(done):,} / {len(plan.questions):,}",
                t("{n} of {all}", n=f"{sum(judged):.0f}", all=f"{len(judged):,}") if judged else "",
                short(tokens),
            ]
        )
    with st.container(key="evaluate-so-far"):
        st.markdown(tabular([t("Recipe"), t("Finished runs"), t("Correct so far"), t("Tokens")], rows))


def _now(standing: Progress) -> None:
    """Draw a link to each active run."""
    plan = standing.saved.plan
    names = words.labels(plan.candidates)
    recipes = {each.key: names[each.name] for each in plan.candidates}
    asked = {question.digest: question.question for question in plan.questions}
    for row in standing.at_work[: plan.concurrency]:
        question = plain(clip(" ".join(asked[row.asked].split()), 80))
        st.page_link(
            "pages/runs.py",
            label=f"{plain(recipes[row.recipe])} · {question}",
            icon=":material/sync:",
            query_params={"run": row.run},
        )


def _resting(bench: Workbench, jobs: Evaluations, standing: Progress) -> None:
    """Draw how it ended, and the button that resumes it."""
    plan, found = standing.saved.plan, standing.found
    job = jobs.job(plan.name)
    if job is not None and job.error:
        st.error(plain(job.error), title=t("It could not continue; finished runs are kept"))
    elif job is not None and job.reason:
        st.warning(plain(job.reason), title=t("A run is paused, and no other was started"))
    spent = plain(cost(found.spent_usd))
    rows = f"{standing.total:,}"
    if not found.left:
        st.markdown(t(":material/check_circle: All {total} runs done · {cost}", total=rows, cost=spent))
        return
    done = f"{standing.done:,}"
    spent = " · ".join([*_to_judge(standing), spent])
    if _elsewhere(bench, standing):
        st.markdown(
            t(
                ":material/sync: {done} of {total} runs done · runs started by another process or before a "
                "restart are still active; you can resume when they have ended",
                done=done,
                total=rows,
            )
        )
        return
    cap = plan.max_usd
    with st.container(horizontal=True, vertical_alignment="bottom"):
        progress = t(":material/pause: {done} of {total} runs done · {cost}", done=done, total=rows, cost=spent)
        st.markdown(progress, width="stretch")
        if plan.max_usd is not None:
            cap = st.number_input(
                t("Total cost limit (US dollars)"),
                0.01,
                value=plan.max_usd,
                key=f"evaluate-cap-{plan.max_usd}",
                format="%g",
                width=220,
            )
        st.button(
            t("Resume"),
            key="evaluate-go-on",
            type="primary",
            icon=":material/play_arrow:",
            on_click=_go_on,
            args=(jobs, plan.name, cap),
            help=t("Finished runs are not repeated."),
        )
    if plan.max_usd is not None and job is not None and not job.stopping.is_set() and not job.error and not job.reason:
        st.caption(t("It stopped before exceeding the cost limit. Raise the limit to resume."))


def _elsewhere(bench: Workbench, standing: Progress) -> bool:
    """Return whether another process works on it; resuming now would ask the same questions twice."""
    for row in standing.at_work:
        with suppress(ConfigError):  # the run was deleted, or has not started yet
            run = bench.store.run(row.run)
            if run.status in ("queued", "running") and not head.is_interrupted(run):
                return True
    return False


def _go_on(jobs: Evaluations, name: str, cap: float | None) -> None:
    try:
        jobs.resume(name, cap)
    except REFUSED as error:
        st.toast(plain(spoken(error)), icon=":material/error:")
