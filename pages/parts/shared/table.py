"""Tables: as Markdown, and as data for `st.dataframe` and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from research.text import cell


def tabular(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the cells must be Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def frame(columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """Return the columns as a data frame in which no text is a formula (see `research.text.cell`).

    Streamlit offers the data of each table, and of each chart, as a CSV file for spreadsheets.
    """
    return pd.DataFrame(
        {
            cell(name): [cell(each) if isinstance(each, str) else each for each in values]
            for name, values in columns.items()
        }
    )


def rows_frame(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Return the rows as `frame` does, with these names of columns."""
    return frame({name: [row[place] for row in rows] for place, name in enumerate(columns)})
