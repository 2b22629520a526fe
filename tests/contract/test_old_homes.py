"""Homes written by an earlier version open as they did there: runs, memory, evaluation, settings, shared links.

The tests use the command line, and the two pages that have no command.  `RECORD_OLD_HOMES=1` rewrites the
expectations; `tests/data/old_homes/make.py` sets it, in a checkout of that earlier version.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import lzma
import os
import re
import shutil
import signal
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from research import prompts
from research.__main__ import main
from tests.app.test_pages import texts
from tests.command import Cli, Done
from tests.workers import LONG_S

ROOT = Path(__file__).parents[2]
OLD = ROOT / "tests" / "data" / "old_homes"
EXPECTED = OLD / "expected"
NEW_COLUMNS = (
    "report_kept", "expected", "short_answer", "full_answer", "wrong", "no_answer", "contains", "leaked", "numeric",
    "parts_answered", "gold", "without_gold", "trial", "trials", "comparisons", "dataset_version", "interval",
    "diverged", "played", "budget_spent", "budget_unspent", "diverged_calls", "played_calls", "budget_not_spendable", "world",
    "leaks", "seed", "judge", "annotations", "citation_coverage", "cited_statements", "citations",
)  # fmt: skip
"""New, but for `interval`: shares had that of a bootstrap, which is empty where all are alike."""
RECORDING = "RECORD_OLD_HOMES" in os.environ
PLACES = ("files", "postgres")
FORMATS = ("md", "html", "json", "bib", "csl", "jsonl")
FORKED = {
    "files": (
        "react", "iter", "window", "resum", "rewoo", "supervisor", "chinese", "plot", "follow-up", "parallel", "cut", "killed-iter",
        "killed-first", "paused", "stopped", "failed", "waiting",
    ),
    "postgres": ("react", "iter", "cut", "paused", "parallel"),
}  # fmt: skip
BRANCHED = ("parallel", "killed-parallel", "reflexion")
"""Their sub-agents take the steps: the earlier version did not count these as rounds, so it could not fork them."""
FOLLOWED = {
    "files": ("react", "follow-up", "stopped", "failed", "paused", "supervisor"),
    "postgres": ("react", "paused"),
}
SEARCHES = ("GDP of France", "肯尼亚", "purchasing power")
DIFFERENCES = 150
"""How many lines of differences a failure shows."""
CLIPPED = 240
"""How many characters of each line it shows."""

MADE = json.loads((OLD / "made.json").read_text("utf-8"))
"""Ids that the earlier version generated, by place."""


@pytest.fixture
def place(request: pytest.FixtureRequest) -> str:
    """Where the runs and the memory are: in files of the home, or in Postgres."""
    return str(getattr(request, "param", "files"))


everywhere = pytest.mark.parametrize("place", PLACES, indirect=True)

OLD_PROMPTS = "c4c417070131"


@pytest.fixture(autouse=True)
def earlier_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    """New recipes record the earlier version's prompts: with others they are other recipes, and nothing is comparable."""
    monkeypatch.setattr(prompts, "digest", lambda: OLD_PROMPTS)


@pytest.fixture
def home(prepared_home: Path, tmp_path: Path) -> Path:
    """The old home, unpacked, with a current library: the archive omits it because it can be rebuilt."""
    target = tmp_path / "old"
    with tarfile.open(OLD / "files.tar.xz") as archive:
        archive.extractall(target, filter="data")
    shutil.copy(prepared_home / "library.sqlite", target)
    return target


@pytest.fixture
def cli(
    place: str,
    home: Path,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Cli]:
    """Returns a function that runs a command in this process, from the home: model scripts have relative paths."""
    if place == "postgres":
        url = request.getfixturevalue("database_url")
        load_dump(url)
        for name in ("workbench", "memory"):
            (home / f"{name}.sqlite").unlink()
        (home / "settings.toml").unlink()
        monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.chdir(home)
    interrupt = signal.getsignal(signal.SIGINT)
    yield caller(home, capsys)
    signal.signal(signal.SIGINT, interrupt)


