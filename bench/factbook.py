"""Ask the Factbook questions and score the answers: python -m bench.factbook tests/data/factbook_dev.jsonl

Scores as `tests/data/README.md` describes.  Prints one line for each wrong answer (not with --quiet), then a table by
kind for each file, and one table of all files.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import research
from bench.printing import table
from research.config.settings import load
from research.events.view import RunView
from research.workbench.workbench import Workbench

SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", type=Path, nargs="+")
    parser.add_argument("--home", type=Path, help="an existing home folder, to avoid indexing")
    parser.add_argument("--recipe", default="react/full", help="framework/context; default react/full")
    parser.add_argument("--quiet", action="store_true", help="print only the table, for a split that must stay unseen")
    parser.add_argument(
        "--least", type=float, default=0.0, help="exit with 1 if a file's share of right answers is lower"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Workbench(load(home=arguments.home or Path(folder)))
        bench.prepare((), lambda *_: None)
        framework, context = arguments.recipe.split("/")

        def ask(question: str) -> RunView:
            return research.run(question, workbench=bench, framework=framework, context=context)

        found = {path.stem: scored(path, ask, arguments.quiet) for path in arguments.questions}
    print(lines(found))
    return 0 if min(right / of for right, of in found.values()) >= arguments.least else 1


def lines(found: Mapping[str, tuple[int, int]]) -> str:
    """Return a table with a row per file; `found` holds the number of right answers and of questions by name."""
    rows = [[f"`{name}`", str(of), f"{right / of:.0%}".replace("%", " %")] for name, (right, of) in found.items()]
    return table(("file", "questions", "right"), rows)


def scored(path: Path, ask: Callable[[str], RunView], quiet: bool) -> tuple[int, int]:
    """Print a file's table; return how many answers are right, and how many there are."""
    right: collections.Counter[str] = collections.Counter()
    total: collections.Counter[str] = collections.Counter()
    for line in path.read_text("utf-8").splitlines():
        item = json.loads(line)
        view = ask(item["question"])
        problem = judge(item, view.outcome or "", view.answer)
        total[item["kind"]] += 1
        right[item["kind"]] += problem is None
        if problem and not quiet:
            print(f"{item['id']} {item['kind']} {item['question']}\n    {problem}")
            print(f"    {view.outcome}: {flat(view.answer)}")
            print("    " + "; ".join(f"{part.text}: {part.reason}" for part in view.parts if part.reason))
    rows = [[kind, str(right[kind]), str(total[kind]), f"{right[kind] / total[kind]:.0%}"] for kind in total]
    print(table((f"{path.stem}, kind", "right", "of", "share"), rows), end="\n\n")
    return right.total(), total.total()


def judge(item: dict[str, Any], outcome: str, answer: str) -> str | None:
    """Return the mistake in an answer, or None."""
    gold = item["gold"]
    if "outcome" in gold:
        return None if outcome == gold["outcome"] else f"should end {gold['outcome']}"
    if outcome != "answered":
        return f"not answered; must: {gold}"
    # The verdict comes before the evidence; a figure that is only quoted as evidence is not an answer.
    head = re.split(r"\n### ", answer)[0].replace("**", "")
    wrong = [f"must: {text}" for text in gold.get("must", []) if not holds(head, text)]
    wrong += [f"any: {group}" for group in gold.get("any", []) if not any(holds(head, text) for text in group)]
    wrong += [
        f"near: {entry}"
        for entry in gold.get("near", [])
        if not any(near(head, e) for e in [entry, *entry.get("or", [])])
    ]
    if "pick" in gold:
        first = min([gold["pick"], *gold.get("over", [])], key=lambda name: place(head, name))
        if first != gold["pick"]:
            wrong.append(f"pick: {gold['pick']}")
    if "yes" in gold and not re.match(r"\s*(yes|no)", head, re.I):
        wrong.append("no yes or no")
    elif "yes" in gold and head.strip().lower().startswith("yes") != gold["yes"]:
        wrong.append(f"yes: {gold['yes']}")
    return "; ".join(wrong) or None


def place(text: str, name: str) -> int:
    found = text.lower().find(name.lower())
    return found if found >= 0 else len(text)


def holds(text: str, wanted: str) -> bool:
    edge = re.escape(wanted.lower())
    return re.search(rf"(?<![\w.]){edge}(?![\w]|[.,]\d)", text.lower()) is not None


def near(text: str, entry: dict[str, Any]) -> bool:
    percent = entry.get("unit") == "%"
    pattern = r"(\d[\d,]*(?:\.\d+)?)\s*(thousand|million|billion|trillion)?" + (
        r"\s*(?:%|percent|per cent)" if percent else ""
    )
    for match in re.finditer(pattern, text):
        value = float(match.group(1).replace(",", "")) * SCALES.get(match.group(2) or "", 1.0)
        if abs(value - abs(entry["value"])) <= entry["tolerance"]:
            return True
    return False


def flat(text: str) -> str:
    return " ".join(text.split())[:400]


if __name__ == "__main__":
    sys.exit(main())
