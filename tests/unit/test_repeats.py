"""A prompt shows a passage once: a later result that repeats it refers to it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from research.agent.repeats import without_repeats
from research.types import Message

LINES = [f"Output of plant {name} in the last year of the survey: {n}00 MWh" for n, name in enumerate("abcdef", 1)]


def source(n: int, *lines: str, title: str = "Plants") -> str:
    return "\n".join([f"[{n}] {title}", f"<library://{n}>", *(f"> {line}" for line in lines)])


def native(text: str) -> Message:
    return Message("tool", text, call_id="1")


def tagged(text: str) -> Message:
    return Message("user", f'<tool_response id="1" name="search">\n{text}\n</tool_response>\n(round 2 of 9 is next)')


BOTH = pytest.mark.parametrize("result", [native, tagged])
Result = Callable[[str], Message]


def shown(*messages: Message) -> list[str]:
    return [message.content for message in without_repeats(messages, "en")]


@BOTH
def test_a_source_that_is_found_again_is_named_and_not_quoted(result: Result) -> None:
    found = source(4, *LINES[:2])
    first, again = shown(result(found), result(f"{source(5, *LINES[2:4])}\n\n{found}"))
    assert found in first
    assert "[4] Plants (shown above)" in again
    assert LINES[0] not in again and LINES[2] in again


@BOTH
def test_a_page_shows_what_its_snippet_did_not(result: Result) -> None:
    _, page = shown(result(source(4, *LINES[1:3])), result(source(4, *LINES)))
    assert [line for line in page.splitlines() if line.startswith("> ")] == [
        f"> {LINES[0]}", "> (shown above)", *(f"> {line}" for line in LINES[3:]),
    ]  # fmt: skip


@BOTH
def test_sources_in_a_row_that_are_found_again_take_one_line(result: Result) -> None:
    found = "\n\n".join(source(n, LINES[n]) for n in range(4))
    _, again = shown(result(found), result(f"{found}\n\n{source(7, LINES[4])}\n\n{source(1, LINES[1])}"))
    assert "[0], [1], [2], [3] (shown above)\n\n[7] Plants\n" in again
    assert "\n\n[1] Plants (shown above)" in again


def test_a_snippet_that_was_cut_from_a_page_above_is_referred_to() -> None:
    line = " ".join(LINES)
    _, cut = shown(native(source(4, line)), native(source(4, f"…{line[20:120]}…")))
    assert cut == "[4] Plants (shown above)"


@BOTH
def test_the_same_words_of_another_source_are_quoted(result: Result) -> None:
    _, other = shown(result(source(4, *LINES)), result(source(5, *LINES)))
    assert source(5, *LINES) in other


def test_short_lines_between_new_ones_stay() -> None:
    _, page = shown(native(source(4, "Total: 5", LINES[0])), native(source(4, LINES[1], "Total: 5", LINES[2])))
    assert "(shown above)" not in page


def test_a_paragraph_without_a_source_is_referred_to_by_its_beginning() -> None:
    links = "Links on the page:\n" + "\n".join(f"> {line} <https://a.example/>" for line in LINES)
    _, again, short = shown(native(links), native(links), native("3.0"))
    assert again == "Links on the page: (shown above)"
    assert short == "3.0"


def test_rows_that_repeat_within_one_result_stay() -> None:
    table = "\n".join([LINES[0]] * 3)
    assert shown(native(f"{table}\n\n{table}")) == [f"{table}\n\n{table}"]


def test_what_a_prompt_no_longer_shows_is_quoted_again() -> None:
    found = native(source(4, *LINES))
    assert shown(native("(dropped: no room)"), found)[-1] == found.content


def test_sources_of_earlier_work_beside_the_question_count_as_shown() -> None:
    question = Message("user", f"How much?\n\n<earlier>\n{source(4, *LINES)}\n</earlier>")
    assert shown(question, native(source(4, *LINES))) == [question.content, "[4] Plants (shown above)"]


def test_what_the_model_wrote_hides_nothing() -> None:
    found = native(source(4, *LINES))
    assert shown(Message("assistant", found.content), found)[-1] == found.content


@BOTH
def test_a_message_does_not_change_when_others_follow_it(result: Result) -> None:
    messages = [result(source(4, *LINES[at : at + 2])) for at in (0, 1, 0, 2, 1)]
    whole = without_repeats(messages, "en")
    assert [without_repeats(messages[:upto], "en") for upto in range(6)] == [whole[:upto] for upto in range(6)]
    assert without_repeats(whole, "en") == whole


def test_a_chinese_run_gets_chinese_references() -> None:
    found = native(source(4, *LINES))
    assert without_repeats([found, found], "zh")[-1].content == "[4] Plants （见上文）"
