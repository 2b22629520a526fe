"""The form that starts an evaluation: questions, recipes, shared settings, and the estimate."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from msgspec import Struct

from pages.parts.evaluate import data, jobs, recipes
from pages.parts.evaluate.data import Chosen
from pages.parts.run import choices, form
from pages.parts.shared import home, models
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import between, count, money
from research.errors import REFUSED, ConfigError
from research.evaluation import Candidate, Plan, Question
from research.evaluation.frozen_world import frozen
from research.evaluation.plans import MOST_TRIALS, StoredEvaluation
from research.events.recipe import Budget, provider_of
from research.workbench.estimate import Span, estimate
from research.workbench.workbench import Workbench
from research.workbench.worlds import PREFIX

MOST_AT_ONCE = 16


class Limits(Struct, frozen=True):
    """Settings that all recipes share, and the limits of the whole evaluation."""

    budget: Budget
    concurrency: int
    max_usd: float | None
    judge: str
    trials: int
    world: str
    """The evaluation whose recorded tool results are played; empty for none."""
    world_new: bool

    @property
    def readers(self) -> tuple[str, ...]:
        """Return the models that read the runs of all recipes."""
        return (self.judge,) if self.judge else ()


def draw(bench: Workbench, past: Sequence[StoredEvaluation]) -> None:
    """Draw the form and its button; `past` are the existing evaluations."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        chosen = data.draw(bench)
    with right:
        texts = recipes.draw(bench)
        limits = _limits(bench, past)
    made = recipes.made(bench, texts, budget=limits.budget, readers=limits.readers) if texts else None
    ready = chosen is not None and bool(made)
    with st.container(horizontal=True, vertical_alignment="bottom", key="evaluate-start"):
        suggested = _free(past, chosen.name) if chosen else t("my evaluation")
        name = st.text_input(
            t("Name"),
            key="evaluate-name",
            placeholder=suggested,
            width=320,
            max_chars=60,
            help=t("Use the name of an existing evaluation with the same questions to add recipes to it."),
        )
        started = st.button(t("Start"), type="primary", icon=":material/play_arrow:", disabled=not ready)
    if chosen is not None and made:
        if started:
            _start(bench, (name or "").strip() or suggested, chosen, texts, limits)
        else:
            _expected(bench, chosen.questions, made, limits)


def _limits(bench: Workbench, past: Sequence[StoredEvaluation]) -> Limits:
    with st.expander(
        t("Shared settings: budget, runs at once, cost limit, judge, world"), type="compact", icon=":material/tune:"
    ):
        one, other = st.columns(2, gap="medium")
        with one:
            budget = form.budget("evaluate-budget")
            world, new = _world(past)
        with other:
            faster = t("More runs at once finish the evaluation sooner, but each run takes longer.")
            at_once = _number("evaluate-at-once", t("Runs at once"), 2, MOST_AT_ONCE, faster)
            steadier = t("Asking each question several times shows how steady a recipe is.")
            trials = _number("evaluate-trials", t("Trials per question"), 1, MOST_TRIALS, steadier)
            max_usd = st.number_input(
                t("Total cost limit (US dollars)"),
                0.01,
                value=None,
                key="evaluate-max-usd",
                placeholder=t("no limit"),
                persist_state="session",
                format="%g",
                help=t("No run starts that could exceed this limit. Requires models with known prices."),
            )
            judge = st.selectbox(
                t("Judge"),
                [each for each in models.offered(bench) if provider_of(each).written_by != "rules"],
                index=None,
                key="evaluate-judge",
                accept_new_options=True,
                placeholder=t("none"),
                persist_state="session",
                help=t("A language model that also grades the reports. Type its name, for example openai:NAME."),
            )
    return Limits(budget, at_once, max_usd, (judge or "").strip(), trials, world, new)


def _number(key: str, label: str, default: int, most: int, help_text: str) -> int:
    st.session_state.setdefault(key, default)
    return int(st.number_input(label, 1, most, key=key, persist_state="session", help=help_text))


