"""The interface in the reader's language: English stands in the code, Chinese in `pages/locale/zh.po`.

`t("…")` is the only way to a word on the screen.  The catalogue is gettext's, read by Babel; `make words` brings it up to
date with the code, and a test fails for a word without a translation.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import streamlit as st

LANGUAGES: Final = {"en": "EN", "zh": "中"}
"""Each language as the switch writes it."""
NAMES: Final = {"en": "English", "zh": "中文"}
"""Each language as it calls itself."""
LOCALE: Final = Path(__file__).parents[1] / "locale"


def current() -> str:
    """`en` or `zh`: what was switched to, what the link says, or what the browser asks for."""
    chosen = st.session_state.get("language") or st.query_params.get("lang")
    return chosen if chosen in LANGUAGES else browsers()


def browsers() -> str:
    """The language that the browser asks for, as far as there is one of ours."""
    asked = (st.context.locale or "").partition("-")[0].lower()
    return asked if asked in LANGUAGES else "en"


def t(text: str, **values: object) -> str:
    """The words in the reader's language; `values` fill `{named}` places after translation.

    `values` are put in as they are: foreign text goes through `safe.plain` first.
    """
    found = _catalogue(current()).get(text, text)
    return found.format(**values) if values else found


def versions(text: str) -> set[str]:
    """The text in every language."""
    return {text, *(_catalogue(each).get(text, text) for each in LANGUAGES)}


def later(text: str) -> str:
    """Marks words of a table that are translated with `t` where they are shown."""
    return text


@cache
def _catalogue(language: str) -> Mapping[str, str]:
    from babel.messages.pofile import read_po

    path = LOCALE / f"{language}.po"
    if not path.exists():  # English needs none
        return {}
    with path.open("rb") as file:
        return {str(each.id): str(each.string) for each in read_po(file, locale=language) if each.id and each.string}


def switch() -> None:
    """The switch in the head of every page.  What was switched to stands in the address, for links and reloads."""
    shown = current()
    if st.query_params.get("lang") == shown:  # the next page has another address: the link's choice goes along
        st.session_state["language"] = shown
    # The widget's own key: a page without it, or a reload, must not forget the choice.
    st.segmented_control(
        t("Language"), list(LANGUAGES), format_func=LANGUAGES.__getitem__, default=shown, required=True,
        key=f"language-switch-{shown}", on_change=_switched, args=(f"language-switch-{shown}",),
        label_visibility="collapsed",
    )  # fmt: skip
    if shown != browsers():
        st.query_params["lang"] = shown


def choice() -> None:
    """The same choice on the settings page, each language by its name."""
    shown = current()
    st.radio(
        t("Language"), list(NAMES), list(NAMES).index(shown), format_func=NAMES.__getitem__,
        key=f"language-choice-{shown}", on_change=_switched, args=(f"language-choice-{shown}",),
    )  # fmt: skip


def _switched(key: str) -> None:
    st.session_state["language"] = st.session_state[key]
    st.query_params.pop("lang", None)
