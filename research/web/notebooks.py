"""Read notebooks of Jupyter: the text, the code and the results of each cell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import DecodeError, Struct, ValidationError

from research._util import decoding
from research.web import charsets, front_matter, locators
from research.web.locators import Part

_Lines = str | list[str]
_COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}m")
"""Terminal colour codes."""
_PLAIN = ("text/markdown", "text/plain", "text/latex", "application/json")
"""Text formats of a result, the fullest first; Jupyter writes a result in several."""


class _Output(Struct):
    text: _Lines = ""
    data: dict[str, Any] = {}
    ename: str = ""
    evalue: str = ""


class _Cell(Struct):
    source: _Lines
    cell_type: str = ""
    outputs: list[_Output] = []
    attachments: dict[str, Any] = {}


class _Notebook(Struct):
    cells: list[_Cell]


def notebook(data: bytes, refuse: Callable[[str], Exception]) -> tuple[str, list[Part], tuple[str, ...]]:
    """Return a notebook's title, its cells, and what was not read."""
    text = charsets.decoded(data)
    try:
        cells = decoding.decode(text or "", _Notebook).cells
    except ValidationError as error:
        raise refuse(f"is no notebook of version 4 ({str(error)[:160]}); save it again with Jupyter") from error
    except (DecodeError, RecursionError) as error:
        raise refuse(f"is a damaged notebook ({str(error)[:160]}); save it again") from error
    left_out = Counter[str]()
    parts = [Part(f"cell {number}", "\n\n".join(_said(cell, left_out))) for number, cell in enumerate(cells, 1)]
    first = next((_joined(cell.source) for cell in cells if cell.cell_type == "markdown"), "")
    return front_matter.split(first)[0], parts, locators.left_out(left_out)


def _said(cell: _Cell, left_out: Counter[str]) -> Iterator[str]:
    """Yield a cell's text, and count its other outputs."""
    left_out["picture"] += len(cell.attachments)
    yield _joined(cell.source).strip()
    for output in cell.outputs:
        shown = next((output.data[kind] for kind in _PLAIN if kind in output.data), "")
        pictured = any(kind.startswith("image/") for kind in output.data)
        left_out["picture"] += pictured
        failed = f"{output.ename}: {output.evalue}" if output.ename else ""
        # Beside a picture, the text only names the drawn object.
        for text in (output.text, "" if pictured else shown, failed):
            if said := _COLOURS.sub("", _joined(text)).strip():
                yield said


def _joined(lines: Any) -> str:
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines)
