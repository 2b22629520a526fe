"""Ask questions about the tables of a folder and say how many answers are right: python -m bench.tables QUESTIONS.jsonl

A question has a `name`, several `names`, a `number`, or `refuse`.  An answer is right if its first paragraphs have them,
refused if the run found no answer, and else wrong; `ticked` are wrong ones without a mark that warns.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import research
from bench.trust import values
from research.config.settings import load
from research.events.view import RunView
from research.workbench.workbench import Workbench

HERE = Path(__file__).parents[1] / "tests" / "data" / "tables"
_REFUSED = ("no_evidence", "needs_input", "tool_errors")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.tables", description=__doc__)
    parser.add_argument("questions", type=Path, nargs="+")
    parser.add_argument("--folder", type=Path, default=HERE / "files", help="the folder with the tables")
    parser.add_argument("--home", type=Path, help="an existing home folder, to avoid indexing")
    parser.add_argument("--recipe", default="react/full", help="framework/context; default react/full")
    parser.add_argument("--only", default="", help="ask only questions that contain this")
    parser.add_argument("--quiet", action="store_true", help="print only the totals")
    arguments = parser.parse_args()
    items = [json.loads(line) for path in arguments.questions for line in path.read_text("utf-8").splitlines()]
    items = [item for item in items if arguments.only in item["question"]]
    framework, context = arguments.recipe.split("/")
    grades = Counter[str]()
    with tempfile.TemporaryDirectory() as place:
        bench = Workbench(load(home=arguments.home or Path(place)))
        folders = [arguments.folder] if arguments.folder.exists() else []
        bench.prepare(tuple(map(str, folders)), lambda *_: None)
        for item in items:
            view = research.run(
                item["question"],
                workbench=bench,
                framework=framework,
                context=context,
                model="extractive",
                folders=folders,
                search=("library",),
            )
            grade = graded(item, view)
            grades[grade] += 1
            held = [each.status for each in view.citations]
            if not arguments.quiet:
                print(f"{grade:8} {item['question']}  [{item.get('name') or item.get('names') or item.get('number')}]")
                if grade != "right":
                    print(f"    {view.outcome} {held}: {' '.join(view.answer.split())[:400]}", flush=True)
                    print("    " + "; ".join(str(part.reason) for part in view.parts))
            grades["calculated or supported"] += grade == "right" and bool(set(held) & {"calculated", "supported"})
    total = len(items)
    print(", ".join(f"{name} {count}" for name, count in sorted(grades.items())), f"of {total}")
    return 0


def graded(item: dict[str, Any], view: RunView) -> str:
    """Return whether an answer is right, refused or wrong."""
    head = re.split(r"\n### |\nNext by |\n其次（|\nCalculated from|\n由\d", "\n" + view.answer)[0].replace("**", "")
    refused = view.outcome in _REFUSED
    if item.get("refuse"):
        return "right" if refused else "wrong"
    if refused:
        return "refused"
    names = [item["name"]] if item.get("name") else item.get("names", [])
    held = all(name.lower() in head.lower() for name in names)
    if "number" in item:
        gold = abs(item["number"])
        # `3,625 thousand euros` is 3,625 where the column's unit is a thousand euros.
        plain = [float(each.replace(",", "")) for each in re.findall(r"\d[\d,]*(?:\.\d+)?", head)]
        held = held and any(abs(value - gold) <= max(gold * 2e-4, 0.0051) for value in (*plain, *values(head)))
    return "right" if held else "wrong"


if __name__ == "__main__":
    sys.exit(main())
