"""Sources get a number once per run; answers cite `[n]`; each cited statement is checked against what was seen."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from typing import Literal

from research.text import content_tokens, numbers, sentences
from research.types import Citation, Passage, Source

MARK = re.compile(r"\[(\d+(?:\s*[,，、]\s*\d+)*)\]")
"""A citation in text: `[3]` or `[1, 4]`."""


class Ledger:
    """The numbered sources of one run, shared by its agents.  Safe for threads."""

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}
        self._seen: dict[int, list[Source]] = {}
        for source in sources:
            self._keep(source)

    def add(self, passage: Passage) -> Source:
        """The passage with the number of its url; the same url keeps its number, each quote is kept."""
        with self._lock:
            n = self._numbers.get(passage.url, len(self._numbers) + 1)
            source = Source(n, passage.url, passage.title, passage.quote)
            self._keep(source)
            return source

    def _keep(self, source: Source) -> None:
        self._numbers[source.url] = source.n
        quotes = self._seen.setdefault(source.n, [])
        if source not in quotes:
            quotes.append(source)

    @property
    def sources(self) -> list[Source]:
        """All that was seen, by number; several entries of one number where several passages were seen."""
        with self._lock:
            return [source for n in sorted(self._seen) for source in self._seen[n]]


def shown(source: Source) -> str:
    """A source as a model reads it: its number and title, its url, and the quoted lines, marked as a quotation."""
    quoted = "\n".join(f"> {line}" for line in source.quote.splitlines())
    return f"[{source.n}] {source.title}\n<{source.url}>\n{quoted}"


def cited(text: str) -> list[int]:
    """The numbers cited in a text, each once, in order of first use."""
    found = [int(n) for match in MARK.finditer(text) for n in re.findall(r"\d+", match.group(1))]
    return list(dict.fromkeys(found))


def without_marks(text: str) -> str:
    return re.sub(r"\s+([.,;:。，；])", r"\1", MARK.sub("", text)).strip()


def check(answer: str, sources: Sequence[Source], computed: Iterable[str] = ()) -> tuple[Citation, ...]:
    """Check each cited sentence against the quotes of the sources it names.

    `dead`: no source has that number.  `supported`: every number of the claim stands in the quotes (or was computed by
    the python tool) and so do most of its words.  `partial`: some of it.  `unsupported`: none of its numbers.
    """
    by_number: dict[int, list[Source]] = {}
    for source in sources:
        by_number.setdefault(source.n, []).append(source)
    results = {number for text in computed for number in numbers(text)}
    found = []
    for sentence in sentences(answer):
        named = cited(sentence)
        claim = without_marks(sentence)
        evidence = "\n".join(f"{source.title}\n{source.quote}" for n in named for source in by_number.get(n, []))
        status = _status(claim, evidence, results)
        for n in named:
            if n not in by_number:
                found.append(Citation(n, claim, "dead"))
            else:
                lines = [line for source in by_number[n] for line in source.quote.splitlines()]
                found.append(Citation(n, claim, status, _closest(claim, lines)))
    return tuple(found)


def _status(claim: str, evidence: str, computed: set[str]) -> Literal["supported", "partial", "unsupported"]:
    wanted = set(numbers(claim))
    missing = {n for n in wanted if not _stands(n, evidence) and not any(_rounds_to(c, n) for c in computed)}
    words = set(content_tokens(re.sub(r"[\d.,]+", " ", claim)))
    overlap = len(words & set(content_tokens(evidence))) / len(words) if words else 1.0
    if not missing and overlap >= 0.5:
        return "supported"
    return "unsupported" if (wanted and missing == wanted) or overlap < 0.2 else "partial"


def _stands(number: str, evidence: str) -> bool:
    return number in numbers(evidence)


def _rounds_to(computed: str, written: str) -> bool:
    """Whether a computed value, rounded as the claim writes it, is the claim's number."""
    places = len(written.partition(".")[2])
    return bool(abs(abs(float(computed)) - abs(float(written))) <= 0.5 * 10.0**-places + 1e-9)


def _closest(claim: str, lines: Sequence[str]) -> str:
    """The seen line that shares most with the claim."""
    words, figures = set(content_tokens(claim)), set(numbers(claim))

    def shared(line: str) -> int:
        return len(words & set(content_tokens(line))) + 3 * len(figures & set(numbers(line)))

    return max(lines, key=shared, default="")
