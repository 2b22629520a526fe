"""What an answer says of itself, and what it is worth by its structure."""

from __future__ import annotations

import dataclasses
import json

import pytest

from research.agent.outcome import outcome_of, refused
from research.events.view import RunView
from research.exports.blocks import words
from research.exports.document import compose
from research.exports.html import html
from research.exports.json import as_dict
from research.exports.markdown import markdown
from research.exports.progress import OUTCOMES as OUTCOME_WORDS
from research.exports.progress import summary
from research.memory.learning import everything
from research.parsing.answer_account import read_account, with_account, without_account
from research.parsing.calls import FINAL_ANSWER, Found, offered
from research.types import Citation, Outcome, Part, Verdict
from tests.unit.test_exports_bibliography import run_of, source

OUTCOMES: tuple[Outcome, ...] = ("partly_answered", "no_evidence")
FOUND = Part("How many people live in Japan", "answered")
MISSING = Part("who is its emperor?", "not_found", 'no page names <him> & "her"')
TEXT = "Japan has 123,201,945 people [1]."


def test_an_account_is_read_as_it_was_written() -> None:
    written = with_account(TEXT, "123,201,945", [FOUND, MISSING])
    assert read_account(written) == (TEXT, "123,201,945", (FOUND, MISSING))
    assert read_account(TEXT) == (TEXT, "", ())


@pytest.mark.parametrize(
    "text",
    [
        "```\n<short>code</short>\n```",
        "Write <short>x</short> at the end.",
        '<part status="perhaps">the year</part>',
        "<short>never closed",
        f"<short>{'x' * 4_000}</short>",
    ],
)
def test_what_is_no_line_of_an_account_stays_in_the_text(text: str) -> None:
    assert read_account(text) == (text, "", ())


def test_an_answer_that_is_only_short_is_the_text() -> None:
    assert read_account("<short>42</short>") == ("42", "42", ())


def test_a_draft_never_shows_a_piece_of_the_account() -> None:
    whole = with_account(TEXT, "123,201,945", [FOUND, MISSING])
    for cut in range(len(TEXT), len(whole) + 1):
        assert without_account(whole[:cut]).strip() == TEXT


def answered(arguments: object) -> Found:
    found = Found(offered([FINAL_ANSWER]))
    found.call("final_answer", arguments)
    return found


def test_a_native_final_answer_has_fields_for_its_account() -> None:
    parts = [{"text": FOUND.text, "status": "answered"}, {"text": "the emperor", "status": "not_found"}]
    arguments = {"answer": TEXT, "short": "123,201,945", "parts": parts}
    for given in (arguments, json.dumps(arguments)):
        said = answered(given).answer
        assert said is not None
        assert read_account(said) == (TEXT, "123,201,945", (FOUND, Part("the emperor", "not_found")))
    wrong = answered({"answer": TEXT, "parts": [{"text": "x", "status": "perhaps"}]})
    assert wrong.answer is None
    assert "not_found" in wrong.errors[0].message


def cited(*verdicts: Verdict) -> list[Citation]:
    return [Citation(n, f"claim {n}", verdict) for n, verdict in enumerate(verdicts, 1)]


@pytest.mark.parametrize(
    ("verdicts", "parts", "outcome"),
    [
        (("supported",), (), "answered"),
        (("unverified",), (FOUND,), "answered"),
        (("partial", "calculated"), (), "answered"),
        (("supported", "contradicted"), (), "partly_answered"),
        (("supported", "dead"), (FOUND,), "partly_answered"),
        (("supported",), (FOUND, MISSING), "partly_answered"),
        (("supported", "supported"), (MISSING,), "no_evidence"),
        (("dead", "contradicted", "unsupported"), (FOUND,), "no_evidence"),
        ((), (FOUND,), "no_evidence"),
    ],
)
def test_an_outcome_follows_from_citations_and_parts(
    verdicts: tuple[Verdict, ...], parts: tuple[Part, ...], outcome: Outcome
) -> None:
    assert outcome_of(cited(*verdicts), parts) == outcome


HALF = RunView(
    question="How many people live in Japan, and who is its emperor?",
    status="completed",
    outcome="partly_answered",
    report="Japan has 123,201,945 people [1].",
    short="123,201,945",
    parts=(
        Part("How many people live in Japan", "answered"),
        Part("who is its emperor?", "not_found", "nothing cited covers “emperor”"),
    ),
)


def test_the_summary_says_which_parts_were_not_found() -> None:
    text = summary(HALF)
    assert text.startswith("Answer: 123,201,945\n")
    assert "1 of 2 parts answered; not found: who is its emperor? (nothing cited covers “emperor”)" in text


def test_exports_contain_the_short_answer_and_the_missing_parts() -> None:
    text = markdown(HALF)
    assert "**Answer:** 123,201,945" in text
    assert "Parts of the question that were not found:\n\n- who is its emperor?" in text
    document = compose(HALF, 10_000)
    assert words(document.body[0].spans) == "Answer: 123,201,945"
    assert dict(document.facts)["Outcome"] == "Partly answered · 1 of 2 parts"
    assert as_dict(HALF)["parts"][1]["reason"] == "nothing cited covers “emperor”"


def test_the_memory_keeps_no_report_that_answers_nothing() -> None:
    kinds = {
        outcome: [entry.kind for entry in everything(dataclasses.replace(HALF, outcome=outcome))]
        for outcome in OUTCOMES
    }
    assert kinds == {"partly_answered": ["report"], "no_evidence": []}


def test_a_refusal_shows_its_closest_passages_without_a_tick_and_says_the_question_once() -> None:
    said = "The population of France is 68 million."
    view = run_of(source(1), report=f"**No answer found.** Nothing.\n\n### Closest passages found\n\n- {said} [1]",
                  citations=(Citation(1, said, "supported", said),), parts=(Part("Why?", "not_found", "no such line"),))  # fmt: skip
    view.outcome = "no_evidence"
    for made in (markdown(view), html(view)):
        body = made.partition("# What")[2] or made
        assert "No answer found" in body
        assert "✓" not in body and "no such line" not in body
    assert OUTCOME_WORDS["no_evidence"] == "No answer found"


def test_a_run_that_says_that_nothing_was_found_needs_no_source() -> None:
    assert refused((Part("Why?", "not_found"),))
    assert not refused(()) and not refused((Part("Why?", "not_found"), Part("How?", "answered")))
