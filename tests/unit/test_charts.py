"""Charts of an answer, from its cited figures, and sources numbered by first use."""

from __future__ import annotations

import io

import pytest

from research.citations import check
from research.events.view import RunView, quotes
from research.exports.charts import Chart, as_csv, charts, headline
from research.exports.docx import docx
from research.exports.drawing import png
from research.exports.html import html
from research.exports.markdown import markdown
from research.exports.numbering import by_first_use, numbering, renumbered
from research.exports.pdf import pdf
from research.types import Citation, Source


def run(report: str, *sources: Source, question: str = "Which is larger?") -> RunView:
    """A finished run whose report was checked against these sources."""
    return RunView(
        run="261121-120000-abcd",
        question=question,
        status="completed",
        outcome="answered",
        report=report,
        citations=check(report, sources),
        sources={each.n: [each] for each in sources},
    )


def country(n: int, name: str, line: str) -> Source:
    return Source(n, f"library://book/{n}", f"{name} · Economy", line)


SPAIN = country(15, "Spain", "Unemployment rate 2024: 11.4% (2024 est.)")
ITALY = country(1, "Italy", "Unemployment rate 2024: 6.8% (2024 est.)")
GREECE = country(11, "Greece", "Unemployment rate 2023: 11.1% (2023 est.)")
COMPARED = (
    "The unemployment rate of Spain was 11.4% in 2024 [15]. The unemployment rate of Italy was 6.8% in 2024 [1]. "
    "In Greece the unemployment rate was 11.1% in 2023 [11]."
)


def one(view: RunView) -> Chart:
    (chart,) = charts(by_first_use(view))
    return chart


def test_an_answer_that_compares_is_drawn_as_bars_with_the_figures_as_written() -> None:
    chart = one(run(COMPARED, SPAIN, ITALY, GREECE))
    assert (chart.title, chart.unit, chart.kind) == ("Unemployment rate", "%", "bars")
    assert [(chart.label(point), point.written, point.n) for point in chart.points] == [
        ("Spain (2024)", "11.4%", 1),
        ("Greece (2023)", "11.1%", 3),
        ("Italy (2024)", "6.8%", 2),
    ]


def test_a_figure_whose_year_stands_twice_in_its_line_is_drawn_too() -> None:
    chart = one(
        run(
            "Spain: Unemployment rate 2024: 11.4% (2024 est.) [15]. Italy: Unemployment rate 2024: 6.8% [1].",
            SPAIN,
            ITALY,
        )
    )
    assert [(point.subject, point.year, point.written) for point in chart.points] == [
        ("Spain", 2024, "11.4%"),
        ("Italy", 2024, "6.8%"),
    ]


def test_a_chart_of_a_query_is_called_by_the_column_and_has_no_years() -> None:
    result = (
        "Result of SELECT depot, AVG(units_sold) AS avg_units_sold FROM t GROUP BY depot\n| depot | avg_units_sold |\n"
        "| --- | --- |\n| North | 120 |\n| South | 80 |\nRows used: t.csv › A2:B3 (2 rows)\n| row | Depot | Units sold |\n"
        "| --- | --- | --- |\n| 2 | North | 120 |\n| 3 | South | 80 |"
    )
    table = Source(1, "library://own/t.csv#A2:B3", "t.csv › A2:B3", result)
    view = run("The average units sold of North is 120 [1]. The average units sold of South is 80 [1].", table)
    chart = one(view)
    assert (chart.name, chart.dated, [point.year for point in chart.points]) == ("Average Units sold", False, [0, 0])
    page = html(view)
    assert "Average Units sold" in page and "<th>Year" not in page


def test_a_chart_has_the_largest_figure_even_if_it_looks_like_a_year() -> None:
    rows = "| --- | --- |\n| 水仙 | 1685 |\n| 白茶 | 1145 |\n"
    result = (
        "Result of SELECT 茶类, SUM(数量) AS sum_数量 FROM t GROUP BY 茶类 ORDER BY sum_数量 DESC\n| 茶类 | sum_数量 |\n"
        f"{rows}Rows used: t.csv › A2:B3 (2 rows)\n| row | 茶类 | 数量 (公斤) |\n"
        "| --- | --- | --- |\n| 2 | 水仙 | 1685 |\n| 3 | 白茶 | 1145 |"
    )
    table = Source(1, "library://own/t.csv#A2:B3", "t.csv › A2:B3", result)
    view = run(
        "**水仙**的数量合计最高：**1,685 公斤** [1]。\n\n其次（数量合计）：白茶 1,145 公斤 [1]。",
        table,
        question="哪种最多？",
    )
    assert [(point.subject, point.year, point.written) for point in one(view).points] == [
        ("水仙", 0, "1,685 公斤"),
        ("白茶", 0, "1,145 公斤"),
    ]


