"""Ask a list of questions and say how many answers can be trusted: python -m bench.trust QUESTIONS.jsonl

A question has `parts`, each with accepted words, a number with its unit and tolerance, or `unanswerable`.  An answer is
right if every part holds, partly right if some do, refused if the run says that it found no answer, and else wrong.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import research
from bench.printing import table
from research.config.settings import load
from research.events.view import RunView
from research.workbench.workbench import Workbench

Grade = Literal["right", "partly", "refused", "wrong"]
GRADES: tuple[Grade, ...] = ("right", "partly", "refused", "wrong")
SCALES = {
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
    "千": 1e3,
    "万": 1e4,
    "百万": 1e6,
    "亿": 1e8,
    "十亿": 1e9,
    "万亿": 1e12,
}
_NUMBER = re.compile(
    r"(?<![A-Za-z_\d.])[-−]?\$?(\d[\d,]*(?:\.\d+)?)\s*(thousand|million|billion|trillion|万亿|十亿|百万|[千万亿])?"
)
_REFUSED = ("no_evidence", "needs_input", "tool_errors")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.trust", description=__doc__)
    parser.add_argument("questions", type=Path, nargs="+")
    parser.add_argument("--home", type=Path, help="an existing home folder, to avoid indexing")
    parser.add_argument("--recipe", default="react/full", help="framework/context; default react/full")
    parser.add_argument("--kind", action="append", help="ask only questions of this kind; may be repeated")
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question")
    parser.add_argument("--only", help="ask only the questions whose id contains this")
    parser.add_argument("--quiet", action="store_true", help="print only the table")
    arguments = parser.parse_args()
    items = [json.loads(line) for path in arguments.questions for line in path.read_text("utf-8").splitlines()]
    items = [item for item in items if not arguments.kind or item["kind"] in arguments.kind][:: arguments.every]
    items = [item for item in items if not arguments.only or arguments.only in item["id"]]
    framework, context = arguments.recipe.split("/")
    started = time.process_time()
    grades: dict[str, collections.Counter[Grade]] = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as folder:
        bench = Workbench(load(home=arguments.home or Path(folder)))
        bench.prepare((), lambda *_: None)
        for item in items:
            view = research.run(
                item["question"], workbench=bench, framework=framework, context=context, model="extractive"
            )
            grade = graded(item["parts"], view)
            grades[item["kind"]][grade] += 1
            if not arguments.quiet and grade != "right":
                print(f"{grade:8} {item['id']} {item['question']}\n    {wanted(item['parts'])}")
                print(f"    {view.outcome}: {' '.join(view.answer.split())[:300]}", flush=True)
                for part in view.parts:
                    print(f"    part {part.status}: {part.text}: {part.reason}")
    print(lines(grades))
    print(f"{(time.process_time() - started) / max(1, len(items)):.2f} s of CPU time per question")
    return 0


def lines(grades: dict[str, collections.Counter[Grade]]) -> str:
    """Return a table with a row per kind, and one for all."""
    total = sum(grades.values(), collections.Counter[Grade]())
    rows = [
        [kind, str(counts.total()), *(f"{counts[grade] / max(1, counts.total()):.2f}" for grade in GRADES)]
        for kind, counts in [*grades.items(), ("all", total)]
    ]
    return table(("kind", "questions", *GRADES), rows)


def graded(parts: Sequence[dict[str, Any]], view: RunView) -> Grade:
    """Return how far an answer can be trusted; what a later heading quotes as evidence is not an answer."""
    head = re.split(r"\n### ", "\n" + view.answer)[0].replace("**", "")
    refused = view.outcome in _REFUSED
    if any(part["unanswerable"] for part in parts):
        said = all(bool(part["accept"]) and any(holds(head, word) for word in part["accept"]) for part in parts)
        return "right" if refused or said else "wrong"
    if refused:
        return "refused"
    if any(holds(head, word) for part in parts for word in part["forbidden"]):
        return "wrong"
    held = sum(held_by(head, part) for part in parts)
    return "right" if held == len(parts) else "partly" if held else "wrong"


def held_by(head: str, part: dict[str, Any]) -> bool:
    """Return whether the answer contains one of the accepted words, or the number."""
    if any(holds(head, word) for word in part["accept"]):
        return True
    number = part["number"]
    if number is None:
        return False
    gold = abs(number["value"])
    return any(abs(value - gold) <= max(gold * number["relative_tolerance"], 1e-9) for value in values(head))


def values(text: str) -> Iterable[float]:
    """Return the numbers of a text with their scales applied."""
    for match in _NUMBER.finditer(text):
        yield float(match[1].replace(",", "")) * SCALES.get(match[2] or "", 1.0)


def holds(text: str, words: str) -> bool:
    """Return whether a text contains the words, not inside others."""
    bare = re.escape(words.lower())
    edges = rf"(?<!\w){bare}" if words.isascii() else bare
    return re.search(edges, text.lower()) is not None


def wanted(parts: Sequence[dict[str, Any]]) -> str:
    """Return the accepted answers on one line."""
    return "; ".join(
        "nothing"
        if part["unanswerable"]
        else f"{part['number']['value']:g} {part['number']['unit']}"
        if part["number"]
        else " | ".join(part["accept"][:4])
        for part in parts
    )


if __name__ == "__main__":
    sys.exit(main())
