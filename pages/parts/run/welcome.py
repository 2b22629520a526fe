"""Below the question box: examples to try, and the newest runs."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.parts.run import head
from pages.parts.shared.language import current, later, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import ago
from research.defaults import PAGES
from research.store import EVALUATED, Filters, RunRow
from research.text import clip
from research.workbench.example import EXAMPLE_QUESTION
from research.workbench.workbench import Workbench

RECENT: Final = 5
"""Number of newest questions listed."""
READ: Final = 30
"""Number of newest runs among which they are looked for."""
TRIED: Final = "example-tried"
"""Session key of whether an example was just clicked."""
EXAMPLES: Final = {
    "figure": (later("a figure"), later("What is the unemployment rate in Spain?")),
    "comparison": (later("a comparison"), later("Compare the unemployment rates of Spain, Italy and Greece.")),
    "trend": (later("a trend"), later("How did the GDP per capita of Vietnam change from 2022 to 2024?")),
    "ranking": (later("a ranking"), later("Which five countries in South America have the largest population?")),
}
"""Name of each example, and its question, which the offline model answers from the Factbook."""
OTHER: Final = {
    "en": ("中文", "越南2024年的实际GDP是多少？比2023年增长了多少？"),
    "zh": ("English", EXAMPLE_QUESTION),
}
"""The example in the other language, by the language of the page."""


def examples(bench: Workbench) -> None:
    """Draw the examples; one click asks its question, or only puts it into the box if a language model would be paid."""
    with st.container(key="examples", horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(t("Try:"), width="content")
        for name, (label, question) in EXAMPLES.items():
            _example(name, t(label), t(question))
        if own := _own(bench):
            _example("own", t("your own documents"), own)
        else:
            st.page_link("pages/library.py", label=t("your own documents"), width="content")
        label, question = OTHER[current()]
        _example("other", label, question)


def _own(bench: Workbench) -> str:
    """Return a question about the longest table of figures in the user's documents; empty without one."""
    tables = bench.library.tables(sorted(set(bench.folders()) - {PAGES}))
    for entry in sorted(tables, key=lambda each: -each.count):
        first = {column.type: column.name for column in reversed(entry.table.columns)}
        if {"text", "number"} <= first.keys():
            name, figure = (_in_a_sentence(first[kind]) for kind in ("text", "number"))
            if figure.endswith("s"):  # things that are counted
                return t("Which {name} has the most {figure}?", name=name, figure=figure)
            return t("Which {name} has the highest {figure}?", name=name, figure=figure)
    return ""


def _in_a_sentence(head: str) -> str:
    """Return the head of a column as it stands within a sentence: `Unit price` in lower case, `GDP` as it is."""
    return " ".join(word.lower() if word.istitle() else word for word in head.split())


def _example(name: str, label: str, question: str) -> None:
    st.button(label, key=f"example-{name}", type="tertiary", on_click=_fill, args=(question,))


def _fill(question: str) -> None:
    st.session_state["question"], st.session_state[TRIED] = question, True


def recent(bench: Workbench) -> None:
    """Draw links to the newest run of each of the last questions; runs of evaluations are left out."""
    newest: dict[str, RunRow] = {}
    for row in bench.store.runs(limit=READ, filters=Filters(not_tagged=EVALUATED)):
        newest.setdefault(row.question.strip(), row)
    rows = list(newest.values())[:RECENT]
    if not rows:
        st.caption(t("Every answer cites its sources. The examples work offline, from the CIA World Factbook."))
        return
    with st.container(key="recent", gap=None):
        st.caption(t("Recent"))
        for row in rows:
            st.page_link("pages/ask.py", label=_label(row), query_params={"run": row.id}, width="stretch")


def _label(row: RunRow) -> str:
    """Return the question with the state of its run as Markdown."""
    question = plain(clip(" ".join(row.question.split()), 110))
    if row.status == "running" and not head.is_interrupted(row):
        return t("Running: {question}", question=question)
    return f"{head.dot(row)} {question} :small[:gray[{head.state(row)} · {ago(row.created)}]]"