def test_a_line_that_is_quoted_word_for_word_states_the_figure_that_it_has_for_its_country() -> None:
    land = Source(1, "library://book/1", "Malaysia · Geography", "Coastline: 4,675 km (Peninsular Malaysia 2,068 km)")
    other = Source(2, "library://book/2", "Burma · Geography", "Coastline: 1,930 km")
    view = run(f"Malaysia · Geography: “{land.quote}” [1]\n\nBurma · Geography: “{other.quote}” [2]", land, other)
    assert [(point.subject, point.written) for point in one(view).points] == [
        ("Malaysia", "4,675 km"),
        ("Burma", "1,930 km"),
    ]


def test_no_chart_leaves_out_a_figure_that_the_report_states() -> None:
    report = (
        COMPARED + " Of all, nobody knows why, it was highest in Malta: the unemployment rate was 20.1% in 2024 [3]."
    )
    malta = country(3, "Malta", "Unemployment rate 2024: 20.1% (2024 est.)")
    assert not charts(run(report, SPAIN, ITALY, GREECE, malta))


@pytest.mark.parametrize(("second", "kind"), [("%", 0), ("USD", 1)])
def test_figures_whose_rows_have_other_units_share_no_chart(second: str, kind: int) -> None:
    rows = f"| indicator | unit | value |\n| --- | --- | --- |\n| Income | USD | 1200 |\n| Outlay | {second} | 83 |"
    table = Source(1, "library://own/t.csv#A2:C3", "t.csv › A2:C3", rows)
    said = "The value of Income is 1,200 [1]. The value of Outlay is 83 [1]."
    assert len(charts(run(said, table))) == kind
    result = (
        "Result of SELECT indicator, SUM(value) AS value FROM t GROUP BY indicator\n| indicator | value |\n| --- | --- |\n"
        "| Income | 1200 |\n| Outlay | 83 |\nRows used: t.csv › A2:C3 (2 rows)\n"
        + rows.replace("| indicator", "| row | indicator")
        .replace("| ---", "| --- | ---", 1)
        .replace("| Income", "| 2 | Income")
        .replace("| Outlay", "| 3 | Outlay")
    )
    assert len(charts(run(said, Source(1, table.url, table.title, result)))) == kind


RANKED = Source(
    4,
    "library://book/4",
    "Country comparison · Population, total",
    "Population, total in the world: 3 of 3 countries have a figure, 2025\nIndia (rank 1, highest): 1,419,316,933 (2025 est.)\n"
    "China (rank 2): 1,407,181,209 (2025 est.)\nTuvalu (rank 3, lowest): 11,810 (2025 est.)",
)
ROWS = (
    "| Rank in the world | Country | Total population | Year |\n|---|---|---|---|\n"
    "| 1 | India | 1,419,316,933 | 2025 est. [4] |\n| 2 | China | 1,407,181,209 | 2025 est. [4] |"
)


def test_a_ranking_is_drawn_from_the_rows_of_its_table_which_no_second_table_repeats() -> None:
    view = run(f"India and China are first [4].\n\n{ROWS}", RANKED, question="Which two countries have most people?")
    chart = one(view)
    assert [(point.subject, point.written) for point in chart.points] == [
        ("India", "1,419,316,933"),
        ("China", "1,407,181,209"),
    ]
    page = html(view)
    assert 'alt="India: 1,419,316,933; China: 1,407,181,209"' in page
    assert (page.count("<table"), html(run(COMPARED, SPAIN, ITALY, GREECE)).count("<table")) == (1, 1)
    assert docx(view) and pdf(view)


def test_a_chart_of_the_lowest_has_the_order_of_the_table_and_the_unit_of_its_column() -> None:
    result = (
        "Result of SELECT Client, SUM(Amount) FROM t GROUP BY Client\n| Client | Amount (EUR) |\n| --- | --- |\n"
        "| Alma | 77 |\n| Jansen | 90 |\n| Nord | 95 |\nRows used: t.csv › A2:B4 (3 rows)\n| row | Client | Amount (EUR) |\n"
        "| --- | --- | --- |\n| 2 | Alma | 77 |\n| 3 | Jansen | 90 |\n| 4 | Nord | 95 |"
    )
    report = (
        "**Alma** has the lowest Amount: **77 EUR** [1].\n\n| Client | Amount (EUR) |\n| --- | --- |\n"
        "| Alma | 77 [1] |\n| Jansen | 90 [1] |\n| Nord | 95 [1] |"
    )
    view = run(report, Source(1, "library://own/t.csv#A2:B4", "t.csv › A2:B4", result))
    view.short = "Alma"
    chart = one(view)
    assert (chart.title, chart.tabled) == ("Amount (EUR)", True)
    assert [(each.subject, each.written) for each in chart.points] == [
        ("Alma", "77 EUR"),
        ("Jansen", "90 EUR"),
        ("Nord", "95 EUR"),
    ]
    assert headline(view) == "Alma: 77 EUR"
    assert quotes(view, 1) == [("Rows used: t.csv › A2:B4 (3 rows)", "")], "what the table states is not said again"


