"""Compare this workbench with other agent programs: python -m bench.peers --envs FOLDER [--setup]

Each peer has its own environment in FOLDER; `--setup` creates the missing ones, about 0.5 GB from the package index.  All
do the same job against the same server (`bench.provider`): one call of `search` a round, 2,000 characters back, until the
answer.  A round's own time is measured with a model and a tool that answer immediately; the programs take turns, and the
fastest turn counts.  Then come many runs of 20 rounds at once, with a model of 20 ms and a tool of 10 ms, and the bytes
that the longest run leaves on disk.  Figures in parentheses are multiples of the bare loop's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field

from bench.engine import AT_ONCE, FOUND, LOOP, QUESTION, REPEAT, SPEC, Bare, Ours, Streamed, provider
from bench.plots import Panel, draw
from bench.printing import machine, table

ROOT = Path(__file__).parents[2]
BARE = "posting ready bodies through the OpenAI SDK"
OURS = "this workbench, every event on disk"
CELL = "react/full"


class Peer(Struct, frozen=True):
    """A program to compare with."""

    name: str
    driver: str
    """The driver as `module:function`, for `bench.peers.worker`."""
    environment: str
    """Name of its folder."""
    packages: Mapping[str, str]
    """Installed versions by name; the first is the peer itself."""
    extras: str = ""

    def requirements(self) -> list[str]:
        first, *others = self.packages.items()
        return [f"{first[0]}{self.extras}=={first[1]}", *(f"{name}=={version}" for name, version in others)]


_LANGGRAPH = {
    "langgraph": "1.2.22",
    "langchain": "1.4.7",
    "langchain-openai": "1.7.3",
    "langgraph-checkpoint-sqlite": "3.1.2",
}
PEERS = (
    Peer("pydantic-ai", "pydantic_agent:plain", "pydantic-ai", {"pydantic-ai-slim": "2.68.0"}, "[openai]"),
    Peer("openai-agents", "openai_agent:plain", "openai-agents", {"openai-agents": "0.24.0"}),
    Peer("smolagents", "smolagents_agent:plain", "smolagents", {"smolagents": "1.26.0"}, "[openai]"),
    Peer("langgraph", "langgraph_agent:plain", "langgraph", _LANGGRAPH),
    Peer("langgraph + SQLite checkpointer", "langgraph_agent:saved", "langgraph", _LANGGRAPH),
)


class Program(Protocol):
    """A program that is measured."""

    def run(self, rounds: int, count: int = 1) -> tuple[float, int]:
        """Return the seconds for this many runs at once, and the bytes they left on disk."""


class Loop:
    """A loop over the OpenAI SDK and nothing else."""

    def __init__(self, bare: Bare, runner: asyncio.Runner) -> None:
        self._bare, self._runner = bare, runner

    def run(self, rounds: int, count: int = 1) -> tuple[float, int]:
        return self._runner.run(self._bare.timed(rounds, count)), 0


class Here:
    """This workbench."""

    def __init__(self, folder: Path, port: int, tool_s: float) -> None:
        self._ours = Ours(folder, port, tool_s)
        self._file = self._ours.bench.settings.home / "workbench.sqlite"

    def run(self, rounds: int, count: int = 1) -> tuple[float, int]:
        recipe, before = self._ours.recipe(CELL, rounds), self._size()
        seconds = self._ours.run(recipe)[1] if count == 1 else self._ours.at_once(count, recipe)
        return seconds, self._size() - before

    def _size(self) -> int:
        with closing(sqlite3.connect(self._file)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return self._file.stat().st_size


class Other:
    """A peer in its own process."""

    def __init__(self, driver: str, process: subprocess.Popen[str], terms: dict[str, Any]) -> None:
        self._driver, self._process = driver, process
        self.versions: dict[str, str] = self._reply(terms)

    def run(self, rounds: int, count: int = 1) -> tuple[float, int]:
        found = self._reply({"rounds": rounds, "count": count})
        return found["seconds"], found["bytes"]

    def _reply(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return its next line of JSON.  Raises `RuntimeError` when it ended instead; stderr then contains the reason."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("{"):
                reply: dict[str, Any] = json.loads(line)
                return reply
        raise RuntimeError(f"{self._driver} ended")


@contextmanager
def other(interpreter: Path, driver: str, packages: Sequence[str], port: int, tool_s: float) -> Iterator[Other]:
    """Yield a peer that is ready for its first job.  `driver` is `module:function`."""
    terms = {
        "url": f"http://127.0.0.1:{port}/v1",
        "question": QUESTION,
        "description": SPEC.description,
        "found": FOUND,
        "tool_s": tool_s,
    }
    command = [str(interpreter), "-m", "bench.peers.worker", driver, *packages]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Other(driver, process, terms)
        finally:
            process.kill()


class Figures(Struct):
    """The figures of one program."""

    ms: dict[int, float]
    """Milliseconds a round, by the number of rounds."""
    runs_s: float = 0.0
    kept: int = 0
    """In bytes."""
    versions: dict[str, str] = field(default_factory=dict)


def measure(envs: Path | None, rounds: Sequence[int], runs: int, repeat: int) -> dict[str, Figures]:
    """Return the figures of every available program, the bare loop's first."""
    found: dict[str, Figures] = {}
    envs = envs and envs.resolve()  # workers start in the project's folder
    with programs(envs, 0.0, 0.0) as there:
        for program in there.values():
            program.run(5)
        for name, program in there.items():
            found[name] = Figures({}, versions=program.versions if isinstance(program, Other) else {})
        for n in rounds:
            turns_of: dict[str, list[tuple[float, int]]] = {name: [] for name in there}
            for _ in range(repeat):
                for name, program in there.items():
                    turns_of[name].append(program.run(n))
            for name, turns in turns_of.items():
                found[name].ms[n] = 1_000 * min(seconds for seconds, _ in turns) / n
                found[name].kept = turns[-1][1]
    with programs(envs, AT_ONCE["llm_ms"], AT_ONCE["tool_ms"] / 1_000) as there:
        for program in there.values():
            program.run(AT_ONCE["rounds"], min(4, runs))
        for _ in range(repeat):
            for name, program in there.items():
                found[name].runs_s = max(found[name].runs_s, runs / program.run(AT_ONCE["rounds"], runs)[0])
    return found


