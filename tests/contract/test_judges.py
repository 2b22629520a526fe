"""A judge is measured by people's annotations, and flagged wherever its points appear until it agrees with them."""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from research.evaluation.annotator_agreement import Agreement, agreement, alpha, kappa
from research.evaluation.records import Row
from research.evaluation.scorers import Scores
from tests.command import Cli

pytestmark = pytest.mark.usefixtures("own_library")


def write(path: Path, *records: Any) -> str:
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return str(path)


def test_kappa_follows_its_definition() -> None:
    table = {"aa": 50, "ab": 26, "ac": 24, "ba": 24, "bb": 4, "bc": 32, "ca": 6, "cb": 30, "cc": 4}
    pairs = [(one, other) for (one, other), number in table.items() for _ in range(number)]
    n = len(pairs)
    seen = sum(one == other for one, other in pairs) / n
    chance = sum(sum(p[0] == c for p in pairs) * sum(p[1] == c for p in pairs) for c in "abc") / n**2
    assert kappa(pairs) == pytest.approx((seen - chance) / (1 - chance), abs=1e-9)
    assert kappa([("a", "a"), ("b", "b")]) == 1.0 and kappa([("a", "b"), ("b", "a")]) == -1.0
    assert kappa([("a", "a")] * 3) is None and kappa([]) is None


def test_alpha_is_that_of_krippendorffs_example_and_of_its_definition() -> None:
    # Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section C: nominal data, four observers, .743.
    observers = ("12332141 2...", "12332241 25.3", ".3332342 251.", "12332441 251.")
    units = [[each[place] for each in observers if each[place] not in ". "] for place in range(13)]
    assert alpha(units) == pytest.approx(0.743, abs=5e-4)
    draw = random.Random(5)
    for _ in range(20):
        units = [[draw.choice("abc") for _ in range(3)] for _ in range(12)]
        values = [label for unit in units for label in unit]
        within = [one != other for unit in units for one, other in combinations(unit, 2)]
        among = [one != other for one, other in combinations(values, 2)]
        expected = 1 - (sum(within) / len(within)) / (sum(among) / len(among))
        assert alpha(units) == pytest.approx(expected, abs=1e-9)
    assert alpha([["a", "a"]]) is None and alpha([["a"], ["b"]]) is None


def row(race: float, **said: str) -> Row:
    return Row("e", "r", "q", "d", "run", "answered", scores=Scores(race=race), annotations=said)


def test_a_judge_is_reliable_only_with_enough_reports_and_agreement() -> None:
    rows = [row(0.9, ann="report", ben="report"), row(0.1, ann="reference", ben="tie"), row(0.5, ann="tie")]
    few = agreement(rows)
    assert (few.reports, few.annotators, few.kappa) == (3, 2, pytest.approx(0.5)) and not few.reliable
    many = agreement([row(0.9, ann="report"), row(0.1, ann="reference")] * 6)
    assert (many.kappa, many.interval, many.alpha) == (1.0, (1.0, 1.0), None) and many.reliable
    assert not agreement([row(0.9, ann="reference"), row(0.1, ann="report")] * 6).reliable
    assert agreement([row(0.9)]) == Agreement(0, 0, None, None, None)


def test_annotations_are_read_from_a_table_and_shown_beside_the_judges_points(cli: Cli, tmp_path: Path) -> None:
    asked = [{"id": f"q{n}", "question": f"Who built tower {n}?", "answer": "Odo", "reference": "Odo."} for n in (1, 2)]
    script = write(tmp_path / "s.jsonl", {"text": "<answer>Odo Fenn built it.</answer>"})
    points = dict.fromkeys(("comprehensiveness", "insight", "instruction_following", "readability"), 6)
    said = json.dumps({"first": points, "second": points})
    judge = f"scripted:{write(tmp_path / 'judge.jsonl', *[{'text': said}] * 2)}"
    data = write(tmp_path / "towers.jsonl", *asked)
    done = cli("eval", data, "--recipe", f"react/full/scripted:{script}", "--judge", judge)
    assert done.status == 0, done.err
    assert "not compared with people, so its points are flagged" in done.out
    assert "| RACE (judge unreliable) |" in done.out
    table = tmp_path / "people.csv"
    name = f"react/full/scripted:{script}"
    table.write_text(f"question,recipe,annotator,better\nq1,{name},ann,tie\nq1,{name},ben,tie\nq2,{name},ann,report\n")
    found = cli("eval", "annotate", "towers", "--from", str(table), "--json")
    assert found.status == 0 and "annotated 2 rows" in found.err, found.err
    by = found.json["judge"]
    assert (by["model"], by["reports"], by["annotators"], by["reliable"]) == (judge, 2, 2, False)
    assert [each["annotations"] for each in found.json["rows"]] == [{"ann": "tie", "ben": "tie"}, {"ann": "report"}]
    assert "over 2 reports" in cli("eval", "export", "towers", "--format", "md").out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("q1,react/full,ann,better", "line 2: give annotator, and better as one of report, reference, tie"),
        ("q9,react/full,ann,tie", "line 2 names no row of evaluation 'towers'"),
    ],
)
def test_an_annotation_of_nothing_is_refused(cli: Cli, tmp_path: Path, line: str, said: str) -> None:
    script = write(tmp_path / "s.jsonl", {"text": "<answer>Odo.</answer>"})
    data = write(tmp_path / "towers.jsonl", {"id": "q1", "question": "Who built it?", "answer": "Odo"})
    cli("eval", data, "--recipe", "react/full", "--model", f"scripted:{script}")
    (tmp_path / "a.csv").write_text(f"question,recipe,annotator,better\n{line}\n")
    done = cli("eval", "annotate", "towers", "--from", str(tmp_path / "a.csv"))
    assert done.status == 2 and said in done.err
    assert cli("eval", "annotate", "towers").status == 2
