"""Translation of the pages: English is in the code, Chinese in `pages/locale/zh.po`.

Every visible text goes through `t("…")`. `make words` updates the catalogue (gettext, read by Babel), and a test
fails for untranslated text.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import streamlit as st

from pages.parts.shared import component
from research._util.said import catalogue

LANGUAGES: Final = {"en": "EN", "zh": "中"}
"""Label of each language in the switch."""
NAMES: Final = {"en": "English", "zh": "中文"}
"""Name of each language in itself."""
COOKIE: Final = "workbench-language"
"""Where the browser keeps the user's choice, for addresses without one."""
DEFINITE: Final = 8
"""Characters that a text has besides its places, to be recognized by them."""
_CJK_SPACE: Final = re.compile(r"(?<=[\u3000-\u9fff“”]) (?=[\u3000-\u9fff“”])")
LOCALE: Final = Path(__file__).parents[2] / "locale"


def current() -> str:
    """Return `en` or `zh`: the user's choice, else the link's, else their last choice, else the browser's."""
    chosen = st.session_state.get("language") or st.query_params.get("lang") or st.context.cookies.get(COOKIE)
    return chosen if chosen in LANGUAGES else browsers()


def browsers() -> str:
    """Return the browser's language if it is supported, else `en`."""
    browser = (st.context.locale or "").partition("-")[0].lower()
    return browser if browser in LANGUAGES else "en"


def t(text: str, **values: object) -> str:
    """Return the text in the current language; `values` fill its `{named}` places.

    Values are inserted as they are: escape foreign text with `safe.plain` first.
    """
    found = _catalogue(current()).get(text, text)
    return found.format(**values) if values else found


_COMMAND: Final = re.compile(r"[;,](?: \w+:?)* `?python -m research .*$", re.DOTALL)
"""The end of an error that names the command which helps; on a page, buttons do."""
_WORD_FIRST = re.compile(r"^[a-z](?=[a-z]*[ ,;])")


def spoken(message: object) -> str:
    """Return what `research` says, such as an error, as a sentence in the current language.

    What the catalogue lacks stays in English; a name at its beginning, such as `openai:x`, stays as it is.
    """
    text = _spoken(without_command(" ".join(str(message).split())), current())
    return _WORD_FIRST.sub(lambda first: first[0].upper(), text)


def without_command(text: str) -> str:
    """Return an error of `research` without the command that it ends with."""
    return _COMMAND.sub("", text)


def _spoken(text: str, language: str) -> str:
    if exact := _known(language).get(text):
        return exact
    for pattern, there in _templates(language):
        if match := pattern.fullmatch(text):
            values = {place: _spoken(_unquoted(value), language) for place, value in match.groupdict().items()}
            return _CJK_SPACE.sub("", there.format(**values))
    return text


def _unquoted(value: str) -> str:
    """Return a value without the quotes of Python's `repr` as one in the quotes of text."""
    return f"“{value[1:-1]}”" if len(value) > 1 and value[0] == value[-1] == "'" else value


@cache
def _templates(language: str) -> Sequence[tuple[re.Pattern[str], str]]:
    """Return the catalogue's texts with places as patterns, the most definite first."""
    found: list[tuple[int, re.Pattern[str], str]] = []
    for text, there in _known(language).items():
        parts = list(string.Formatter().parse(text)) if re.search(r"\{\w[^{}]*\}", text) else []
        known: set[str] = set()
        pattern = ""
        for literal, place, _, _ in parts:
            pattern += re.escape(re.sub(r"\s+", " ", literal))
            if place:
                pattern += f"(?P={place})" if place in known else f"(?P<{place}>.*?)"
                known.add(place)
        if (definite := sum(len(literal) for literal, *_ in parts)) > DEFINITE:
            unformatted = re.sub(r"\{(\w+)[!:][^{}]*\}", r"{\1}", there)  # the values are formatted already
            found.append((definite, re.compile(pattern, re.DOTALL), unformatted))
    return [(pattern, there) for _, pattern, there in sorted(found, key=lambda each: -each[0])]


def versions(text: str) -> set[str]:
    """Return the text in every language."""
    return {text, *(_catalogue(each).get(text, text) for each in LANGUAGES)}


def later(text: str) -> str:
    """Mark a text for translation; `t` translates it where it is shown."""
    return text


@cache
def _known(language: str) -> Mapping[str, str]:
    """Return the texts of the pages, and what runs say to a model: its errors may be those of a page, too."""
    return {**(catalogue() if language == "zh" else {}), **_catalogue(language)}


@cache
def _catalogue(language: str) -> Mapping[str, str]:
    from babel.messages.pofile import read_po

    path = LOCALE / f"{language}.po"
    if not path.exists():  # English needs no catalogue
        return {}
    with path.open("rb") as file:
        return {str(each.id): str(each.string) for each in read_po(file, locale=language) if each.id and each.string}


def switch() -> None:
    """Draw the language switch at the top of every page; the choice is kept in the address, and by the browser."""
    shown = current()
    if st.query_params.get("lang") == shown:  # the next page has another address, so remember the link's choice
        st.session_state["language"] = shown
    # The key contains the language, so that a reload keeps the choice.
    st.segmented_control(
        t("Language"),
        list(LANGUAGES),
        format_func=LANGUAGES.__getitem__,
        default=shown,
        required=True,
        key=f"language-switch-{shown}",
        on_change=_switched,
        args=(f"language-switch-{shown}",),
        label_visibility="collapsed",
    )
    if chosen := st.session_state.get("language-chosen"):  # a link's language is not kept: the user did not choose it
        component.draw("language-kept", {"kind": "language", "cookie": f"{COOKIE}={chosen}"})
    if shown != browsers():
        st.query_params["lang"] = shown


def choice() -> None:
    """Draw the same choice on the Settings page, with full names."""
    shown = current()
    st.radio(
        t("Language"),
        list(NAMES),
        list(NAMES).index(shown),
        format_func=NAMES.__getitem__,
        key=f"language-choice-{shown}",
        on_change=_switched,
        args=(f"language-choice-{shown}",),
    )


def _switched(key: str) -> None:
    st.session_state["language"] = st.session_state["language-chosen"] = st.session_state[key]
    st.query_params.pop("lang", None)
