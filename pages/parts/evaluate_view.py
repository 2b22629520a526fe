"""One evaluation: how far it is, while it is at work, and what it has found."""

from __future__ import annotations

import time
from contextlib import suppress

import streamlit as st

from pages.parts import evaluate_charts, evaluate_jobs, evaluate_questions, evaluate_results, evaluate_words, head
from pages.parts.choices import limits
from pages.parts.compare_steps import tabular
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import clock, count, lasted, money, short, when
from research.errors import REFUSED, ConfigError, StoreUnavailable
from research.evaluation import Plan
from research.evaluation.background import Evaluations, Standing
from research.evaluation.report import markdown, rows_csv
from research.text import clip
from research.workbench import Workbench

TICK_S, REST_S = 1.0, 5.0
"""How often an evaluation at work is looked at; one that rests, for what another process does to it."""
PARTS = 10
"""Times that the results are drawn anew while it is at work."""


def show(bench: Workbench, name: str) -> None:
    """The evaluation of that name, or the reason why there is none."""
    jobs = evaluate_jobs.of(bench)
    try:
        standing = jobs.standing(name)
    except ConfigError as error:
        st.error(plain(str(error)), title=t("No such evaluation"))
        st.button(t("All evaluations"), icon=":material/arrow_back:", on_click=_leave)
        return
    name = standing.saved.plan.name
    _top(standing)
    _follow(bench, jobs, name, jobs.working(name), _part(standing))
    if any(standing.found.rows.values()):
        plan, found = standing.saved.plan, standing.found
        names = evaluate_words.labels(plan.candidates)
        evaluate_results.tables(plan, found, names)
        measure = evaluate_results.measure(found)
        left, right = st.columns(2, gap="medium")
        with left:
            evaluate_charts.matrix(plan, found, measure)
        with right:
            evaluate_charts.scatter(plan, found, measure, names)
        evaluate_results.pairs(found, measure, names)
        evaluate_questions.draw(bench, plan, found, names)
    elif not jobs.working(name):
        st.markdown(t("Nothing is measured yet. Go on with it, or begin another one."))


def _part(standing: Standing) -> int:
    """Changes a few times on the way, when the results are worth being drawn anew."""
    if not standing.found.left:
        return PARTS + 1
    return standing.done * PARTS // max(1, standing.total)


