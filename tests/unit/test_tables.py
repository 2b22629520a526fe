"""Every table of figures in README and the documents is the output of a command named beside it.

test_benchmarks.py compares the tables of `python -m bench.all`; this file compares those of other commands.  The
printing code is called with made-up figures, and every word must match; only numbers may differ.
"""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec import Struct

from bench import all as whole
from bench import citations, evaluation, frameworks, gateway, memory_reuse, multihop, novelty, recall, sets
from bench.printing import shape, tables
from research.evaluation.questions import SPLITS
from research.exports import docx, html, pdf
from research.workbench.presets import BUILT_IN
from tests.loops import loop_over

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
EACH = loop_over("path", PAGES)
BENCHMARKS = {shape(table) for table in tables(whole.PAGE.read_text("utf-8"))}


@cache
def read(path: Path) -> str:
    return path.read_text("utf-8")


def cells(row: str) -> list[str]:
    return [each.strip() for each in re.split(r"(?<!\\)\|", row.strip()[1:-1])]


# -- printed tables -------------------------------------------------------------------------------------------------


class Printed(Struct, frozen=True):
    """A table on a page, and the code that prints it."""

    page: str
    command: str
    """Named in the same section of the page."""
    table: Callable[[], str]


def found(figures: dict[str, list[float]]) -> evaluation.Found:
    """Make up results of `eval` from each recipe's figures: share of answerable questions answered correctly, correct,
    refused, evidence recall, citation precision."""
    recipes, rows = [], []
    for recipe, (answered, *means) in figures.items():
        right, refused, recall_, precision = (evaluation.Figure(mean, (mean, mean)) for mean in means)
        tokens = evaluation.Figure(1_000.0)
        recipes.append(evaluation.Of(recipe, right, refused, recall_, precision, tokens, tokens))
        rows += [evaluation.Row(recipe, float(n < round(100 * answered)), None) for n in range(100)]
        rows.append(evaluation.Row(recipe, 1.0, 1.0))
    gain = evaluation.Figure(0.5, (0.25, 0.75))
    pair = evaluation.Pair(evaluation.ONE_ROUND, evaluation.BASE, gain)
    return evaluation.Found(101, recipes, [pair], rows)


def evaluated(name: str) -> str:
    told = "\n".join(evaluation.lines(name, "held", found(dict.fromkeys(evaluation.RECIPES[name], [1.0] * 5))))
    assert f"`{name}`, held: 101 questions, 1 of them unanswerable" in told
    assert told.endswith("`react/full` less that of `react:rounds=1/full`: -0.50 [-0.75, -0.25]")
    (table,) = tables(told)
    return table


def counted() -> str:
    ones = dict.fromkeys(("right", "searches", "calls", "remembered"), 1)
    return memory_reuse.lines(dict.fromkeys(memory_reuse.WAYS, ones))


def cited() -> str:
    names = [*citations.SETS, "claims_held", "fever_symmetric_dev", "wice_dev_oracle"]
    # Of claims in other words the rules tick and cross next to none, and a table has no rate of none.
    unticked = ("prose", "prose2", "claims_held", "fever_symmetric_dev")
    uncrossed = ("prose", "claims_held", "fever_symmetric_dev", "wice_dev_oracle")
    ones, none = (1, 1, 1), (0, 0, 1)
    return citations.lines(
        citations.Score(
            each, each in citations.SEEN, none if each in unticked else ones, none if each in uncrossed else ones
        )
        for each in names
    )


def linked() -> str:
    names = [f"`{name}` {split}" for name in ("almanac", "almanac-zh") for split in SPLITS]
    return multihop.lines(dict.fromkeys([*names, "`hotpotqa_reflexion100_questions`"], ((1, 1), (1, 1))))


def cost() -> str:
    return frameworks.lines({f"{one} / {other}": frameworks.Cost(1, 1, 1) for one, other in frameworks.RECIPES})


def searched() -> str:
    return recall.lines((name, 1, np.ones((2, 3))) for name in recall.SETS)


