"""Every word of the pages exists in both languages."""

from __future__ import annotations

import re

import pytest
from babel.messages.pofile import read_po

from pages.locale.update import FILE, messages
from pages.parts.shared.language import LOCALE

WORDS = sorted({text for text, _ in messages() if text})


@pytest.fixture(scope="module")
def chinese() -> dict[str, str]:
    with FILE.open("rb") as file:
        return {str(each.id): str(each.string) for each in read_po(file, locale="zh") if each.id}


def test_the_catalogue_holds_what_the_pages_say_and_nothing_else(chinese: dict[str, str]) -> None:
    """`make words` brings it up to date."""
    assert sorted(chinese) == WORDS


def test_every_word_is_translated(chinese: dict[str, str]) -> None:
    assert [text for text in WORDS if not chinese.get(text, "").strip()] == []


def test_a_translation_has_the_places_of_its_original(chinese: dict[str, str]) -> None:
    def places(text: str) -> list[str]:
        return sorted(re.findall(r"(?<!\{)\{(\w*)[^{}]*\}", text))

    assert {text: there for text, there in chinese.items() if places(text) != places(there)} == {}


def test_markup_survives_translation(chinese: dict[str, str]) -> None:
    def markup(text: str) -> list[str]:
        return sorted(re.findall(r"`[^`]+`|:material/\w+:|\*\*", text))

    assert {text: there for text, there in chinese.items() if markup(text) != markup(there)} == {}


def test_the_pages_read_the_catalogue_that_is_kept_up_to_date() -> None:
    assert LOCALE / "zh.po" == FILE
