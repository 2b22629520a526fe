"""Ask Factbook questions with and without the findings of earlier runs: python -m bench.memory_reuse

Each question of the file is asked three times: to learn from it, without the memory, and with the memory, which then
contains the findings of all questions.  Prints the answers that the memory made worse, then searches and right answers of
both.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import research
from bench.factbook import flat, judge
from bench.printing import table
from research.config.settings import load
from research.events.view import RunView
from research.workbench.workbench import Workbench

WAYS = ("without", "with")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", type=Path, nargs="?", default=Path("tests/data/factbook_dev.jsonl"))
    parser.add_argument("--home", type=Path, help="an existing home folder with an empty memory, to avoid indexing")
    parser.add_argument("--recipe", default="react/full", help="framework/context; default react/full")
    parser.add_argument("--every", type=int, default=4, help="ask every n-th question; default 4")
    parser.add_argument("--recall", type=int, default=5, help="entries recalled before the first round; default 5")
    parser.add_argument("--remember", default="findings", help="what is remembered: findings or everything")
    arguments = parser.parse_args()
    items: list[dict[str, Any]] = [
        json.loads(line) for line in arguments.questions.read_text("utf-8").splitlines()[:: arguments.every]
    ]
    framework, context = arguments.recipe.split("/")
    sums: dict[str, collections.Counter[str]] = {way: collections.Counter() for way in WAYS}
    worse = 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Workbench(load(home=arguments.home or Path(folder)))
        bench.prepare((), lambda *_: None)

        def ask(item: dict[str, Any], **recipe: Any) -> RunView:
            return research.run(item["question"], workbench=bench, framework=framework, context=context, **recipe)

        plain = {item["id"]: ask(item, remember=arguments.remember) for item in items}
        for item in items:
            views = {"without": plain[item["id"]], "with": ask(item, recall=arguments.recall)}
            problems = {way: judge(item, view.outcome or "", view.answer) for way, view in views.items()}
            for way, view in views.items():
                calls = [call.call.name for each in view.rounds for call in each.calls]
                remembered = any(source.memory for source in view.cited_sources)
                sums[way] += collections.Counter(
                    right=problems[way] is None, searches=calls.count("search"), calls=len(calls), remembered=remembered
                )
            if problems["with"] and not problems["without"]:
                worse += 1
                print(f"{item['id']} {item['question']}\n    {problems['with']}\n    {flat(views['with'].answer)}")
        print(f"{len(items)} questions, {arguments.recipe}, {bench.memory.count()} entries in the memory\n")
    print(lines(sums))
    return 1 if worse else 0


def lines(sums: Mapping[str, Mapping[str, int]]) -> str:
    """Return the table: the counts without and with the memory."""
    rows = [[way, *(str(of[key]) for key in ("right", "searches", "calls", "remembered"))] for way, of in sums.items()]
    return table(("memory", "right", "searches", "calls", "cites what is remembered"), rows)


if __name__ == "__main__":
    sys.exit(main())