def _top(standing: Standing) -> None:
    """What is evaluated, and what can be done with the whole."""
    plan, found = standing.saved.plan, standing.found
    st.subheader(plain(plan.name), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center", key="evaluate-top"):
        st.caption(f"{_said(plan)} · {when(standing.saved.created)}", width="stretch")
        st.page_link(
            "pages/runs.py", label=t("All runs"), icon=":material/history:", query_params={"tag": f"eval:{plan.name}"}
        )  # fmt: skip
        for kind, label, mime, make in (
            ("md", t("Export Markdown"), "text/markdown", markdown), ("csv", t("Export CSV"), "text/csv", rows_csv),
        ):  # fmt: skip
            st.download_button(
                label, lambda make=make: make(plan, found), f"evaluation {plan.name}.{kind}", mime,
                key=f"evaluate-export-{kind}", icon=":material/download:", on_click="ignore",
                disabled=not any(found.rows.values()),
            )  # fmt: skip
        st.button(t("New evaluation"), key="evaluate-new", icon=":material/add:", on_click=_leave)


def _said(plan: Plan) -> str:
    """What all of its recipes have in common."""
    each = limits(plan.candidates[0].recipe.budget)
    return " · ".join(
        filter(None, [
            count(len(plan.questions), "question"),
            count(len(plan.candidates), "recipe"),
            t("at most {caps} a run", caps=each) if each else t("no budget"),
            t("{cost} for the whole", cost=plain(money(plan.max_usd))) if plan.max_usd else "",
            t("judged by {model}", model=plain(plan.judge)) if plan.judge else "",
        ])
    )  # fmt: skip


def _leave() -> None:
    # A link to the page itself would leave the address as it is.
    for name in ("evaluation", "question"):
        st.query_params.pop(name, None)


def _follow(bench: Workbench, jobs: Evaluations, name: str, working: bool, part: int) -> None:
    """Progress follows the store; the results are drawn with the whole page."""

    @st.fragment(run_every=TICK_S if working else REST_S)
    def follow() -> None:
        try:
            standing = jobs.standing(name)
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


def _working(jobs: Evaluations, standing: Standing) -> None:
    """How far it is, what each recipe has so far, what is asked now, and the button that stops."""
    plan, found = standing.saved.plan, standing.found
    job = jobs.job(plan.name)
    if job is None:
        return
    seconds = time.time() - job.begun
    with st.container(horizontal=True, vertical_alignment="center"):
        said = t("{done} of {total} rows", done=f"{standing.done:,}", total=f"{standing.total:,}")
        parts = [said, *_to_judge(standing), clock(seconds), t("cost {cost}", cost=plain(money(found.spent_usd)))]
        remaining = job.remaining(found.left)
        if remaining is not None and not job.stopping.is_set():
            some = t("less than a minute left") if remaining < 60 else t("about {time} left", time=lasted(remaining))
            parts.append(some)
        st.markdown(f":primary[●] {' · '.join(parts)}", width="stretch")
        stopping = job.stopping.is_set()
        st.button(
            t("Stopping …") if stopping else t("Stop"), key="evaluate-stop", icon=":material/stop:", disabled=stopping,
            on_click=jobs.stop, args=(plan.name,), help=t("The runs at work rest; what is measured is kept."),
        )  # fmt: skip
    st.progress(standing.done / max(1, standing.total))
    if job.indexed is not None:
        read, all_ = job.indexed
        st.caption(t("Making the documents searchable: {share}", share=f"{read / all_:.0%}"))
    _so_far(standing)
    _now(standing)


def _to_judge(standing: Standing) -> list[str]:
    """How many reports the judge has not read yet, where there is one."""
    if not standing.unjudged:
        return []
    return [t("{reports} to judge", reports=count(standing.unjudged, "report"))]


def _so_far(standing: Standing) -> None:
    plan = standing.saved.plan
    names = evaluate_words.labels(plan.candidates)
    rows = []
    for each in plan.candidates:
        done = standing.found.rows[each.name]
        judged = [row.scores.right for row in done if row.scores.right is not None]
        tokens = sum(row.prompt_tokens + row.completion_tokens for row in done)
        rows.append([
            plain(names[each.name]), f"{len(done):,} / {len(plan.questions):,}",
            t("{n} of {all}", n=f"{sum(judged):.0f}", all=f"{len(judged):,}") if judged else "", short(tokens),
        ])  # fmt: skip
    with st.container(key="evaluate-so-far"):
        st.markdown(tabular([t("Recipe"), t("Rows"), t("Right so far"), t("Tokens")], rows))


def _now(standing: Standing) -> None:
    """The runs at work, each a link."""
    plan = standing.saved.plan
    names = evaluate_words.labels(plan.candidates)
    recipes = {each.key: names[each.name] for each in plan.candidates}
    asked = {question.digest: question.question for question in plan.questions}
    for row in standing.at_work[: plan.concurrency]:
        question = plain(clip(" ".join(asked[row.asked].split()), 80))
        st.page_link(
            "pages/runs.py", label=f"{plain(recipes[row.recipe])} · {question}", icon=":material/sync:",
            query_params={"run": row.run},
        )  # fmt: skip


def _resting(bench: Workbench, jobs: Evaluations, standing: Standing) -> None:
    """How it ended, and the button that goes on with the rest."""
    plan, found = standing.saved.plan, standing.found
    job = jobs.job(plan.name)
    if job is not None and job.error:
        st.error(plain(job.error), title=t("It could not go on; what was measured is kept"))
    elif job is not None and job.reason:
        st.warning(plain(job.reason), title=t("A run rests, and no other was begun"))
    spent = t("cost {cost}", cost=plain(money(found.spent_usd)))
    rows = f"{standing.total:,}"
    if not found.left:
        st.markdown(t(":material/check_circle: All {total} rows are measured · {cost}", total=rows, cost=spent))
        return
    done = f"{standing.done:,}"
    spent = " · ".join([*_to_judge(standing), spent])
    if _elsewhere(bench, standing):
        st.markdown(
            t(":material/sync: {done} of {total} rows are measured · runs are at work, begun by another process or before a "
              "restart; when they rest, you can go on", done=done, total=rows)
        )  # fmt: skip
        return
    cap = plan.max_usd
    with st.container(horizontal=True, vertical_alignment="bottom"):
        said = t(":material/pause: {done} of {total} rows are measured · {cost}", done=done, total=rows, cost=spent)
        st.markdown(said, width="stretch")
        if plan.max_usd is not None:
            cap = st.number_input(
                t("US dollars at most, for the whole"), 0.01, value=plan.max_usd, key=f"evaluate-cap-{plan.max_usd}",
                format="%g", width=220,
            )  # fmt: skip
        st.button(
            t("Go on"), key="evaluate-go-on", type="primary", icon=":material/play_arrow:", on_click=_go_on,
            args=(jobs, plan.name, cap), help=t("What is measured is not asked again."),
        )  # fmt: skip
    if plan.max_usd is not None and job is not None and not job.stopping.is_set() and not job.error and not job.reason:
        st.caption(t("It stopped before the cap on cost. To go on, allow more."))


def _elsewhere(bench: Workbench, standing: Standing) -> bool:
    """Whether somebody else works on it: to go on now would ask the same twice."""
    for row in standing.at_work:
        with suppress(ConfigError):  # its run was deleted, or is only about to begin
            run = bench.store.run(row.run)
            if run.status in ("queued", "running") and not head.lost(run):
                return True
    return False


def _go_on(jobs: Evaluations, name: str, cap: float | None) -> None:
    try:
        jobs.go_on(name, cap)
    except REFUSED as error:
        st.toast(plain(str(error)), icon=":material/error:")
