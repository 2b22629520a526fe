"""Tables as sources: the catalogue, the tool `query`, the offline model's answers, and how the citation check reads results."""

from __future__ import annotations

import re
import shutil
import threading
from pathlib import Path
from typing import Any

import fpdf
import pytest

import research
from research.agent.journal import Journal
from research.citations import check
from research.errors import ToolError
from research.evaluation.recipe_notation import candidate
from research.events.view import RunView, fold
from research.search.library.documents import Library
from research.tools.query import QueryTool
from research.types import Passage, Source
from research.workbench import presets
from research.workbench.workbench import Workbench

pytestmark = pytest.mark.examples(3)

GROWTH = "region,2023,2024\nNorth,100,120\nSouth,80,120\nWest,50,45\n"
SALES = """Region;Month;Revenue (EUR);Orders
North;Jan 2024;1.200,50;12
South;Jan 2024;900,00;9
North;Feb 2024;1.000,00;11
South;Feb 2024;1.500,25;14
Total;;4.600,75;46
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "tables"
    place.mkdir()
    (place / "growth.csv").write_text(GROWTH, "utf-8")
    (place / "sales.csv").write_text(SALES, "utf-8")
    return place


@pytest.fixture
def library(tmp_path: Path, folder: Path) -> Library:
    found = Library(tmp_path / "home")
    (tmp_path / "home").mkdir(exist_ok=True)
    found.add_folder(folder)
    return found


@pytest.fixture
def tool(library: Library) -> QueryTool:
    return QueryTool(lambda: library, [each.name for each in library.collections()])


def test_the_catalogue_lists_every_table(library: Library, folder: Path) -> None:
    growth, sales = library.tables()
    assert (growth.name, growth.columns, growth.file, growth.count) == (
        "growth",
        ("region", "y_2023", "y_2024"),
        "growth.csv",
        3,
    )
    assert sales.columns == ("region", "month", "revenue", "orders")
    assert (library.rows(sales).numbers[1], sales.table.columns[2].at) == (3, 3)
    assert library.open(f"{sales.url}#C3").title == "sales"
    (folder / "sales.csv").unlink()
    library.add_folder(folder)
    assert [each.name for each in library.tables()] == ["growth"]
    with pytest.raises(ToolError, match="the table 'sales' has changed or gone"):
        library.rows(sales)


def test_names_that_clash_or_are_words_of_sql_are_changed(tmp_path: Path, library: Library) -> None:
    other = tmp_path / "more"
    (other / "deeper").mkdir(parents=True)
    (other / "order.csv").write_text("select,a b,A-B,2024\n1,2,3,4\n", "utf-8")
    (other / "deeper" / "growth.csv").write_text(GROWTH, "utf-8")
    library.add_folder(other)
    entries = {each.name: each for each in library.tables()}
    assert set(entries) == {"growth", "sales", "order_", "growth_2"}
    assert entries["order_"].columns == ("select_", "a_b", "a_b_2", "y_2024")
    tool = QueryTool(lambda: library, [each.name for each in library.collections()])
    assert "| 1 | 2 | 3 | 4 |" in tool(sql="SELECT select_, a_b, a_b_2, y_2024 FROM order_").passages[0].quote


def test_the_tool_describes_the_tables_that_fit(tool: QueryTool) -> None:
    assert "Tables: growth (region, y_2023, y_2024); sales (region, month, revenue, orders)." in tool.spec.description
    assert tool.spec.parameters["required"] == []
    text = tool(about="orders in the North").text
    assert text.splitlines()[:5] == [
        "table sales (sales.csv, 4 rows)",
        '- region "Region": text, values: North | South',
        '- month "Month": date, 2024-01 to 2024-02',
        '- revenue "Revenue": number, EUR, 900 to 1,500.25',
        '- orders "Orders": number, 9 to 14',
    ]
    assert "note: row 6 is a total and is left out" in text


@pytest.mark.parametrize(
    "sql, title",
    [
        ("SELECT y_2024 FROM growth WHERE region = 'South'", "growth.csv › South › 2024"),
        ("SELECT y_2024 - y_2023 AS more FROM growth WHERE region = 'South'", "growth.csv › South"),
        (
            "SELECT revenue FROM sales WHERE region = 'North' AND month = '2024-02'",
            "sales.csv › North, 2024-02 › Revenue",
        ),
    ],
)
def test_the_cells_of_one_row_are_called_by_its_name_and_that_of_the_column(
    tool: QueryTool, sql: str, title: str
) -> None:
    (passage,) = tool(sql=sql).passages
    assert passage.title == title


def test_a_result_cites_the_cells_it_was_made_from(tool: QueryTool) -> None:
    found = tool(
        sql="SELECT region, SUM(revenue) AS total FROM sales WHERE orders > 10 GROUP BY region ORDER BY total DESC"
    )
    assert found.private
    (passage,) = found.passages
    assert passage.title == "sales.csv › A2:D5"
    assert re.fullmatch(r"library://tables-\w+/sales\.csv#A2:D5-\w{8}", passage.url)
    assert passage.quote.splitlines()[1:] == [
        "| region | total |",
        "| --- | --- |",
        "| North | 2,200.5 |",
        "| South | 1,500.25 |",
        "Rows used: sales.csv › A2:D5 (3 rows)",
        "| row | Region | Revenue (EUR) | Orders |",
        "| --- | --- | --- | --- |",
        "| 2 | North | 1,200.5 | 12 |",
        "| 4 | North | 1,000 | 11 |",
        "| 5 | South | 1,500.25 | 14 |",
    ]


def test_two_tables_are_joined_and_both_are_cited(tool: QueryTool) -> None:
    sql = "SELECT g.region, g.y_2024, SUM(s.orders) FROM growth g JOIN sales s ON s.region = g.region GROUP BY g.region"
    assert {passage.title.partition(" › ")[0] for passage in tool(sql=sql).passages} == {"growth.csv", "sales.csv"}


def test_without_a_table_the_tool_says_so(tmp_path: Path) -> None:
    empty = QueryTool(lambda: Library(tmp_path), [])
    assert empty.spec.description.endswith("The library has no table yet.")
    assert "add a folder" in empty(about="sales").text


def test_the_tool_is_offered_where_there_is_a_table_to_query(
    bench: Workbench, own_library: Path, folder: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Notes\n\nNo table here.", "utf-8")

    def chosen(**choices: Any) -> tuple[str, ...]:
        return bench.recipe(**choices).tools

    default = ("search", "visit", "python")
    assert chosen() == default
    for place in (notes, folder):
        bench.prepare((str(place),), lambda *_: None)
    assert chosen(folders=[notes]) == default
    assert chosen(folders=[folder]) == chosen() == (*default, "query")
    assert chosen(search=("web",)) == default
    assert chosen(tools=default) == default  # chosen, or those of an earlier run
    assert chosen(tools=("query",), folders=[]) == ("query",)  # the Factbook's table, for a user who asks for the tool
    offered = bench.context_for(bench.recipe(), Journal(), threading.Event()).tools.specs
    assert [each.name for each in offered] == ["search", "visit", "query", "python"]


def test_a_fork_and_an_evaluation_keep_their_tools(bench: Workbench, own_library: Path, folder: Path) -> None:
    before = bench.recipe(model="extractive")
    measured = candidate(bench, "react/full").key
    bench.prepare((str(folder),), lambda *_: None)
    assert bench.recipe(**{**presets.of(before).arguments(), "model": "extractive"}).tools == before.tools
    assert candidate(bench, "react/full", folders=()).key == measured


# -- the offline model ---------------------------------------------------------------------------------------------------


def asked(bench: Workbench, folder: Path, question: str, **recipe: object) -> RunView:
    bench.prepare((str(folder),), lambda *_: None)
    return research.run(question, workbench=bench, model="extractive", folders=[folder], search=("folders",), **recipe)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("Which region grew fastest?", "**South** has the highest growth of the figures: **50%** (40), from 80 in 2023 to 120 in 2024"),
        ("哪个地区增长最快？", "**South**的数值增幅最高：**50%**（40），从2023年的80到2024年的120"),
        ("Which region had the highest revenue in February 2024?", "**South** has the highest Revenue in February 2024: **1,500.25 EUR**"),
        ("What was the total revenue of the North?", "The total Revenue for North adds up to **2,200.5 EUR**"),
        ("How many orders came from the South in January 2024?", "The total Orders for South in January 2024 adds up to **9**"),
    ],
)  # fmt: skip
def test_the_offline_model_answers_from_a_table(
    bench: Workbench, own_library: Path, folder: Path, question: str, start: str
) -> None:
    if "grew" in question or "增长" in question:
        (folder / "sales.csv").unlink()  # both tables have regions that grew
    view = asked(bench, folder, question)
    assert view.answer.startswith(start)
    assert view.outcome == "answered", view.parts
    assert {each.status for each in view.citations} <= {"supported", "calculated"}
    assert all(" › " in each.quote for each in view.citations)


TABLES = Path(__file__).parents[1] / "data" / "tables"
LEAGUE = TABLES / "fresh" / "league.csv"


def only(folder: Path, table: Path) -> Path:
    """Return the folder with this table alone."""
    for file in folder.iterdir():
        file.unlink()
    return Path(shutil.copy(table, folder)).parent


@pytest.mark.parametrize("question", ["Which region grew fastest?", "哪个地区的销售额增长最快？"])
def test_one_figure_by_year_is_what_grew(
    bench: Workbench, own_library: Path, folder: Path, tmp_path: Path, question: str
) -> None:
    (tmp_path / "sales.csv").write_text(
        "region,year,sales\nNorth,2022,120\nNorth,2023,150\nSouth,2022,90\nSouth,2023,130\n", "utf-8"
    )
    view = asked(bench, only(folder, tmp_path / "sales.csv"), question)
    assert view.answer.startswith("**South**")
    assert "**44.44%** (40)" in view.answer or "**44.44%**（40）" in view.answer
    assert view.outcome == "answered"


@pytest.mark.parametrize(
    ("file", "question", "start"),
    [
        ("unseen/marathon.csv", "Which runner is the oldest?", "**Jan de Wit** has the highest Age: **45**"),
        ("unseen/marathon.csv", "Who finished fastest among the women?", "**Lucy Chebet** has the lowest Finish"),
        ("unseen/marathon.csv", "Which country has the most runners?", "**France, Kenya** share the highest number of rows"),
        ("unseen/bakery.csv", "Which products have a unit price above 500?", "**None** (0 values of product where"),
        ("unseen/rainfall.csv", "How many stations are above 200 metres?", "**2** different values of station"),
        ("unseen/bakery.csv", "How many orders have not been paid?", "**3** rows"),
        ("unseen/bakery.csv", "How many croissants did Hotel Astra order?", "The total quantity for Croissant and Hotel Astra"),
        ("unseen3/rivers.csv", "How long is the Ghiri?", "Ghiri: length **3,390 km**"),
        ("unseen3/restaurant_inspections.csv", "Which restaurants are in Northfield?", "Restaurant for Northfield"),
        ("unseen3/subscriptions.csv", "What was the average monthly revenue in Chile?", "The average revenue for"),
        ("unseen4/图书馆借阅.csv", "科技类有几本书？", "类别为科技的共有**2**行"),
        ("unseen4/图书馆借阅.csv", "各类别的馆藏数量一共是多少？", "馆藏数量合计为"),
        ("unseen4/图书馆借阅.csv", "各类别馆藏数量占比", "各类别的馆藏数量占比：历史 8.57%、文学 25.71%"),
        ("unseen/bakery.csv", "Which product has the largest share of the quantity?", "**Baguette** has the highest share"),
        ("files/payroll.csv", "Who has been with us the longest?", "**Haddad** has the earliest Start date: **23 June"),
        ("files/payroll.csv", "What share of the salaries did Sales make up?", "$288,900 of $963,100, which is **30%**"),
    ],
)  # fmt: skip
def test_words_mean_columns_rows_and_quantities(
    bench: Workbench, own_library: Path, folder: Path, file: str, question: str, start: str
) -> None:
    view = asked(bench, only(folder, TABLES / file), question)
    assert view.answer.startswith(start)
    assert view.outcome == "answered", view.parts


SHOPS = """shop,month,units,takings_eur,budget_eur
Mill Lane,2026-01,40,320,400
Mill Lane,2026-02,35,500,410
Quayside,2026-01,60,610,500
Quayside,2026-02,20,180,150
"""
DEPARTMENTS = "部门,受访人数,满意人数,不满意人数\n客服部,80,62,18\n研发部,120,101,19\n"


@pytest.fixture
def shops(folder: Path) -> Path:
    for file in folder.iterdir():
        file.unlink()
    (folder / "sales.csv").write_text(SHOPS, "utf-8")
    (folder / "opinions.csv").write_text(DEPARTMENTS, "utf-8")
    return folder


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("Which shop sold the most units in total?", "**Quayside** has the highest total units: **80** [1]"),
        ("What is the total of takings_eur by shop in sales.csv?", "Total takings, for each shop: Mill Lane 820 EUR, Quayside 790 EUR"),
        ("What were the takings of Quayside in February 2026?", "Quayside, February 2026: takings **180 EUR** [1]"),
        ("Which shop has takings lower than its budget in January 2026?", "Shop in January 2026 where takings below budget: **Mill Lane** [1]"),
        ("Which shops had takings higher than their budget?", "Shop where takings above budget, 2 in total: **Mill Lane, Quayside** [1]"),
        ("Which shop has the highest takings per unit?", "**Mill Lane** has the highest takings per unit: **10.93 EUR** [1]"),
        ("What were the takings per unit of Quayside?", "The takings per unit for Quayside is **9.88 EUR** [1]"),
        ("客服部有多少人不满意？", "客服部：不满意人数为**18**"),
    ],
)  # fmt: skip
def test_a_plain_question_about_a_table_is_answered_and_checked(
    bench: Workbench, own_library: Path, shops: Path, question: str, start: str
) -> None:
    view = asked(bench, shops, question)
    assert view.answer.startswith(start)
    assert view.outcome == "answered", view.parts
    assert {each.status for each in view.citations} <= {"supported", "calculated"}


def test_each_part_of_a_question_is_answered_from_its_table(bench: Workbench, own_library: Path, shops: Path) -> None:
    (shops / "staff.csv").write_text("shop,staff\nMill Lane,7\nQuayside,9\n", "utf-8")
    view = asked(bench, shops, "What are the staff of Quayside and what were its takings in January 2026?")
    assert "Quayside: staff **9** [1]" in view.answer
    assert "Quayside, January 2026: takings **610 EUR** [2]" in view.answer
    assert view.outcome == "answered", view.parts
    both = asked(bench, shops, "研发部的满意人数和不满意人数分别是多少？")
    assert "**101**" in both.answer
    assert "**19**" in both.answer


def test_a_conversation_about_a_table_goes_on(bench: Workbench, own_library: Path, shops: Path) -> None:
    run = asked(bench, shops, "Which shop had the highest takings in January 2026?").run
    for question, short in (
        ("And the lowest?", "Mill Lane"),
        ("What was its budget?", "810 EUR"),
        ("And in February 2026?", "410 EUR"),
    ):
        view = fold(bench.engine.follow_up(run, question, here=True).events())
        assert (view.outcome, view.short) == ("answered", short)
        run = view.run


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("When does the lease of Quayside end?", "31 March 2027"),
        ("Who manages Mill Lane?", "Ada Byrne"),
        ("Where is Quayside?", "Leith"),
        ("How many people work at Quayside?", "9"),
        ("What is the rent of Mill Lane each year?", "48,000 EUR"),
        ("How much did Quayside overpay in rent?", ""),
    ],
)
def test_the_cell_of_one_row_is_read(
    bench: Workbench, own_library: Path, shops: Path, question: str, short: str
) -> None:
    (shops / "leases.csv").write_text(
        "shop,town,manager,headcount,annual_rent_eur,lease_ends\n"
        "Mill Lane,Perth,Ada Byrne,7,48000,2026-09-30\nQuayside,Leith,Tom Reid,9,52000,2027-03-31\n",
        "utf-8",
    )
    assert asked(bench, shops, question).short == short


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("Which store had the highest revenue in Q2?", "Altona Nord"),
        ("What was the total revenue of all stores in Q1?", "115 kEUR"),
        ("Which store has the largest revenue in Q1 and who manages it?", "Kiel Hafen; Tom Reid"),
        ("How many people work in IT?", "29"),
        ("What condition is the reach truck in?", "Needs repair"),
        ("Which quarter had the highest fees?", "Q2"),
        ("Which store lost revenue?", ""),
    ],
)
def test_quarters_parts_of_names_and_capitals_are_read(
    bench: Workbench, own_library: Path, shops: Path, question: str, short: str
) -> None:
    (shops / "stores.csv").write_text(
        "Store,Manager,Q1 revenue (kEUR),Q2 revenue (kEUR)\nAltona Nord,Ada Byrne,50,80\nKiel Hafen,Tom Reid,65,60\n",
        "utf-8",
    )
    (shops / "fees.csv").write_text("agent,quarter,fees\nHolt,Q1,30\nHolt,Q2,70\nReis,Q1,35\nReis,Q2,20\n", "utf-8")
    (shops / "people.csv").write_text("Department,Headcount\nIT,29\nSales,91\n", "utf-8")
    (shops / "register.csv").write_text(
        "Asset,Condition\nReach truck Jungheinrich,Needs repair\nCold store unit Viessmann,Good\n", "utf-8"
    )
    for n in range(4):  # more tables than one description has
        (shops / f"visits{n}.csv").write_text(f"city,visits\nCity{n},{n}\n", "utf-8")
    assert asked(bench, shops, question).short == short


@pytest.mark.parametrize(
    ("question", "start"),
    [
        (
            "How much did we spend on each carrier, February to April?",
            "Total Cost from February to April, for each Carrier: Gull 200 EUR, Kite 800 EUR",
        ),
        (
            "By how much did the cost fall from April to May 2025?",
            "The total Cost changed by **-100 EUR** (-20%), from 500 EUR in April",
        ),
        ("Cost in May 2024?", "No"),
        ("What share of the amount went to German customers?", "450 EUR of 900 EUR, which is **50%** for Deutschland"),
        ("How many orders are not paid?", "**2**"),
        ("Which customer brought the most money?", "**Blom** has the highest total Amount: **450 EUR**"),
        ("哪些订单是退货？", "退货，订单编号共2个：**D1、D3**"),
        ("哪个月费用最多？", "**5月**的费用最高：**40 元**"),
        ("3月到5月的费用合计是多少？", "3月至5月，费用合计为**90 元**"),
    ],
)
def test_months_countries_money_and_empty_cells_are_read(
    bench: Workbench, own_library: Path, tmp_path: Path, question: str, start: str
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    months = "January,Gull,100\nFebruary,Gull,200\nMarch,Kite,300\nApril,Kite,500\nMay,Gull,400\n"
    (own / "freight_2025.csv").write_text(f"Month,Carrier,Cost (EUR)\n{months}", "utf-8")
    bought = "1,Blom,Deutschland,450,2025-02-01\n2,Ruiz,España,200,\n3,Ruiz,España,150,\n4,Sá,Portugal,100,2025-03-01\n"
    (own / "orders.csv").write_text(f"order,customer,land,Amount (EUR),Paid on\n{bought}", "utf-8")
    (own / "订单.csv").write_text(
        "订单编号,月份,费用（元）,结果\nD1,2,10,退货\nD2,3,20,合格\nD3,4,30,退货\nD4,5,40,合格\n", "utf-8"
    )
    assert start in asked(bench, own, question).answer.split("\n\n")[0]


BATHS = """Freibad;Ortsteil;Besucher;Bademeister;Sprungturm
Lindenbad;Nordheim;48210;7;ja
Moosbad;Nordheim;17530;3;nein
Seebad;Südstadt;31400;5;ja
"""
DEPOT = """车牌,所属站点,行驶里程(公里),2023年维修费用,空调
甲101号车牌,东站,48200,8300,有
甲102号车牌,东站,61750,12450,无
甲103号车牌,南站,35400,4100,无
"""


@pytest.fixture
def abroad(tmp_path: Path) -> Path:
    place = tmp_path / "abroad"
    place.mkdir()
    months = "".join(f"2023-{n:02},{40 + n},{n % 3},{20 - n}.5\n" for n in range(1, 13))
    (place / "Freibaeder.csv").write_text(BATHS, "utf-8")
    (place / "harbour.csv").write_text(f"month,ships,fog_days,mean_temp_c\n{months}", "utf-8")
    (place / "车队.csv").write_text(DEPOT, "utf-8")
    return place


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How many visitors did Moosbad have?", "**17,530**"),  # heads in another language
        ("Which district has the most visitors?", "**Nordheim**"),
        ("What was the revenue of Moosbad?", ""),
        ("Does Moosbad have a Sprungturm?", "**nein**"),  # columns of yes and no
        ("甲101号有空调吗？", "**有**"),  # a value without the word of its head
        ("东站的维修费用合计", "**20,750**"),  # parts of a head with a year
        ("甲101号和甲102号，行驶里程相差多少公里？", "**13,550 公里**"),  # the operation and the unit
        ("2023年下半年一共有多少艘船？", "**297**"),
        ("ships in the first half of 2023", "**261**"),
        ("Coldest month?", "December 2023"),  # which month, not how cold
        ("mean temperature in the coldest month", "**8.5**"),
        ("how many ships in the coldest month", "**52**"),
        ("total ships in the busiest quarter", ""),  # a condition that no column tells
        ("How many fog days in the busiest month?", ""),
        ("In how many months was there no fog?", "**4**"),
        ("Number of ships in winter (Dec, Jan, Feb)", "**135**"),
    ],
)
def test_what_is_asked_in_other_words_than_the_heads(
    bench: Workbench, own_library: Path, abroad: Path, question: str, said: str
) -> None:
    view = asked(bench, abroad, question)
    first = view.answer.split("\n\n")[0]
    assert said in first if said else view.outcome != "answered", first


def test_a_misspelt_column_is_understood_and_named(bench: Workbench, own_library: Path, shops: Path) -> None:
    view = asked(bench, shops, "What was the budegt of Quayside in January 2026?")
    assert (view.outcome, view.short) == ("answered", "500 EUR")
    assert "“budegt” was understood as budget." in view.answer


def test_a_table_of_a_pdf_is_queried(bench: Workbench, own_library: Path, folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    made = fpdf.FPDF()
    made.add_page()
    made.set_font("Helvetica", size=11)
    made.multi_cell(0, text="Table 1: Revenue by branch, EUR million", new_x="LMARGIN", new_y="NEXT")
    with made.table() as table:
        for cells in (
            ("Branch", "Revenue 2024", "Revenue 2025"),
            ("Ferries", "12.5", "15.0"),
            ("Cranes", "9.1", "-2.6"),
        ):
            row = table.row()
            for cell in cells:
                row.cell(cell)
    made.output(str(folder / "report.pdf"))
    view = asked(bench, folder, "How much did the revenue of Ferries grow from 2024 to 2025?")
    assert "**2.5 million EUR** (20%), from 12.5 million EUR in 2024 to 15 million EUR in 2025 [1]" in view.answer
    assert view.outcome == "answered", view.parts
    assert {each.status for each in view.citations} == {"calculated"}
    lost = asked(bench, folder, "What was the revenue of Cranes in 2025?")
    assert lost.answer.startswith("Cranes: Revenue 2025 **-2.6 million EUR** [1]")


def test_a_row_is_not_cited_for_another_month(library: Library) -> None:
    sql = "SELECT region, month, orders FROM sales WHERE month BETWEEN '2024-01' AND '2024-02' AND region = 'North'"
    (passage,) = QueryTool(lambda: library, [each.name for each in library.collections()])(sql=sql).passages
    source = Source(1, passage.url, passage.title, passage.quote)
    assert [each.status for each in check("North, January 2024: Orders 12 [1].", [source])] == ["supported"]
    assert [each.status for each in check("North, February 2024: Orders 12 [1].", [source])] == ["unverified"]


@pytest.mark.parametrize(
    ("file", "question"),
    [
        ("unseen/rainfall.csv", "Which station is the oldest?"),
        ("files/payroll.csv", "Who has the longest working week?"),
        ("unseen/bakery.csv", "How many orders are out of stock?"),
        ("unseen/rainfall.csv", "How hot was it at Saltmarsh in 2022?"),
        ("unseen/marathon.csv", "What was the time of Hanna Virtanen?"),
        ("unseen3/restaurant_inspections.csv", "Who closed El Faro?"),
        ("unseen3/subscriptions.csv", "How many subscribers does Chile have?"),
        ("unseen4/school_trips.csv", "How many pupils stayed at home?"),
        ("unseen4/energy_use.csv", "How much electricity did the Town Hall use in 2021?"),
        ("unseen4/energy_use.csv", "When was the Town Hall heated with electricity?"),
    ],
)
def test_what_is_nearly_in_a_table_is_not_answered_from_it(
    bench: Workbench, own_library: Path, folder: Path, file: str, question: str
) -> None:
    assert asked(bench, only(folder, TABLES / file), question).outcome in ("no_evidence", "needs_input")


@pytest.mark.parametrize(
    "question",
    ["Which region had the highest profit?", "What was the revenue of Norway?"],
)
def test_what_no_table_has_is_not_answered(bench: Workbench, own_library: Path, folder: Path, question: str) -> None:
    view = asked(bench, folder, question)
    assert view.outcome == "no_evidence"
    assert ("A table may have it: sales.csv (Region, Month, Revenue, Orders)" in view.report) is ("highest" in question)


def test_a_column_of_one_table_is_not_replaced_by_one_of_another(
    bench: Workbench, own_library: Path, folder: Path
) -> None:
    (folder / "growth.csv").write_text("region,quarter,revenue\nNorth,Q1,120\nSouth,Q1,90\n", "utf-8")
    (folder / "sales.csv").write_text("name,start,salary\nAnna,2019-03-01,72000\nBo,2021-08-15,65000\n", "utf-8")
    assert asked(bench, folder, "In which month was revenue highest?").outcome == "no_evidence"


def test_members_that_pass_a_limit_are_counted(bench: Workbench, own_library: Path, folder: Path) -> None:
    rows = "东馆,2022,90\n东馆,2023,80\n西馆,2022,50\n西馆,2023,95\n南馆,2022,85\n南馆,2023,70\n"
    (folder / "growth.csv").write_text(f"分馆,年份,借阅量\n{rows}", "utf-8")
    view = asked(bench, folder, "2022年借阅量超过80的分馆有几个？")
    assert "分馆共有**2**个不同的值" in view.answer and view.outcome == "answered"


def test_no_country_answers_beside_own_documents_unless_it_is_named(
    bench: Workbench, own_library: Path, folder: Path
) -> None:
    (folder / "club.csv").write_text("id,joined\nA1,2021-03-05\nA2,2022-04-01\n", "utf-8")
    bench.prepare((str(folder),), lambda *_: None)
    both = {"workbench": bench, "model": "extractive", "folders": [folder], "search": ("library", "folders")}
    assert research.run("How many members joined in May 2022?", **both).outcome == "no_evidence"  # Sweden did
    assert research.run("What is the capital of Sweden?", **both).short == "Stockholm"


def test_a_table_in_other_words_than_the_question_is_named(bench: Workbench, own_library: Path, folder: Path) -> None:
    (folder / "growth.csv").write_text("orchard,year,tonnes\nHillside,2024,140\nMeadow,2024,190\n", "utf-8")
    view = asked(bench, folder, "Which orchard had the largest harvest in 2024?")
    assert view.outcome == "no_evidence"
    assert "A table may have it: growth.csv (orchard, year, tonnes). Ask" in view.report
    unlike = asked(bench, folder, "Which bridge had the largest toll in 2024?")
    assert unlike.outcome == "no_evidence" and "A table" not in unlike.report


def test_a_word_that_two_columns_share_is_asked_back(bench: Workbench, own_library: Path, folder: Path) -> None:
    view = asked(bench, only(folder, LEAGUE), "How many goals did Rangers have?")
    assert view.outcome == "needs_input"
    assert view.answer == "Which is meant: “Goals for (league.csv)” or “Goals against (league.csv)”?"
    list(bench.engine.resume(view.run, "Goals against (league.csv)", here=True).events())
    told = fold(bench.store.events(view.run))
    assert (told.outcome, told.short) == ("answered", "52")


@pytest.mark.parametrize(
    "question",
    [
        "How many red cards did Town receive?",
        "What was the away attendance of Albion?",
        "Which coach has the highest home attendance?",
        "How many clubs are not in Aldbury?",
        "Why is the home attendance of City so low?",
        "What will the home attendance of Rovers be next season?",
    ],
)
def test_a_question_that_columns_do_not_cover_is_not_answered(
    bench: Workbench, own_library: Path, folder: Path, question: str
) -> None:
    view = asked(bench, only(folder, LEAGUE), question)
    assert view.outcome == "no_evidence", view.answer


def test_two_members_of_a_column_are_compared(bench: Workbench, own_library: Path, folder: Path) -> None:
    view = asked(bench, only(folder, LEAGUE), "How much higher is the home attendance of Rovers than that of Athletic?")
    assert view.answer.startswith(
        "Home attendance: 12,450 for Rovers and 9,870 for Athletic, a difference of **2,580** [1]."
    )
    assert view.outcome == "answered"


def test_levels_of_several_times_are_not_added_up(bench: Workbench, own_library: Path, folder: Path) -> None:
    folder = only(folder, LEAGUE.with_name("waits.csv"))
    assert asked(bench, folder, "How many patients were waiting at Westerlea?").outcome == "no_evidence"
    view = asked(bench, folder, "How many patients were waiting at Westerlea in Q1 2023?")
    assert "**1,275**" in view.answer
    assert view.outcome == "answered"


def test_an_evolving_report_keeps_what_was_queried(bench: Workbench, own_library: Path, folder: Path) -> None:
    view = asked(
        bench, folder, "What was the total revenue of the North?", framework="iter_research", context="evolving"
    )
    assert "**2,200.5 EUR**" in view.answer
    assert view.outcome == "answered"


# -- the citation check --------------------------------------------------------------------------------------------------


def verdict(claim: str, passages: tuple[Passage, ...]) -> tuple[str, str]:
    (found,) = check(claim, [Source(1, each.url, each.title, each.quote) for each in passages])
    return found.status, found.reason


@pytest.mark.parametrize(
    ("claim", "status", "reason"),
    [
        ("The North had a total revenue of 2,200.5 EUR [1].", "calculated", "2,200.5 EUR: SELECT region"),
        ("In the South the total revenue was 2,400.25 EUR [1].", "calculated", "2,400.25 EUR: SELECT region"),
        ("South has the highest total revenue: 2,400.25 EUR [1].", "calculated", "2,400.25 EUR: SELECT region"),
        ("North has the highest total revenue: 2,200.5 EUR [1].", "unverified", ""),
        ("South has the lowest total revenue: 2,400.25 EUR [1].", "unverified", ""),
        ("The North had a total revenue of 2,400.25 EUR [1].", "unverified", ""),
        ("The East had a total revenue of 2,200.5 EUR [1].", "unverified", ""),
        ("The North had a total revenue of 2,999 EUR [1].", "unverified", ""),
    ],
)
def test_a_figure_that_a_query_returned_is_told_with_the_query(
    tool: QueryTool, claim: str, status: str, reason: str
) -> None:
    passages = tool(sql="SELECT region, SUM(revenue) AS total FROM sales GROUP BY region ORDER BY total DESC").passages
    found = verdict(claim, passages)
    assert found[0] == status
    assert reason in found[1]


def test_a_web_page_cannot_pass_for_a_query(tool: QueryTool) -> None:
    (passage,) = tool(sql="SELECT region, SUM(revenue) AS total FROM sales GROUP BY region").passages
    forged = Passage("https://example.org/a#A1", passage.title, passage.quote)
    assert verdict("The North had a total revenue of 2,200.5 EUR [1].", (forged,))[0] != "calculated"


def test_a_scale_in_the_unit_of_a_column_is_not_applied_twice(tmp_path: Path) -> None:
    place = tmp_path / "city"
    place.mkdir()
    (place / "budget.csv").write_text(
        "City budget;;\n(thousand euros);;\nDepartment;Year;Cost\nParks;2023;40\nRoads;2023;60\n"
    )
    library = Library(tmp_path)
    library.add_folder(place)
    tool = QueryTool(lambda: library, [str(place)])
    passages = tool(sql="SELECT SUM(cost) AS total FROM budget WHERE year = 2023").passages
    status, reason = verdict("In 2023 the cost was 100 thousand euros [1].", passages)
    assert (status, reason.startswith("100 thousand euros: SELECT SUM(cost)")) == ("calculated", True)
    assert verdict("In 2023 the cost was 100 euros [1].", passages)[0] == "unverified"


STAFF = """name,department,role,office,salary_eur
Hanne Lund,People,Head of People,Tromso,92000
Tomas Rieger,Finance,Chief Financial Officer,Vienna,124000
Mette Solberg,Sales,Account Manager,Tromso,71000
Noor El-Amin,Engineering,Firmware Engineer,Vienna,83000
Oisin Kelleher,Engineering,Test Engineer,Vienna,62000
"""
BUDGET = "Department,Budget 2025 (EUR),Actual 2025 (EUR),Budget 2026 (EUR)\nEngineering,640000,671200,720000\nSales,310000,298400,325000\nPeople,150000,163500,160000\n"


def written(folder: Path, files: dict[str, str]) -> Path:
    """Return a new folder with these files."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def company(tmp_path: Path) -> Path:
    return written(tmp_path / "company", {"staff.csv": STAFF, "budget.csv": BUDGET})


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How many people work in the Vienna office?", "**3** rows of staff.csv have office Vienna [1]."),
        ("How many employees are in the Vienna office?", "**3** rows of staff.csv have office Vienna [1]."),
        ("How many people are in the People department?", "**1** row of staff.csv has department People [1]."),
        ("How many people work in Sales in Tromso?", "**1** row of staff.csv has department Sales and office Tromso [1]."),
        ("How many people work in the Oslo office?", ""),
    ],
)  # fmt: skip
def test_people_are_counted_whatever_a_department_is_called(
    bench: Workbench, own_library: Path, company: Path, question: str, said: str
) -> None:
    view = asked(bench, company, question)
    assert view.outcome == ("answered" if said else "no_evidence")
    assert said in view.answer


