"""Which source each statement of a report cites, in eight styles, as md, html, docx and pdf."""

from __future__ import annotations

import re

import pytest

from research.auditing import report_intake, styles
from research.citations import without_marks
from tests import cited_reports, product_reports


def pairs(text: str) -> set[tuple[str, str]]:
    """Return the statements and the addresses that each cites, as the workbench reads them."""
    report = styles.read(text)
    return {
        (plain(without_marks(statement.text)), report.sources[n - 1].url)
        for statement in report.statements
        for n in statement.numbers
    }


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def missing(report: cited_reports.Planted, kind: str) -> list[tuple[str, str]]:
    """Return the pairs that are not found in the report as a file."""
    found = pairs(report_intake.read_bytes(cited_reports.written(report, kind), f"report.{kind}").text)
    return [
        (text, work.url)
        for text, work in report.pairs
        if not any(url == work.url and plain(text) in said for said, url in found)
    ]


@pytest.mark.examples(2)
@pytest.mark.parametrize("kind", cited_reports.FORMATS)
def test_statements_and_sources_are_paired(kind: str) -> None:
    lost, planted = [], 0
    for style in cited_reports.STYLES:
        for seed in range(2):
            report = cited_reports.make(seed, style)
            planted += len(report.pairs)
            lost += [(style, *each) for each in missing(report, kind)]
    assert planted > 150
    assert len(lost) <= 0.02 * planted, lost


def test_the_manners_of_twenty_products_are_read() -> None:
    lost = []
    for name, (text, cited) in product_reports.REPORTS.items():
        report = styles.read(text)
        found = [(each.text, report.sources[n - 1].url) for each in report.statements for n in each.numbers]
        lost += [(name, *each) for each in cited if not any(each[0] in said and each[1] in url for said, url in found)]
        assert len(found) == len(cited), f"{name}: {found}"
    assert lost == []


def test_numbers_that_cite_nothing_are_no_citations() -> None:
    text = "A hall of 20 m² holds 1,500 people. In [2023] it had 10³ seats, an array[0] of lamps, and a 4.5 rating.\n"
    listed = f"{text}\nOne cites [1].\n\n## References\n[1] A hall. https://hall.example/a\n"
    assert pairs(listed) == {("one cites", "https://hall.example/a")}


def test_each_cited_cell_of_a_table_is_a_statement() -> None:
    table = "| Country | Wind | Sun |\n|---|---|---|\n| Norway | 9.2% [1] | 1.3% [1] |\n"
    report = styles.read(f"{table}\n## References\n[1] A. https://a.example/a\n")
    assert [each.text for each in report.statements] == ["Norway, Wind: 9.2% [1]", "Norway, Sun: 1.3% [1]"]


def test_a_number_without_an_entry_is_a_source_that_is_not_listed() -> None:
    report = styles.read("It grew [1]. It shrank by 4 % [7].\n\n## References\n[1] A. https://a.example/a\n")
    cited = {statement.text: [report.sources[n - 1] for n in statement.numbers] for statement in report.statements}
    (missing,) = cited["It shrank by 4 % [2]."]
    assert missing.unlisted
    (listed,) = cited["It grew [1]."]
    assert not listed.unlisted


@pytest.mark.parametrize(
    "text",
    [
        "# Notes\n\nIt grew [1]. It shrank [1].\n\n## Sources\n[1] A, 2023. https://a.example/a",
        "# Ports\n\nIt is old.\n\n## Notes\n\nIt grew [1].\n\nIt shrank [1].\n\n## Sources\n- [1] A. https://a.example/a",
        "# Sources\n\n## Rivers\n\nIt grew [1], and it shrank [1].\n\n## References\n\n1. A. https://a.example/a",
    ],
)
def test_a_heading_is_a_reference_list_only_above_references(text: str) -> None:
    report = styles.read(text)
    assert [each.url for each in report.sources] == ["https://a.example/a"] and not report.listed
    assert {n for each in report.statements for n in each.numbers} == {1}


def test_notes_without_citations_are_statements() -> None:
    report = styles.read("# Ports\n\nThe port is old.\n\n## Notes\n\nThe harbour was dug by hand in 1870.")
    assert not report.sources
    assert [each.text for each in report.statements][-1] == "The harbour was dug by hand in 1870."
