"""Update `zh.po` with the texts of the pages: `make words`.

Adds new texts without a translation and removes unused ones; nothing else changes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from babel.messages import Catalog
from babel.messages.pofile import read_po, write_po

from research import plugins
from research.exports import FORMATS
from research.exports.progress import OUTCOMES
from research.ops import disk_usage
from research.search import embedders
from research.workbench import presets
from research.workbench.example import EXAMPLE_QUESTION

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).parent / "zh.po"
KEYWORDS = {"t": 0, "later": 0, "count": 1}
"""Which argument is the text: of `t("…")`, `later("…")` and `count(number, "…")`."""


def messages() -> Iterator[tuple[str, str]]:
    """Yield each text that the pages may show, with the file that contains it."""
    for path in [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]:
        for text in _literals(path):
            yield text, str(path.relative_to(ROOT))
    yield EXAMPLE_QUESTION, "research/workbench/example.py"
    for words in OUTCOMES.values():
        yield words, "research/exports/progress.py"
    for preset in presets.BUILT_IN:
        yield from ((text, "research/workbench/presets.py") for text in (preset.name, preset.summary))
    yield from ((text, "research/workbench/presets.py") for text in (*presets.GAPS, *presets.KINDS))
    for kind in FORMATS.values():
        yield kind.title, "research/exports/__init__.py"
    for part in [*disk_usage.PARTS, "Other"]:
        yield part, "research/ops/disk_usage.py"
    for words in embedders.known().values():
        yield words, "research/search/embedders/__init__.py"
    for entry in [*plugins.provider.all(), *plugins.searcher.all()]:
        yield from (
            (text, f"{entry.function.__module__.replace('.', '/')}.py") for text in (entry.title, entry.summary)
        )
    for entry in [*plugins.framework.all(), *plugins.context.all()]:
        place = f"{entry.function.__module__.replace('.', '/')}.py"
        yield from ((text, place) for text in (entry.title, entry.summary, entry.when))
        if isinstance(entry, plugins.Framework):
            yield from ((text, place) for text in (entry.note, *entry.refuses.values(), *entry.calls.values()))
        for option in entry.options:
            yield option.help, place
            yield option.name.replace("_", " ").capitalize(), place


def _literals(path: Path) -> Iterator[str]:
    """Yield the literal texts of a file, from its syntax tree, because Babel's own reader skips f-strings."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KEYWORDS:
            word = node.args[KEYWORDS[node.func.id]]
            if isinstance(word, ast.Constant) and isinstance(word.value, str):
                yield word.value


def main() -> None:
    """Rewrite the catalogue in place."""
    with FILE.open("rb") as file:
        known = {each.id: each.string for each in read_po(file, locale="zh")}
    catalog = Catalog(locale="zh", project="Research Workbench", fuzzy=False)
    for text, place in sorted(filter(lambda pair: pair[0], messages()), key=lambda pair: (pair[1], pair[0])):
        catalog.add(text, known.get(text, ""), locations=[(place, None)])
    with FILE.open("wb") as file:
        write_po(file, catalog, width=0, omit_header=True, include_lineno=False, sort_by_file=False)


if __name__ == "__main__":
    main()