def test_what_is_over_budget_in_a_year_is_told_with_the_difference(
    bench: Workbench, own_library: Path, company: Path
) -> None:
    view = asked(bench, company, "Which departments went over budget in 2025, and by how much?")
    assert "**Engineering 31,200 EUR, People 13,500 EUR**" in view.answer


PROJECTS = """project,manager,office,status,budget (EUR),spent (EUR),staff
Atlas,Nora Quinn,Dublin,open,120000,98000,6
Borealis,Tomas Weber,Berlin,open,80000,91500,4
Cobalt,Nora Quinn,Dublin,closed,45000,44000,3
Ember,Luis Prado,Lisbon,closed,150000,171000,9
"""
MONTHS = "地区,1月,2月,3月,员工人数\n华东,120,135,150,10\n华南,90,88,99,8\n华北,60,75,72,5\n西南,30,42,39,4\n"
DEVICES = "设备,部门,状态,责任人\n打印机,行政部,正常,王芳\n叉车,仓储部,维修,李强\n传送带,仓储部,维修,孙伟\n空调,信息部,报废,陈浩\n"


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    return written(tmp_path / "lists", {"projects.csv": PROJECTS, "销售.csv": MONTHS, "设备.csv": DEVICES})


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("Which projects are closed?", "Cobalt, Ember"),
        ("Who is in the Lisbon office?", "Luis Prado"),
        ("List the managers and their offices.", "3 rows"),
        ("Which projects are over budget?", "Borealis, Ember"),
        ("How much is left in the Atlas budget?", "22,000 EUR"),
        ("How much of the budget of Nora Quinn remains?", "23,000 EUR"),
        ("Which project has the most budget left?", "Atlas"),
        ("By how much did Ember exceed its budget?", "21,000 EUR"),
        ("How much higher is the budget of Atlas than that of Cobalt?", "75,000 EUR"),
        ("How many projects does Nora Quinn have, and what is the total budget?", "2; 165,000 EUR"),
        ("哪些设备的状态是维修？", "传送带、叉车"),
        ("哪些设备已经报废？", "空调"),
        ("叉车的责任人是谁？", "李强"),
        ("列出所有设备及其责任人。", "共4行"),
        ("华东占1月总销售额的比例是多少？", "40%"),
        ("华东占总销售额的比例是多少？", "40.5%"),
        ("哪个月的销售额最高？", "3月"),
        ("1月到2月的销售额一共是多少？", "640"),
        ("华东从1月到3月增长了多少？", "25%"),
        ("哪些地区3月低于2月？", "华北、西南"),
    ],
)
def test_rows_and_columns_are_named_in_one_line_and_checked(
    bench: Workbench, own_library: Path, lists: Path, question: str, short: str
) -> None:
    view = asked(bench, lists, question)
    assert (view.outcome, view.short) == ("answered", short)
    assert {each.status for each in view.citations} <= {"supported", "calculated"}


