"""The benches print tables of the documented shape, and README and all pages show the same figures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench import all as whole
from bench import branches, engine, memory, prompt_growth, startup, watching
from bench.peers import __main__ as peers
from bench.plots import draw
from bench.printing import renewed, shape, tables
from tests.loops import loop_over

ROOT = Path(__file__).parents[2]
PAGE = whole.PAGE.read_text("utf-8")
OTHERS = [ROOT / "README.md", *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name != "benchmarks.md")]
ROUNDS = (10, 50, 100, 200)


def section(title: str) -> str:
    return whole.sections(PAGE)[title]


def shapes(text: str) -> list[tuple[str, ...]]:
    return [shape(each) for each in tables(text)]


def compared() -> dict[str, peers.Figures]:
    """Return made-up figures for every program."""
    names = [peers.BARE, peers.LOOP, peers.OURS, *(peer.name for peer in peers.PEERS)]
    keep = {peers.OURS, "langgraph + SQLite checkpointer"}
    return {name: peers.Figures(dict.fromkeys(ROUNDS, 1.0), 1.0, 10**6 * (name in keep)) for name in names}


def test_the_page_has_exactly_one_section_for_each_bench() -> None:
    assert list(whole.sections(PAGE)) == [part.title for part in whole.PARTS]
    for part in whole.PARTS:
        assert f"`python -m {part.module}" in section(part.title), "the section does not say how to repeat it"
        assert tables(section(part.title)), part.title
        picture, _, shown = part.picture.partition(": ")
        assert not picture or f"![{shown}](images/{picture})" in section(part.title)


@loop_over("part", whole.PARTS)
def test_bench_all_passes_valid_arguments_to_every_bench(part: whole.Part, monkeypatch: pytest.MonkeyPatch) -> None:
    called = whole.arguments(part, Path("envs"), quick=True)
    module = peers if part.peers else __import__(part.module, fromlist=["main"])
    monkeypatch.setattr(sys, "argv", [part.module, *called, "--no-such-option"])
    with pytest.raises(SystemExit) as refused:
        module.main()
    assert refused.value.code == 2


@pytest.mark.slow
def test_the_peer_bench_prints_the_documented_tables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = "\n".join(peers.lines(compared(), 50))
    assert shapes(printed) == shapes(section("Beside other programs"))
    assert "Not measured" not in printed
    monkeypatch.setattr(sys, "argv", "peers --rounds 2 3 4 5 --runs 1 --repeat 1".split())
    peers.main()
    alone = capsys.readouterr().out
    ((head, *names),) = shapes(alone)
    assert (head, names) == (shapes(printed)[0][0], [peers.BARE, peers.LOOP, peers.OURS])
    assert f"not installed: {', '.join(peer.name for peer in peers.PEERS)}." in alone


def test_a_peer_runs_in_its_own_process_and_must_search() -> None:
    with engine.provider() as port:
        driver = "tests.bench_peer:prepared"
        with peers.other(Path(sys.executable), driver, ["openai"], port, 0.0) as program:
            assert program.versions["openai"]
            seconds, kept = program.run(3, 2)
            assert seconds > 0
            assert kept == len("kept")
        with (
            peers.other(Path(sys.executable), "tests.bench_peer:lazy", [], port, 0.0) as program,
            pytest.raises(RuntimeError, match="lazy ended"),
        ):
            program.run(3)


@pytest.mark.slow
def test_the_engine_bench_prints_the_documented_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "ROUNDS", 1)  # for the shape of the table; the figures mean nothing
    assert shapes("\n".join(engine.overhead([10, 11, 12, 13], repeat=1))) == shapes(section("Under each strategy"))


def test_the_branches_bench_prints_the_documented_table() -> None:
    assert shapes("\n".join(branches.lines([2, 3, 4], 1, 0, 0))) == shapes(section("Branches at once"))


def test_the_prompts_bench_prints_the_documented_tables() -> None:
    curves = dict.fromkeys(prompt_growth.curves(2), prompt_growth.Growth(tuple(range(101)), (), "answered"))
    printed = f"{prompt_growth.table(curves, 100)}\n\n{prompt_growth.rewoo_table()}"
    assert shapes(printed) == shapes(section("Prompts"))


def test_the_memory_bench_prints_the_documented_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", "memory --entries 50 --dimension 8".split())
    memory.main()
    assert shapes(capsys.readouterr().out) == shapes(section("Memory"))


def test_the_watching_bench_prints_the_documented_table() -> None:
    assert shapes("\n".join(watching.lines([""] * 5, 200, 3, 2))) == shapes(section("Watching a run"))


def test_the_startup_bench_prints_the_documented_table() -> None:
    assert shapes("\n".join(startup.lines([1.0] * len(startup.ROWS)))) == shapes(section("Starting"))


@loop_over("path", OTHERS)
def test_other_pages_show_the_figures_of_the_benchmarks_page(path: Path) -> None:
    text = path.read_text("utf-8")
    heads = {each[0]: each for each in shapes(PAGE)}
    assert all(each == heads.get(each[0], each) for each in shapes(text)), "rows differ from docs/benchmarks.md"
    assert renewed(text, whole.settled(PAGE)) == text, "run python -m bench.all to update the figures"


def test_a_table_is_replaced_only_by_one_of_the_same_shape() -> None:
    old = "Said.\n\n| ms | 10 rounds |\n|---|---:|\n| this | 1.5 |\n\n| ms | 10 rounds |\n|---|---:|\n| that | 1 |\n"
    new = "| ms | 20 rounds |\n|---|---:|\n| this | 2,000 |"
    assert renewed(old, [new]) == old.replace("10 rounds", "20 rounds", 1).replace("1.5", "2,000")


@pytest.mark.slow
def test_the_same_figures_give_the_same_chart(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        draw(tmp_path / name, [peers.panel(compared())], "Times & rounds")
    first = (tmp_path / "a.svg").read_text("utf-8")
    assert first == (tmp_path / "b.svg").read_text("utf-8")
    assert all(name in first for name in compared())
    assert 'aria-label="Times &amp; rounds"' in first


@loop_over("name", [part.picture.partition(":")[0] for part in whole.PARTS if part.picture])
def test_every_chart_exists(name: str) -> None:
    assert (ROOT / "docs" / "images" / name).read_text("utf-8").rstrip().endswith("</svg>")
