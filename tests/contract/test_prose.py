"""The offline model on prose: what it quotes, the names that it follows, and what it refuses, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import research
from research.events.view import RunView
from research.models.extractive.evidence import Evidence
from research.models.extractive.prose import Prose
from research.types import Message
from tests.notes import Noted

pytestmark = pytest.mark.examples(3)

ENGLISH = {
    "Halden Ferries": "Halden Ferries is a shipping line that crosses the Sund of Orrin. Its ships sail from Port Varn to "
    "the island of Skelt every morning. The line employs ninety people.",
    "Port Varn": "Port Varn is a harbour town on the coast of Orrin. It was founded in 1820 by the merchant Olaf Brecht. "
    "The town has 4,300 inhabitants.",
    "Skelt (island)": "Skelt is an island known for its lighthouse. The lighthouse of Skelt was designed by the engineer "
    "Mirela Dunov in 1874.",
    "Mirela Dunov": "Mirela Dunov (1839-1902) was an engineer born in the village of Kastrel. She taught at the Technical "
    "School of Lunden.",
    "Olaf Brecht": "Olaf Brecht was a merchant who traded in amber. His warehouse burned down in 1833.",
    "Tessa Marlow": "Tessa Marlow is an American novelist. Her first book appeared in 1991.",
    "Ivo Grand": "Ivo Grand is an American sculptor. He works in slate.",
    "Ana Bell": "Ana Bell is a French painter. She works in oil.",
    "Brindle kite": "The brindle kite is a bird of prey of the Aldmere hills. It nests in old pines. Its call is likened to "
    "a creaking door.",
    "Corvane Choir": "The Corvane Choir is an ensemble of forty singers from Ostwick. It holds 230 scores and was given half "
    "a million crowns by the city in 1998.",
    "Ulla Fenn": "Ulla Fenn was a glass painter from Ostwick. She signed her windows with a wren.",
    "Tomas Reck": "Tomas Reck was a baker in Ostwick. He went to sea with his wife, the diver Lena Moor, and came back alone. "
    "Reck knew Ulla Fenn from school.",
    "Sorrel Mill": "Sorrel Mill is a watermill on the river Ash.\n\n## The building\n\nThe mill stands on oak piles because "
    "the bank is too soft for a foundation of stone. Rotten piles are replaced in spring.\n\n## The museum\n\nThe mill has "
    "been a museum since 1990. The piles of the old bridge are shown there.",
    "Stores abroad": "The company opened its first store in Germany in 2011. It runs 37 stores in Germany today.",
    "Gardening in spring": "Tulips are planted in autumn. Many gardeners cover their beds with straw in the north.",
    "The amber trade": "Amber was carried along the coast by merchants of many towns. The trade ended when the roads were "
    "built. A ship could bring two tons of it.",
}  # fmt: skip
CHINESE = {
    "蓝湾科技": "蓝湾科技是一家位于临江市的软件公司。公司由陈明远于2009年创办，主要产品是《海图》。",
    "陈明远": "陈明远是一位企业家，出生于青石镇。他毕业于临江大学。",
    "青石镇": "青石镇是一座古镇，以石桥闻名。镇上有居民8200人。",
    "临江大学": "临江大学成立于1931年，位于临江市东区。",
    "园艺": "郁金香在秋天种植。许多园丁用稻草覆盖苗床。",
}

Asked = Callable[..., RunView]


def _workbench(noted: Noted, texts: dict[str, str]) -> Asked:
    bench, folder = noted(texts)

    def ask(question: str, **recipe: object) -> RunView:
        chosen = {"model": "extractive", "search": ("folders",), "folders": (folder,), **recipe}
        return research.run(question, workbench=bench, **chosen)

    return ask


@pytest.fixture(scope="module")
def english(noted: Noted) -> Asked:
    return _workbench(noted, ENGLISH)


@pytest.fixture(scope="module")
def chinese(noted: Noted) -> Asked:
    return _workbench(noted, CHINESE)


def _titles(view: RunView) -> list[str]:
    return [source.title for source in view.cited_sources]


def _verdict(view: RunView) -> str:
    return view.report.split("\n### ")[0]


THREE_HOPS = (
    "In which village was the engineer born who designed the lighthouse of the island that Halden Ferries serves?"
)


@pytest.mark.parametrize(
    ("framework", "context"),
    [
        ("react", "full"),
        ("react", "evolving"),
        ("react", "window"),
        ("iter_research", "evolving"),
        ("tool_rounds", "full"),
    ],
)
def test_names_found_on_the_way_are_followed(english: Asked, framework: str, context: str) -> None:
    view = english(THREE_HOPS, framework=framework, context=context)
    assert view.outcome == "answered"
    assert {"Halden Ferries", "Skelt (island)", "Mirela Dunov"} <= set(_titles(view))
    assert len(_titles(view)) <= 5
    assert "born in the village of Kastrel" in _verdict(view)


@pytest.mark.parametrize("framework", ["rewoo", "reflexion", "parallel", "supervisor"])
def test_every_framework_answers_from_prose(english: Asked, framework: str) -> None:
    view = english("Who designed the lighthouse of Skelt?", framework=framework)
    assert view.outcome == "answered"
    assert "Mirela Dunov" in view.report
    # A name alone states nothing; the quotations below it are supported.
    assert {c.status for c in view.citations if "“" in c.claim} == {"supported"}
    assert {c.status for c in view.citations} <= {"supported", "unverified"}


def test_the_second_hop_answers_and_not_the_first(english: Asked) -> None:
    view = english("When was the town founded from which the ships of Halden Ferries sail?")
    assert "founded in 1820" in _verdict(view)
    assert _titles(view)[0] == "Port Varn"
    assert "Halden Ferries" in _titles(view)


@pytest.mark.parametrize(
    ("question", "confirmed"),
    [
        ("Who designed the lighthouse of Skelt?", ["Mirela Dunov"]),
        ("What is the annual turnover of Skelt?", []),
    ],
)
def test_an_evolving_report_confirms_only_what_the_answer_quotes(
    english: Asked, question: str, confirmed: list[str]
) -> None:
    view = english(question, framework="iter_research", context="evolving")
    *before, lines = (
        text.partition("### Confirmed\n")[2].partition("\n###")[0].splitlines() for _, text in view.reports
    )
    assert all("Skelt" in line or "none" in line for each in before for line in each)
    quoted = [line.partition("“")[2].partition("”")[0] for line in lines if "“" in line]
    above = view.report.partition("## Report")[0].replace("**", "")
    assert all(quote in above for quote in quoted)
    assert bool(quoted) == bool(confirmed)
    assert all(any(name in quote for quote in quoted) for name in confirmed)


def test_one_round_answers_from_one_search(english: Asked) -> None:
    view = english(THREE_HOPS, options={"framework.rounds": 1})
    assert {call.name for turn in view.rounds if turn.reply for call in turn.reply.calls} == {"search"}
    assert view.cited_sources


def test_the_answer_quotes_its_source_and_says_so(english: Asked) -> None:
    view = english("How many people does Halden Ferries employ?")
    assert "Halden Ferries: “The line employs **ninety** people.”" in view.report
    assert "Quoted word for word" in view.report
    assert {c.status for c in view.citations if "“" in c.claim} == {"supported"}


@pytest.mark.parametrize(
    "question",
    ["Who founded Zorblax GmbH?", "What did Zorblax GmbH sell to Port Varn?", "Which comet did Vantor Quill discover?"],
)
def test_a_question_about_an_unknown_thing_has_no_evidence(english: Asked, question: str) -> None:
    view = english(question)
    assert view.outcome == "no_evidence"
    assert not view.citations


@pytest.mark.parametrize(
    "question",
    [
        "Who founded Halden Ferries?",
        "When was Halden Ferries founded?",
        "What is the wingspan of the brindle kite?",
        "How many drums does the Corvane Choir hold?",
        "Who was the wife of Ulla Fenn?",
        "Who taught the glass painter from Ostwick?",
    ],
)
def test_what_is_not_stated_of_a_known_thing_is_refused(english: Asked, question: str) -> None:
    """Port Varn, which the article on Halden Ferries names, was founded in 1820 by Olaf Brecht: not an answer."""
    view = english(question)
    assert view.outcome == "no_evidence", view.answer
    assert (
        not view.short
        and _verdict(view).startswith(("**No answer found.**", "**No certain answer found.**"))
        and _verdict(view).count("**") == 2
    )


@pytest.mark.parametrize(
    "question", [THREE_HOPS, "How many people does Halden Ferries employ?", "Describe Sorrel Mill."]
)
def test_every_quotation_is_in_its_source(english: Asked, question: str) -> None:
    report = english(question).report.replace("**", "")
    quoted = re.findall(r"^(?:- )?(.+): “(.+)” \[", report, re.M)
    assert quoted
    assert all(line in ENGLISH[title] for title, line in quoted)


def test_why_is_answered_with_sentences_of_the_section_that_says_it(english: Asked) -> None:
    verdict = _verdict(english("Why does Sorrel Mill stand on oak piles?"))
    assert "because the bank is too soft" in verdict
    assert "museum" not in verdict


def test_a_short_answer_is_the_only_thing_of_its_kind(english: Asked) -> None:
    assert english("Who designed the lighthouse of Skelt?").short == "Mirela Dunov"
    assert english("How many scores does the Corvane Choir hold?").short == ""


@pytest.mark.parametrize(
    ("question", "short", "statements"),
    [
        ("What is the monthly retainer?", "EUR 18,500", 1),
        ("What is the dividend proposed?", "EUR 0.85", 1),
        ("What is the total liability?", "EUR 250,000", 1),
        ("What is the notice?", "", 1),
        ("How long does the agreement run?", "24 months", 1),
    ],
)
def test_the_figure_of_a_contract_is_its_short_answer_and_only_what_states_it_is_quoted(
    noted: Noted, question: str, short: str, statements: int
) -> None:
    contract = (
        "The monthly retainer is EUR 18,500, payable within 30 days. Travel is reimbursed up to EUR 2,000 a month.\n\n"
        "The total liability is limited to EUR 250,000. The agreement runs for 24 months from 1 March 2026.\n\n"
        "The dividend proposed is EUR 0.85 per share. Notice has to be given in writing."
    )
    view = _workbench(noted, {"Contract": contract})(question)
    assert (view.outcome, view.short) == ("answered", short)
    assert len(view.citations) == statements
    assert {each.status for each in view.citations} == {"supported"}


def test_a_misspelt_name_is_recognised(english: Asked) -> None:
    view = english("Where was Mirela Dunnov born?")
    assert view.outcome == "answered"
    assert "born in the village of **Kastrel**" in _verdict(view)


def test_hops_are_followed_in_chinese_prose(chinese: Asked) -> None:
    view = chinese("蓝湾科技的创办人出生在哪里？")
    assert view.outcome == "answered"
    assert {"蓝湾科技", "陈明远"} <= set(_titles(view))
    assert "青石镇" in _verdict(view)


def test_an_answer_in_chinese_quotes_its_source(chinese: Asked) -> None:
    view = chinese("临江大学成立于哪一年？")
    assert "1931" in _verdict(view).splitlines()[0]
    assert "未经推理" in view.report


def test_a_chinese_question_about_an_unknown_thing_has_no_evidence(chinese: Asked) -> None:
    assert chinese("诺瓦斯基亚的首任总统是谁？").outcome == "no_evidence"


def test_factbook_figures_are_answered_beside_a_folder_of_notes(english: Asked) -> None:
    view = english("What is the population of Japan?", search=("library",))
    assert "123,201,945" in _verdict(view)


def test_prose_is_found_beside_the_factbook(english: Asked) -> None:
    view = english("Who designed the lighthouse of Skelt?", search=("library",))
    assert view.short == "Mirela Dunov"


def test_a_note_about_a_country_answers_what_the_factbook_does_not(english: Asked) -> None:
    view = english("How many stores do we run in Germany?", search=("library", "folders"))
    assert view.outcome == "answered", view.answer
    assert "**37** stores" in view.answer


def test_a_search_without_results_is_not_repeated() -> None:
    evidence = Evidence([Message("system", "- search: x\n- visit: y"), Message("user", "Who founded Zorblax?")])
    first = Prose(evidence, "Who founded Zorblax?").needed()
    evidence.searched = frozenset(action.arguments["query"] for action in first)
    later = Prose(evidence, "Who founded Zorblax?")
    assert [*later.needed(), *later.onward()] == []


HOUSE_RULES = {
    "House rules": "Trainees may not carry over unused days. Private software must not be installed on company laptops. "
    "Company laptops may be used for private mail. The receipt is due no later than 30 days after the trip. "
    "Costs are repaid within 15 working days. She replaced Georg Lindner in May. "
    "Every employee has 28 days of paid leave a year. Nurses on the night rota are paid an allowance of 38 EUR per night.",
    "备份制度": "测试数据不备份。访客不能使用内部网络。财务数据每天备份一次。",
}


@pytest.fixture(scope="module")
def rules(noted: Noted) -> Asked:
    return _workbench(noted, HOUSE_RULES)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who may not carry over unused days?", "Trainees"),
        ("Who may carry over unused days?", ""),
        ("Which software must not be installed on company laptops?", "Private software"),
        ("Which software may be installed on company laptops?", ""),
        ("Who may not use private mail?", ""),
        ("May private software be installed on company laptops?", "must not"),
        ("When is the receipt due after the trip?", "30 days"),
        ("哪些数据不备份？", "测试数据"),
        ("谁不能使用内部网络？", "访客"),
        ("谁能使用内部网络？", ""),
    ],
)
def test_what_is_denied_is_answered_by_a_denial_and_nothing_else(rules: Asked, question: str, said: str) -> None:
    view = rules(question)
    assert view.outcome == ("answered" if said else "no_evidence"), view.answer
    assert said in view.answer


def test_a_short_answer_has_its_unit_and_no_pronoun(rules: Asked) -> None:
    assert rules("Within how many days are costs repaid?").short == "15 working days"
    assert rules("Who replaced Georg Lindner?").outcome == "no_evidence"


def test_another_qualifier_is_another_thing(rules: Asked) -> None:
    assert rules("How many days of paid leave does an employee have?").short == "28 days"
    assert rules("How many days of sick leave does an employee have?").outcome == "no_evidence"


def test_a_rule_for_others_is_no_answer(rules: Asked) -> None:
    assert rules("What allowance are nurses paid on the night rota?").outcome == "answered"
    assert rules("What allowance are receptionists paid on the night rota?").outcome == "no_evidence"


def test_own_documents_are_searched_with_the_words_of_the_question(noted: Noted) -> None:
    bench, folder = noted(HOUSE_RULES)
    (Path(folder) / "offices.csv").write_text("Office,Employees\nGraz,120\nLyon,30\n", "utf-8")
    view = research.run("Who may not carry over unused days?", workbench=bench, folders=(folder,), model="extractive")
    calls = [call for turn in view.rounds if turn.reply for call in turn.reply.calls if call.name == "search"]
    assert [call.arguments["query"] for call in calls] == ["Who may not carry over unused days"]


def test_a_part_about_somebody_who_was_not_found_stays_open(rules: Asked) -> None:
    view = rules("Who is the head of marketing and whom did she replace?")
    assert view.outcome == "no_evidence", view.answer
    assert "Whom did she replace?" in view.answer


GUILD = {
    "2025年6月理事会纪要": "梁志成提出购置两台数控雕刻机，预算为64万元。韩越反对，认为应当先修缮厂房。\n\n"
    "会议决定南桥镇车间于9月1日开工，由苏敏负责。",
    "木工坊守则": "女员工享有158天产假，男员工陪产假为15天。\n\n学徒入门满一年者，每年享有年假7天。满四年者增至11天。\n\n"
    "师傅授课满一年不满五年的，课时津贴为每月300元；满五年不满十年的，课时津贴为每月500元；满十年的，课时津贴为每月800元。\n\n"
    "全年累计病假在八天以内的，工资照发；超过八天的部分，按百分之七十发放。\n\n"
    "青石镇车间面积900平方米。",
}


@pytest.fixture(scope="module")
def guild(noted: Noted) -> Asked:
    return _workbench(noted, GUILD)


def test_of_two_figures_only_the_one_beside_what_is_asked_is_the_short_answer(guild: Asked) -> None:
    assert guild("产假是多少天？").short != "15天"
    assert guild("陪产假是多少天？").short == "15天"


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("师傅授课六年，课时津贴是多少？", "500元"),
        ("师傅授课十年，课时津贴是多少？", "800元"),
        ("师傅授课半年，课时津贴是多少？", ""),
        ("病假超过八天，工资怎么发？", "超过八天的部分，按百分之七十发放"),
    ],
)
def test_of_the_cases_of_a_rule_the_one_that_applies_is_the_short_answer(
    guild: Asked, question: str, short: str
) -> None:
    view = guild(question)
    assert (view.short or "").rstrip("。") == short
    assert (
        "满一年不满五年的，课时津贴为每月300元；满五年" in view.answer or "病假在八天以内的，工资照发；" in view.answer
    )


def test_the_sentence_behind_is_quoted_with_one_that_leaves_a_part_of_the_question_open(guild: Asked) -> None:
    assert "满四年者增至11天" in guild("学徒工作六年有多少天年假？").answer


@pytest.mark.parametrize(
    ("question", "short", "said"),
    [
        ("谁反对购置数控雕刻机？", None, "韩越反对"),
        ("谁提出购置数控雕刻机？", "", "梁志成提出"),
        ("谁负责南桥镇车间？", "苏敏", "苏敏"),
        ("谁反对扩建青石镇车间？", "", ""),
    ],
)
def test_who_is_answered_by_the_sentence_with_the_deed_only(guild: Asked, question: str, short: str, said: str) -> None:
    view = guild(question)
    assert view.outcome == ("answered" if said else "no_evidence"), view.answer
    assert said in view.answer
    assert short in (None, view.short)
    assert not said or view.citations[0].status == "supported"


OFFICE = {
    "Staff handbook": "## 3. Sickness absence\n\nEmployees who are unable to work owing to sickness must telephone the duty "
    "manager no later than 07:45. Sick pay is paid in full for six weeks.\n\n## 4. Expenses\n\nExpenses are reimbursed as "
    "follows.\n\n| Expense | Rate |\n| --- | --- |\n| Private car, per mile | £0.45 |\n| Bicycle, per mile | £0.20 |\n\n"
    "Client records are kept for seven years. A doctor's note is required from the fifth calendar day.",
    "Minutes of October": "1. New lorries.\n\nTwo lorries fail the emission rules. It was decided to lease two electric lorries "
    "from Volta.\n\n2. Survey of the summer\n\nCrews will telephone customers an hour before they arrive. Responsible: Paul "
    "Wragg. The party for Christmas takes place on 12 December.",
}


@pytest.fixture(scope="module")
def office(noted: Noted) -> Asked:
    return _workbench(noted, OFFICE)


def test_a_refusal_shows_the_section_that_comes_nearest_and_does_not_speak_for_the_sources(office: Asked) -> None:
    view = office("I am too ill to work - by when do I have to ring in?")
    assert view.outcome == "no_evidence"
    assert "07:45" in view.answer, view.answer
    assert "do not answer" not in view.answer


def test_a_row_of_a_table_within_prose_answers(office: Asked) -> None:
    view = office("How much do I get per mile when I take my own car?")
    assert "£0.45" in _verdict(view), view.answer


def test_who_is_answered_by_the_sentence_behind_the_deed_that_has_the_name(office: Asked) -> None:
    view = office("Who takes care of phoning the customers beforehand?")
    assert view.outcome == "answered"
    assert "Responsible: Paul Wragg." in _verdict(view), view.answer


def test_a_heading_without_a_mark_answers_nothing(office: Asked) -> None:
    view = office("What did we decide about the lorries?")
    assert "Volta" in view.answer
    assert "New lorries" not in view.answer


def test_when_is_answered_by_a_day_that_is_counted(office: Asked) -> None:
    assert "**fifth calendar day**" in _verdict(office("When do we need a doctor's note?"))


LETTERS = {
    "街坊报 · 2025年春季号": "合唱团的汇报演出定于5月17日在河湾礼堂举行。\n\n摄影比赛6月3日截稿，照片寄给柳芸。一等奖奖金为两千元。",
    "Team meeting": "Mara Ellison presented the fire drill. She will send the new floor plans to the tenants by 4 March. "
    "The lift is inspected by Tolva in June.",
}


@pytest.fixture(scope="module")
def letters(noted: Noted) -> Asked:
    return _workbench(noted, LETTERS)


def test_a_document_whose_title_has_two_parts_is_read(letters: Asked) -> None:
    assert "**河湾礼堂**" in _verdict(letters("合唱团的汇报演出在哪里举行？"))


def test_who_is_named_by_the_sentence_before_one_that_says_she(letters: Asked) -> None:
    view = letters("Who will send the new floor plans to the tenants?")
    assert (view.outcome, "Mara Ellison" in view.answer) == ("answered", True), view.answer


def test_a_part_of_a_question_is_read_together_with_what_stands_before_it(letters: Asked) -> None:
    view = letters("摄影比赛几号截稿，一等奖多少钱？")
    assert [part.status for part in view.parts] == ["answered", "answered"], view.answer
    assert "6月3日" in view.answer and "两千元" in view.answer
    view = letters("I would like to come in June. Who inspects the lift?")
    assert "Tolva" in _verdict(view), view.answer


def test_beside_own_documents_a_country_that_is_not_named_is_not_what_a_question_is_about(noted: Noted) -> None:
    bench, folder = noted(OFFICE)
    view = research.run("When is the Christmas party?", workbench=bench, folders=(folder,), model="extractive")
    assert "12 December" in _verdict(view), view.answer
    assert not any(url.startswith("library://factbook/") for url in _opened(view))


def _opened(view: RunView) -> list[str]:
    calls = [call for turn in view.rounds if turn.reply for call in turn.reply.calls if call.name == "visit"]
    return [str(call.arguments["url"]) for call in calls]