def best() -> str:
    """Return the table of the best recipes, made from the figures in the tables of all recipes."""
    page, told = read(DOCS / "evaluation.md"), {}
    sizes = dict(re.findall(r"^\| `(\w+)` \| \d+ / (\d+) \|", page, re.M))
    for name in evaluation.RECIPES:
        (table,) = (each for each in tables(page) if form(each) == form(evaluated(name)))
        rows = [cells(row) for row in table.splitlines()[2:]]
        of = found({row[0].strip("`"): [float(cell.split()[0]) for cell in row[1:6]] for row in rows})
        told[name] = msgspec.structs.replace(of, questions=int(sizes[name]))
    return evaluation.overview(told, "held")


PRINTED = [
    Printed("docs/evaluation.md", "bench.evaluation", best),
    Printed("docs/evaluation.md", "bench.sets", sets.lines),
    Printed("docs/evaluation.md", "bench.multihop", linked),
    Printed("docs/evaluation.md", "bench.evaluation", partial(evaluated, "factbook")),
    Printed("docs/evaluation.md", "bench.evaluation", partial(evaluated, "almanac")),
    Printed("docs/citations.md", "bench.citations", cited),
    Printed("docs/frameworks.md", "bench.frameworks", cost),
    Printed("docs/frameworks.md", "bench.novelty", partial(novelty.to_choose, None)),
    Printed("docs/frameworks.md", "bench.novelty", partial(novelty.to_report, None)),
    Printed("docs/memory.md", "bench.memory_reuse", counted),
    Printed("docs/memory.md", "bench.recall", searched),
    Printed("docs/gateway.md", "bench.gateway", lambda: gateway.lines(dict.fromkeys(gateway.CASES, [1.0] * 4))),
]
NUMBER = r"[+-]?\d[\d,]*(?:\.\d+)?"


def form(table: str) -> str:
    """Return a table with `#` for every number."""
    return re.sub(NUMBER, "#", table)


def sections(text: str) -> list[str]:
    """Split a page at its second-level headings."""
    return re.split(r"^## ", text, flags=re.M)


@loop_over("each", PRINTED)
def test_a_page_shows_the_table_that_the_command_beside_it_prints(each: Printed) -> None:
    beside = [part for part in sections(read(ROOT / each.page)) if f"python -m {each.command}" in part]
    assert beside, f"{each.page} does not name python -m {each.command}"
    assert form(each.table()) in [form(table) for part in beside for table in tables(part)]


# -- no other tables of figures ---------------------------------------------------------------------------------------

OF_CODE = {
    "| option | default | accepts | meaning |",  # test_docs.py
    "| service | setting | at least apart | good to know |",
    "| preset | framework / strategy | what it sets | at most |",
    "| format | for | limits |",
    "| channel | width after private data was seen |",  # test_what_leaves.py
}
"""Heads of tables of settings, which are not measured; other tests compare them with the code."""
OF_OTHERS = "| published by the projects themselves; not comparable with each other | |"
"""The head of a table of published figures, in which each row links to its source."""
ONCE = "No command repeats"
"""Begins the note in a decision record on figures that cannot be reproduced."""


def has_figures(table: str) -> bool:
    """Return whether a column is right-aligned, as figures are, or most of its cells begin with a number."""
    _, line, *rows = (cells(row) for row in table.splitlines())
    for n, (aligned, *column) in enumerate(zip(line, *rows, strict=True)):
        filled = [each for each in column if each]
        figures = [each for each in filled if re.match(r"[*~≈<>+−-]*(about |up to )?[$.]?\d", each)]
        if n and (aligned.endswith(":") or 2 * len(figures) > len(filled)):
            return True
    return False


def told_for(path: Path, part: str, table: str) -> bool:
    """Return whether the page names a source for a table of figures."""
    head, _, *rows = table.splitlines()
    if path.parent.name == "decisions":  # a dated snapshot, with its own columns
        return "python -m " in part or ONCE in part
    if head == OF_OTHERS:
        return all("](https://" in row for row in rows)
    if shape(table) in BENCHMARKS:
        return "python -m bench." in part or "(benchmarks.md#" in part or "(docs/benchmarks.md)" in part
    beside = [each for each in PRINTED if ROOT / each.page == path and f"python -m {each.command}" in part]
    return head in OF_CODE or form(table) in [form(each.table()) for each in beside]


