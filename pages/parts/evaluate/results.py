"""The metrics of the recipes, and which differences between them are certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from pages.parts.evaluate.words import EFFORT, NUMBERS, kind_name, meaning, metric, number, ordered, shown, span
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.table import tabular
from pages.parts.shared.words import count
from research.evaluation import Evaluation, Plan, Row
from research.evaluation.overview import Pair, figure, measured
from research.evaluation.overview import pairs as compared
from research.evaluation.report import judged_like_people, total
from research.exports.progress import OUTCOMES

MAIN: Final = ("right", "wrong", "evidence_recall", "citation_precision", "citation_coverage")
"""Metrics of the first table; the others appear in an expander."""
FIRST: Final = 6
"""Pairs shown at first."""


def measure(found: Evaluation) -> str:
    """Draw the selector for the metric of charts and differences, and return it."""
    known = measured(found)
    offered = ordered(known)
    return str(
        st.selectbox(
            t("Metric"),
            offered,
            key=f"evaluate-measure-{found.name}",
            format_func=lambda name: metric(name),
            width=320,
            help="  \n".join(f"**{metric(name)}**: {meaning(name)}" for name in offered),
        )
    )


def tables(plan: Plan, found: Evaluation, names: Mapping[str, str]) -> None:
    """Draw the quality and the effort of each recipe."""
    known = measured(found)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        st.subheader(t("Quality"), anchor=False)
        _table(plan, found, names, [name for name in MAIN if name in known])
    with right:
        st.subheader(t("Effort per question"), anchor=False)
        _table(plan, found, names, [name for name in EFFORT if name in known or name == "cost_usd"])
    st.caption(
        t("Averages over {questions}, with 95 % intervals.", questions=count(len(_asked(found)), "question"))
        + (
            " " + t("Oracle: knows the answer; upper bound only.")
            if any(each.oracle for each in plan.candidates)
            else ""
        )
    )
    _unspent(plan, found, names)
    _judge(plan, found)
    rest = [name for name in ordered(known) if name not in (*MAIN, *EFFORT)]
    with st.expander(t("More metrics, and how the runs ended"), type="compact"):
        if rest:
            _table(plan, found, names, rest)
        _endings(plan, found, names)
        if kinds := sorted({question.kind for question in plan.questions if question.kind}):
            _kinds(plan, found, names, kinds)


def _judge(plan: Plan, found: Evaluation) -> None:
    """Warn of a judge that was not compared with people, or agrees too little with them."""
    if not plan.judge:
        return
    by = judged_like_people(found)
    if not by.reports:
        said = t("The judge's grades were not compared with people's; take them with caution.")
    elif by.kappa is None:
        said = t("The people's annotations are all alike, so they cannot tell how reliable the judge is.")
    else:
        said = t(
            "Judge and people: Cohen's kappa {kappa} over {reports}.",
            kappa=f"{by.kappa:.2f}",
            reports=count(by.reports, "report"),
        )
    if by.reliable:
        st.caption(said)
    else:
        st.warning(said, title=t("The judge's grades are not reliable"))


def _unspent(plan: Plan, found: Evaluation, names: Mapping[str, str]) -> None:
    """Name the recipes that could not spend their budget."""
    counts = [
        t(
            "{recipe} in {n} of {runs}",
            recipe=plain(names[each.name]),
            n=n,
            runs=count(len(found.rows[each.name]), "run"),
        )
        for each in plan.candidates
        if (n := total(found.rows[each.name], "budget_unspent"))
    ]
    if counts:
        st.caption(t("Something else ended the run before the budget was spent: {recipes}.", recipes="; ".join(counts)))


def _asked(found: Evaluation) -> set[str]:
    return {row.asked for each in found.rows.values() for row in each}


def _table(plan: Plan, found: Evaluation, names: Mapping[str, str], columns: Sequence[str]) -> None:
    rows = []
    for each in plan.candidates:
        cells = []
        for name in columns:
            value = figure(found.rows[each.name], name)
            between = span(value, name)
            quiet = f" :gray[:small[{plain(between)}]]" if between not in ("", shown(value, name)) else ""
            cells.append(plain(shown(value, name)) + quiet)
        rows.append([plain(names[each.name]), *cells])
    with st.container(key=f"evaluate-table-{columns[0]}"):
        st.markdown(tabular([t("Recipe"), *(metric(name) for name in columns)], rows))


def _endings(plan: Plan, found: Evaluation, names: Mapping[str, str]) -> None:
    outcomes = list(dict.fromkeys(row.outcome for each in found.rows.values() for row in each))
    rows = [
        [
            plain(names[each.name]),
            *(f"{sum(row.outcome == name for row in found.rows[each.name]):,}" for name in outcomes),
        ]
        for each in plan.candidates
    ]
    head = [t("Recipe"), *(plain(t(OUTCOMES.get(name, name)).partition(";")[0]) for name in outcomes)]
    with st.container(key="evaluate-table-endings"):
        st.markdown(tabular(head, rows))


def _kinds(plan: Plan, found: Evaluation, names: Mapping[str, str], kinds: Sequence[str]) -> None:
    """Draw the share of correct answers by kind of question."""
    kind_of = {question.digest: question.kind for question in plan.questions}

    def right(rows: Sequence[Row]) -> str:
        scores = [row.scores.right for row in rows if row.scores.right is not None]
        return t("{n} of {all}", n=f"{sum(scores):.0f}", all=f"{len(scores):,}") if scores else ""

    rows = [
        [
            plain(names[each.name]),
            *(right([r for r in found.rows[each.name] if kind_of.get(r.asked) == kind]) for kind in kinds),
        ]
        for each in plan.candidates
    ]
    st.caption(t("Correct answers by kind of question"))
    with st.container(key="evaluate-table-kinds"):
        st.markdown(tabular([t("Recipe"), *(plain(kind_name(kind)) for kind in kinds)], rows))


def pairs(found: Evaluation, measure: str, names: Mapping[str, str]) -> None:
    """Draw each pair of recipes as a sentence, the most certain differences first."""
    differences = known_pairs(found, measure)
    if not differences:
        return
    st.subheader(t("Differences: {measure}", measure=metric(measure)), anchor=False)
    first = (
        [pair for pair in differences if pair.verdict != "equal"][:FIRST] if len(differences) > FIRST else differences
    )
    if first:
        st.markdown("\n".join(f"- {_words(pair, measure, names)}" for pair in first))
    if rest := differences[len(first) :]:
        pairs_ = count(len(rest), "pair")
        with st.expander(t("{pairs} more", pairs=pairs_) if first else pairs_, type="compact"):
            st.markdown("\n".join(f"- {_words(pair, measure, names)}" for pair in rest))
    st.caption(
        t(
            "Paired by question, with 95 % intervals that hold however often you look. A difference is called certain only "
            "if it is so among all {pairs}; under truly equal recipes, that happens in at most one evaluation in twenty.",
            pairs=count(len(differences), "pair"),
        )
    )
    with st.expander(t("Tests for a fixed number of questions"), type="compact"):
        _tests(differences, names)


def _tests(differences: Sequence[Pair], names: Mapping[str, str]) -> None:
    """Draw the p-values that hold if the number of questions was fixed in advance, and the effect sizes."""
    titles = {"mcnemar": t("McNemar's exact test"), "permutation": t("permutation test")}
    rows = [
        [
            f"{plain(names[pair.first])} − {plain(names[pair.second])}",
            titles[pair.test],
            f"{pair.p:.2g}",
            f"{pair.p_holm:.2g}",
            "" if pair.effect is None else f"{pair.effect:.2f}",
        ]
        for pair in differences
    ]
    with st.container(key="evaluate-table-tests"):
        st.markdown(tabular([t("Recipes"), t("Test"), t("p"), t("p, Holm"), t("Effect size")], rows))
    st.caption(
        t(
            "Holm's correction is for all {pairs}. Don't use these p-values to decide when to stop. Effect size: Cohen's h "
            "of two shares, otherwise d of the paired differences.",
            pairs=count(len(differences), "pair"),
        )
    )


def known_pairs(found: Evaluation, measure: str) -> list[Pair]:
    """Return the comparisons, cached because hundreds of pairs take long to compute."""
    at = (found.name, measure, [(name, len(rows)) for name, rows in found.rows.items()], found.left)
    kept: dict[str, tuple[object, list[Pair]]] = st.session_state.setdefault("evaluate-pairs", {})
    if measure not in kept or kept[measure][0] != at:
        kept[measure] = at, compared(found, measure)
    return kept[measure][1]


def _words(pair: Pair, measure: str, names: Mapping[str, str]) -> str:
    first, second = f"**{plain(names[pair.first])}**", f"**{plain(names[pair.second])}**"
    questions = count(pair.figure.n, "question")
    if pair.figure.interval is None:
        return t("{first} and {second}: one question is not enough to compare them", first=first, second=second)
    low, high = pair.figure.interval
    between = t("{low} to {high}", low=by(low, measure, bare=True), high=by(high, measure))
    if pair.verdict == "equal":
        said = t(
            "{first} and {second} show no certain difference over {questions} ({between})",
            first=first,
            second=second,
            questions=questions,
            between=between,
        )
        if not pair.more_questions:
            return said
        more = t("about {questions} more would decide it", questions=count(pair.more_questions, "question"))
        return f"{said} :gray[:small[{more}]]"
    gap = by(pair.figure.mean, measure)
    if measure == "right":
        said = t(
            "{first} is {by} more accurate than {second} ({between})",
            first=first,
            second=second,
            by=gap,
            between=between,
        )
    elif measure in EFFORT:
        said = t(
            "{first} uses {by} more than {second} ({between})", first=first, second=second, by=gap, between=between
        )
    else:
        said = t(
            "{first} scores {by} higher than {second} ({between})", first=first, second=second, by=gap, between=between
        )
    if pair.verdict == "real":
        return f":material/check: {said}: {t('a certain difference over {questions}', questions=questions)}"
    return f"{said}: {t('certain over {questions} by itself, but not among all pairs', questions=questions)}"


def by(value: float, measure: str, *, bare: bool = False) -> str:
    """Return a difference with its unit, with a sign if negative; `bare` omits the word "points"."""
    if measure in NUMBERS:
        return plain(("−" if value < 0 else "") + number(abs(value), measure))
    points = round(100 * value)
    signed = f"−{-points}" if points < 0 else f"{points}"
    return signed if bare else t("{n} points", n=signed)
