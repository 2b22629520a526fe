"""The questions one by one, with each recipe's answer and a link to its run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import streamlit as st

from pages.parts.evaluate.words import became, kind_name
from pages.parts.shared import address
from pages.parts.shared.language import later, t
from pages.parts.shared.safe import plain, prose
from pages.parts.shared.table import frame
from pages.parts.shared.words import count, lasted, short, unique_labels
from research.evaluation import Evaluation, Plan, Question, Row
from research.evaluation.overview import by_question, disagree
from research.evaluation.row_exports import expected
from research.text import clip

if TYPE_CHECKING:
    import pandas as pd

Told = tuple[Question, dict[str, Row]]
SHOWN: Final = {
    "all": later("all"),
    "apart": later("recipes disagree"),
    "wrong": later("all wrong"),
}
"""Which questions are listed, by filter value."""
RIGHT, WRONG, SILENT = "rgba(46, 160, 90, 0.28)", "rgba(214, 69, 56, 0.26)", "rgba(224, 150, 40, 0.22)"
"""Colours of correct, wrong and missing answers."""
NARROW_PX, SMALL_PX = 350, 75
"""Width of a table on a phone, and of a small column."""
SAID = 400
"""Maximum characters of an answer."""


def draw(plan: Plan, found: Evaluation, names: Mapping[str, str]) -> None:
    """Draw the table of all questions, and the opened question."""
    st.subheader(t("Questions"), anchor=False)
    results = by_question(plan, found)
    if all(question.id.startswith("held-") for question, _ in results) and not st.toggle(
        t("Show the questions of the hold-out set"), key="evaluate-held"
    ):
        st.caption(t("Look at its scores, not at its questions."))
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        kept = _filtered(plan, results)
    st.caption(t("{shown} of {all}", shown=f"{len(kept):,}", all=count(len(results), "question")))
    if not kept:
        return
    _table(plan, kept, names)
    _opened(plan, kept, names)


def _filtered(plan: Plan, results: Sequence[Told]) -> list[Told]:
    st.session_state.setdefault("evaluate-shown", "all")
    shown = st.segmented_control(
        t("Shown"), list(SHOWN), key="evaluate-shown", required=True, format_func=lambda name: t(SHOWN[name])
    )
    kinds = sorted({question.kind for question, _ in results if question.kind})
    wanted: Sequence[str] = ()
    if len(kinds) > 1:
        wanted = st.multiselect(
            t("Kind"),
            kinds,
            key=f"evaluate-kinds-{plan.name}",
            placeholder=t("any"),
            width=320,
            format_func=unique_labels(kinds, kind_name),
        )
    kept = [(question, rows) for question, rows in results if not wanted or question.kind in wanted]
    if shown == "apart":
        kept = [(question, rows) for question, rows in kept if disagree(list(rows.values()))]
    elif shown == "wrong":
        kept = [(question, rows) for question, rows in kept if not any(row.scores.right for row in rows.values())]
    return kept


def _table(plan: Plan, kept: Sequence[Told], names: Mapping[str, str]) -> None:
    """Draw one column per recipe; clicking a cell opens the question."""
    ids = [question.id for question, _ in kept]
    key = "evaluate-rows-" + hashlib.sha256("\n".join(ids).encode("utf-8", "replace")).hexdigest()[:12]
    columns: dict[str, list[Any]] = {"question": [" ".join(question.question.split()) for question, _ in kept]}
    room = max(110, NARROW_PX - SMALL_PX * len(plan.candidates))  # a phone shows the answers of three recipes beside it
    titles: dict[str, Any] = {"question": st.column_config.TextColumn(t("Question"), width=room)}
    for place, each in enumerate(plan.candidates):
        columns[f"recipe-{place}"] = [became(rows[each.name]) if each.name in rows else "" for _, rows in kept]
        titles[f"recipe-{place}"] = st.column_config.TextColumn(names[each.name], width="small")
    if any(question.kind for question, _ in kept):  # last: a narrow screen shows what the recipes answered
        columns["kind"] = [kind_name(question.kind) for question, _ in kept]
        titles["kind"] = t("Kind")
    recipes = [name for name in columns if name.startswith("recipe-")]
    colours = {place: each.name for place, each in zip(recipes, plan.candidates, strict=True)}

    def tinted(column: pd.Series[Any]) -> list[str]:
        """Return the colour of each cell: the words in it say the same."""
        return [_tint(rows.get(colours[str(column.name)])) for _, rows in kept]

    st.dataframe(
        frame(columns).style.apply(tinted, subset=recipes),
        column_config=titles,
        hide_index=True,
        key=key,
        on_select=lambda: _selected(key, ids),
        selection_mode="single-cell",
        placeholder="",
        alt=t("Questions with each recipe's answer"),
    )


def _tint(row: Row | None) -> str:
    """Return the style of a cell; the colours are legible under the text of both themes."""
    if row is None or row.scores.right is None:
        return ""
    if row.scores.right:
        return f"background-color: {RIGHT}"
    return f"background-color: {WRONG if row.scores.wrong else SILENT}"


def _selected(key: str, ids: Sequence[str]) -> None:
    cells = st.session_state[key]["selection"]["cells"]
    if cells:
        address.put("question", ids[cells[0][0]])


def _opened(plan: Plan, kept: Sequence[Told], names: Mapping[str, str]) -> None:
    """Draw one question with the expected answer and each recipe's answer."""
    known = {question.id: (question, rows) for question, rows in kept}
    wanted = st.query_params.get("question", "")
    key = address.shows("evaluate-question", wanted if wanted in known else None)
    options = list(known)
    st.selectbox(
        t("Open a question"),
        options,
        key=key,
        on_change=address.changed,
        args=(key, _open),
        placeholder=t("Choose a question"),
        format_func=unique_labels(options, lambda each: _line(*known[each])),
    )
    if wanted not in known:
        return
    question, rows = known[wanted]
    gold = (
        t("The documents don't contain the answer.")
        if not question.answerable
        else " · ".join(map(plain, expected(question)))
    )
    st.markdown(f"**{t('Expected answer')}**: {gold or t('none given')}")
    for place, each in enumerate(plan.candidates):
        if row := rows.get(each.name):
            with st.container(border=True, key=f"evaluate-answer-{place}", gap="xsmall"):
                _answer(row, names[each.name])


def _line(question: Question, rows: Mapping[str, Row]) -> str:
    """Return the question with the number of correct recipes, for narrow screens."""
    words = clip(" ".join(question.question.split()), 120)
    judged = [row.scores.right for row in rows.values() if row.scores.right is not None]
    return (
        t("{question} · {n} of {all} correct", question=words, n=f"{sum(judged):.0f}", all=len(judged))
        if judged
        else words
    )


def _answer(row: Row, name: str) -> None:
    icon = "check" if row.scores.right else "close" if row.scores.right == 0.0 else "remove"
    spent = t("{spent} tokens", spent=short(row.prompt_tokens + row.completion_tokens))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/{icon}: **{plain(name)}**: {became(row)} :gray[:small[{spent} · {lasted(row.seconds)}]]",
            width="stretch",
        )
        st.page_link(
            "pages/runs.py", label=t("Open the run"), icon=":material/arrow_forward:", query_params={"run": row.run}
        )
    if verdict := row.answer.partition("\n#")[0].strip():  # the words before the evidence
        st.markdown(prose(clip(verdict, SAID)))


def _open(wanted: str | None) -> None:
    address.put("question", wanted or "")