@contextmanager
def programs(envs: Path | None, llm_ms: float, tool_s: float) -> Iterator[dict[str, Program]]:
    """Yield all available programs, against one server."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = stack.enter_context(provider(llm_ms))
        runner = stack.enter_context(asyncio.Runner())
        there: dict[str, Program] = {
            BARE: Loop(Bare(port, tool_s), runner),
            LOOP: Loop(Streamed(port, tool_s), runner),
            OURS: Here(folder, port, tool_s),
        }
        for peer in PEERS:
            interpreter = envs / peer.environment / "bin/python" if envs else None
            if interpreter and interpreter.exists():
                driver = f"bench.peers.{peer.driver}"
                there[peer.name] = stack.enter_context(other(interpreter, driver, list(peer.packages), port, tool_s))
        yield there


def lines(found: Mapping[str, Figures], runs: int) -> Iterator[str]:
    """Return the table, the versions, and the programs that are missing."""
    base = found[BARE]
    rounds = list(base.ms)
    head = [
        "ms a round",
        *(f"{n} rounds" for n in rounds),
        f"{runs} runs at once, runs/s",
        f"on disk after {max(rounds)} rounds",
    ]
    rows = []
    for name, each in found.items():
        pairs = [*((each.ms[n], base.ms[n]) for n in rounds), (each.runs_s, base.runs_s)]
        cells = [f"{figure:.1f}" + (f" ({_times(figure / of)} x)" if each is not base else "") for figure, of in pairs]
        rows.append([name, *cells, f"{each.kept / 1e6:,.1f} MB" if each.kept else "–"])
    yield table(head, rows)
    versions = {name: version for each in found.values() for name, version in each.versions.items()}
    if versions:
        yield "\nVersions: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + "."
    if missing := [peer.name for peer in PEERS if peer.name not in found]:
        yield f"\nNot measured, because not installed: {', '.join(missing)}."


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"


def panel(found: Mapping[str, Figures]) -> Panel:
    """Return the panel of the picture."""
    curves = {name: (list(each.ms), list(each.ms.values())) for name, each in found.items()}
    return Panel("Own time of a round, ms (logarithmic)", curves, log=True)


def set_up(envs: Path) -> None:
    """Create an environment for each peer that has none.  Raises `CalledProcessError`."""
    for peer in {peer.environment: peer for peer in PEERS}.values():
        folder = envs / peer.environment
        if (folder / "bin/python").exists():
            continue
        print(f"{folder}: {' '.join(peer.requirements())}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
        try:
            subprocess.run([*pip, *peer.requirements()], check=True, stdout=sys.stderr)
        except (subprocess.CalledProcessError, KeyboardInterrupt):
            # An incomplete environment would count as complete the next time.
            shutil.rmtree(folder)
            raise


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="bench.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--envs", type=Path, metavar="FOLDER", help="folder of the peers' environments")
    parser.add_argument("--setup", action="store_true", help="create the missing environments")
    parser.add_argument("--rounds", type=int, nargs="+", default=[10, 50, 100, 200])
    parser.add_argument("--runs", type=int, default=50, help="runs at once; default 50")
    parser.add_argument("--repeat", type=int, default=REPEAT, help=f"turns of each program; default {REPEAT}")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the times of a round into this file")
    arguments = parser.parse_args()
    if arguments.setup:
        if arguments.envs is None:
            parser.error("--setup needs --envs")
        set_up(arguments.envs)
    print(machine() + "\n", flush=True)
    found = measure(arguments.envs, arguments.rounds, arguments.runs, arguments.repeat)
    for line in lines(found, arguments.runs):
        print(line)
    if arguments.svg:
        draw(arguments.svg, [panel(found)], "Milliseconds of its own for each round, by the rounds of a run")


if __name__ == "__main__":
    main()
