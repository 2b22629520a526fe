"""The filters of a list, kept in the address: a search box, and multiselects behind a button that counts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import streamlit as st

from pages.parts.shared import address, period
from pages.parts.shared.language import t
from pages.parts.shared.words import unique_labels


@dataclass(frozen=True)
class ListFilters:
    """The filters of one list; the titles are shown in the language of the page."""

    prefix: str
    """Starts the keys of the widgets."""
    titles: Mapping[str, str]
    """Address parameter and title of each filter of several values."""
    period_title: str
    toggles: Mapping[str, str] = field(default_factory=dict)
    """Address parameter and title of each toggle."""

    def query(self) -> str:
        return st.query_params.get("q", "").strip()

    def active(self) -> bool:
        """Return whether the list is searched or filtered."""
        return any(name in st.query_params for name in self._names())

    def clear(self) -> None:
        for name in self._names():
            change(name, None)

    def search(self, label: str, placeholder: str, live: bool = False) -> None:
        """Draw the search box; with `live`, it searches at every key."""
        key = address.shows(f"{self.prefix}-q", st.query_params.get("q", ""))
        st.text_input(
            label,
            key=key,
            type="search",
            placeholder=placeholder,
            live=live,
            label_visibility="collapsed",
            on_change=address.changed,
            args=(key, change, "q"),
        )

    def draw(self, offered: Mapping[str, Sequence[str]], named: Mapping[str, Callable[[str], str]]) -> None:
        """Draw the button and, behind it, the filters.

        `offered` holds the values of each multiselect drawn there, `named` the functions that return their titles.
        """
        number = sum(len(chosen(name)) for name in offered) + sum(map(switched_on, self.toggles))
        number += period.start() is not None
        label = t("Filters ({n})", n=number) if number else t("Filters")
        with st.popover(label, icon=":material/filter_list:"):
            for name, values in offered.items():
                multiselect(self.prefix, name, t(self.titles[name]), values, named.get(name, str))
            period.choose(t(self.period_title), self.prefix)
            for name, title in self.toggles.items():
                key = address.shows(f"{self.prefix}-{name}", switched_on(name))
                st.toggle(t(title), key=key, on_change=address.changed, args=(key, change, name))
            st.button(
                t("Reset filters"),
                key=f"{self.prefix}-clear",
                icon=":material/filter_list_off:",
                disabled=not self.active(),
                type="tertiary",
                on_click=self.clear,
            )

    def _names(self) -> tuple[str, ...]:
        return ("q", "since", *self.titles, *self.toggles)


def multiselect(
    prefix: str,
    name: str,
    title: str,
    offered: Sequence[str],
    named: Callable[[str], str],
    width: int | Literal["stretch"] = "stretch",
) -> None:
    """Draw one filter; values that the address holds are offered too."""
    wanted = chosen(name)
    options = list(dict.fromkeys([*offered, *wanted]))
    key = address.shows(f"{prefix}-{name}", list(wanted))
    st.multiselect(
        title,
        options,
        key=key,
        on_change=address.changed,
        args=(key, change, name),
        placeholder=t("any"),
        format_func=unique_labels(options, named),
        disabled=not options,
        width=width,
    )


def chosen(name: str) -> tuple[str, ...]:
    """Return the chosen values of a multiselect, each once."""
    return tuple(dict.fromkeys(filter(None, st.query_params.get_all(name))))


def switched_on(name: str) -> bool:
    return st.query_params.get(name) == "1"


def change(name: str, value: str | Sequence[str] | bool | None) -> None:
    """Set a filter and go to the first page of the list; an empty value removes the filter."""
    address.put("page")
    address.put(name, "1" if value is True else value or "")
