"""The benches print Markdown; the shape of a table is everything except its figures."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from itertools import groupby

Shape = tuple[str, ...]


def machine() -> str:
    """Return a line that describes the machine and its load."""
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}; "
        f"load average {os.getloadavg()[0]:.1f}"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table whose first column contains names and the others figures."""
    lines = [f"| {' | '.join(head)} |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def tables(text: str) -> list[str]:
    """Return the tables of a page."""
    return [
        "\n".join(lines) for is_row, lines in groupby(text.splitlines(), lambda line: line.startswith("|")) if is_row
    ]


def shape(table: str) -> Shape:
    """Return the head of a table and the names of its rows, with `#` for every number."""
    head, _, *rows = table.splitlines()
    return tuple(re.sub(r"\d[\d,.]*", "#", line) for line in [head, *(row.split("|")[1].strip() for row in rows)])


def renewed(page: str, printed: Iterable[str]) -> str:
    """Return the page with each table replaced by the printed one of the same shape."""
    for new in printed:
        for old in tables(page):
            if shape(old) == shape(new):
                page = page.replace(old, new)
    return page