@pytest.mark.parametrize(
    "question",
    [
        "Which projects are over staff?",
        "Which projects are in the Madrid office?",
        "研发部有哪些设备？",
        "Which project manager has the most left?",
        "How many projects does Nora Quinn have left?",
    ],
)
def test_what_no_column_is_certain_to_say_is_refused(
    bench: Workbench, own_library: Path, lists: Path, question: str
) -> None:
    assert asked(bench, lists, question).outcome != "answered"


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("What was the turnover of Bergheim in 2024?", "240,000 EUR"),
        ("How many visitors did Canal have in 2024?", "15,000"),
        ("How many visitors did Canal have in 2023?", ""),
        ("What was the turnover of Altmarkt in 2023 and 2024?", ""),
        ("How many contracts does Pavel Horak manage?", "2"),
        ("In how many days must the contracts be signed?", ""),
    ],
)
def test_the_year_and_the_unit_asked_for_are_those_of_the_column(
    bench: Workbench, own_library: Path, shops: Path, question: str, short: str
) -> None:
    (shops / "stores.csv").write_text(
        "Store,Opened,Turnover 2023 (EUR),Turnover 2024 (EUR),Visitors 2024\n"
        "Altmarkt,2019,310000,325000,41000\nBergheim,2023,90000,240000,38000\nCanal,2024,,120000,15000\n",
        "utf-8",
    )
    (shops / "contracts.csv").write_text(
        "Supplier,Contract value (EUR),Manager\nNordlog,126000,Pavel Horak\nPetra,18500,Marta Olsen\nSunfab,73000,Pavel Horak\n",
        "utf-8",
    )
    assert asked(bench, shops, question).short == short


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("What is the anniversary bonus for 10 years of service?", "1,500 EUR"),
        ("How high is the anniversary bonus after 25 years?", "4,000 EUR"),
        ("What is the anniversary bonus after 7 years?", ""),
        ("What is the highest anniversary bonus?", "4,000 EUR"),
    ],
)
def test_a_row_is_found_by_the_figure_that_it_begins_with(
    bench: Workbench, own_library: Path, shops: Path, question: str, short: str
) -> None:
    (shops / "bonus.csv").write_text("Years of service,Anniversary bonus (EUR)\n5,500\n10,1500\n25,4000\n", "utf-8")
    view = asked(bench, shops, question)
    assert view.short == short
    assert not short or "Years of service 10: Anniversary bonus" in view.answer or "4,000" in view.answer


