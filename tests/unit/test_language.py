"""Every text of the pages exists in both languages."""

from __future__ import annotations

import re

import pytest
from babel.messages.pofile import read_po
from msgspec.structs import replace

from pages.locale.update import FILE, messages
from pages.parts.shared import cite, language
from pages.parts.shared.language import LOCALE
from pages.parts.shared.safe import plain
from research.citations import check
from research.types import Reason, Source

WORDS = sorted({text for text, _ in messages() if text})


@pytest.fixture(scope="module")
def chinese() -> dict[str, str]:
    with FILE.open("rb") as file:
        return {str(each.id): str(each.string) for each in read_po(file, locale="zh") if each.id}


def test_the_catalogue_contains_exactly_the_texts_of_the_pages(chinese: dict[str, str]) -> None:
    """`make words` updates it."""
    assert sorted(chinese) == WORDS


def test_every_text_is_translated(chinese: dict[str, str]) -> None:
    assert [text for text in WORDS if not chinese.get(text, "").strip()] == []


def test_a_translation_has_the_placeholders_of_its_original(chinese: dict[str, str]) -> None:
    def places(text: str) -> list[str]:
        return sorted(re.findall(r"(?<!\{)\{(\w*)[^{}]*\}", text))

    assert {text: there for text, there in chinese.items() if places(text) != places(there)} == {}


def test_a_translation_has_the_markup_of_its_original(chinese: dict[str, str]) -> None:
    def markup(text: str) -> list[str]:
        return sorted(re.findall(r"`[^`]+`|:material/\w+:|\*\*", text))

    assert {text: there for text, there in chinese.items() if markup(text) != markup(there)} == {}


def test_a_reason_of_the_citation_check_is_in_the_language_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = check("The population of Japan is 99 million [1].", [Source(1, "", "Japan", "Population: 123,201,945")])
    assert found.reason == "the labelled line has 123,201,945"
    monkeypatch.setattr(language, "current", lambda: "zh")
    assert "123,201,945" in cite.reason(found) and "labelled" not in cite.reason(found)
    assert cite.reason(replace(found, reasons=())) == plain(found.reason), "a run of an earlier version"
    foreign = Reason("{0.__class__} {}", (("a", "b"),))
    assert cite.reason(replace(found, reasons=(foreign,))) == plain(found.reason), "an imported run"


def test_the_pages_read_the_catalogue_that_make_words_updates() -> None:
    assert LOCALE / "zh.po" == FILE
