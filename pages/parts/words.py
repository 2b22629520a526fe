"""Numbers and names in the words that every page uses."""

from __future__ import annotations

import datetime

VERDICTS = {
    "supported": ("green", "check", "Supported: the quote holds the figures and most of the words."),
    "partial": ("orange", "rule", "Partly supported: the quote holds some of it."),
    "unsupported": ("red", "close", "Not supported: the quote does not say this."),
    "dead": ("red", "link_off", "No source of this run has that number."),
}
"""Colour, Material symbol and sentence for each verdict on a citation."""

TOOLS = {"search": "Search", "visit": "Open a page", "python": "Calculate", "scholar": "Search for papers"}
"""What a call does, for a round whose model did not say."""


def clock(seconds: float) -> str:
    """`00:12`, `1:02:03`."""
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def lasted(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 20 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def short(count: int) -> str:
    """`812`, `3.1k`, `2.4M`."""
    if count < 1_000:
        return str(count)
    return f"{count / 1_000:.1f}k" if count < 999_950 else f"{count / 1_000_000:.1f}M"


def money(usd: float | None) -> str:
    """`$0.00`, `$0.0031`, `unknown`; not yet escaped for Markdown."""
    if usd is None:
        return "unknown"
    return f"${usd:.2f}" if usd == 0 or usd >= 0.01 else f"${usd:.4f}"


def count(number: int, what: str) -> str:
    """`1 source`, `1,204 sources`."""
    many = "es" if what.endswith("s") else "s"
    return f"{number:,} {what}" + ("" if number == 1 else many)


def when(seconds: float) -> str:
    """Local time, to the minute."""
    return datetime.datetime.fromtimestamp(seconds).strftime("%d %b %Y, %H:%M")