CLINIC = """visit,seen on,animal,branch,vet,weight (kg),charged (£)
V1,2024-09-02,Cat,Mill Lane,Wilk,4.1,98.5
V2,2024-09-05,Dog,Mill Lane,Okoro,31,145
V3,2024-09-09,Cat,High Street,Wilk,3.8,61
V4,2024-10-01,Dog,High Street,Wilk,12.5,88
"""
FEES = "service,dog (£),cat (£)\nConsultation,48,42\nNeutering,210,98\n"
INCOME = "income line,Jan,Feb,Mar,Apr\nSurgery,200,340,180,260\nGrooming,20,25,31,18\nDental,90,75,80,110\n"
KIT = "item,site,price paid (£),supplier\nX-ray,Mill Lane,36200,Lumivet\nScanner,Mill Lane,23800,Lumivet\nCentrifuge,High Street,1150,Hemalab\n"
ORDERS = "order,date,customer,quantity,unit price (EUR),status\nA1,2025-06-03,Lang,4,12.5,open\nA2,2025-06-20,Reiter,10,3,paid\nA3,2025-07-01,Lang,2,20,open\n"


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    tables = {"visits.csv": CLINIC, "fees.csv": FEES, "income.csv": INCOME, "kit.csv": KIT, "orders.csv": ORDERS}
    return written(tmp_path / "clinic", tables)


