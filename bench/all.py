"""Run every bench that the documents quote and write its page: python -m bench.all --envs FOLDER [--quick]

Writes docs/benchmarks.md and the pictures in docs/images, and replaces each table of the same shape in the README and the
other pages (not with `--quick`).  FOLDER contains the environments of the peers; `python -m bench.peers --envs FOLDER
--setup` creates them.  Takes about half an hour on a machine that does nothing else; `--quick` takes a third of that and is
a trial run, whose figures mean nothing.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from msgspec import Struct

from bench.printing import renewed, tables

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN = """# Benchmarks

`python -m bench.all` prints this page. Where another page has one of its tables, it is the same table, and a test compares
its shape with what the benches print. The times are those of one machine; the ratios hold more widely.
"""
QUICK = "**From a trial run with small sizes: these figures mean nothing.**"


class Part(Struct, frozen=True):
    """One bench of the page: a module that prints Markdown."""

    title: str
    module: str
    says: str
    """What the bench measures, and how to read it."""
    quick: str = ""
    """Arguments of a trial run, which do not change the shape of the output."""
    picture: str = ""
    """The file in docs/images that it draws with `--svg`, and its caption."""
    peers: bool = False
    """Whether it needs the folder of the environments."""


PARTS = (
    Part(
        "Beside other programs",
        "bench.peers",
        "Every program does the same job against the same server: one call of a tool a round, 2,000 characters back. A round's "
        "own time excludes the model's and the tool's, which answer immediately here. The last measurement runs 50 runs of 20 "
        "rounds at once with a model of 20 ms and a tool of 10 ms. Multiples are of the first row, a loop that saves nothing, "
        "checks nothing and limits nothing. Only this workbench and the checkpointer save anything.",
        "--repeat 1 --runs 5",
        "overhead.svg: Own time of a round by the rounds of a run",
        peers=True,
    ),
    Part(
        "Under each strategy",
        "bench.engine",
        "The same job under other frameworks and context strategies, beside the same loop; and the size of the events on disk.",
        "--repeat 1 --runs 10",
    ),
    Part(
        "Branches at once",
        "bench.branches",
        "`parallel` compared with the same number of runs one after the other, with a model of 200 ms and a tool of 50 ms.",
        "--rounds 3",
    ),
    Part(
        "Prompts",
        "bench.prompt_growth",
        "Prompt tokens as they arrive at the server, by round. These figures are the same on every machine. Their meaning: "
        "[Context strategies](contexts.md#how-prompts-grow).",
        "",
        "prompt-growth.svg: Prompt tokens in each round",
    ),
    Part(
        "Memory",
        "bench.memory",
        "100,000 entries of 384 numbers, compared with `matrix @ vector` on a matrix of the same size.",
        "--entries 3000",
    ),
    Part(
        "Watching a run",
        "bench.watching",
        "The app in a real browser: a long run opened, followed, and left open.",
        "--rounds 40 --seconds 3",
    ),
    Part("Starting", "bench.startup", "Fresh processes over an indexed library.", "--repeat 1"),
)


def arguments(part: Part, envs: Path | None, quick: bool) -> list[str]:
    """Return the arguments of the bench."""
    found = part.quick.split() if quick else []
    if part.peers and envs:
        found += ["--envs", str(envs.resolve())]
    if part.picture:
        found += ["--svg", str(PAGE.parent / "images" / part.picture.partition(":")[0])]
    return found


def section(part: Part, printed: str, quick: bool) -> str:
    """Return the bench's section of the page."""
    command = f"python -m {part.module}" + (" --envs FOLDER" if part.peers else "")
    name, _, shown = part.picture.partition(": ")
    picture = f"![{shown}](images/{name})\n\n" if part.picture else ""
    tried = f"{QUICK}\n\n" if quick else ""
    return f"{part.says}\n\n{tried}{printed.strip()}\n\n{picture}Repeat: `{command}` ({date.today()}).\n"


def sections(page: str) -> dict[str, str]:
    """Return the sections of a page that `write` wrote, by title."""
    _, *parts = re.split(r"^## (.*)\n\n", page, flags=re.M)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def write(page: Path, found: Mapping[str, str]) -> None:
    """Write the sections found, in the order of `PARTS`."""
    there = [f"## {part.title}\n\n{found[part.title].strip()}\n" for part in PARTS if part.title in found]
    page.write_text("\n".join([BEGIN, *there]), encoding="utf-8")


def settled(page: str) -> list[str]:
    """Return the tables that do not come from a trial run."""
    return [table for text in sections(page).values() if QUICK not in text for table in tables(text)]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="bench.all", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--envs", type=Path, metavar="FOLDER", help="folder of the peers' environments")
    parser.add_argument("--quick", action="store_true", help="a trial run with small sizes")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=[part.module for part in PARTS],
        metavar="MODULE",
        help=f"run only these and keep the rest of the page; of {', '.join(part.module for part in PARTS)}",
    )
    chosen = parser.parse_args()
    found = sections(PAGE.read_text("utf-8")) if PAGE.exists() else {}
    for part in PARTS:
        if chosen.only and part.module not in chosen.only:
            continue
        command = [sys.executable, "-m", part.module, *arguments(part, chosen.envs, chosen.quick)]
        print(" ".join(command[1:]), file=sys.stderr, flush=True)
        printed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
        found[part.title] = section(part, printed, chosen.quick and bool(part.quick))
        write(PAGE, found)  # after each bench, so that its figures survive a later failure
    new = settled(PAGE.read_text("utf-8"))
    for other in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        old = other.read_text("utf-8")
        if renewed(old, new) != old:
            other.write_text(renewed(old, new), encoding="utf-8")
            print(f"renewed {other.relative_to(ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
