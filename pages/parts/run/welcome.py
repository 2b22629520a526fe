"""Below the question box: examples to try, and the newest runs."""

from __future__ import annotations

import re
from typing import Final

import streamlit as st

from pages.parts.run import head
from pages.parts.shared.language import current, later, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import ago
from research.defaults import PAGES
from research.errors import ToolError
from research.search.library.catalogue import TableEntry
from research.search.library.documents import Library
from research.store import EVALUATED, Filters, RunRow
from research.text import clip
from research.web.table import numbers_rows
from research.workbench.example import EXAMPLE_QUESTION
from research.workbench.workbench import Workbench

RECENT: Final = 5
"""Number of newest questions listed."""
READ: Final = 30
"""Number of newest runs among which they are looked for."""
LONGEST: Final = 20_000
"""Most rows of a table that is read for an example."""
GROUPS: Final = 30
"""Most different names in a column that an example asks about."""
_DIGIT: Final = re.compile(r"\d")
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
        known = (entry.url, entry.id, entry.count, entry.columns)
        if entry.count <= LONGEST and (heads := _heads(bench.library, entry, known)):
            name, figure = map(_in_a_sentence, heads)
            if figure.endswith("s"):  # things that are counted
                return t("Which {name} has the most {figure}?", name=name, figure=figure)
            return t("Which {name} has the highest {figure}?", name=name, figure=figure)
    return ""


@st.cache_data(show_spinner=False, max_entries=64)
def _heads(_library: Library, _entry: TableEntry, known: object) -> tuple[str, str] | None:
    """Return the heads of a column of names and a column of figures; None without such a pair. `known` tells tables apart."""
    try:
        found = _library.rows(_entry)
    except ToolError:  # gone meanwhile
        return None
    columns = list(zip(found.columns, zip(*found.rows, strict=True), strict=True))
    numbers = [column.name for column, _ in columns if column.type == "number" and not column.maybe_years]
    figures = [each for each in numbers if not numbers_rows(each)]
    texts = [(column.name, [cell for cell in cells if cell]) for column, cells in columns if column.type == "text"]
    grouped = [name for name, cells in texts if 1 < len(set(cells)) <= min(GROUPS, len(cells) // 2)]
    # In a short table each row has its own name; what contains digits is a number of the row.
    named = [name for name, cells in texts if len(cells) <= GROUPS and not any(map(_DIGIT.search, map(str, cells)))]
    heads = (grouped or named)[:1]
    return (heads[0], figures[0]) if heads and figures else None


def _in_a_sentence(head: str) -> str:
    """Return the head of a column as it stands within a sentence: `Unit_price` in lower case, `GDP` as it is."""
    return " ".join(word.lower() if word.istitle() else word for word in head.replace("_", " ").split())


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