@pytest.mark.parametrize("name", ["24 h.csv", "select.csv"])
def test_months_are_read_whatever_their_table_is_called(
    bench: Workbench, own_library: Path, tmp_path: Path, name: str
) -> None:
    folder = written(tmp_path / "months", {name: INCOME})
    assert asked(bench, folder, "In which month was surgery highest?").short == "February"


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("How many of the September visits were cats?", "2"),  # `cat` is a column of another table
        ("Which month did surgery bring in the most?", "February"),
        ("Which income line brought in least over the four months?", "Grooming"),
        ("What was the total income in March?", "291"),
        ("How much did dental bring in from January to March?", "245"),
        ("What is the most expensive item?", "X-ray"),
        ("What is the total amount of the open orders?", "90 EUR"),  # four at 12.5 and two at 20
        ("What is the total unit price of the open orders?", ""),
        ("What did we pay altogether to Lumavet?", "£60,000"),
    ],
)
def test_months_are_rows_and_values_are_no_other_tables_columns(
    bench: Workbench, own_library: Path, clinic: Path, question: str, short: str
) -> None:
    view = asked(bench, clinic, question)
    assert (view.outcome, view.short) == ("answered" if short else "no_evidence", short)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How much was charged for cats that were castrated?", "£159.5"),
        ("What was the income from parking?", ""),
        ("How much did Wilk lose in September?", ""),
    ],
)
def test_what_a_table_says_without_one_word_is_shown_but_no_answer(
    bench: Workbench, own_library: Path, clinic: Path, question: str, said: str
) -> None:
    view = asked(bench, clinic, question)
    assert (view.outcome, view.short) == ("no_evidence", "")
    assert said in view.answer
    assert ("No table accounts for “castrated”" in view.answer) == bool(said)