def test_no_table_repeats_one_of_several_measures() -> None:
    lines = {"Spain": "505,370 sq km|11.4% (2024 est.)", "Italy": "301,340 sq km|6.8% (2024 est.)"}
    sources = [
        country(n, name, "Area, total: {}\nUnemployment rate: {}".format(*line.split("|")))
        for n, (name, line) in enumerate(lines.items(), 1)
    ]
    rows = [f"| {name} | {line.replace('|', f' [{n}] | ')} [{n}] |" for n, (name, line) in enumerate(lines.items(), 1)]
    view = run("\n".join(["| Country | Total area | Unemployment rate |", "|---|---|---|", *rows]), *sources)
    assert [(chart.title, chart.tabled) for chart in charts(view)] == [
        ("Total area", True),
        ("Unemployment rate", True),
    ]


def test_every_file_has_the_answer_with_its_figure() -> None:
    from pypdf import PdfReader

    view = run(COMPARED, SPAIN, ITALY, GREECE, question="Which is higher in Spain or Italy?")
    view.short = "Spain"
    assert headline(view) == "Spain: 11.4%"
    assert "**Answer:** Spain: 11.4%" in markdown(view)
    assert "Spain: 11.4%" in html(view)
    assert "Answer: Spain: 11.4%" in PdfReader(io.BytesIO(pdf(view))).pages[0].extract_text()
    assert "Spain: 11.4%" in read_docx(view)
    view.question, view.short = "西班牙和意大利哪个失业率更高？", "西班牙"
    assert headline(view) == "西班牙：11.4%"


def read_docx(view: RunView) -> str:
    from docx import Document

    return "\n".join(each.text for each in Document(io.BytesIO(docx(view))).paragraphs)


def test_a_chart_names_its_subjects_as_the_report_does() -> None:
    label, years = "Life expectancy at birth, total population", {"Chile": "80.3 years", "Peru": "68.9 years"}
    sources = [country(n, name, f"{label}: {value} (2024 est.)") for n, (name, value) in enumerate(years.items(), 1)]
    quoted = "\n".join(f"- {source.title}: “{source.quote}” [{source.n}]" for source in sources)
    said = f"**智利**的出生时预期寿命最长：**80.3岁**（2024年估计） [1]，而秘鲁为68.9岁（2024年估计） [2]。\n\n### 依据\n\n{quoted}"
    chart = one(run(said, *sources, question="智利和秘鲁的预期寿命各是多少？"))
    assert (chart.title, [point.subject for point in chart.points]) == ("出生时预期寿命", ["智利", "秘鲁"])
    assert (chart.unit, [point.written for point in chart.points]) == ("岁", ["80.3岁", "68.9岁"])
    mixed = said.replace("秘鲁", "Peru")
    assert [point.subject for point in one(run(mixed, *sources, question="预期寿命")).points] == ["智利", "秘鲁"]
    english = (
        "The life expectancy at birth, total population, of Chile was 80.3 years in 2024 [1]. "
        "The life expectancy at birth, total population, of Peru was 68.9 years in 2024 [2]. In Chinese: 智利, 秘鲁."
    )
    assert [point.subject for point in one(run(english, *sources)).points] == ["Chile", "Peru"]


def test_years_of_one_subject_are_drawn_as_a_line_from_three_on() -> None:
    lines = [f"Real GDP (purchasing power parity) {year}: ${value} trillion" for year, value in
             ((2022, "3.655"), (2023, "3.689"), (2024, "3.732"))]  # fmt: skip
    said = [f"Real GDP (purchasing power parity) of France was ${value} trillion in {year} [1]." for year, value in
            ((2022, "3.655"), (2023, "3.689"), (2024, "3.732"))]  # fmt: skip
    chart = one(run(" ".join(said), country(1, "France", "\n".join(lines))))
    assert (chart.kind, chart.unit) == ("lines", "$ trillion")
    assert [(point.subject, point.year, round(point.value, 3)) for point in chart.points] == [
        ("France", 2022, 3.655),
        ("France", 2023, 3.689),
        ("France", 2024, 3.732),
    ]
    assert charts(run(" ".join(said[:2]), country(1, "France", "\n".join(lines)))) == ()


