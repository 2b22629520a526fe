"""Measure how well the citation checker tells true claims from false ones: python -m bench.citations [FILE] [--quiet]

The bench makes quotations of texts and claims about labelled figures, half of them spoiled, for one half of the countries
and tables, which the rules were written with, and for the other (`bench/claims.py`).  It reads claims about invented prose
from tests/data/claims_prose*.jsonl, or from FILE.
With --quiet it prints only totals and counts by kind, as a file that must stay unseen requires.  The table of
docs/citations.md comes last, with a row for each set: how often a tick (`supported`, `calculated`) is right and how many
true claims get one, and the same of a cross (`contradicted`, `dead`) and false claims.  --fever and --wice read the
development halves of these public sets.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.claims import Claim, labelled, quotations
from bench.printing import table
from research.citations import check_statements, statements
from research.models.extractive import ExtractiveModel
from research.types import Source

DATA = Path(__file__).parents[1] / "tests/data"
SEEN = ("quotations", "labelled", "prose", "prose2", "fever_symmetric_dev", "wice_dev_oracle")
"""Sets that the authors of the rules have looked at."""
TICKS, CROSSES = ("supported", "calculated"), ("contradicted", "dead")
STATUSES = ("dead", "contradicted", "unverified", "calculated", "supported")
"""From worst to best: of a statement with several numbers, the worst counts."""


class Asserted(Struct, frozen=True):
    """A claim of a prose file; `kind` names the corruption of a false claim, or the ability that a true one requires."""

    text: str
    true: bool
    kind: str = ""


class Told(Struct, frozen=True):
    """A line of a prose file: an invented source and the claims about it."""

    id: str
    title: str
    text: str
    claims: tuple[Asserted, ...]


class Pair(Struct, frozen=True):
    """A row of FEVER-symmetric (`true`) or WiCE (`label`)."""

    id: str
    claim: str
    text: str | list[str]
    true: bool | None = None
    label: str = ""


class Score(Struct, frozen=True):
    """The results of a set."""

    name: str
    seen: bool
    """Whether the authors of the rules have looked at it."""
    ticked: tuple[int, int, int]
    """Ticks on true claims, all ticks, all true claims."""
    crossed: tuple[int, int, int]
    """Crosses on false claims, all crosses, all false claims."""


SETS: dict[str, Callable[[], list[Claim]]] = {
    "quotations": lambda: quotations(held=False),
    "quotations, held": lambda: quotations(held=True),
    "labelled": lambda: labelled(held=False),
    "labelled, held": lambda: labelled(held=True),
    "prose": lambda: prose(DATA / "claims_prose.jsonl"),
    "prose2": lambda: prose(DATA / "claims_prose2.jsonl"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="claims about prose, one source a line, instead of the sets")
    parser.add_argument("--quiet", action="store_true", help="print only totals and counts by kind")
    parser.add_argument("--only", choices=SETS)
    parser.add_argument("--fever", type=Path, help="fever_symmetric_dev.jsonl, instead of the sets")
    parser.add_argument("--wice", type=Path, help="wice_dev_oracle.jsonl, instead of the sets")
    parser.add_argument("--show", type=int, default=40, help="wrong verdicts printed for each set")
    parser.add_argument("--least", type=float, default=0.0, help="exit with 1 if fewer ticks or crosses are right")
    arguments = parser.parse_args()
    given: dict[str, Callable[[], list[Claim]]] = {}
    if arguments.file:
        given[arguments.file.stem] = lambda: prose(arguments.file)
    for path in (arguments.fever, arguments.wice):
        if path:
            given[path.stem] = lambda path=path: pairs(path)  # type: ignore[misc]
    scores = [
        report(name, make(), arguments.quiet or name.endswith("held"), arguments.show)
        for name, make in (given or SETS).items()
        if arguments.only in (None, name)
    ]
    print(f"\n{lines(scores)}")
    made = [n / max(m, 1) for each in scores if each.name in SETS for n, m, _ in (each.ticked, each.crossed)]
    return 0 if min(made, default=1.0) >= arguments.least else 1


def lines(scores: Iterable[Score]) -> str:
    """Return the table of docs/citations.md."""
    head = ("set", "seen", "✓ right", "true claims with ✓", "✗ right", "false claims with ✗")
    return table(
        head,
        [
            [
                each.name,
                "yes" if each.seen else "no",
                *(cell for counts in (each.ticked, each.crossed) for cell in _cells(*counts)),
            ]
            for each in scores
        ],
    )


def _cells(right: int, said: int, whole: int) -> tuple[str, str]:
    return f"{right / said:.2f} ({right} of {said})" if said else "none", f"{right / max(whole, 1):.2f}"


def report(name: str, claims: list[Claim], quiet: bool, show: int) -> Score:
    """Print a table of the corruptions; with `quiet`, no claim of the set is shown."""
    start = time.perf_counter()
    verdicts = [
        sum(check_statements(statements(claim.text), claim.sources, knows=ExtractiveModel()), []) for claim in claims
    ]
    seconds = time.perf_counter() - start
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for claim, found in zip(claims, verdicts, strict=True):
        status = min((c.status for c in found), key=STATUSES.index)
        kinds[claim.corruption or f"true {claim.kind}".strip()][status] += 1
        wrong = status in TICKS if claim.corruption else status in CROSSES
        if not quiet and wrong and (show := show - 1) >= 0:
            print(
                f"{claim.corruption or f'TRUE {claim.kind}'}: {claim.text}\n"
                f"    {status}: {found[0].reason} «{found[0].quote[:120]}»"
            )
    print(f"\n## {name}: {len(claims)} claims, {1000 * seconds / len(claims):.1f} ms each\n")
    true = sum((counts for kind, counts in kinds.items() if kind.split()[0] == "true"), Counter[str]())
    lies = sum((counts for kind, counts in kinds.items() if kind.split()[0] != "true"), Counter[str]())
    rows = sorted(kinds.items(), key=lambda item: (item[0].split()[0] != "true", item[0]))
    print(
        table(
            ("done to it", "n", *STATUSES),
            [
                [kind, str(counts.total()), *(str(counts[status]) for status in STATUSES)]
                for kind, counts in [*rows, ("all true", true), ("all false", lies)]
            ],
        )
    )

    def counted(right: Counter[str], wrong: Counter[str], statuses: Sequence[str]) -> tuple[int, int, int]:
        good = sum(right[status] for status in statuses)
        return good, good + sum(wrong[status] for status in statuses), right.total()

    return Score(name, name in SEEN, counted(true, lies, TICKS), counted(lies, true, CROSSES))


def pairs(path: Path) -> list[Claim]:
    """Return the claims of FEVER-symmetric or WiCE; of several rows of one claim the best verdict counts."""
    rows: dict[str, list[Pair]] = defaultdict(list)
    for line in path.read_bytes().splitlines():
        pair = msgspec.json.decode(line, type=Pair)
        rows[pair.id].append(pair)
    found = []
    for same in rows.values():
        text = "\n".join(dict.fromkeys("\n".join(p.text) if isinstance(p.text, list) else p.text for p in same))
        true = any(p.true if p.true is not None else p.label == "supported" for p in same)
        claim = re.sub(r" (?=[.,])", "", same[0].claim).rstrip(".")
        source = Source(1, f"https://example.org/{same[0].id}", "", text)
        found.append(Claim(f"{claim} [1].", (source,), "" if true else "false"))
    return found


def prose(path: Path) -> list[Claim]:
    found = []
    for line in path.read_bytes().splitlines():
        item = msgspec.json.decode(line, type=Told)
        source = Source(1, f"https://example.org/{item.id}", item.title, item.text)
        for claim in item.claims:
            text = f"{claim.text[:-1]} [1]{claim.text[-1]}"
            found.append(Claim(text, (source,), *(("", claim.kind) if claim.true else (claim.kind or "false", ""))))
    return found


if __name__ == "__main__":
    sys.exit(main())
