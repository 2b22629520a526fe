"""Update `zh.po` with the texts of the pages: `make words`.

Adds new texts without a translation and removes unused ones; nothing else changes.
"""

from __future__ import annotations

import ast
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages import Catalog
from babel.messages.pofile import read_po, write_po

from pages.parts.shared.language import DEFINITE, without_command
from research import defaults, plugins
from research.defaults import AUDIT
from research.events.recipe import model_title
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
OF_FILES = {"UnreadableFile", "refuse"}
"""Errors that begin with the name of a file."""
ERRORS = OF_FILES | {"ConfigError", "ProviderError", "RunPaused", "StoreUnavailable", "NoTools"}
INSERTED = (
    "the key in Settings",
    "the address in Settings",
    "the key of endpoint {name}",
    "the address of endpoint {name}",
    "add it on the Settings page, set {name}",
    "{error} (trying again in {n} s)",
    "{name} cannot be reached: check that its server runs",
    "{name} cannot be reached: check that its server runs, and that {setting} is correct",
    "{cause}, or search the library instead",
)
"""What functions insert into errors, or add to them."""
SPOKEN = (
    "_util/[bchn]*.py",
    "agent/model_call.py",
    "agent/reply_stream.py",
    "auditing/report_intake.py",
    "compare/starting.py",
    "config/saved_*.py",
    "engine/driver.py",
    "engine/engine.py",
    "models/[a-q]*.py",
    "models/s[de]*.py",
    "models/usage.py",
    "models/llama/*.py",
    "search/scope.py",
    "search/web.py",
    "search/library/*.py",
    "store/rows.py",
    "web/[a-z]*.py",
    "workbench/[elp]*.py",
)
"""Files of `research/` whose errors the pages show in their own language."""


def messages() -> Iterator[tuple[str, str]]:
    """Yield each text that the pages may show, with the file that contains it."""
    for path in [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]:
        for text in _literals(path):
            yield text, str(path.relative_to(ROOT))
    for path in sorted(path for pattern in SPOKEN for path in (ROOT / "research").glob(pattern)):
        for text in _errors(path):
            yield without_command(text), str(path.relative_to(ROOT))
    for text in INSERTED:
        yield text, "research/config/settings.py"
    for code in (errno.ENOENT, errno.EACCES, errno.EISDIR, errno.ENOTDIR, errno.ENOSPC, errno.ECONNREFUSED):
        yield os.strerror(code), "research/errors.py"
    yield EXAMPLE_QUESTION, "research/workbench/example.py"
    for words in OUTCOMES.values():
        yield words, "research/exports/progress.py"
    for preset in presets.BUILT_IN:
        yield from ((text, "research/workbench/presets.py") for text in (preset.name, preset.summary))
    yield from ((text, "research/workbench/presets.py") for text in (*presets.GAPS, *presets.KINDS))
    for kind in FORMATS.values():
        yield kind.title, "research/exports/__init__.py"
    yield model_title(defaults.OFFLINE), "research/events/recipe.py"
    yield plugins.framework.get(AUDIT).title, "research/frameworks/audit.py"
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


def _errors(path: Path) -> Iterator[str]:
    """Yield what the errors of a file say, with a `{place}` for each value that they insert."""
    tree = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    phrases: dict[str, str] = {}
    for node in tree:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            phrases |= {each.id: node.value.value for each in node.targets if isinstance(each, ast.Name)}
    for node in tree:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS and node.args:
            text, before = node.args[-1], "{file} " if node.func.id in OF_FILES else ""
            inserted = {each.id for each in ast.walk(text) if isinstance(each, ast.Name)}
            yield from (phrases[each] for each in inserted & phrases.keys() if " " in phrases[each])
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield before + text.value.replace("{", "{{").replace("}", "}}")
            elif isinstance(text, ast.JoinedStr) and len(re.sub(r"\{\w+\}", "", found := _template(text))) > DEFINITE:
                yield before + found


def _template(text: ast.JoinedStr) -> str:
    """Return an f-string as a template; equal expressions are one place, named by their last name."""
    names: dict[str, str] = {}
    parts = []
    for part in text.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value).replace("{", "{{").replace("}", "}}"))
        elif isinstance(part, ast.FormattedValue):
            written = ast.unparse(part.value)
            last = part.value.attr if isinstance(part.value, ast.Attribute) else getattr(part.value, "id", "value")
            name = last.lstrip("_").lower()
            taken = set(names.values())
            free = next(each for each in (name, *(f"{name}{n}" for n in range(2, 9))) if each not in taken)
            parts.append("{" + names.setdefault(written, free) + "}")
    return "".join(parts)


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