@EACH
def test_every_table_of_figures_is_printed_by_a_command(path: Path) -> None:
    for part in sections(read(path)):
        for table in tables(part):
            assert not has_figures(table) or told_for(path, part, table), f"which command prints this?\n{table}"


@pytest.mark.parametrize("table, is_one", [
    ("| a | b |\n|---|---:|\n| x | fast |", True), ("| a | b |\n|---|---|\n| x | 0.5 |\n| y | ~7 ms |\n| z | no |", True),
    ("| a | b |\n|---|---|\n| x | **12 %** |", True), ("| a | b |\n|---|---|\n| x | $0.1 |\n| y | |", True),
    ("| a | b |\n|---|---|\n| 1 | x |\n| 2 | y |", False), ("| a | b |\n|---|---|\n| x | `k \\| 2` |", False),
])  # fmt: skip
def test_a_table_of_figures_is_recognised_by_its_columns(table: str, is_one: bool) -> None:
    assert has_figures(table) is is_one


# -- figures in two places, and figures of the code ---------------------------------------------------------------------


def test_the_table_of_the_best_recipes_matches_the_tables_of_all_recipes() -> None:
    assert best() in read(DOCS / "evaluation.md")


def test_the_documented_sizes_of_the_built_in_sets_are_correct() -> None:
    assert sets.lines() in read(DOCS / "evaluation.md")


def test_the_documented_request_intervals_of_the_services_are_correct() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| ([\d.]+) s \|", read(DOCS / "sources.md"), re.M))
    services = {each.stem: read(each) for each in (ROOT / "research" / "search" / "services").glob("[a-z]*.py")}
    waits = {name: re.findall(r"interval_s=([\d.]+)", source) for name, source in services.items()}
    assert {name: [float(wait)] for name, wait in rows.items()} == {
        name: [float(each) for each in found] for name, found in waits.items() if found
    }


def test_the_documented_budgets_of_the_presets_are_correct() -> None:
    rows = re.findall(r"^\| ([\w ]+) \| `(\w+)` / `(\w+)` \| .+? \| (.+?) \|$", read(DOCS / "using.md"), re.M)
    spans = {180.0: "3 minutes", 3_600.0: "1 hour"}

    def dollars(usd: float) -> str:
        return f"${usd:.0f}" if usd == round(usd) else f"${usd:.2f}"

    assert rows == [
        (
            each.name, each.choices.framework, each.choices.context or "full",
            f"{each.choices.budget.tokens:,} tokens, {dollars(each.choices.budget.usd or 0)}, {spans[each.choices.budget.seconds or 0]}",
        )
        for each in BUILT_IN
    ]  # fmt: skip


@loop_over("module", [html, pdf, docx])
def test_the_documented_length_limits_of_the_exports_are_correct(module: object) -> None:
    name = module.__name__.rpartition(".")[2]  # type: ignore[attr-defined]
    (limits,) = re.findall(rf"^\| `{name}` \| .+? \| (.+?) \|$", read(DOCS / "using.md"), re.M)
    assert limits.startswith(f"{module.LONGEST:,} characters")  # type: ignore[attr-defined]


# -- the commands -----------------------------------------------------------------------------------------------------


def benches(path: Path) -> list[tuple[str, list[str]]]:
    """Return module and arguments of every `python -m bench.…` on a page."""
    named = re.findall(r"python -m (bench\.\w+)([^`\n|)]*)", read(path))
    return [(module, shlex.split(rest.replace("…", "X"), comments=True)) for module, rest in named]


@EACH
def test_the_bench_commands_on_a_page_have_valid_arguments(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, given in benches(path):
        place = f"{name}.__main__" if (ROOT / name.replace(".", "/")).is_dir() else name
        module = importlib.import_module(place)
        monkeypatch.setattr(sys, "argv", [name, *given, "--no-such-option"])
        with pytest.raises(SystemExit) as refused:
            module.main()
        told = capsys.readouterr().err
        assert refused.value.code == 2
        # A bench named without arguments may lack required ones; given arguments must be accepted.
        assert told.endswith("error: unrecognized arguments: --no-such-option\n") or not given, (name, given, told)
