"""A chart as a picture, for files; the pages draw the same chart with Altair."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

from research._util import extras
from research.exports.charts import Chart, Point
from research.sandbox.png import sanitized
from research.text import has_cjk

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final = ("#1f5f8b", "#c2703d", "#3f8f5c", "#7d5ba6", "#a8261c", "#5f656b", "#2a9d9d", "#b08d1e")
"""Colours of the lines, in order; the ninth reuses the first with other dashes."""
_DASHES: Final = ("-", "--", ":", "-.")
_INK, _QUIET, _RULE = "#1f2328", "#5b636d", "#d9dde2"
_PIXELS = 4_000


def png(chart: Chart, *, titled: bool = True) -> bytes:
    """Return the chart as a PNG file without metadata."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = 1.1 + 0.34 * len(chart.points) if chart.kind == "bars" else 3.6
    figure = Figure(figsize=(7.2, height), dpi=160, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    font = _font(chart)
    (_bars if chart.kind == "bars" else _lines)(axes, chart, font)
    if titled:
        axes.set_title(chart.name, loc="left", fontsize=11, color=_INK, parse_math=False, **font)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_RULE)
    axes.tick_params(colors=_QUIET, labelsize=9)
    file = io.BytesIO()
    figure.savefig(file, format="png")
    drawn = sanitized(file.getvalue(), _PIXELS)
    assert drawn is not None, "a picture that was just drawn is valid"
    return drawn


def _bars(axes: Axes, chart: Chart, font: dict[str, Any]) -> None:
    places = range(len(chart.points))
    axes.barh(places, [point.value for point in chart.points], color=COLOURS[0], height=0.62)
    axes.set_yticks(places, [chart.label(point) for point in chart.points], parse_math=False, color=_INK, **font)
    axes.invert_yaxis()
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
    axes.axvline(0, color=_RULE, linewidth=1)
    for place, point in zip(places, chart.points, strict=True):
        axes.annotate(
            point.written, (point.value, place), xytext=(4 if point.value >= 0 else -4, 0), textcoords="offset points",
            va="center", ha="left" if point.value >= 0 else "right", fontsize=9, color=_INK, parse_math=False, **font,
        )  # fmt: skip
    axes.margins(x=0.22)


def _lines(axes: Axes, chart: Chart, font: dict[str, Any]) -> None:
    series: dict[str, list[Point]] = {}
    for point in chart.points:
        series.setdefault(point.subject, []).append(point)
    for place, (subject, own) in enumerate(series.items()):
        axes.plot(
            [point.year for point in own], [point.value for point in own], marker="o", markersize=4, label=subject,
            color=COLOURS[place % len(COLOURS)], linestyle=_DASHES[place // len(COLOURS) % len(_DASHES)],
        )  # fmt: skip
    axes.set_xticks(sorted({point.year for point in chart.points}))
    axes.grid(axis="y", color=_RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    if len(series) > 1:
        legend = axes.legend(
            frameon=False, fontsize=9, ncols=min(4, len(series)), loc="upper left", bbox_to_anchor=(0, -0.1)
        )
        for text in legend.get_texts():
            text.set(parse_math=False, color=_INK, **font)


def _font(chart: Chart) -> dict[str, Any]:
    """Return the font for Chinese words, from the extra "export"; other words use matplotlib's own."""
    words = chart.name + "".join(f"{point.subject}{point.written}" for point in chart.points)
    if not has_cjk(words) or extras.missing("export"):
        return {}
    from matplotlib.font_manager import FontProperties
    from pylopdf_fonts_zh_cn import sans_path

    return {"fontproperties": FontProperties(fname=str(sans_path()))}
