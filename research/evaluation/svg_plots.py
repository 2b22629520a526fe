"""The plots of a findings page, as inline SVG: nothing is fetched, and colours follow the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from research.evaluation.overview import Point
from research.evaluation.statistics import Figure
from research.text import clip

_WIDTH, _LEFT, _RIGHT, _ROW = 400, 12, 48, 44
_NAME = 50
"""Characters of a recipe's name that fit above its bar."""


def bars(bars: Sequence[tuple[str, Figure]], title: str) -> str:
    """Plot the value of each named recipe with its interval, on one scale from 0."""
    if not bars:
        return ""
    most = max([1.0, *(max(each.mean, *(each.interval or (0.0,))) for _, each in bars)])
    height = _ROW * len(bars) + 30

    def x(value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * max(0.0, value) / most

    parts = []
    for place, (name, each) in enumerate(bars):
        middle = _ROW * place + 30
        low, high = each.interval or (each.mean, each.mean)
        parts.append(f'<text x="{_LEFT}" y="{middle - 12}">{escape(clip(name, _NAME))}</text>')
        parts.append(f'<line class="axis" x1="{_LEFT}" y1="{middle}" x2="{_WIDTH - _RIGHT}" y2="{middle}"/>')
        parts.append(f'<line class="bar" x1="{x(low):.1f}" y1="{middle}" x2="{x(high):.1f}" y2="{middle}"/>')
        parts.append(f'<circle class="dot" cx="{x(each.mean):.1f}" cy="{middle}" r="5"/>')
        parts.append(f'<text x="{_WIDTH - _RIGHT + 8}" y="{middle + 4}">{each.mean:.2f}</text>')
    parts += [
        f'<text class="quiet" x="{x(share * most):.1f}" y="{height - 6}" text-anchor="middle">{share * most:g}</text>'
        for share in (0, 0.5, 1)
    ]
    told = "; ".join(f"{name}: {each.mean:.2f}" for name, each in bars)
    return _picture(height, f"{title}, with 95 % intervals", told, parts)


def scatter(points: Sequence[Point], title: str) -> str:
    """Plot quality against tokens per question; the Pareto front has another colour."""
    if len(points) < 2:
        return ""
    height, foot = 300, 40
    most = max(max(each.tokens.mean for each in points), 1.0)
    parts = [
        f'<line class="axis" x1="{_LEFT}" y1="{height - foot}" x2="{_WIDTH - _RIGHT}" y2="{height - foot}"/>',
        f'<line class="axis" x1="{_LEFT}" y1="16" x2="{_LEFT}" y2="{height - foot}"/>',
        f'<text class="quiet" x="{_LEFT + 6}" y="20">{escape(title)}</text>',
        f'<text class="quiet" x="{_WIDTH - _RIGHT}" y="{height - foot + 18}" text-anchor="end">{most:,.0f} tokens</text>',
    ]
    top = max([1.0, *(each.quality.mean for each in points)])
    for number, each in enumerate(points, 1):
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * each.tokens.mean / most
        y = height - foot - (height - foot - 30) * max(0.0, each.quality.mean) / top
        parts.append(f'<circle class="{"front" if each.front else "dot"}" cx="{x:.1f}" cy="{y:.1f}" r="6"/>')
        parts.append(f'<text x="{x + 10:.1f}" y="{y + 4:.1f}">{number}</text>')
    told = "; ".join(
        f"{number}: {each.name}, {each.quality.mean:.2f} at {each.tokens.mean:,.0f} tokens"
        for number, each in enumerate(points, 1)
    )
    return (
        _picture(height, f"{title} against tokens per question", told, parts) + f'<p class="quiet">{escape(told)}.</p>'
    )


def _picture(height: int, title: str, told: str, parts: Sequence[str]) -> str:
    label = escape(f"{title}. {told}")
    return f'<h3>{escape(title)}</h3><svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
