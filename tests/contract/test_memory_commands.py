"""The command `memory`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from research.cli.main import main
from research.config.settings import load
from research.memory import Entry
from research.memory.entries import Memory
from research.workbench.workbench import Workbench
from tests.word_encoder import WordEncoder

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = Workbench(load(home=tmp_path / "home")).memory
    memory.add(
        [
            Entry(
                "Copper is the main export of Chile.",
                "finding",
                "copper",
                "model",
                "run-1",
                2,
                "https://example.org/chile",
            ),
            Entry("长江是中国最长的河流。", id="river", time=1.0),
        ]
    )
    yield memory
    memory.close()


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> tuple[int, str, str]:
        try:
            status = main(["memory", *words, "--home", str(tmp_path / "home")])
        except SystemExit as end:
            status = int(str(end.code))
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_search_prints_the_best_match_first_with_its_origin(memory: Memory, run: Run) -> None:
    status, out, _ = run("search", "which metal does Santiago sell", "--limit", "1")
    assert status == 0
    assert "copper  Copper is the main export of Chile." in out
    assert "finding · run-1 round 2 · https://example.org/chile" in out
    status, out, _ = run("search", "最长的河", "--json")
    found = json.loads(out)
    assert status == 0 and out.count("\n") == 1
    assert found[0]["id"] == "river" and 0 < found[0]["cosine"] <= 1


def test_entries_can_be_listed_exported_forgotten_and_imported(memory: Memory, run: Run, tmp_path: Path) -> None:
    status, out, err = run("list", "--json")
    assert status == 0 and [entry["id"] for entry in json.loads(out)] == ["copper", "river"]
    status, out, err = run("list", "--limit", "1")
    assert "copper" in out and "river" not in out and "2 of at most 1,000 entries" in err
    file = tmp_path / "memory.jsonl"
    assert run("export", "-o", str(file))[0] == 0
    status, out, _ = run("export")
    assert out == file.read_text(encoding="utf-8") and out.count("\n") == 2
    assert run("forget", "copper", "river")[:2] == (0, "2 forgotten\n")
    assert run("list", "--json")[1] == "[]\n"
    assert run("import", str(file))[:2] == (0, "2 added, 0 known already\n")
    assert run("import", str(file))[:2] == (0, "0 added, 2 known already\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["forget", "copper", "nobody"], "unknown entry 'nobody'"), (["search", "?!"], "no words"),
        (["import", "/nowhere.jsonl"], "cannot be read"), (["search"], "query"), ([], "ACTION"),
        (["export", "-o", "/nowhere/x.jsonl"], "cannot be written"), (["add", "  "], "has no text"),
        (["pin", "copper", "nobody"], "unknown entry 'nobody'"), (["unpin"], "id"), (["add"], "text"),
    ],
)  # fmt: skip
def test_a_wrong_call_prints_the_reason_and_changes_nothing(
    memory: Memory, run: Run, words: list[str], said: str
) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert said in err and "Traceback" not in err
    assert memory.count() == 2 and not memory.get("copper").pinned


def test_a_note_is_added_once_and_can_be_pinned(memory: Memory, run: Run) -> None:
    status, out, _ = run("add", "Board reports cite the annual accounts.", "--tag", "style", "--tag", "board")
    id_, said = out.split(None, 1)
    assert (status, said) == (0, "kept\n")
    entry = memory.get(id_)
    assert (entry.kind, entry.provenance, entry.tags) == ("note", "user", ("style", "board"))
    assert run("add", "Board reports cite the annual accounts.")[1] == f"{id_}  known already\n"
    assert run("pin", id_, "copper")[:2] == (0, "2 pinned\n")
    assert memory.get(id_).pinned and memory.get("copper").pinned and not memory.get("river").pinned
    assert run("unpin", "copper", "copper")[:2] == (0, "1 no longer pinned\n")
    assert memory.get(id_).pinned and not memory.get("copper").pinned


def test_reembed_encodes_a_memory_of_another_encoder_and_shows_progress(tmp_path: Path, run: Run) -> None:
    other = Memory(load(home=tmp_path / "home").home / "memory.sqlite", WordEncoder())
    other.add([Entry("Copper is the main export of Chile.", id="copper"), Entry("长江是中国最长的河流。", id="river")])
    status, out, err = run("search", "copper")
    assert (status, out) == (2, "")
    assert "'words:64'" in err and "universal:" in err
    status, out, err = run("reembed")
    assert (status, out) == (0, "2 encoded again\n")
    assert "encoded by words:64" in err and "encoding: 2" in err
    assert run("search", "copper", "--limit", "1")[1].count("copper  Copper") == 1
    other.close()
