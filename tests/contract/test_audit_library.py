"""An audit beside the library: reports that name its documents, in whatever words, and reports that name nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import research
from research import audit
from research.config.settings import load
from research.events.view import RunView
from research.exports import FORMATS
from research.workbench.workbench import Workbench

QUESTIONS = {"en": "What is the median age in Kenya?", "zh": "肯尼亚的人口是多少？"}


@pytest.fixture
def bench(home: Path) -> Workbench:
    return Workbench(load(home=home))


def verdicts(view: RunView) -> list[str]:
    return [each.verdict for each in view.statements.values()]


@pytest.mark.parametrize("language", QUESTIONS)
@pytest.mark.parametrize("kind", ["md", "html", "docx", "pdf"])
def test_our_own_export_is_checked_without_an_unresolved_reference(
    language: str, kind: str, bench: Workbench, tmp_path: Path
) -> None:
    view = research.run(QUESTIONS[language], workbench=bench)
    file = tmp_path / f"report.{kind}"
    file.write_bytes(FORMATS[kind].make(view, ()))
    checked = audit(file, workbench=bench)
    assert [(each.state, each.found_title) for each in checked.audited.values()] == [
        ("reachable", "Kenya · People and Society")
    ]
    assert "supported" in verdicts(checked) and "not_checkable" not in verdicts(checked)
    said = "\n".join(each.text for each in checked.statements.values() if each.verdict == "supported")
    everything = "\n".join(each.text for each in checked.statements.values())
    assert "✓" not in said and not re.search(
        "tokens:|Recipe:|配方|citations checked|条陈述|Page 1|第 1 页|Subject Year", everything
    )


@pytest.mark.usefixtures("own_library")
def test_a_file_of_the_library_is_found_by_the_name_that_an_export_gives_it(bench: Workbench, tmp_path: Path) -> None:
    folder = tmp_path / "harbour"
    folder.mkdir()
    (folder / "notes.md").write_text("# Hamburg\n\nHamburg moved 8 million boxes in 2023.", "utf-8")
    report = "Hamburg moved 8 million boxes in 2023 [1].\n\n## References\n\n[1] Hamburg (harbour/notes.md)."
    view = audit(report, sources=[folder], workbench=bench)
    assert [each.state for each in view.audited.values()] == ["reachable"]
    assert verdicts(view) == ["supported"]


@pytest.mark.usefixtures("own_library")
@pytest.mark.parametrize("name", ["policy.csv", "policy.csv, row 2", "制度（policy.csv）"])
def test_a_document_is_taken_by_its_file_name(name: str, bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "policy.csv").write_text("office,desks\nVienna,12\nVigo,9\n", "utf-8")
    view = audit(f"Vienna has 12 desks [1].\n\n## References\n\n[1] {name}", sources=[tmp_path], workbench=bench)
    assert [each.state for each in view.audited.values()] == ["reachable"]


@pytest.mark.parametrize(
    "name",
    [
        "Norway, CIA World Factbook",
        "CIA World Factbook: Norway, 2025",
        "Norway, The World Factbook, CIA",
        "CIA World Factbook (2024), Norway",
        "https://www.cia.gov/the-world-factbook/countries/norway/",
        "Norway – The World Factbook. https://www.cia.gov/the-world-factbook/countries/norway/#economy",
        "挪威，CIA 世界概况",
        "挪威，世界概况，中央情报局",
    ],
)
def test_a_reference_to_a_whole_country_is_the_sections_that_decide_its_statements(name: str, bench: Workbench) -> None:
    report = (
        "Norway's life expectancy at birth is 82.9 years [1]. Norway's coastline is 5,148 km [1].\n\n"
        f"## References\n\n[1] {name}"
    )
    view = audit(report, workbench=bench)
    assert [each.state for each in view.audited.values()] == ["reachable"]
    assert verdicts(view) == ["supported", "contradicted"]


def test_statements_without_a_source_are_looked_for_and_marked_as_found(bench: Workbench) -> None:
    view = audit("Egypt has 112,870,457 inhabitants. The flower of Egypt is the Lotus of Cairo.", workbench=bench)
    assert verdicts(view) == ["supported", "no_source"]
    found, unknown = view.statements.values()
    assert found.reason == "found in “Egypt · People and Society”"
    assert view.report.count("judged by sources found for them: 1") == 1
    assert found.reason.capitalize()[:5] in view.report and unknown.reason


@pytest.mark.parametrize(
    "text", ["Its median age is 40.8 years.", "The median age is 40.8 years.", "年龄中位数为40.8岁。"]
)
def test_a_statement_that_does_not_say_of_whom_gets_no_tick_from_any_country(text: str, bench: Workbench) -> None:
    assert set(verdicts(audit(f"# Ages\n\n{text}", workbench=bench))) <= {"no_source"}


def test_rows_items_and_paragraphs_are_judged_each_in_its_own_words(bench: Workbench) -> None:
    report = (
        "| Country | Population | Source |\n|---|---|---|\n| Kenya | 55,751,717 | [1] |\n| Ghana | 95,336,133 | [2] |\n\n"
        "- Kenya's coastline is 536 km [1].\n- Ghana's coastline is 1,539 km [2].\n\n"
        "## Ages\n\nThe median age of Kenya is 21.5 years [1].\n\n"
        "## References\n\n[1] Kenya, CIA World Factbook\n[2] Ghana, CIA World Factbook"
    )
    found = [(each.text, each.verdict) for each in audit(report, workbench=bench).statements.values()]
    assert found == [
        ("Kenya | 55,751,717", "supported"),
        ("Ghana | 95,336,133", "contradicted"),
        ("Kenya's coastline is 536 km.", "supported"),
        ("Ghana's coastline is 1,539 km.", "contradicted"),
        ("The median age of Kenya is 21.5 years.", "supported"),
    ]


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (
            "The capital of Argentina is Cordoba. The capital of Argentina is Buenos Aires.",
            ["contradicted", "supported"],
        ),
        ("About 340 million people live in Brazil. About 220 million do.", ["contradicted"]),
        (
            "Life expectancy in Japan is about 85 years. Life expectancy in Japan is about 79 years.",
            ["supported", "contradicted"],
        ),
        ("越南的首都是河内。肯尼亚的首都是河内。", ["supported", "contradicted"]),
        ("The capital of Kenya is not Nairobi. Kenya is the capital of Nairobi.", ["contradicted", "no_source"]),
    ],
)
def test_what_the_library_has_under_a_label_confirms_or_refutes(
    report: str, expected: list[str], bench: Workbench
) -> None:
    assert verdicts(audit(report, workbench=bench))[: len(expected)] == expected


def test_every_sentence_that_states_something_is_counted(bench: Workbench) -> None:
    report = (
        "Notes on two neighbours\n\nOslo is the capital of Norway. What next? The mill is old.\n\n"
        "- Trade rests on timber\n- The rivers freeze in winter.\n\n"
        "| Country | Speech |\n|---|---|\n| Norway | Sami |\n\nTwo more words:\n\n- Hardly anyone farms there."
    )
    view = audit(report, workbench=bench)
    assert [each.text for each in view.statements.values()] == [
        "Oslo is the capital of Norway.",
        "The mill is old.",
        "Trade rests on timber",
        "The rivers freeze in winter.",
        "Norway | Sami",
        "Hardly anyone farms there.",
    ]
    assert "6 statements: 1 confirmed, 5 undecided." in view.report
    assert "## Undecided (5)\n\n- ? The mill is old. – *cites no source*." in view.report, "one sign of a bullet"


def test_the_figure_of_the_source_does_not_take_the_place_of_a_limit(bench: Workbench) -> None:
    view = audit("The unemployment rate of France was below 6 percent in 2024.", workbench=bench)
    (each,) = view.statements.values()
    assert each.verdict == "contradicted" and each.correction.startswith("the source says: “Unemployment rate 2024: ")


def test_the_record_has_no_section_whose_statements_are_all_above(bench: Workbench) -> None:
    report = audit("Germany borders Spain.\n\nOslo is the capital of Norway.", workbench=bench).report
    assert "## Fix first" in report and "## Confirmed (1)" in report and "## Wrong" not in report


def test_the_record_says_how_many_statements_were_not_looked_for(bench: Workbench) -> None:
    report = "\n\n".join(f"The old mill of Alder Creek ground {n} tonnes of oats." for n in range(1_000, 1_103))
    view = audit(report, workbench=bench)
    assert "3 statements were not looked for: at most 100 are" in view.report


@pytest.mark.parametrize(
    ("statement", "searches"),
    [
        ("Oslo is the capital of Norway. Oslo is the capital of Norway.", ["Oslo capital", "Norway capital"]),
        ("Brazil is smaller in area than Argentina.", ["Brazil area", "Argentina area"]),
        ("The United States is larger than Brazil.", ["United States Area - comparative", "Brazil Area - comparative"]),
        ("巴西的面积比阿根廷小。", ["Brazil Area, total", "Argentina Area, total"]),
        ("Trade rests on timber.", ["Trade rests on timber."]),
        ("Norway's coastline is 5,148 km [1].\n\n## References\n\n[1] Norway, CIA World Factbook",
         ["Norway", "Norway's coastline is 5,148 km. Coastline"]),
    ],
)  # fmt: skip
def test_a_statement_is_looked_for_in_words_that_a_person_would_type(
    statement: str, searches: list[str], bench: Workbench
) -> None:
    calls = [call for each in audit(statement, workbench=bench).rounds for call in each.calls]
    found = [each.call.arguments["query"] for each in calls if "query" in each.call.arguments]
    assert found == searches, "each once"


@pytest.mark.usefixtures("own_library")
@pytest.mark.parametrize(
    ("statement", "near", "first"),
    [
        ("The standard warranty of Veldra pumps is 36 months.", "alike", 0),
        ("The standard warranty of all Veldra pumps lasts 48 months.", "figure", 1),
        ("The standard warranty of Veldra pumps is not 36 months.", "", 0),
        ("A medical note is needed from the third day.", "figure", 1),
        ("The standard warranty for all Kestrel pumps is 36 months.", "name", 1),
        ("Leave is granted by the head of the team.", "", 0),
    ],
)
def test_an_open_statement_is_told_from_a_passage_that_says_nearly_the_same(
    statement: str, near: str, first: int, bench: Workbench, tmp_path: Path
) -> None:
    folder = tmp_path / "policy"
    folder.mkdir()
    said = "The standard warranty for all Veldra pumps is 36 months. A medical note is required from the fifth day on."
    (folder / "rules.md").write_text(f"# Rules\n\n{said} Leave is asked for in writing.", "utf-8")
    view = audit(statement, sources=[folder], workbench=bench)
    (each,) = view.statements.values()
    assert (each.verdict, each.near, view.report.count("Fix first")) == ("no_source", near, first), view.report


@pytest.mark.usefixtures("own_library")
@pytest.mark.parametrize(
    ("passage", "statement"),
    [
        ("The standard warranty for all Veldra pumps is 36 months.", "The warranty of Veldra pumps lasts 48 months."),
        ("水泵的标准保修期为交付之日起36个月。", "水泵保修48个月。"),
    ],
)
def test_an_open_statement_is_shown_beside_the_closest_passage_of_ones_own_documents(
    passage: str, statement: str, bench: Workbench, tmp_path: Path
) -> None:
    folder = tmp_path / "policy"
    folder.mkdir()
    (folder / "warranty.md").write_text(f"# Returns\n\nCall first. {passage} Keep the box.", "utf-8")
    (each,) = (view := audit(statement, sources=[folder], workbench=bench)).statements.values()
    assert each.verdict == "no_source" and f"“{passage}”" in each.reason and passage in view.report


@pytest.mark.parametrize(
    ("statement", "passage"),
    [
        ("France borders Poland.", "Geography”: “Land boundaries, border countries"),
        ("France might border Germany.", "Geography”: “Land boundaries, border countries"),
        ("法国与波兰接壤。", "Geography”：“Land boundaries, border countries"),
        ("蒙古的人口比新加坡多一倍。", "People and Society”：“Population, total"),
        ("Germany won the World Cup last year.", ""),
    ],
)
def test_the_closest_passage_has_the_rare_words_of_an_open_statement(
    statement: str, passage: str, bench: Workbench
) -> None:
    (each,) = audit(statement, workbench=bench).statements.values()
    assert passage in each.reason and bool(passage) == ("“" in each.reason), each.reason


@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ("Mongolia covers about 1,564,116 square kilometres.", "supported"),
        ("Mongolia covers about 1,264,116 square kilometres.", "contradicted"),
        ("Switzerland borders five countries: Germany, France, Italy, Austria and Liechtenstein.", "supported"),
        ("Switzerland borders four countries: Germany, France, Italy and Belgium.", "contradicted"),
        ("Chile's total area is 756,102 square kilometers.", "supported"),  # not that of its major urban areas
        ("Austria is home to 9,174,390 people.", "supported"),
        ("Kenya has five neighbours.", "supported"),
        ("Kenya has seven neighbours.", "contradicted"),
        ("Morocco has three neighbours.", "no_source"),  # its list has an item of two parts
        ("Switzerland borders four countries.", "no_source"),  # the list may have territories
        ("Fewer than 100 million people live in Ethiopia.", "contradicted"),
        ("Egypt's inflation rate in 2024 was below 30 percent.", "supported"),
        ("France has an unemployment rate above 7 percent.", "supported"),
        ("France has an unemployment rate below 6 percent.", "contradicted"),
        ("The unemployment rate of France was below 6 percent.", "no_source"),  # in some year
        ("法国2024年的失业率高于7%。", "supported"),
        ("法国2024年的失业率低于6%。", "contradicted"),
        ("Germany borders Poland.", "supported"),
        ("Poland and Germany share a land border.", "supported"),
        ("Germany borders Spain.", "contradicted"),
        ("Germany no longer borders Poland.", "no_source"),
        ("France borders Suriname.", "no_source"),  # by French Guiana, which the list leaves out
        ("Germany borders Poland and Spain.", "contradicted"),
        ("Germany and Spain border France.", "supported"),
        ("法国与德国接壤。", "supported"),
        ("蒙古与中国和俄罗斯接壤。", "supported"),
        ("秘鲁与阿根廷接壤。", "contradicted"),
        ("法国不与德国接壤。", "contradicted"),
        ("瑞典的面积比挪威大。", "calculated"),
        ("挪威的面积比瑞典大。", "contradicted"),
        ("日本的总面积是796,095平方公里。", "contradicted"),
        ("Germany has more people than France and Italy together.", "no_source"),
        ("Chile has fewer people than Argentina.", "calculated"),
        ("Chile has more people than Argentina.", "contradicted"),
        ("Chile has fewer old people than Argentina.", "no_source"),
    ],
)
def test_two_countries_are_neighbours_by_lists_that_are_whole_and_compared_by_their_people(
    statement: str, verdict: str, bench: Workbench
) -> None:
    assert verdicts(audit(statement, workbench=bench)) == [verdict]


@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ("Italians live longer than Germans.", "calculated"),
        ("Sweden spends a larger share of its GDP on the military than Norway.", "contradicted"),
        ("Norway has a larger population than Sweden.", "contradicted"),  # of two years, but half as many
        ("Among Chile, Peru and Colombia, Colombia is home to the most people.", "calculated"),
        ("Among Chile, Peru and Colombia, Chile is home to the most people.", "contradicted"),
        ("Iran has more than three times as many people as Saudi Arabia.", "contradicted"),
        ("Iran has more than twice as many people as Saudi Arabia.", "calculated"),
        ("China emits more than twice as much carbon dioxide as the United States.", "calculated"),
        ("中国的用电量是美国的三倍。", "contradicted"),
        ("Canada and Russia cover roughly the same area.", "contradicted"),
        ("With 12,429 km of shoreline, the United Kingdom has a longer coast than Italy.", "calculated"),
        ("With 13,429 km of shoreline, the United Kingdom has a longer coast than Italy.", "no_source"),
        ("伊朗的石油产量超过沙特阿拉伯。", "contradicted"),
        ("智利、秘鲁和阿根廷三国相比，秘鲁的海岸线最短。", "calculated"),
        ("Germany exports more to France than to Italy.", "no_source"),
        ("India has more unemployed people than China.", "no_source"),  # a rate does not tell
        ("Iran does not have more people than Iraq.", "no_source"),
    ],
)
def test_countries_are_compared_by_a_measure_in_other_words(statement: str, verdict: str, bench: Workbench) -> None:
    view = audit(statement, workbench=bench)
    (found,) = view.statements.values()
    assert found.verdict == verdict
    assert verdict == "no_source" or found.reason.count(", ") > 0 or ">" in found.reason, (
        "the figures stand side by side"
    )


SHOPS = (
    "Shop,Category,Units sold,Revenue,Opened\nQuay,Bread,310,930,2019-03-01\nQuay,Cakes,120,840,2019-03-01\n"
    "Market,Bread,450,1350,2015-06-12\nMarket,Cakes,90,630,2015-06-12\nHill,Bread,200,600,2021-01-20\n"
    "Hill,Cakes,40,280,2021-01-20\n"
)


@pytest.mark.usefixtures("own_library")
@pytest.mark.parametrize(
    ("statement", "verdict", "told"),
    [
        ("The Quay shop took 1,770 in revenue altogether.", "calculated", "1,770"),
        ("The Quay shop took 1,700 in revenue altogether.", "contradicted", "1,770"),
        ("Of all shops, Market has the highest total revenue.", "calculated", "Market"),
        ("Of all shops, Quay has the highest total revenue.", "contradicted", "Market"),
        ("Bread made up about 62 percent of revenue.", "calculated", "62.2%"),
        ("Bread and cakes made up 75 percent of revenue.", "contradicted", "100%"),
        ("Hill sold 40 units of cakes, and Quay sold 130 units of cakes.", "contradicted", "120"),
        ("Quay 店的 Revenue 合计为1,770。", "calculated", "1,770"),
        ("Apart from cakes, the Quay shop took 1,770 in revenue altogether.", "no_source", ""),
        ("The Quay shop lost 1,770 altogether.", "no_source", ""),
        ("Hill sold cakes for 40 months.", "no_source", ""),
        ("None of the shops took more than Market.", "no_source", ""),
        ("员工购买本社图书享六五折优惠，每月限额600元。", "contradicted", "七五折"),
    ],
)
def test_what_a_statement_says_of_a_spreadsheet_is_calculated(
    statement: str, verdict: str, told: str, bench: Workbench, tmp_path: Path
) -> None:
    (tmp_path / "bakery.csv").write_text(SHOPS, "utf-8")
    (tmp_path / "员工手册.md").write_text("# 员工手册\n\n员工购买本社图书享七五折优惠，每月限额600元。", "utf-8")
    checked = audit(statement, sources=[tmp_path], workbench=bench)
    (found,) = checked.statements.values()
    assert (found.verdict, told in f"{found.quote} {found.reason}") == (verdict, True), found
    cited = audit(f"{statement} [1]\n\n## References\n\n[1] bakery.csv", sources=[tmp_path], workbench=bench)
    (found,) = cited.statements.values()
    assert found.verdict in (verdict, "unverified"), found


def test_a_sentence_in_chinese_ends_with_its_own_stop(bench: Workbench) -> None:
    assert "没有原文明确证实或否定它。" in audit("古老的磨坊磨燕麦。", workbench=bench).report


@pytest.mark.usefixtures("own_library")
def test_the_record_of_a_chinese_report_is_chinese_in_its_reasons_and_its_punctuation(
    bench: Workbench, tmp_path: Path
) -> None:
    (tmp_path / "年报.md").write_text(
        "# 云岭茶厂年报\n\n净利润为742万元。质检部由林秀兰负责。厂里有两台机器。", "utf-8"
    )
    report = (
        "净利润为742万元[1]。净利润为842万元[1]。质检部由黄美玲负责[1]。厂里的机器有两台[1]。厂里有三个仓库[2]。\n\n"
        "来源：\n[1] 年报.md\n"
    )
    read = audit(report, sources=[tmp_path], workbench=bench)
    said = [each.reason for each in read.statements.values()]
    assert len(said) == 5 and not re.search("[a-z] [a-z]|; ", " ".join(said)), "every reason is Chinese"
    assert "与来源矛盾。来源的原句相同，但数字是 742万元。" in read.report and "得到证实（1）" in read.report
    alone = audit(report.split("厂里有三个")[0] + "\n\n来源：\n[1] 年报.md\n", sources=[tmp_path], workbench=bench)
    assert "1 个来源均已读取。" in alone.report


def test_a_list_without_a_heading_is_read_and_the_whole_book_is_looked_through(bench: Workbench) -> None:
    view = audit(
        "The median age in Kenya is 21.5 years [1].\n\nThe coastline of Norway is 812 km long [1].\n\n"
        "The fee is 85 euros [2].\n\n[1] CIA World Factbook\n[2] members_handbook.docx\n",
        workbench=bench,
    )
    assert [each.name for each in view.audited.values()] == ["members_handbook.docx"]
    assert verdicts(view) == ["supported", "contradicted", "not_checkable"]
