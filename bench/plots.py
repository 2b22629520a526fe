"""Draw curves by round as SVG, with the same bytes for the same figures."""

from __future__ import annotations

import html
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

COLOURS = ("#64748b", "#1d4ed8", "#c2410c", "#0f766e", "#7c3aed", "#be185d", "#ca8a04", "#0c0a09")


class Panel(Struct, frozen=True):
    """One picture of a row."""

    title: str
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    """The x and y values, by name."""
    log: bool = False


def draw(path: Path, panels: Sequence[Panel], described: str) -> None:
    """Write a row of panels whose curves have rounds as x; a name has the same colour in each.

    `described` is the text for screen readers.  Raises `OSError` when the file cannot be written.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import StrMethodFormatter

    names = list(dict.fromkeys(name for panel in panels for name in panel.curves))
    colours = dict(zip(names, COLOURS, strict=False))
    # Text stays text, which is small and searchable; the salt makes the ids the same each time.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "bench", "font.size": 9, "font.family": "sans-serif"}):
        figure = Figure(figsize=(8.6, 3.6), layout="constrained")
        for panel, axes in zip(panels, figure.subplots(1, len(panels), squeeze=False)[0], strict=True):
            for name, (x, y) in panel.curves.items():
                axes.plot(x, y, color=colours[name], label=name, marker="o" if len(x) < 10 else None, markersize=4)
            axes.set_title(panel.title, loc="left", fontsize=10, fontweight="bold")
            axes.set_xlabel("round" if not panel.log else "rounds of the run")
            axes.grid(color="#e2e8f0")
            axes.spines[["top", "right"]].set_visible(False)
            if panel.log:
                axes.set_yscale("log")
                axes.set_xticks(sorted({each for x, _ in panel.curves.values() for each in x}))
            axes.set_ylim(bottom=1 if panel.log else 0)
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}" if panel.log else "{x:,.0f}"))
        handles = {line.get_label(): line for axes in figure.axes for line in axes.lines}
        figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=3, frameon=False)
        made = io.StringIO()
        figure.savefig(made, format="svg", metadata={"Date": None})
    label = f'<svg role="img" aria-label="{html.escape(described)}" '
    path.write_text(made.getvalue().replace("<svg ", label, 1), encoding="utf-8")