def _world(past: Sequence[StoredEvaluation]) -> tuple[str, bool]:
    """Draw the selector of the recorded world; return it, and whether calls without a record are made."""
    names = [each.plan.name for each in past if not each.plan.world]
    world = st.selectbox(
        t("Recorded world"),
        names,
        index=None,
        key="evaluate-world",
        placeholder=t("none: tools work"),
        persist_state="session",
        disabled=not names,
        help=t("Every recipe gets the tool results that this evaluation recorded, so that all of them find the same."),
    )
    new = st.toggle(
        t("Make calls without a recorded result"),
        key="evaluate-world-new",
        persist_state="session",
        disabled=not world,
        help=t("Otherwise such calls are refused. Either way, they are counted."),
    )
    return world or "", bool(new and world)


def _expected(bench: Workbench, questions: Sequence[Question], made: Sequence[Candidate], limits: Limits) -> None:
    """Draw the estimate, from each recipe with the shortest and the longest question."""
    by_length = sorted((question.question for question in questions), key=len)
    n = len(questions) * limits.trials
    runs = count(n * len(made), "run")
    try:
        ends = [
            [estimate(each.recipe, asked, models=bench.model) for asked in (by_length[0], by_length[-1])]
            for each in made
        ]
    except ConfigError:
        return  # reported when the evaluation is started
    calls = between([Span(n * low.calls.low, n * high.calls.high) for low, high in ends])
    tokens = between([Span(n * low.tokens.low, n * high.tokens.high) for low, high in ends])
    prices = [(low.usd, high.usd) for low, high in ends]
    known = [(low.low, high.high) for low, high in prices if low is not None and high is not None]
    most = n * sum(high for _, high in known)
    if len(known) < len(prices):
        cost = t("cost unknown")
    elif not most:
        cost = t("free")
    else:
        capped = most if limits.max_usd is None else min(most, limits.max_usd)
        cost = plain(f"{money(min(capped, n * sum(low for low, _ in known)))}–{money(capped)}")
    size = t(
        "{questions} × {recipes} = {runs}.",
        questions=count(n, "question")
        if limits.trials == 1
        else t("{questions} × {n} trials", questions=count(len(questions), "question"), n=limits.trials),
        recipes=count(len(made), "recipe"),
        runs=runs,
    )
    if all(choices.offline(each.recipe) for each in made):
        text = f"{size} {t('Offline, free, usually a few seconds per run.')}"
    else:
        text = f"{size} " + t(
            "Expected: {calls} model calls, {tokens} tokens, {cost}.", calls=calls, tokens=tokens, cost=cost
        )
    if limits.judge:
        text += " " + t("The judge's cost is not included.")
    basis = "  \n".join(dict.fromkeys(plain(high.basis) for _, high in ends))
    st.caption(text, help=basis)


def _free(past: Sequence[StoredEvaluation], name: str) -> str:
    """Return the name, with a number added if it is taken."""
    taken = {each.plan.name for each in past}
    name = " ".join(name.replace("/", " ").split())
    return next(each for each in (name, *(f"{name} {n}" for n in range(2, len(taken) + 3))) if each not in taken)


def _start(bench: Workbench, name: str, chosen: Chosen, texts: Sequence[str], limits: Limits) -> None:
    try:
        home.until_ready()
        corpus = chosen.corpus(bench.settings.home)
        made = recipes.made(
            bench,
            texts,
            budget=limits.budget,
            readers=limits.readers,
            search=corpus.search,
            folders=corpus.folders,
            world=frozen(bench, f"{PREFIX}{limits.world}", name) if limits.world else "",
            world_new=limits.world_new,
        )
        if made is None:
            return
        plan = Plan(
            name,
            chosen.questions,
            tuple(made),
            corpus,
            limits.concurrency,
            limits.max_usd,
            limits.judge,
            trials=limits.trials,
            seed=0,
        )
        begun = jobs.of(bench).start(plan)
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("No run was started"))
        return
    st.query_params.from_dict({"evaluation": begun})
    st.rerun()
