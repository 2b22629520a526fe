"""A question for yes or no is answered as the checker judges what it states, or by an item of a line; else it is refused."""

from __future__ import annotations

import pytest

import research
from research.models.extractive.stating import statements
from research.workbench.workbench import Workbench


@pytest.mark.examples(4)
@pytest.mark.parametrize(
    ("question", "answer", "line"),
    [
        ("Was inflation in Lebanon above 100 percent in 2023?", "**Yes.**", "221.3%"),
        ("Was inflation in France above 100 percent in 2023?", "**No.**", "4.9%"),
        ("Is dual citizenship recognised in Luxembourg?", "**Yes.**", "Dual citizenship recognized: yes"),
        ("Does Austria allow dual citizenship?", "**No.**", "Dual citizenship recognized: no"),
        ("Is voting compulsory in Uruguay?", "**Yes.**", "**universal and compulsory**"),
        ("Is Germany a member of NATO?", "**Yes.**", "**NATO**"),
        ("Is Austria a member of NATO?", "**No.**", "OSCE"),
        ("Is Malta a NATO member?", "**No.**", "Malta"),  # it is a partner
        ("Is Serbia in the EU?", "**No.**", "**EU (candidate country)**"),
        ("挪威是不是欧盟国家？", "**否。**", "挪威"),
        ("Is Saudi Arabia a monarchy?", "**Yes.**", "**absolute monarchy**"),
        ("Is Mongolia landlocked?", "**Yes.**", "0 km (landlocked)"),
        ("does Paraguay have a coast on the sea", "**No.**", "0 km"),
        ("印度人口超过中国了吗", "**是。**", "14.07亿"),
        ("老挝靠海吗？", "**否。**", "0公里"),
        ("吉尔吉斯斯坦是内陆国吗", "**是。**", "内陆国"),
        ("Is Japan's population shrinking?", "**Yes.**", "-0.45%"),
        ("Is the economy of Argentina growing?", "**No.**", "-1.7%"),
        ("Does Mongolia border only two countries?", "**Yes.**", "China"),
    ],
)
def test_a_line_decides_what_is_asked(bench: Workbench, question: str, answer: str, line: str) -> None:
    view = research.run(question, workbench=bench)
    assert view.outcome == "answered", view.answer
    assert view.answer.startswith(answer)
    assert line in view.answer


@pytest.mark.examples(3)
@pytest.mark.parametrize(
    "question",
    [
        "Is Spanish an official language of the United States?",  # it is spoken, and no language is marked official
        "Is Arabic an official language of Israel?",  # it has a special status
        "Is unemployment high in Spain?",
        "Is Angela Merkel the chancellor of Germany?",
        "Is Turkey a member of CERN?",  # it is an observer
        "Does Switzerland trade with the European Union?",
        "Was the United Kingdom a member of the EU in 2019?",
        "Is Canada a republic?",
        "哥斯达黎加有军队吗？",  # the year behind the list of its forces is no figure
    ],
)
def test_what_no_line_decides_is_refused(bench: Workbench, question: str) -> None:
    view = research.run(question, workbench=bench)
    assert view.outcome == "no_evidence", view.answer


def test_the_verb_of_a_question_may_stand_anywhere_in_its_statement() -> None:
    assert "King Charles is the head of state of Jamaica" in statements("Is King Charles the head of state of Jamaica?")
    assert [*statements("Does Laos border Nepal?")] == ["Laos border Nepal"]
    assert [*statements("俄罗斯是不是世界上最大的国家？")] == ["俄罗斯是世界上最大的国家"]
