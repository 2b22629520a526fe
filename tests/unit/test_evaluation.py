"""Evaluation: measures, datasets, statistics and the built-in sets, exact to the digit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from research.errors import ConfigError
from research.evaluation import Question, Scores, load, measure, open_corpus
from research.evaluation.answers import is_right, refused
from research.evaluation.datasets import BUILT_IN
from research.evaluation.exact_match import cmrc, hotpot
from research.evaluation.plans import version_of
from research.evaluation.questions import SPLITS
from research.evaluation.records import Row
from research.evaluation.scorers import CITED
from research.evaluation.statistics import bootstrapped, differences, percentile, summary
from research.events.view import RunView
from research.search.library import factbook
from research.types import Citation, Part, Source

# -- agreement with gold answers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "golds", "exact", "f1"),
    [
        ("The Eiffel Tower!", ["eiffel tower"], 1.0, 1.0),
        ("a big red dog", ["the red cat"], 0.0, 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2)),
        ("yes", ["yes"], 1.0, 1.0),
        ("yes it is", ["yes"], 0.0, 0.0),  # a verdict with words around it does not match
        ("no", ["no way"], 0.0, 0.0),
        ("noanswer", ["noanswer at all"], 0.0, 0.0),
        ("Paris, France", ["London", "Paris"], 0.0, 2 * 0.5 * 1 / 1.5),
        ("well-known", ["wellknown"], 1.0, 1.0),  # punctuation is removed without a replacement
        ("in in in", ["in"], 0.0, 2 * (1 / 3) * 1 / (1 / 3 + 1)),  # counted as often as it occurs in both
        ("", ["x"], 0.0, 0.0),
    ],
)
def test_hotpotqa_scores_match_its_official_script(answer: str, golds: list[str], exact: float, f1: float) -> None:
    assert list(hotpot(answer, golds)) == pytest.approx([exact, f1])


@pytest.mark.parametrize(
    ("answer", "golds", "exact", "f1"),
    [
        ("《白之春》", ["白之春"], 1.0, 1.0),
        ("阿部宽与大桥望美", ["阿部宽"], 0.0, 2 * (3 / 8) * 1 / (3 / 8 + 1)),
        ("甲乙丁丙", ["甲乙丙"], 0.0, 2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3)),  # the longest run, not a subsequence
        ("Adobe OnLocation软件", ["adobe onlocation"], 0.0, 2 * (2 / 4) * 1 / (2 / 4 + 1)),
        ("约1904年", ["1904年"], 0.0, 2 * (2 / 3) * 1 / (2 / 3 + 1)),  # a number is one piece
        ("A-B", ["AB"], 1.0, 1.0),  # listed marks are removed before words are split
        ("a.b", ["ab"], 0.0, 0.0),  # the full stop is not on the list
        ("猫", ["狗"], 0.0, 0.0),
    ],
)
def test_cmrc_scores_match_its_official_script(answer: str, golds: list[str], exact: float, f1: float) -> None:
    assert list(cmrc(answer, golds)) == pytest.approx([exact, f1])


# -- measures of a run --------------------------------------------------------------------------------------------------


def run_view(answer: str, *cited: str, outcome: Any = "answered", citations: tuple[Citation, ...] = ()) -> RunView:
    """Return a run with these URLs as its sources."""
    view = RunView(outcome=outcome, answer=answer, report=answer, citations=citations)
    view.sources = {n: [Source(n, url, url.upper(), "quote")] for n, url in enumerate(cited, 1)}
    return view


def names(source: Source) -> tuple[str, ...]:
    return (source.url,)


def test_evidence_is_measured_on_the_first_sources_cited_in_the_report() -> None:
    urls = [f"u{n}" for n in range(1, 9)]
    view = run_view("So it is [8][7]. And [1][2][3][4][5].", *urls)
    order = [source.url for source in view.cited_sources]
    assert order == ["u8", "u7", "u1", "u2", "u3", "u4", "u5"] and CITED == 5

    def scores(*gold: str) -> tuple[float | None, float | None, float | None]:
        found = measure(Question("1", "Who?", gold=gold), view, names)
        return found.evidence_recall, found.evidence_share, found.evidence_seen

    assert scores("u8", "u3") == (1.0, 1.0, 1.0)
    assert scores("u8", "u4") == (0.0, 0.5, 1.0), "cited too late"
    assert scores("u6") == (0.0, 0.0, 1.0), "seen, not cited"
    assert scores("gone", "u8") == (0.0, 0.5, 0.0)
    assert scores() == (None, None, None)


def test_citations_count_as_pairs_and_a_report_without_any_has_no_precision() -> None:
    question = Question("1", "Who?", ("me",))
    pairs = (
        Citation(1, "a", "supported"), Citation(1, "a", "supported"), Citation(2, "a", "partial"),
        Citation(1, "b", "unsupported"), Citation(9, "c", "dead"),
    )  # fmt: skip
    scores = measure(question, run_view("me [1][2]", "x", "y", citations=pairs), names)
    assert (scores.citation_precision, scores.effective_citations) == (0.25, 1.0)
    opened = (*pairs, Citation(1, "d", "calculated"), Citation(2, "e", "unverified"), Citation(2, "f", "contradicted"))
    scores = measure(question, run_view("me [1][2]", "x", "y", citations=opened), names)
    assert (scores.citation_precision, scores.effective_citations) == (2 / 6, 2.0), "unverified counts for neither"
    assert (scores.citation_coverage, scores.cited_statements) == (6 / 7, 7.0), "what is unverified was not decided"
    scores = measure(question, run_view("me"), names)
    assert (scores.citation_precision, scores.effective_citations) == (None, 0.0)


def test_citation_marks_do_not_count_as_words_of_the_answer() -> None:
    scores = measure(Question("1", "Who?", ("Marie Curie",)), run_view("Marie Curie [1].", "x"), names)
    assert (scores.exact_match, scores.f1, scores.right) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("outcome", ["no_evidence", "failed", "stopped", "needs_input", "tool_errors"])
def test_a_run_without_an_answer_scores_zero_whatever_its_text_contains(outcome: str) -> None:
    scores = measure(Question("1", "Who?", ("Curie",)), run_view("Curie [1]", "x", outcome=outcome), names)
    assert (scores.exact_match, scores.f1, scores.right) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("answer", "outcome", "scores"),
    [
        ("It is 7.5 %.", "answered", (1, 0, 0)), ("It is 9 %.", "answered", (0, 1, 0)),
        ("7.5 %", "no_evidence", (0, 0, 1)),
        ("It is 9 %.", "failed", (0, 0, 1)),
    ],
)  # fmt: skip
def test_an_answer_is_right_or_wrong_or_missing_also_with_a_number_alone(
    answer: str, outcome: str, scores: tuple[int, int, int]
) -> None:
    question = Question("1", "How much?", value=7.5, tolerance=0.1, unit="%")
    found = measure(question, run_view(answer, outcome=outcome), names)
    assert (found.right, found.wrong, found.no_answer) == scores and found.exact_match is None


def test_a_question_with_nothing_to_compare_is_neither_right_nor_wrong() -> None:
    found = measure(Question("1", "Why?"), run_view("Because."), names)
    assert (found.right, found.wrong, found.no_answer) == (None, None, None)
    lied = measure(Question("1", "Why?", answerable=False), run_view("Because."), names)
    assert (lied.right, lied.wrong, lied.no_answer) == (0.0, 1.0, None)


def test_the_short_answer_is_compared_rather_than_the_sentences_around_it() -> None:
    view = run_view("After long work the prize went to Marie Curie [1].", "x")
    view.short = "Marie Curie"
    scores = measure(Question("1", "Who?", ("Marie Curie",)), view, names)
    assert (scores.exact_match, scores.f1) == (1.0, 1.0)


def test_a_gold_answer_may_be_anywhere_or_a_number_first() -> None:
    view = run_view("There were many. It was Marie Curie in 1903, not 1911.")
    assert measure(Question("1", "Who?", ("marie curie",)), view, names).contains == 1.0
    assert measure(Question("1", "Who?", ("Curi",)), view, names).contains == 0.0
    assert measure(Question("1", "When?", value=1903), view, names).numeric == 1.0
    assert measure(Question("1", "When?", value=1911), view, names).numeric == 0.0, "only the first number counts"
    assert measure(Question("1", "When?", ("1903",)), view, names).numeric is None


def test_the_verdict_of_a_report_in_sections_is_its_first_section() -> None:
    question = Question("1", "How many?", ("129",))
    assert is_right(question, "# How many?\n\n## Count\n\nThere are 129 of them [1].\n\n## Evidence\n\n- 130")
    assert not is_right(question, "# How many?\n\n## Count\n\nThere are some [1].\n\n## Evidence\n\n- 129")
    assert not is_right(question, "# 129")


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("It has 1,290 people.", 0), ("It has 129.5 people.", 0), ("It has 129 people.", 1), ("It is x129.", 0),
        ("About 5,129 live there.", 0), ("The answer: 129.", 1), ("**129** [1]", 1), ("共有129人", 1),
        ("Unclear.\n\n### Evidence\n\n- 129 people", 0),
    ],
)  # fmt: skip
def test_a_gold_figure_must_appear_whole_in_the_verdict(answer: str, right: int) -> None:
    assert is_right(Question("1", "How many?", ("129",)), answer) is bool(right)


def test_the_verdict_must_name_the_gold_answer_first() -> None:
    question = Question("1", "Which?", ("Mali",), over=("Chad", "Niger"))
    assert is_right(question, "Mali is larger than Chad.")
    assert not is_right(question, "Chad is larger than Mali.")
    assert not is_right(question, "Chad.")
    assert not is_right(question, "Somalia.")


def test_yes_or_no_must_come_first() -> None:
    assert is_right(Question("1", "Is it?", ("yes",)), "Yes, it is.")
    assert not is_right(Question("1", "Is it?", ("no",)), "Yes, it is no small thing.")


@pytest.mark.parametrize(
    ("answer", "right"),
    [("It fell by 7.9 %.", 1), ("-7.95 percent", 1), ("7.9 tonnes", 0), ("8.2%", 0), ("a change of 7.92％", 1)],
)
def test_a_computed_figure_must_be_close_enough_and_in_its_unit(answer: str, right: int) -> None:
    question = Question("1", "How much?", ("-7.9%",), value=-7.92, tolerance=0.1, unit="%")
    assert is_right(question, answer) is bool(right)


def test_scale_words_multiply_a_figure() -> None:
    question = Question("1", "How many?", ("3.2",), value=3_200_000, tolerance=1000)
    assert is_right(question, "3.2 million")
    assert is_right(question, "320万人")
    assert not is_right(question, "3.2 billion")


@pytest.mark.parametrize(
    ("outcome", "parts", "said"),
    [
        ("no_evidence", "", True), ("answered", "", False), ("answered", "a", False), ("partly_answered", "an", True),
        ("failed", "", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("answer", ["It is 12.", "The sources do not state it.", "资料中没有提到。"])
def test_a_refusal_is_told_by_the_outcome_and_the_parts_whatever_the_words(
    answer: str, outcome: str, parts: str, said: bool
) -> None:
    own = tuple(Part("the year", "answered" if each == "a" else "not_found") for each in parts)
    view = run_view(answer, outcome=outcome)
    view.parts = own
    assert refused(view) is said
    scores = measure(Question("1", "Who?", answerable=False), view, names)
    assert (scores.refused, scores.right, scores.f1) == (float(said), float(said), None)


# -- statistics ---------------------------------------------------------------------------------------------------------


def row(question: str, f1: float | None, seconds: float = 1.0, cost: float | None = 0.5, recipe: str = "r") -> Row:
    return Row("e", recipe, question, "d", "run", "answered", scores=Scores(f1=f1), seconds=seconds, cost_usd=cost)


def test_a_mean_and_its_interval_are_accurate_and_deterministic() -> None:
    values = [0.0, 1.0] * 50
    found = bootstrapped(values)
    assert found and found == bootstrapped(values)
    assert found.mean == 0.5 and found.n == 100 and found.interval
    # The normal approximation for 50 of 100: 0.5 ± 0.098.
    assert list(found.interval) == pytest.approx([0.402, 0.598], abs=0.02)
    assert bootstrapped([]) is None
    one = bootstrapped([3.0])
    assert one and (one.mean, one.interval, one.n) == (3.0, None, 1)
    equal = bootstrapped([2.0, 2.0])
    assert equal and equal.interval == (2.0, 2.0)


def test_a_percentile_has_an_interval() -> None:
    found = percentile([float(n) for n in range(1, 102)], 90)
    assert found and found.mean == 91.0 and found.interval and found.interval[0] < 91 < found.interval[1]


def test_the_mean_of_many_values_has_a_narrow_interval() -> None:
    found = bootstrapped([float(n % 2) for n in range(30_001)])
    assert found and found.interval and found.interval[1] - found.interval[0] < 0.02


def test_one_unknown_cost_makes_the_total_unknown_and_missing_scores_are_skipped() -> None:
    found = summary([row("1", 1.0), row("2", None), row("3", 0.0, cost=None)])
    assert found.n == 3 and found.figures["cost_usd"] is None
    f1 = found.figures["f1"]
    assert f1 and (f1.mean, f1.n) == (0.5, 2)
    assert found.figures["race"] is None
    assert found.outcomes == {"answered": 3}


def test_differences_are_paired_by_question() -> None:
    first = [row("1", 1.0), row("2", 0.5), row("3", 0.9)]
    second = [row("2", 0.25), row("1", 0.75), row("4", 0.0)]
    (found,) = differences({"a": first, "b": second})
    f1 = found.figures["f1"]
    assert f1 and (found.first, found.second, f1.mean, f1.n) == ("a", "b", 0.25, 2)
    assert f1.interval == (0.25, 0.25), "both questions differ by the same amount"


# -- datasets -----------------------------------------------------------------------------------------------------------


def write(path: Path, *records: Any) -> str:
    lines = [record if isinstance(record, str) else json.dumps(record, ensure_ascii=False) for record in records]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def test_a_dataset_in_our_own_format_is_loaded(tmp_path: Path) -> None:
    name = write(
        tmp_path / "mine.jsonl",
        {"id": 7, "question": " Who? ", "answer": "Curie", "gold": ["a", "a", "b"]},
        {"id": "x", "question": "谁？", "answers": ["甲", "乙"], "gold_pid": "c", "type": "bridge"},
        {"id": "y", "prompt": "Write on tea.", "reference": "Tea is …"},
        {"id": "z", "question": "Which?", "answerable": False},
        {"id": "w", "question": "How many?", "answer": 12, "value": 12.5, "tolerance": 1},
    )
    made = load(name)
    assert made.name == "mine" and made.documents is None
    first, second, third, fourth, fifth = made.questions
    assert (first.id, first.question, first.answers, first.gold) == ("7", "Who?", ("Curie",), ("a", "b"))
    assert (second.answers, second.gold, second.kind, second.language) == (("甲", "乙"), ("c",), "bridge", "zh")
    assert (third.question, third.answers, third.reference, third.answerable) == ("Write on tea.", (), "Tea is …", True)
    assert not fourth.answerable
    assert (fifth.answers, fifth.value, fifth.tolerance) == (("12",), 12.5, 1)
    assert len({each.digest for each in made.questions}) == 5


@pytest.mark.parametrize("columns", [False, True])
def test_hotpotqa_is_loaded_with_its_passages(tmp_path: Path, columns: bool) -> None:
    record: dict[str, Any] = {"_id": "h1", "question": "Where?", "answer": "Bath", "type": "bridge"}
    if columns:
        record["context"] = {"title": ["A", "B"], "sentences": [["One. ", "Two."], ["Three."]]}
        record["supporting_facts"] = {"title": ["A", "A", "B"], "sent_id": [0, 1, 0]}
    else:
        record["context"] = [["A", ["One. ", "Two."]], ["B", ["Three."]]]
        record["supporting_facts"] = [["A", 0], ["A", 1], ["B", 0]]
    (tmp_path / "dev.json").write_text(json.dumps([record]), encoding="utf-8")
    made = load(str(tmp_path / "dev.json"))
    (question,) = made.questions
    assert (question.id, question.gold, question.answers) == ("h1", ("A", "B"), ("Bath",))
    assert made.documents and [(each.url, each.text) for each in made.documents] == [
        ("A", "One. Two."),
        ("B", "Three."),
    ]


def test_squad_and_cmrc_are_loaded_with_their_paragraphs(tmp_path: Path) -> None:
    asked = {"id": "DEV_0_QUERY_0", "question": "谁？", "answers": [{"text": "甲", "answer_start": 0}, {"text": "甲"}]}
    unknown = {"id": "DEV_0_QUERY_1", "question": "何时？", "answers": []}
    squad = {"data": [{"title": "书", "paragraphs": [{"id": "DEV_0", "context": "甲写书。", "qas": [asked, unknown]}]}]}
    (tmp_path / "cmrc.json").write_text(json.dumps(squad), encoding="utf-8")
    made = load(str(tmp_path / "cmrc.json"))
    assert [(each.id, each.answers, each.gold, each.answerable) for each in made.questions] == [
        ("DEV_0_QUERY_0", ("甲",), ("DEV_0",), True), ("DEV_0_QUERY_1", (), ("DEV_0",), False),
    ]  # fmt: skip
    older = [{"context_id": "T_1", "context_text": "乙。", "title": "题", "qas": [
        {"query_id": "T_1_0", "query_text": "谁？", "answers": ["乙"]}]}]  # fmt: skip
    (tmp_path / "trial.json").write_text(json.dumps(older), encoding="utf-8")
    made = load(str(tmp_path / "trial.json"))
    assert (made.questions[0].id, made.questions[0].gold) == ("T_1_0", ("T_1",))
    assert made.documents and (made.documents[0].url, made.documents[0].title) == ("T_1", "题")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["{"], "line 1"), (["[1]"], "objects"), (["", ""], "no question"), ([{"id": "1"}], "no question"),
        ([{"question": "Who?"}, {"question": "Who?"}], "twice"), ([{"id": "1", "question": "Who?", "answer": {"a": 1}}], "answer"),
        ([{"id": "1", "question": "Who?", "answer": "x", "answerable": False}], "answerable"),
        ([{"id": "1", "question": "Who?", "value": "x"}], "value"),
        ([{"id": "1", "question": "Who?"}, {"id": 1, "question": "Where?"}], "twice"),
        ([{"id": "1", "question": "Who?", "context": [["A"]], "supporting_facts": []}], "HotpotQA"),
        ([{"qas": [{"id": "1"}]}], "context"), ([{"paragraphs": [{"context": "x", "qas": [{"id": "1"}]}]}], "SQuAD"),
        ([{"paragraphs": [3]}], "SQuAD"),
        (["[" * 100_000], "JSON"),
    ],
)  # fmt: skip
def test_an_invalid_dataset_is_reported_by_name(tmp_path: Path, lines: list[Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as error:
        load(write(tmp_path / "bad.jsonl", *lines))
    assert "bad.jsonl" in str(error.value)


def test_an_unknown_or_unreadable_dataset_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="factbook-zh"):
        load(str(tmp_path / "gone.jsonl"))
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="UTF-8"):
        load(str(tmp_path / "binary.jsonl"))


def test_a_question_without_an_id_keeps_its_id_when_the_file_is_reordered(tmp_path: Path) -> None:
    asked = [{"question": "Who?", "answer": "Curie"}, {"question": "Where?", "answer": "Paris"}]
    first = load(write(tmp_path / "a.jsonl", *asked)).questions
    second = load(write(tmp_path / "b.jsonl", *reversed(asked))).questions
    assert {each.digest for each in first} == {each.digest for each in second}
    assert all(each.id.startswith("q-") for each in first)


@pytest.mark.parametrize(("name", "mark"), [("t.csv", ","), ("t.csv", ";"), ("t.tsv", "\t"), ("T.CSV", ",")])
def test_a_table_of_questions_is_loaded(tmp_path: Path, name: str, mark: str) -> None:
    rows = [
        ["Question", "answer", "Value", "tolerance", "unit", "answerable", "notes"],
        [f'"Who{mark} and\nwhen?"', "Marie Curie | Curie", "", "", "", "", "x"],
        ["How much?", "", "7.5", "0.1", "%"],
        [],
        ["谁？", "", "", "", "", "no", ""],
    ]
    path = tmp_path / name
    path.write_text("\ufeff" + "\r\n".join(mark.join(row) for row in rows), encoding="utf-8")
    first, second, third = load(str(path)).questions
    assert (first.question, first.answers) == (f"Who{mark} and\nwhen?", ("Marie Curie", "Curie"))
    assert (second.answers, second.value, second.tolerance, second.unit) == ((), 7.5, 0.1, "%")
    assert not third.answerable and len({first.id, second.id, third.id}) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no question"), ("question,answer", "no question"), ("Frage,Antwort\nWer?,Curie", "frage, antwort"),
        ("question,value\nWho?,12 km", "row 2: value '12 km'"), ("question,answerable\nWho?,maybe", "row 2: answerable"),
        ("question,answer\nWho?,Curie, Marie", "row 2 has 3 cells"), ('question\n"Who?', "row 2 is not CSV"),
        ("id,question\n1,", "record 1 has no question"),
    ],
)  # fmt: skip
def test_an_invalid_table_is_reported_by_row_and_column(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "bad.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=said) as error:
        load(str(tmp_path / "bad.csv"))
    assert "bad.csv" in str(error.value)


# -- corpora ------------------------------------------------------------------------------------------------------------

AWKWARD = ("a", "A", "../../etc/passwd", "hp-01", "约翰·白朗", "x" * 300, "con/..", ".hidden", "a b%20c?#", "-")


def test_a_corpus_preserves_every_id(tmp_path: Path) -> None:
    records = [{"id": key, "title": "T", "text": f"text {place}"} for place, key in enumerate(AWKWARD)]
    path = Path(write(tmp_path / "c.jsonl", *records))
    corpus = open_corpus(tmp_path / "home", "", None, path)
    folder = Path(corpus.folder)
    assert sorted(corpus.ids.values()) == sorted(AWKWARD)
    assert len(list(folder.iterdir())) == len(AWKWARD)
    assert all(file.parent == folder and file.suffix == ".md" for file in folder.iterdir())
    assert folder.parent == (tmp_path / "home" / "corpora").resolve()
    for url, key in corpus.ids.items():
        assert key in corpus.names(Source(1, url, "T", ""))
    before = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    assert open_corpus(tmp_path / "home", "", None, path) == corpus
    assert before == {file: file.stat().st_mtime_ns for file in folder.iterdir()}, "a file was written again"


def test_a_partly_written_corpus_is_completed(tmp_path: Path) -> None:
    name = write(tmp_path / "c.jsonl", {"id": "a", "text": "one"}, {"pid": "b", "title": "B", "text": "two"})
    corpus = open_corpus(tmp_path / "home", "", None, Path(name))
    folder = Path(corpus.folder)
    part = folder.with_name(f".{folder.name}.part")
    folder.rename(part)
    (part / "b.md").unlink()
    assert open_corpus(tmp_path / "home", "", None, Path(name)) == corpus
    assert (folder / "b.md").read_text("utf-8") == "# B\n\ntwo"
    assert not part.exists()


def test_a_source_from_a_folder_is_known_by_its_paths_and_title(tmp_path: Path) -> None:
    corpus = open_corpus(tmp_path, "", None, tmp_path)
    assert {"sub/a.md", "sub/a", "Title"} <= set(corpus.names(Source(1, "library://x-12/sub/a.md", "Title", "")))
    assert corpus.search == ("folders",)
    assert open_corpus(tmp_path, "", None).search == ("library",)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "no document"),
        ([{"id": "a"}], "no text"),
        ([{"text": "x"}], "no id"),
        ([{"id": "a", "text": ""}] * 2, "twice"),
    ],
)
def test_an_invalid_corpus_is_reported(tmp_path: Path, lines: list[Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        open_corpus(tmp_path, "", None, Path(write(tmp_path / "c.jsonl", *lines)))
    assert not (tmp_path / "corpora").exists()


# -- the built-in sets --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_factbook_set_is_large_and_mixed_and_its_gold_documents_contain_the_answers() -> None:
    made = load("factbook").questions
    documents = {document.url: document for document in factbook.documents()}
    assert len(made) >= 100 and len({each.question for each in made}) == len(made)
    kinds = {"one_hop", "two_hop", "comparison", "arithmetic", "unanswerable"}
    assert {each.kind for each in made} == {each.kind for each in made[:30]} == kinds, (
        "the first questions are not of every kind"
    )
    for each in made:
        assert each.answerable == bool(each.answers) == bool(each.gold), each
        texts = [documents[url].text for url in each.gold]
        if each.kind in ("one_hop", "two_hop"):
            assert any(answer in text for answer in each.answers for text in texts), each
        if each.kind == "two_hop":
            assert len(each.gold) == 2 or "Government" in documents[each.gold[0]].title or each.gold[0].endswith(
                "/communications"
            ), each  # fmt: skip
        if each.kind == "comparison":
            assert not set(each.answers) & set(each.over)


@pytest.mark.slow
def test_the_chinese_set_has_chinese_documents_that_contain_its_answers() -> None:
    made = load("factbook-zh")
    assert made.documents
    documents = {document.url: document for document in made.documents}
    assert len(made.questions) >= 60
    for each in made.questions:
        assert each.language == "zh"
        assert set(each.gold) <= documents.keys()
        if each.kind in ("one_hop", "two_hop"):
            assert each.answers[0] in documents[each.gold[-1]].text, each


@pytest.mark.parametrize("name", ["factbook", "factbook-zh"])
def test_the_factbook_splits_share_no_question(name: str) -> None:
    dev, held = (load(name, split).questions for split in SPLITS)
    assert not {each.question for each in dev} & {each.question for each in held}
    assert not {each.id for each in dev} & {each.id for each in held}
    with pytest.raises(ConfigError, match="dev, held"):
        load(name, "test")


def test_question_digests_are_stable() -> None:
    """Rows in existing stores refer to their questions by these digests."""
    versions = {name: [version_of(load(name, split).questions) for split in SPLITS] for name in BUILT_IN}
    assert versions == {
        "factbook": ["c6cb9221a90d", "7490b37629ed"],
        "factbook-zh": ["03785d3e9d31", "725e23f80224"],
        "almanac": ["200923990546", "a89be04e8723"],
        "almanac-zh": ["e4ba8d52f1b0", "4be7ebcf34e8"],
    }