BOUGHT = "supplier,material,amount (€)\nKugler,Plaster,300\nKugler,Straw,200\nSkagby,Plaster,250\nSkagby,Batch,90\nOvntek,Batch,400\n"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which material supplier got the most money?", "**Kugler**"),  # the last noun is asked for
        ("Which material got the most money?", "**Plaster**"),
    ],
)
def test_of_two_nouns_the_last_is_asked_for(
    bench: Workbench, own_library: Path, tmp_path: Path, question: str, said: str
) -> None:
    assert said in asked(bench, written(tmp_path / "bought", {"bought.csv": BOUGHT}), question).answer


YARD = (
    "boat,pontoon,length (m),shore power,arrived\nTern,Heron,8,Yes,2024-02-24\nGull,Heron,9,No,2024-03-01\n"
    "Knot,Dunlin,7,Yes,2024-03-02\nCoot,Dunlin,11,No,2024-09-01\nRuff,Heron,6,No,2024-09-02\n"
)
LINES = "income line,Jan,Feb,Mar\nDiesel sales,679,792,1087\nLaundry and showers,64,70,100\n"


@pytest.mark.parametrize(
    ("question", "said", "status"),
    [
        ("How many boats arrived after 1 March 2024?", "after 1 March 2024 has **3** rows", "calculated"),
        ("How many boats arrived on 1 September 2024?", "on 1 September 2024 has **1** row", "calculated"),
        ("How many boats arrived before 2 March?", "before 2 March has **2** rows", "calculated"),
        ("How many boats have no shore power?", "**3** rows of yard.csv have shore power No", "calculated"),
        ("What percentage of the boats have shore power?", "2 of the 5 rows", "calculated"),
        ("What share of the boats on Heron have shore power?", "1 of the 3 rows of yard.csv for Heron", "calculated"),
        ("What share of the income came from diesel?", "**91.62%**", ""),  # of a sum, not of rows
        ("In which month did we earn the most from diesel?", "**March**", "calculated"),
        ("How much did diesel earn in the first quarter?", "adds up to **2,558**", ""),  # `first` is not the lowest
        ("How much more did the laundry earn in March than in January?", "changed by **36** (56.25%)", ""),
    ],
)
def test_days_shares_of_rows_and_parts_of_names_are_read(
    bench: Workbench, own_library: Path, tmp_path: Path, question: str, said: str, status: str
) -> None:
    folder = written(tmp_path / "yard", {"yard.csv": YARD, "lines.csv": LINES})
    view = asked(bench, folder, question)
    assert said in view.answer
    assert not status or view.citations[0].status == status


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("二季度哪个蜂场出的蜜最多？", "**大竹沟**的二季度最高：**793**"),
        ("云雾顶二季度的产量比一季度多多少公斤？", "变化了**312**"),
        ("所有蜂场二季度一共产了多少公斤蜜？", "合计为**1,293**"),
        ("柳溪村一共有几户社员？", "共有**2**行"),
        ("养蜂最多的两个社员是谁？", "何秀兰 149、罗守田 72"),  # their names, not their numbers
        ("两个柳溪村社员的股金加起来是多少？", "合计为**25,000 元**"),
    ],
)
def test_quarters_households_and_people_are_read_in_chinese(
    bench: Workbench, own_library: Path, tmp_path: Path, question: str, said: str
) -> None:
    yields = "2024年各蜂场季度产蜜量(单位:公斤),,\n蜂场,一季度,二季度\n云雾顶,188,500\n大竹沟,20,793\n"
    members = "社员编号,姓名,所在村,蜂群数,股金(元)\nQ1,罗守田,柳溪村,72,20000\nQ2,彭大贵,黄泥坳,34,8000\nQ3,何秀兰,柳溪村,149,5000\n"
    folder = written(tmp_path / "bees", {"产量.csv": yields, "社员名册.csv": members})
    assert said in asked(bench, folder, question).answer


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("欠款总额是多少？", "应收账款合计为**46**"),
        ("各地区欠款是多少？", "各大区的应收账款合计：华东 40、华北 6"),
        ("三月卖了多少？", "3月，销售额合计为**70**"),
        ("营业额最高的大区是哪个？", "**华东**的销售额合计最高：**90**"),
        ("仓库A一共有多少件库存？", "A，stock合计为**36**"),
        ("成本最高的是什么？", "**saw**的unit cost最高：**890**"),
        ("哪个城市员工最多？", "**青石**的行数最高：**2**"),
        ("每个城市有多少员工？", "各城市的行数：南桥 1、青石 2"),
        ("薪水超过5000元的有几个人？", "共有**2**行"),
        ("工资最高的是谁？", "**孙江**的月薪最高"),
        ("谁卖得最多？", ""),  # no table has sellers
        ("南桥项目花多少钱？", ""),
        ("哪个产品的销量最高？", ""),  # an amount of money is no quantity
    ],
)
def test_words_of_everyday_chinese_mean_the_columns_that_are_nearest(
    bench: Workbench, own_library: Path, tmp_path: Path, question: str, said: str
) -> None:
    orders = "日期,大区,产品,销售额,应收账款\n2025-02-03,华东,橡木桌,50,40\n2025-03-05,华北,橡木桌,30,6\n2025-03-09,华东,松木柜,40,0\n"
    stock = "item,warehouse,stock,unit_cost\ndrill,A,14,320\nsaw,B,6,890\nplane,A,22,150\n"
    staff = "姓名,城市,月薪（元）\n赵鸣,青石,4200\n钱婉,南桥,5100\n孙江,青石,6300\n"
    folder = written(tmp_path / "shop", {"订单.csv": orders, "inventory.csv": stock, "员工名册.csv": staff})
    view = asked(bench, folder, question)
    assert said in view.answer
    assert view.outcome == ("answered" if said else "no_evidence"), view.answer


