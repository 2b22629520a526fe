"""The changes between two versions of a report, statement by statement."""

from __future__ import annotations

import pytest

from research.compare.diff import Block, Words, blocks, changes, words

FIRST = """## France

Real GDP was $3.689 trillion in 2023 [1].

- Growth is not known yet.
- Capital: Paris."""


def states(before: str, after: str) -> list[tuple[str, str]]:
    return [(block.state, block.text) for block in changes(before, after)]


def test_paragraphs_and_items_are_statements_and_code_stays_in_one_piece() -> None:
    text = "# A\n\none\ntwo\n\n- x\n- y\n  more\n\n```\na\n\n- b\n```\n\n| h |\n|---|\n| 1 |"
    assert list(blocks(text)) == ["# A", "one\ntwo", "- x", "- y\n  more", "```\na\n\n- b\n```", "| h |\n|---|\n| 1 |"]


def test_unclosed_code_is_one_statement() -> None:
    assert list(blocks("a\n\n```\nb\n\nc")) == ["a", "```\nb\n\nc"]


def test_whitespace_is_not_a_change() -> None:
    assert {state for state, _ in states(FIRST, FIRST.replace("[1].\n", "[1].  \n"))} == {"same"}


def test_added_changed_and_removed_statements_appear_in_place() -> None:
    after = """## France

Real GDP was $3.732 trillion in 2024 [1].

New: inflation was 2 % [2].

- Capital: Paris."""
    assert changes(FIRST, after) == [
        Block("## France"),
        Block("- Growth is not known yet.", "removed"),
        Block("Real GDP was $3.732 trillion in 2024 [1].", "changed", "Real GDP was $3.689 trillion in 2023 [1]."),
        Block("New: inflation was 2 % [2].", "added"),
        Block("- Capital: Paris."),
    ]


def test_another_source_is_a_change() -> None:
    assert states("It rained [1].", "It rained [2].") == [("changed", "It rained [2].")]


def test_a_moved_statement_is_unchanged() -> None:
    assert states("alpha\n\nbeta\n\ngamma", "gamma\n\nalpha\n\nbeta") == [
        ("same", "gamma"), ("same", "alpha"), ("same", "beta"),
    ]  # fmt: skip


def test_a_repeated_statement_is_added_once() -> None:
    assert states("same words", "same words\n\nsame words") == [("same", "same words"), ("added", "same words")]


def test_an_empty_report_makes_every_statement_added_or_removed() -> None:
    assert states("", "a\n\nb") == [("added", "a"), ("added", "b")]
    assert states("a\n\nb", "") == [("removed", "a"), ("removed", "b")]


def test_a_changed_statement_is_compared_word_by_word() -> None:
    assert words("GDP was 3.689 in 2023.", "GDP was 3.732 in 2023.") == [
        Words("GDP was 3.", "same"), Words("689", "removed"), Words("732", "added"), Words(" in 2023.", "same"),
    ]  # fmt: skip


def test_chinese_is_compared_character_by_character() -> None:
    assert words("人口六千万", "人口七千万") == [
        Words("人口", "same"), Words("六", "removed"), Words("七", "added"), Words("千万", "same"),
    ]  # fmt: skip


@pytest.mark.examples(1)
@pytest.mark.parametrize("line", ["- item\n", "- item {n}\n", "para {n}\n\n"])
def test_very_long_reports_are_compared(line: str) -> None:
    before = "".join(line.format(n=n) for n in range(20_000))
    found = changes(before, before.replace("item 7", "thing 7") + "\n\nend of it")
    assert found[-1] == Block("end of it", "added")
    assert {block.state for block in changes(before, "".join(line.format(n=-n) for n in range(20_000)))} <= {
        "same", "added", "changed", "removed",
    }  # fmt: skip


def test_very_long_statements_are_not_compared_word_by_word() -> None:
    before = "a b " * 50_000
    assert words(before, before + "c") == [Words(before, "removed"), Words(before + "c", "added")]


def test_a_heading_is_a_statement_even_without_blank_lines_around_it() -> None:
    assert list(blocks("### One\n- a\n- b\n### Two\nText\n## Three")) == [
        "### One", "- a", "- b", "### Two", "Text", "## Three",
    ]  # fmt: skip