def caller(home: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    def call(command: str, *words: str) -> Done:
        capsys.readouterr()
        try:
            status = main([*command.split(), "--home", str(home), *words])
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        said = capsys.readouterr()
        return Done(status, said.out, said.err)

    return call


def load_dump(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(lzma.decompress((OLD / "postgres.sql.xz").read_bytes()))


def same(
    name: str,
    found: Mapping[str, Any],
    left_out: tuple[str, str] | None = None,
    of: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> None:
    """Fail with all differences from what `of` keeps of the earlier version's output.

    `left_out` is a field that has changed its meaning.
    """
    path = EXPECTED / f"{name}.json.xz"
    if RECORDING:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(lzma.compress(text_of(found).encode(), preset=9))
    expected = of(json.loads(lzma.decompress(path.read_bytes())))
    if left_out:
        expected[left_out[0]].pop(left_out[1], None)
    for key in [key for key in expected if key.endswith(".html")]:
        expected[key] = without_style(expected[key])
        found = {**found, key: without_style(found[key])}
    for key in [key for key in expected if key == "markdown" or key.endswith(".md")]:
        expected[key] = without_quotes(expected[key])
        found = {**found, key: without_quotes(found[key])}
    for key in [key for key in expected if key == "markdown" or key.endswith((".md", ".html", ".docx", ".pdf"))]:
        expected[key] = by_first_use(without_counts(without_addresses(expected[key])))
        found = {**found, key: by_first_use(without_counts(as_before(found[key])))}
    for key in [key for key in expected if key.endswith(".pdf")]:  # what was checked now stands below the answer
        expected[key] = without_pages(expected[key])
        found = {**found, key: without_pages(found[key])}
    text = text_of(without_agent_status(found))
    if json.loads(text) == expected:
        return
    lines: list[str] = []
    for key in sorted(expected.keys() | found.keys()):
        before, now = (text_of(each[key]) if key in each else "(nothing)" for each in (expected, json.loads(text)))
        lines += difflib.unified_diff(
            before.split("\n"), now.split("\n"), f"{key}, before", f"{key}, now", "", "", 1, ""
        )
    more = [f"… and {len(lines) - DIFFERENCES} more lines"] if len(lines) > DIFFERENCES else []
    pytest.fail("\n".join([line[:CLIPPED] for line in lines[:DIFFERENCES]] + more), pytrace=False)


def by_first_use(lines: Sequence[str]) -> list[str]:
    """Return an export with its sources numbered by first use: earlier versions used the numbers of the run."""
    numbers: dict[str, int] = {}

    def renumbered(match: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda found: str(numbers.setdefault(found[0], len(numbers) + 1)), match[0])

    found: list[str] = []
    for line in lines:
        if line.startswith("# "):
            numbers.clear()  # a comparison has several reports
        found.append(re.sub(r'\[\d+(?:, ?\d+)*\]|source-\d+(?:" value="\d+)?', renumbered, line))
    return found


def by_ids(lines: Iterable[str]) -> list[str]:
    """Return the lines of a comparison with recipes as earlier versions wrote them: by ids, not by titles."""
    ids = {"ReAct": "react", "Parallel sampling": "parallel", "Full history": "full", "Sliding window": "window"}
    titled = re.compile(rf"({'|'.join(ids)}|Offline model)(?= /| \\||$)|(?<=/ )({'|'.join(ids)}|Offline model)")
    return [titled.sub(lambda found: ids.get(found[0], "extractive"), line) for line in lines]


def without(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that leaves these entries out of a recording, since they changed on purpose."""
    return lambda expected: {name: each for name, each in expected.items() if name not in names}


def without_measure(value: Any, names: Sequence[str] = NEW_COLUMNS) -> Any:
    """Return the output of an evaluation without the measures that the earlier version did not have."""
    if isinstance(value, dict):
        return {key: without_measure(each, names) for key, each in value.items() if key not in names}
    return [without_measure(each, names) for each in value] if isinstance(value, list) else value


def without_agent_status(value: Any) -> Any:
    """Return the output without the key that the earlier version did not have; an export is a list of lines."""
    if isinstance(value, dict):
        return {key: without_agent_status(each) for key, each in value.items() if key != "agent_status"}
    if isinstance(value, list):
        return [without_agent_status(each) for each in value if not str(each).lstrip().startswith('"agent_status": ')]
    return value


def without_columns(table: str) -> str:
    """Return the table of an evaluation without the columns that the earlier version did not have."""
    rows = list(csv.reader(io.StringIO(table)))
    kept = [place for place, name in enumerate(rows[0]) if name not in NEW_COLUMNS]
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([row[place] for place in kept] for row in rows)
    return written.getvalue()


def without_addresses(lines: Sequence[str]) -> list[str]:
    """Return the lines of an export without the addresses of documents of the library, which lead nowhere."""
    address = "library://[^<>]*"
    return re.sub(f" <code>{address}</code>| <{address}>", "", "\n".join(lines)).split("\n")


def as_before(lines: Sequence[str]) -> list[str]:
    """Return the lines of an export without what is new: marks of statements without a source, places, the question before."""
    text = re.sub(r",\smarked\s\[\?\]", "", "\n".join(lines)).replace("方案", "配方")
    text = re.sub(r" \((?:the CIA World Factbook|CIA 世界概况)\)", "", text)
    text = re.sub(r"<div><dt>(?:Follow-up to|追问自)</dt><dd>[^<]*</dd></div>", "", text)
    return re.sub(r"^follows: .*\n|^\[\?\]\n|(?:<[^<>]*>)?\[\?\](?:</\w+>)?", "", text, flags=re.M).split("\n")


def without_counts(lines: Sequence[str]) -> list[str]:
    """Return the lines of an export without the number of citations: quoted passages were counted, too."""
    told = (
        r'"?citations: \{[^}]*\}"?|\d+\s+citations?\s+checked:[^.]*\.|共核查\s*\d+\s*处引用：[^。]*。|\| Citations: .*|'
        r"\d+\s+of\s+\d+\s+statements?\s+supported|\d+\s*条[论陈][断述]中，\d+\s*条有依据|(?<=[✓✗◐] )\d+ \w+"
    )
    return re.sub(told, "", "\n".join(lines)).split("\n")


def without_style(lines: Sequence[str]) -> list[str]:
    """Return the lines of a page without its stylesheet, which may change, without charts, which are new, and without
    the list of quotes behind an answer, which the sources have too."""
    text = re.sub(r"<style>.*?</style>", "", "\n".join(lines), flags=re.S)
    text = re.sub(
        r"\s*<h[34]>(?:Evidence|依据|Conclusion|结论)</h[34]>\s*<ul>(?:(?!</?ul>).)*</ul>\s*(?=</section>|<h)",
        "",
        text,
        flags=re.S,
    )
    chart = r"<h3>[^<]*</h3>\s*<img [^>]*>\s*<div[^>]*><table>.*?</table></div>"
    return re.sub(chart, "", text, flags=re.S).split("\n")


def without_quotes(lines: Sequence[str]) -> list[str]:
    """Return the lines of a Markdown export without the sections of quotes, which the references have too."""
    quotes = r"^#{2,3} [^\n]+\n+(?:- [^\n]*: “[^\n]*” \[\d+\]\n)+\n*(?=#)"
    return re.sub(quotes, "", "\n".join(lines), flags=re.M).split("\n")


def without_pages(words: Sequence[str]) -> list[str]:
    """Return the words of a PDF whatever their order, without its page numbers and the heading of the checks."""
    text = re.sub(r"\bPage \d+ of \d+\b", " ", " ".join(words))
    return sorted(word for word in text.split() if word != "Checked")


def text_of(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)


def ids(cli: Cli) -> list[str]:
    return [row["id"] for row in cli("runs", "--limit", "100", "--json").json]


# -- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.examples(1)
@everywhere
def test_old_runs_are_listed_shown_and_replayed(cli: Cli, place: str) -> None:
    found: dict[str, Any] = {
        "list": cli("runs", "--limit", "100", "--json").json,
        "list in words": cli("runs", "--limit", "100").out.split("\n"),
        "list of Japan": cli("runs", "Japan", "--json").json,
        "list of 123,201,945": cli("runs", "123,201,945", "--json").json,
        "metrics": cli("runs", "--limit", "100", "--metrics", "--json").json,
    }
    for run in ids(cli):
        shown = cli("show", run, "--json", "--events")
        found[f"show {run}"] = {"exit": shown.status, **shown.json}
        for words in ((run,), (run, "--to", "1")):
            done = cli("replay", *words)
            found[f"replay {' '.join(words)}"] = {"exit": done.status, "holds": held(done.out, shown.json)}
    if place == "files":
        found["deleted"] = cli("show", "deleted", "--json").status
        found["without events"] = cli("show", "iter", "--json").json
    # The earlier version counted only the rounds that called a tool.
    average = found["metrics"].pop("average_rounds")
    for new in ("alerts", "average_tool_rounds", "average_seconds"):
        del found["metrics"][new]
    ended = [run for run in found["list"] if run["outcome"] and run["outcome"] != "needs_input"]
    assert average == pytest.approx(mean(found[f"show {run['id']}"]["rounds"] for run in ended))
    # It ended a replay without the report of the round, which the supervisor has written by then.
    replayed = (*BRANCHED, "supervisor")
    counted = [f"replay {run} --to 1" for run in replayed if f"replay {run} --to 1" in found]
    assert counted
    for name in counted:
        first = found.pop(name)
        assert first["exit"] == 0
        assert {*first["holds"]} < {*found[name.removesuffix(" --to 1")]["holds"]}
    same(f"{place}-runs", found, left_out=("metrics", "average_rounds"), of=without(*counted))


def held(text: str, run: Mapping[str, Any]) -> list[str]:
    """Return which data of a run a text contains; the words around them may change."""
    calls = [event["call"] for event in run["events"] if event["type"] == "ToolStarted"]
    asked = [value for call in calls for value in call["arguments"].values() if isinstance(value, str)]
    lines = [line for line in run["report"].split("\n") if line.strip()]
    data = dict.fromkeys([*asked, *lines, *(source["url"] for source in run["sources"])])
    return [each for each in data if each.partition("\n")[0] in text]


@pytest.mark.slow
@everywhere
def test_old_runs_are_exported(cli: Cli, place: str, tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    for run in ids(cli):
        for format_ in FORMATS if run in FORKED["files"] and place == "files" else ("md", "jsonl"):
            done = cli("export", run, "--format", format_)
            assert done.status == 0, done.err
            found[f"{run}.{format_}"] = done.out.split("\n")
    if place == "files":
        for format_, words_of in (("docx", words_of_docx), ("pdf", words_of_pdf)):
            file = tmp_path / f"plot.{format_}"
            assert cli("export", "plot", "--format", format_, "-o", str(file)).status == 0
            found[f"plot.{format_}"] = words_of(file)
    same(f"{place}-exports", found)


def words_of_docx(file: Path) -> list[str]:
    with zipfile.ZipFile(file) as archive:
        pictures = [name for name in archive.namelist() if name.startswith("word/media/")]
        text = archive.read("word/document.xml").decode()
    return [*re.findall(r"<w:t(?: [^>]*)?>([^<]*)</w:t>", text), f"{len(pictures)} pictures"]


def words_of_pdf(file: Path) -> list[str]:
    from pypdf import PdfReader

    pages = PdfReader(file).pages
    return [
        *(word for page in pages for word in page.extract_text().split()),
        f"{sum(len(page.images) for page in pages)} pictures",
    ]


UNFINISHED = ("killed", "killed-first", "killed-iter", "killed-parallel", "cut")


def test_old_exports_are_imported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Import exports of the earlier version into an empty home."""
    exports = json.loads(lzma.decompress((EXPECTED / "files-exports.json.xz").read_bytes()))
    cli = caller(tmp_path / "empty", capsys)
    files = [tmp_path / name for name in exports if name.endswith(".jsonl")]
    for file in files:
        file.write_text("\n".join(exports[file.name]), encoding="utf-8")
    done = cli("import", *map(str, files))
    assert (done.status, sorted(done.out.split())) == (0, sorted(file.stem for file in files)), done.err
    imported = {file.stem: cli("show", file.stem, "--json", "--events").json for file in files}
    for run in (
        run for name, run in imported.items() if name in UNFINISHED
    ):  # waits for a person; the earlier version continued it
        assert (run["status"], run["events"].pop()["type"]) == ("paused", "Paused")
        run.update(status="running", seconds=0.0)
    same("files-imported", imported)


@everywhere
def test_an_old_memory_is_listed_searched_and_changed(cli: Cli, place: str, tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    found: dict[str, Any] = {"list": cli("memory list", "--json").json, "export": cli("memory export").out.split("\n")}
    for query in SEARCHES:
        hits = cli("memory search", query, "--json").json
        found[f"search {query}"] = [
            {**hit, "score": round(hit["score"], 3), "cosine": round(hit["cosine"], 3)} for hit in hits
        ]
    file.write_text("\n".join(found["export"]), encoding="utf-8")
    found["import"] = re.findall(r"\d+", cli("memory import", str(file)).out)  # all are known
    first = found["list"][0]["id"]
    found["unpin, pin, forget"] = [cli(f"memory {action}", first).status for action in ("pin", "unpin", "forget")]
    found["left"] = cli("memory list", "--json").json
    same(f"{place}-memory", found)


# -- continuing runs --------------------------------------------------------------------------------------------------


LASTING = ("question", "recipe", "status", "rounds")
"""What a continued run keeps, whatever version continues it."""


def continued(cli: Cli, *words: str) -> dict[str, Any]:
    """Run a command and return the run that it continued or started, without what differs each time."""
    done = cli(*words, "--json")
    if not done.out:
        return {"exit": done.status}
    shown = done.json
    saved = cli("show", shown["run_id"], "--json", "--events").json
    data = {key: value for key, value in shown.items() if key in LASTING}
    events = [event for event in saved["events"] if event["type"] != "Streamed"]
    kinds = [f"{event.get('agent', '')} {event['type']}" for event in events]
    return {
        **data,
        "exit": done.status,
        "calls": [{key: call[key] for key in ("agent", "purpose", "model")} for call in shown["calls"]],
        "added": len(shown.get("remembered", {}).get("added", ())),
        "origin": saved.get("origin"),
        "events": kinds if "parallel" not in shown["recipe"]["framework"] else sorted(kinds),
    }


def lasting(expected: dict[str, Any]) -> dict[str, Any]:
    """Leave out of a recording what a later version of the checker and of the offline model may say differently."""
    kept = (*LASTING, "exit", "calls", "origin", "events")
    return {
        name: {key: value for key, value in each.items() if key in kept}
        | ({"added": each["remembered"].get("added", 0)} if "remembered" in each else {})
        if isinstance(each, dict)
        else each
        for name, each in expected.items()
    }


@pytest.mark.examples(1)
@everywhere
def test_old_paused_waiting_or_interrupted_runs_are_resumed(cli: Cli, place: str) -> None:
    found: dict[str, Any] = {}
    there = ids(cli)
    for run in (
        there if place == "files" else ("react", "paused", "killed", "killed-parallel")
    ):  # most have ended, so resuming is refused
        found[f"resume {run}"] = continued(cli, "resume", run)
    for run, reply in (
        ("waiting", "In 2024."),
        ("waiting-extractive", "How many people live in Kenya and in Tanzania?"),
    ):
        found[f"resume {run} with a reply"] = continued(cli, "resume", run, "--reply", reply)
    found["runs"] = sorted(
        (row["id"], row["status"], row["outcome"]) for row in cli("runs", "--limit", "100", "--json").json
    )
    same(f"{place}-resumed", found, of=lasting)


@pytest.mark.slow
def test_old_paused_waiting_or_interrupted_runs_are_stopped(cli: Cli) -> None:
    found = {}
    for run in ids(cli):
        status = cli("stop", run).status
        shown = cli("show", run, "--json").json
        found[run] = [status, shown["status"], shown["outcome"], shown["report"], cli("pause", run).status]
    same("files-stopped", found)


@pytest.mark.slow
@everywhere
def test_old_runs_are_forked_and_followed_up(cli: Cli, place: str, tmp_path: Path) -> None:
    written = tmp_path / "written.txt"
    written.write_text("## People\n\nJapan has 1 person. I counted.", encoding="utf-8")
    found = {}
    shown = cli("show", "react", "--json", "--events").json
    call = next(event["call"]["id"] for event in shown["events"] if event["type"] == "ToolStarted")
    forks: list[tuple[str, ...]] = [
        *((run, "--round", "1") for run in FORKED[place]),
        (MADE[place]["fork"], "--round", "2"), ("iter", "--round", "3"), ("iter", "--round", "9"),
        ("react", "--round", "1", "--edit", f"{call}={written}"), ("iter", "--round", "2", "--edit", f"report={written}"),
        ("react", "--round", "1", "--framework", "tool_rounds", "--context", "window"),
        ("react", "--round", "1", "--question", "And how large was it in 2022?"),
    ]  # fmt: skip
    for words in forks:
        found[f"fork {' '.join(words)}".replace(str(tmp_path), "")] = continued(cli, "fork", *words)
    for run in FOLLOWED[place]:
        words = ("run", "And how many people live in Kenya?", "--follow", run, "--model", "extractive")
        found[f"follow up {run}"] = continued(cli, *words)
    branched = found.pop("fork parallel --round 1")
    assert (branched["exit"], branched["status"], branched["origin"]["same"]) == (0, "completed", True)
    same(f"{place}-forked", found, of=lambda expected: lasting(without("fork parallel --round 1")(expected)))


def test_old_runs_are_compared(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "comparison.md"
    done = cli("compare", "--runs", "react", "window", "parallel", "stopped", "--json", "--export", str(file))
    lines = file.read_text("utf-8").split("\n")
    text = by_ids(line for line in lines if not line.startswith(("date:", "comparison:")))
    found = {**done.json, "comparison": "", "exit": done.status, "markdown": text}
    counted = ("citations",)  # without quoted passages, now
    same("files-compared", without_measure(found, counted), of=lambda old: without_measure(old, counted))


# -- evaluations, settings, sharing and users -------------------------------------------------------------------------


def test_an_old_evaluation_is_reused_and_extended(cli: Cli, tmp_path: Path) -> None:
    words = ("eval", "factbook", "--recipe", "react/full/extractive", "--recipe", "react/window/extractive")
    file = tmp_path / "table.csv"
    before = ids(cli)
    done = cli(*words, "--limit", "2", "--json", "--export", str(file))
    found = {"report": {**done.json, "exit": done.status}, "csv": without_columns(file.read_text("utf-8")).split("\n")}
    assert done.json["known"] == 4 and ids(cli) == before, "a saved row was evaluated again"
    more = cli(*words, "--limit", "3", "--json").json
    rows = sorted((row["recipe"], row["id"], row["right"]) for row in more["rows"])
    found = {**found, "more": {"known": more["known"], "left": more["left"], "rows": rows}}
    same("files-evaluation", without_measure(found), of=without_measure)
    assert len(ids(cli)) == len(before) + 2


def test_old_settings_and_presets_still_apply(cli: Cli) -> None:
    """The model, the size of the memory, a key with its address: each is checked by its effect."""
    asked = "How many people live in Japan?"
    same(
        "files-settings",
        {
            "memory": re.findall(r"\d[\d,]*", cli("memory list").err),
            "model": continued(cli, "run", asked),
            "search": continued(cli, "run", asked, "--search", "library,web", "--tools", "python"),
            "no key": continued(cli, "run", asked, "--search", "brave"),
            "preset": continued(cli, "run", asked, "--preset", "Short and cheap", "--tools", "python"),
            "preset, changed": continued(
                cli, "run", asked, "--preset", "中文", "--framework", "react", "--model", "extractive"
            ),
            "no such preset": continued(cli, "run", asked, "--preset", "Gone"),
        },
        of=lasting,
    )


@pytest.fixture
def logged_in(cli: Cli, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Returns a function that opens a page as the user of the old home."""
    import streamlit as st
    from streamlit import config
    from streamlit.testing.v1 import AppTest

    made = MADE["files"]
    own = home / "users" / made["owner"] / "library.sqlite"
    with closing(sqlite3.connect(home / "library.sqlite")) as connection, connection:
        connection.execute("PRAGMA foreign_keys = ON")  # a small library opens at once
        connection.execute("DELETE FROM documents WHERE url NOT LIKE 'library://factbook/france/economy%'")
    shutil.copy(home / "library.sqlite", own)
    secrets, before = tmp_path / "secrets.toml", config.get_option("secrets.files")
    auth = {
        "redirect_uri": "http://localhost:8501/oauth2callback", "cookie_secret": "0123456789abcdef" * 2, "client_id": "x",
        "client_secret": "y", "server_metadata_url": "http://localhost:1/.well-known/openid-configuration",
    }  # fmt: skip
    secrets.write_text("[auth]\n" + "".join(f'{name} = "{value}"\n' for name, value in auth.items()))
    config._set_option("secrets.files", [str(secrets)], "a test")
    claims = {
        "is_logged_in": True,
        "iss": made["issuer"],
        "sub": made["subject"],
        "email": "a@b.example",
        "email_verified": True,
    }
    monkeypatch.setattr(type(st.user), "to_dict", lambda self: claims)
    monkeypatch.setenv("WORKBENCH_HOME", str(home))

    def start(page: str, **parameters: str) -> Any:
        st.cache_resource.clear()
        st.secrets._reset()  # type: ignore[attr-defined]
        app = AppTest.from_file(ROOT / "app.py", default_timeout=LONG_S)
        if page:
            app.run().switch_page(f"pages/{page}.py")
        for name, value in parameters.items():
            app.query_params[name] = value
        return app.run()

    yield start
    config._set_option("secrets.files", before, "a test")
    st.secrets._reset()  # type: ignore[attr-defined]
    st.cache_resource.clear()


@pytest.mark.slow
def test_an_old_shared_link_and_comparison_open(logged_in: Callable[..., Any], home: Path) -> None:
    """They are tested on the pages, because neither has a command."""
    made = MADE["files"]
    with closing(sqlite3.connect(home / "users" / made["owner"] / "workbench.sqlite")) as connection:
        ((question, answer),) = connection.execute("SELECT question, answer FROM runs WHERE id = 'mine'")
    shared = logged_in("", shared=made["token"])
    assert not shared.exception and not shared.error
    drawn = words_of_page(shared)
    assert question.split("?")[0].replace("$", "") in drawn.replace("\\", "").replace("$", "")
    assert [n for n in re.findall(r"\d[\d.,]+\d", answer) if n not in drawn] == []
    assert [each.value for each in logged_in("", shared=made["token"][:-1]).error], "an unknown link opened"
    compared = logged_in("compare", id=made["comparison"])
    assert not compared.exception and not compared.error
    assert [area.value for area in compared.text_area] == ["Shorter, and nothing is missing.", ""]


def words_of_page(app: Any) -> str:
    return texts(app)


def test_another_users_old_runs_are_shown(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_USER", MADE["files"]["owner"])
    found = {run: cli("show", run, "--json", "--events").json for run in ids(cli)}
    same("files-user", found)


def test_an_old_home_moves_to_postgres(cli: Cli, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything from the files is found there."""
    words = (["runs", "--limit", "100", "--json"], ["memory list", "--json"], ["show", "iter", "--json", "--events"])
    before = [cli(*each).json for each in words]
    done = cli("migrate-to", database_url)
    assert done.status == 0, done.err
    monkeypatch.setenv("DATABASE_URL", database_url)
    for each, expected_json in zip(words, before, strict=True):
        assert cli(*each).json == expected_json, each
    resumed = continued(cli, "resume", "killed")
    expected = json.loads(lzma.decompress((EXPECTED / "files-resumed.json.xz").read_bytes()))
    assert resumed == lasting(expected)["resume killed"]