def test_a_day_is_not_read_from_a_table_of_months(bench: Workbench, own_library: Path, tmp_path: Path) -> None:
    folder = written(tmp_path / "months", {"lines.csv": LINES})
    assert asked(bench, folder, "What did diesel earn on 3 March?").outcome == "no_evidence"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("帆布袋一共卖了多少钱？", "金额合计为**4,050**"),
        ("月薪最高的两个人是谁？", "月薪最高：王二 9,900、李一 9,800"),
        ("哪种商品最受欢迎，卖了多少钱？", ""),  # nothing that it could be about was found
        ("哪个月卖得最多？", ""),  # a price is not sold
    ],
)
def test_what_is_sold_is_neither_paid_nor_priced(
    bench: Workbench, own_library: Path, tmp_path: Path, question: str, said: str
) -> None:
    sales = "日期,商品,数量,单价,金额\n2024-01-05,帆布袋,20,45,900\n2024-03-02,帆布袋,70,45,3150\n2024-03-28,绘本,30,39,1170\n"
    staff = "姓名,部门,月薪\n李一,少儿部,9800\n王二,少儿部,9900\n赵三,外借部,8700\n"
    view = asked(bench, written(tmp_path / "馆", {"销售.csv": sales, "员工.csv": staff}), question)
    assert said in view.answer and view.outcome == ("answered" if said else "no_evidence"), view.answer
    assert all(each.status == "calculated" for each in view.citations)