@pytest.mark.parametrize(
    ("what", "report", "sources"),
    [
        (
            "unlike units",
            "The coastline of Spain is 4,964 km [1]. The coastline of Italy is 7,600 square kilometers [2].",
            (country(1, "Spain", "Coastline: 4,964 km"), country(2, "Italy", "Coastline: 7,600 sq km")),
        ),
        (
            "unlike measures",
            "The birth rate of Spain is 7.1 births [1]. The death rate of Italy is 11.2 deaths [2].",
            (country(1, "Spain", "Birth rate: 7.1 births"), country(2, "Italy", "Death rate: 11.2 deaths")),
        ),
        ("figures without a source", "Spain has an unemployment rate of 11.4%. Italy has 6.8%.", (SPAIN, ITALY)),
        (
            "figures that the source denies",
            "Spain has an unemployment rate of 51.4% in 2024 [15]. Italy has an unemployment rate of 6.8% in 2024 [1].",
            (SPAIN, ITALY),
        ),
        ("one figure", "Spain has an unemployment rate of 11.4% in 2024 [15].", (SPAIN,)),
    ],
)
def test_nothing_is_drawn_of(what: str, report: str, sources: tuple[Source, ...]) -> None:
    assert charts(by_first_use(run(report, *sources))) == (), what


def test_a_subject_in_two_languages_is_one_subject() -> None:
    source = country(1, "France", "Unemployment rate 2024: 7.4% (2024 est.)")
    report = "法国的失业率为7.4%（2024年）[1]。\n\n- France · Economy: “Unemployment rate 2024: 7.4% (2024 est.)” [1]"
    assert charts(run(report, source)) == ()


def test_figures_of_one_subject_and_year_that_disagree_are_not_drawn() -> None:
    other = country(2, "Spain", "Unemployment rate 2024: 12.9% (2024 est.)")
    report = (
        "Spain has an unemployment rate of 11.4% in 2024 [15]. Spain has an unemployment rate of 12.9% in 2024 [2]. "
        "Italy has an unemployment rate of 6.8% in 2024 [1]."
    )
    assert charts(run(report, SPAIN, ITALY, other)) == ()


def test_the_chart_travels_into_every_file() -> None:
    from pypdf import PdfReader

    view = run(COMPARED, SPAIN, ITALY, GREECE, question="Which unemployment rate is highest?")
    page = html(view)
    assert 'alt="Spain (2024): 11.4%; Greece (2023): 11.1%; Italy (2024): 6.8%" src="data:image/png;base64,' in page
    assert page.index("<h3>Unemployment rate</h3>") < page.index("References")
    assert "(%)" not in page, "the figures have their unit"
    assert "<td>Spain</td><td>2024</td>" in page
    (first, *_) = PdfReader(io.BytesIO(pdf(view))).pages
    assert len(first.images) == 1 and first.extract_text().count("Unemployment rate\n") == 1
    assert b"media/image1.png" in docx(view)
    assert png(one(view), titled=False) != png(one(view)), "the title stands above the picture"


def test_cells_of_the_csv_file_are_no_formulas() -> None:
    chart = one(run(COMPARED, SPAIN, ITALY, GREECE))
    lines = as_csv(chart).decode("utf-8-sig").splitlines()
    assert lines[0] == "subject,year,value,unit,as written,source"
    assert lines[1] == "Spain,2024,11.4,%,11.4%,1"
    evil = Chart("t", "", "bars", tuple(type(p)("=1+1", p.year, p.value, "@x", p.n) for p in chart.points))
    assert as_csv(evil).decode("utf-8-sig").splitlines()[1].startswith("'=1+1,")


def test_words_of_a_chart_are_no_formulas_of_mathematics() -> None:
    chart = one(run(COMPARED, SPAIN, ITALY, GREECE))
    wild = Chart("$\\frac{", "", "bars", tuple(type(p)("$x^{", p.year, p.value, "$\\q$", p.n) for p in chart.points))
    assert png(wild).startswith(b"\x89PNG")


def test_sources_are_numbered_by_first_use_in_the_report_and_its_files() -> None:
    view = run(COMPARED + " Nothing says this [99].", SPAIN, ITALY, GREECE)
    shown = by_first_use(view)
    assert "11.4% in 2024 [1]. The unemployment rate of Italy was 6.8% in 2024 [2]." in shown.report
    assert [(source.n, source.title) for source in shown.cited_sources] == [
        (1, "Spain · Economy"),
        (2, "Italy · Economy"),
        (3, "Greece · Economy"),
    ]
    assert [citation.n for citation in shown.citations] == [1, 2, 3, 4]
    assert by_first_use(shown) == shown
    assert "[1] Spain · Economy" in markdown(view)
    assert view.report == COMPARED + " Nothing says this [99].", "the run keeps its own numbers"


def test_code_and_years_in_brackets_keep_their_numbers() -> None:
    view = RunView(
        report="`a[7]` is code, [1990] a year [7].",
        citations=(Citation(7, "x", "supported"),),
        sources={7: [Source(7, "u", "t", "q")]},
    )
    assert numbering(view) == {7: 1}
    assert renumbered(view.report, numbering(view)) == "`a[7]` is code, [1990] a year [1]."
