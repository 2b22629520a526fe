"""The figures of the recipes, and which differences between them are real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from pages.parts.compare_steps import tabular
from pages.parts.evaluate_words import EFFORT, MEANS, MEASURES, NUMBERS, number, shown, span
from pages.parts.language import t
from pages.parts.safe import plain
from pages.parts.words import count
from research.evaluation import Evaluation, Plan, Row
from research.evaluation.overview import Pair, figure, measured
from research.evaluation.overview import pairs as compared
from research.progress import OUTCOMES

MAIN: Final = ("right", "evidence_recall", "citation_precision")
"""Measures of the first table; all others that are known stand in one that opens."""
FIRST: Final = 6
"""Pairs that are told at once."""


def measure(found: Evaluation) -> str:
    """What the charts and the differences are about."""
    known = measured(found)
    offered = [name for name in MEASURES if name in known]
    return str(
        st.selectbox(
            t("Measure"), offered, key=f"evaluate-measure-{found.name}", format_func=lambda name: t(MEASURES[name]), width=320,
            help="  \n".join(f"**{t(MEASURES[name])}**: {t(MEANS[name])}" for name in offered),
        )
    )  # fmt: skip


def tables(plan: Plan, found: Evaluation, names: Mapping[str, str]) -> None:
    """What each recipe brought, and what it took."""
    known = measured(found)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        st.subheader(t("Quality"), anchor=False)
        _table(plan, found, names, [name for name in MAIN if name in known])
    with right:
        st.subheader(t("Effort for each question"), anchor=False)
        _table(plan, found, names, [name for name in EFFORT if name in known or name == "cost_usd"])
    st.caption(
        t("Means of {questions}, each with its 95 % interval.", questions=count(len(_asked(found)), "question"))
        + (" " + t("An oracle is told the answer: a bound for the others, and no rival of theirs.")
           if any(each.oracle for each in plan.candidates) else "")
    )  # fmt: skip
    rest = [name for name in MEASURES if name in known and name not in (*MAIN, *EFFORT)]
    with st.expander(t("More measures, and how the runs ended"), type="compact"):
        if rest:
            _table(plan, found, names, rest)
        _endings(plan, found, names)
        if kinds := sorted({question.kind for question in plan.questions if question.kind}):
            _kinds(plan, found, names, kinds)


def _asked(found: Evaluation) -> set[str]:
    return {row.asked for each in found.rows.values() for row in each}


def _table(plan: Plan, found: Evaluation, names: Mapping[str, str], columns: Sequence[str]) -> None:
    rows = []
    for each in plan.candidates:
        cells = []
        for name in columns:
            told = figure(found.rows[each.name], name)
            between = span(told, name)
            quiet = f" :gray[:small[{plain(between)}]]" if between not in ("", shown(told, name)) else ""
            cells.append(plain(shown(told, name)) + quiet)
        rows.append([plain(names[each.name]), *cells])
    with st.container(key=f"evaluate-table-{columns[0]}"):
        st.markdown(tabular([t("Recipe"), *(t(MEASURES[name]) for name in columns)], rows))


def _endings(plan: Plan, found: Evaluation, names: Mapping[str, str]) -> None:
    told = list(dict.fromkeys(row.outcome for each in found.rows.values() for row in each))
    rows = [
        [plain(names[each.name]), *(f"{sum(row.outcome == name for row in found.rows[each.name]):,}" for name in told)]
        for each in plan.candidates
    ]
    head = [t("Recipe"), *(plain(t(OUTCOMES.get(name, name)).partition(";")[0]) for name in told)]
    with st.container(key="evaluate-table-endings"):
        st.markdown(tabular(head, rows))


def _kinds(plan: Plan, found: Evaluation, names: Mapping[str, str], kinds: Sequence[str]) -> None:
    """Right answers by kind of question."""
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
    st.caption(t("Right answers by kind of question"))
    with st.container(key="evaluate-table-kinds"):
        st.markdown(tabular([t("Recipe"), *(plain(kind.replace("_", " ")) for kind in kinds)], rows))


def pairs(found: Evaluation, measure: str, names: Mapping[str, str]) -> None:
    """Each two recipes in words, the surest differences first."""
    told = _compared(found, measure)
    if not told:
        return
    st.subheader(t("Differences: {measure}", measure=t(MEASURES[measure])), anchor=False)
    first = [pair for pair in told if pair.verdict != "equal"][:FIRST] if len(told) > FIRST else told
    if not any(pair.verdict == "real" for pair in told):
        st.markdown(t("No difference is certain: ask more questions to see smaller ones."))
    if first:
        st.markdown("\n".join(f"- {_words(pair, measure, names)}" for pair in first))
    if rest := told[len(first) :]:
        pairs_ = count(len(rest), "pair")
        with st.expander(t("{pairs} more", pairs=pairs_) if first else pairs_, type="compact"):
            st.markdown("\n".join(f"- {_words(pair, measure, names)}" for pair in rest))
    st.caption(
        t("Paired, question by question, with 95 % intervals. Of twenty pairs that are really equal, one looks different by "
          "chance.")
    )  # fmt: skip


def _compared(found: Evaluation, measure: str) -> list[Pair]:
    """Kept: hundreds of pairs are not compared again for every click on the page."""
    at = (found.name, measure, [(name, len(rows)) for name, rows in found.rows.items()], found.left)
    kept: tuple[object, list[Pair]] = st.session_state.get("evaluate-pairs", (None, []))
    if kept[0] != at:
        kept = st.session_state["evaluate-pairs"] = at, compared(found, measure)
    return kept[1]


def _words(pair: Pair, measure: str, names: Mapping[str, str]) -> str:
    first, second = f"**{plain(names[pair.first])}**", f"**{plain(names[pair.second])}**"
    questions = count(pair.figure.n, "question")
    if pair.figure.interval is None:
        return t("{first} and {second}: one question tells nothing about a difference", first=first, second=second)
    low, high = pair.figure.interval
    between = t("{low} to {high}", low=_by(low, measure, bare=True), high=_by(high, measure))
    if pair.verdict == "equal":
        return t("{first} and {second} cannot be told apart on {questions} ({between})",
                 first=first, second=second, questions=questions, between=between)  # fmt: skip
    by = _by(pair.figure.mean, measure)
    if measure == "right":
        said = t("{first} answers {by} more right than {second} ({between})",
                 first=first, second=second, by=by, between=between)  # fmt: skip
    elif measure in EFFORT:
        said = t("{first} takes {by} more than {second} ({between})",
                 first=first, second=second, by=by, between=between)  # fmt: skip
    else:
        said = t("{first} is {by} above {second} ({between})",
                 first=first, second=second, by=by, between=between)  # fmt: skip
    if pair.verdict == "real":
        return f":material/check: {said}: {t('a real difference on {questions}', questions=questions)}"
    return f"{said}: {t('too few of {questions} differ to be sure', questions=questions)}"


def _by(value: float, measure: str, *, bare: bool = False) -> str:
    """How much more, with its sign where it is less: shares in points, `bare` without the word."""
    if measure in NUMBERS:
        return plain(("−" if value < 0 else "") + number(abs(value), measure))
    points = round(100 * value)
    signed = f"−{-points}" if points < 0 else f"{points}"
    return signed if bare else t("{n} points", n=signed)