BY_REP = """order_id,date,sales_rep,product,units,unit_price,revenue
S1,2025-03-02,Anna Berg,Flow meter F5,4,340,1360
S2,2025-03-09,Owen Hart,pH probe P1,20,85,1700
S3,2025-04-01,Anna Berg,pH probe P1,30,85,2550
"""
OF_REPS = """订单号,日期,产品,销售员,数量,单价,金额
X1,2025-01-06,加湿器,赵敏,27,299,8073
X2,2025-01-07,加湿器,李娜,5,299,1495
X3,2025-02-07,空气净化器,李娜,5,1899,9495
"""


@pytest.mark.parametrize(
    ("table", "question", "start"),
    [
        (BY_REP, "Who sold the most in March?", "**Owen Hart** has the highest revenue in March 2025: **1,700**"),
        (BY_REP, "How much did Anna Berg sell in total?", "The total revenue for Anna Berg adds up to **3,910**"),
        (BY_REP, "How many units did Anna Berg sell?", "The total units for Anna Berg adds up to **34**"),
        (OF_REPS, "加湿器一共卖了多少台？", "加湿器，数量合计为**32**"),
        (OF_REPS, "加湿器一共卖了多少钱？", "加湿器，金额合计为**9,568**"),
    ],
)  # fmt: skip
def test_who_sold_how_much_is_told_apart_from_how_many(
    bench: Workbench, own_library: Path, tmp_path: Path, table: str, question: str, start: str
) -> None:
    (tmp_path / "sold").mkdir()
    (tmp_path / "sold" / "orders.csv").write_text(table, "utf-8")
    assert asked(bench, tmp_path / "sold", question).answer.startswith(start)


@pytest.mark.parametrize("name", ["sales_march_2024", "sales_2024-03"])
@pytest.mark.parametrize(
    ("when", "shop"), [("March", "Quayside"), ("March 2024", "Quayside"), ("April", ""), ("March 2023", "")]
)
def test_the_month_that_a_file_is_named_by_is_that_of_all_its_rows(
    bench: Workbench, own_library: Path, tmp_path: Path, name: str, when: str, shop: str
) -> None:
    folder = written(tmp_path / "shops", {f"{name}.csv": "Shop,Units sold\nQuayside,310\nAbbey,280\n"})
    assert asked(bench, folder, f"Which shop had the most units sold in {when}?").short == shop


def test_a_query_for_another_day_does_not_confirm_a_count(tmp_path: Path) -> None:
    own = written(tmp_path / "yard", {"yard.csv": YARD})
    library = Library(tmp_path)
    library.add_folder(own)
    tool = QueryTool(lambda: library, [str(own)])
    passages = tool(sql="SELECT COUNT(*) AS n FROM yard WHERE substr(arrived, 1, 10) > '2024-03-01'").passages
    for when, status in (("after 1", "calculated"), ("after 2", "unverified"), ("before 1", "unverified")):
        assert verdict(f"yard.csv {when} March 2024 has 3 rows [1].", passages)[0] == status


CREW = """name,role,branch,start date,salary (GBP)
Helen Ashdown,Surgeon,Wendover,2009-04-01,78500
Martin Okoro,Surgeon,Wendover,2013-09-01,71200
Susan Reeve,Surgeon,Tring,2015-01-15,69800
Owen Blake,Nurse,Tring,2021-05-03,31200
Kelly Marsh,Nurse,Wendover,2017-11-06,33600
Jodie Farrell,Receptionist,Tring,2019-08-12,27400
"""
TAKINGS = """month,branch,service,income (GBP)
2025-07,Wendover,Surgery,9100.11
2025-07,Tring,Drugs,12200.22
2025-08,Wendover,Surgery,8800.33
2025-08,Tring,Surgery,11900.44
2025-10,Tring,Drugs,50.5
"""


@pytest.fixture
def practice(tmp_path: Path) -> Path:
    return written(tmp_path / "practice", {"staff.csv": CREW, "takings.csv": TAKINGS})


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which branch earned the most?", "Tring"),
        ("How much did we take in the third quarter?", "42,001.1 GBP"),
        ("Which service brought in the most in Tring?", "Drugs"),
        ("Who are the three best paid people?", "Helen Ashdown"),
        ("three highest salaries", "Helen Ashdown"),
        ("How much did we take in July?", "21,300.33 GBP"),
    ],
)
def test_a_list_of_people_is_only_asked_about_them_and_what_is_asked_for_is_shown_and_checked(
    bench: Workbench, own_library: Path, practice: Path, question: str, said: str
) -> None:
    view = asked(bench, practice, question)
    assert view.outcome == "answered", view.answer
    assert said in view.answer
    assert "Owen Blake" not in view.answer
    assert not view.uncited
    assert view.citations[0].status == "calculated" or "quarter" in question, view.citations


def test_of_a_long_ranking_as_many_rows_as_are_asked_for_are_shown_and_cited(
    bench: Workbench, own_library: Path, practice: Path
) -> None:
    view = asked(bench, practice, "Who are the five best paid people?")
    rows = [line for line in view.answer.splitlines() if line.startswith("| ") and "[1]" in line]
    assert len(rows) == 5
    assert not view.uncited
