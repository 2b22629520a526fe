"""The card above a comparison: whether the answers agree, and which run took less, in words from the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import streamlit as st

from pages.parts.compare import numbers
from pages.parts.compare.columns import Column
from pages.parts.shared.language import later, t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import lasted, money, percent
from research._util.sentences import sentences
from research.citations import without_marks
from research.compare.numbers import differences, figures
from research.compare.run_verdict import Dispute, Verdict, verdict
from research.events.view import RunView
from research.exports.blocks import Heading, content, parse
from research.exports.charts import headline
from research.exports.progress import missing
from research.text import clip

QUOTE: Final = 300
SIGNS: Final = {
    "same": ("green", "check_circle"),
    "disagree": ("red", "compare_arrows"),
    "differ": ("orange", "difference"),
    "compatible": ("blue", "info"),
    "one": ("orange", "rule"),
    "none": ("gray", "search_off"),
}
"""Colour and Material symbol of each kind of verdict."""
TITLES: Final = {
    "same": later("Same answer"),
    "differ": later("Different answers"),
    "compatible": later("No contradiction found"),
    "none": later("No run answered in full"),
}


def draw(columns: Sequence[Column]) -> None:
    """Draw the verdict once all runs have ended; runs of different questions get none, only their answers."""
    present = [column for column in columns if column.row is not None]
    views = [column.view for column in present]
    if len(present) < 2 or any(column.view.outcome is None for column in present):
        return
    if "question" in differences(views):
        st.markdown(_answers(present))
        return
    found = _known(present)
    colour, icon = SIGNS[found.kind]
    with st.container(key="compare-verdict", gap="xsmall"):
        st.subheader(f":{colour}[:material/{icon}:] {_title(found, present)}", anchor=False)
        for line in _lines(found, present):
            st.markdown(line)
        for each in found.disputes:
            _dispute(each, present)


def _known(columns: Sequence[Column]) -> Verdict:
    """Return the verdict, cached in the session because comparing reports takes a while."""
    at = tuple((column.run, column.view.seq) for column in columns)
    kept: tuple[object, Verdict] | None = st.session_state.get("compare-verdict-known")
    if kept is None or kept[0] != at:
        kept = st.session_state["compare-verdict-known"] = at, verdict([column.view for column in columns])
    return kept[1]


def _title(found: Verdict, columns: Sequence[Column]) -> str:
    if found.kind == "disagree":
        number = len(found.disputes)
        return t("They disagree on one point") if number == 1 else t("They disagree on {n} points", n=number)
    if found.kind == "one":
        return t("Only {run} answered in full", run=columns[found.full[0]].name)
    if found.kind == "same" and len(found.full) < len(columns):
        return t("Same answer in {n} of {all} runs", n=len(found.full), all=len(columns))
    return t(TITLES[found.kind])


def _lines(found: Verdict, columns: Sequence[Column]) -> Iterator[str]:
    """Yield what follows the title, as Markdown."""
    full = [columns[place] for place in found.full]
    same = found.kind == "same" and len(full) == len(columns)
    yield _answer(full[0].view) if same else _answers(columns)
    if found.kind == "compatible":
        yield t("{shared} of {all} statements are in every report.", shared=found.shared, all=found.statements)
    if len(full) > 1 and (took := _took(found, columns)):
        yield took
    for each, cited in ((each, figures(each.view).citations) for each in full):
        if cited and (denied := numbers.denied(cited)):
            yield t(
                ":orange[:material/warning:] {run}: {n} of {all} citations not confirmed",
                run=each.name,
                n=denied,
                all=sum(cited.values()),
            )


def _answers(columns: Sequence[Column]) -> str:
    """Return what each run answers, or what it did not find, by name, as Markdown."""
    said = ((column.name, _lack(column.view) or _answer(column.view)) for column in columns)
    return "  \n".join(t("{name}: {value}", name=name, value=value) for name, value in said)


def _lack(view: RunView) -> str:
    """Return the parts of the question that a run did not find, as Markdown; empty if there are none."""
    lost = "; ".join(plain(clip(part.text, QUOTE)) for part in missing(view))
    return t("Not found: {parts}", parts=lost) if lost else ""


def _answer(view: RunView) -> str:
    """Return the short answer of a run, or the first sentence of its report, in bold type."""
    blocks = parse(without_marks(view.report), cited=False)
    said = (
        [headline(view)] if view.short else sentences(content(each for each in blocks if not isinstance(each, Heading)))
    )
    return f"**{plain(clip(said[0], QUOTE)) if said else t('No report.')}**"


def _took(found: Verdict, columns: Sequence[Column]) -> str:
    """Return which of the full answers took less, by name."""
    said: dict[str, list[str]] = {}
    for less, two, several in (
        (found.tokens, t("{share} fewer tokens"), t("{share} fewer tokens than {other}")),
        (found.seconds, t("{time} faster"), t("{time} faster than {other}")),
        (found.cost, t("{cost} cheaper"), t("{cost} cheaper than {other}")),
    ):
        if less:
            words = (several if len(columns) > 2 else two).format(
                other=columns[less.next].name,
                share=percent(less.share),
                time=lasted(less.amount),
                cost=plain(money(less.amount)),
            )
            said.setdefault(columns[less.run].name, []).append(words)
    lines = [t("They took about the same tokens and time.")] if found.alike else []
    return "  \n".join(
        [*lines, *(t("{name}: {value}", name=name, value=t(", ").join(words)) for name, words in said.items())]
    )


def _dispute(each: Dispute, columns: Sequence[Column]) -> None:
    """Draw both quotes side by side."""
    sides = ((each.run, each.text), (each.other, each.quote))
    for place, (run, quote) in zip(st.columns(2, gap="medium"), sides, strict=True):
        with place:
            st.caption(columns[run].name)
            st.markdown(f"> {plain(clip(quote, QUOTE))}")
