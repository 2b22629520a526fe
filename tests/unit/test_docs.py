"""The documents match the code: options and estimates, commands that parse, links, anchors and pictures that exist."""

from __future__ import annotations

import argparse
import re
import shlex
from collections import Counter
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import get_args

import pytest

from research import plugins
from research.cli.main import build_parser
from research.defaults import CONTEXTS, FRAMEWORKS
from research.events.recipe import Recipe
from research.models.extractive import ExtractiveModel
from research.types import Outcome
from research.workbench.estimate import estimate
from tests.loops import loop_over
from tests.unit.test_imports import LAYERS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")), *sorted(DOCS.rglob("*.md"))]
EACH = loop_over("path", PAGES)


@cache
def read(path: Path) -> str:
    return path.read_text("utf-8")


def prose(path: Path) -> str:
    """Return the page without its code blocks."""
    return re.sub(r"^(```+).*?^\1", "", read(path), flags=re.M | re.S)


def blocks(path: Path, *languages: str) -> list[str]:
    """Return the page's code blocks in these languages."""
    found = re.findall(r"^```(\w*)\n(.*?)^```", read(path), re.M | re.S)
    return [code for language, code in found if language in languages]


def section(name: str, title: str) -> str:
    """Return the text below a third-level heading."""
    (found,) = re.findall(rf"^### {re.escape(title)}\n(.*?)(?=^##|\Z)", read(DOCS / name), re.M | re.S)
    return str(found)


# -- frameworks, strategies, concepts, layers -------------------------------------------------------------------------


def written(value: object) -> str:
    """Format a default as the documents do."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else str(value)


CHOICES = [
    *(("frameworks.md", entry) for entry in plugins.framework.all()),
    *(("contexts.md", entry) for entry in plugins.context.all()),
]


@loop_over("name, entry", CHOICES)
def test_every_option_is_documented_with_its_default_and_its_meaning(
    name: str, entry: plugins.Framework | plugins.ContextStrategy
) -> None:
    told = section(name, f"`{entry.id}`: {entry.title}")
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", told, re.M)
    assert rows == [(each.name, written(each.default), each.accepts, each.help) for each in entry.options]
    assert len(re.findall(r"^```mermaid$", told, re.M)) == 1, "the section needs exactly one diagram"


def pairs_table() -> str:
    """Return a Markdown table of the strategies that work with each framework."""
    lines = ["| framework | " + " | ".join(CONTEXTS) + " | the strategy … |", "|---" * (len(CONTEXTS) + 2) + "|"]
    for name in FRAMEWORKS:
        entry = plugins.framework.get(name)
        cells = [entry.refuses.get(context) or "yes" for context in CONTEXTS]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {entry.note} |")
    return "\n".join(lines)


def test_the_document_contains_the_table_of_pairs() -> None:
    assert pairs_table() in read(DOCS / "frameworks.md"), f"paste:\n{pairs_table()}"


@loop_over("framework", [name for name in FRAMEWORKS if name != "rewoo"])
def test_the_documented_requests_of_a_framework_match_its_estimate(framework: str) -> None:
    entry = plugins.framework.get(framework)
    recipe = Recipe(framework=framework, context=entry.default_context)
    calls = estimate(recipe, "What?", models=lambda name: ExtractiveModel()).calls
    told = section("frameworks.md", f"`{framework}`: {entry.title}")
    assert f"**Requests**: {calls.low:.0f} to {calls.high:.0f}" in told


def test_the_concepts_page_names_every_outcome() -> None:
    rows = re.findall(r"^\| (`[\w`, ]+`) \| ", read(DOCS / "concepts.md"), re.M)
    assert Counter(re.findall(r"\w+", " ".join(rows))) == Counter(get_args(Outcome))


def test_the_architecture_diagram_shows_the_checked_layers() -> None:
    drawn = re.findall(r'L\d+\["([\w, .]+)"\]', read(DOCS / "architecture.md"))
    inner = {room for layer in LAYERS for room in layer if room.rpartition(".")[0] in layer}
    shown = [layer - inner - {"__main__", "research"} for layer in LAYERS]
    assert [set(names.split(", ")) for names in reversed(drawn)] == shown


# -- commands ---------------------------------------------------------------------------------------------------------


class RefusedCallError(Exception):
    """The parser rejected a command."""


def words(line: str) -> list[str] | None:
    """Return the arguments of `python -m research` in a shell line, or None."""
    found = shlex.split(line.replace("…", "X"), comments=True)
    start = next((n for n in range(len(found)) if found[n : n + 3] == ["python", "-m", "research"]), None)
    return None if start is None else list(takewhile(lambda word: word not in ("<", "|", "&"), found[start + 3 :]))


def refuse(self: argparse.ArgumentParser, message: str) -> None:
    raise RefusedCallError(message)


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch) -> argparse.ArgumentParser:
    monkeypatch.setattr("research.cli.parser.Parser.error", refuse)
    return build_parser()


@EACH
def test_the_commands_of_a_page_parse(path: Path, parser: argparse.ArgumentParser) -> None:
    lines = [line for block in blocks(path, "sh", "") for line in block.splitlines()]
    given = [found for line in lines if (found := words(line)) is not None]
    assert len(given) == sum("python -m research" in line for line in lines), "a command could not be read"
    for found in given:
        parser.parse_args(found)


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of a parser's commands, by name."""
    return {name: each for action in parser._actions if isinstance(action, argparse._SubParsersAction)
            for name, each in action.choices.items()}  # fmt: skip


def options(parser: argparse.ArgumentParser, given: list[str]) -> set[str]:
    """Return the options of the given command, or of all commands where it is incomplete."""
    found = set(parser._option_string_actions)
    below = subcommands(parser)
    if below and given and re.match(r"[a-z]", given[0]):
        assert given[0] in below, f"there is no command {given[0]!r}"
        return found | options(below[given[0]], given[1:])
    return found.union(*(options(each, []) for each in below.values()))


@EACH
def test_commands_and_options_named_in_a_sentence_exist(path: Path, parser: argparse.ArgumentParser) -> None:
    for span in re.findall(r"`([^`\n]+)`", prose(path)):
        given = words(span) if "python -m" in span else None
        first, *rest = span.split()
        if given is None and (first.startswith("--") or (first in subcommands(parser) and rest)):
            given = shlex.split(span)
        if given is not None:
            assert {each for each in given if each.startswith("--")} <= options(parser, given), span


@EACH
def test_named_make_targets_exist(path: Path) -> None:
    made = set(re.findall(r"^([\w-]+):", read(ROOT / "Makefile"), re.M))
    assert set(re.findall(r"(?:^|`)make ([\w-]+)", read(path), re.M)) <= made


@cache
def settings() -> set[str]:
    """Return the names in capitals in the package, its data and the compose file."""
    package = ROOT / "research"
    sources = [*package.rglob("*.py"), *package.rglob("*.toml"), DOCS / "deploy" / "compose.yaml"]
    return {name for each in sources for name in re.findall(r"[A-Z][A-Z_]+", read(each))}


@EACH
def test_named_settings_exist(path: Path) -> None:
    own = re.findall(r"[A-Z][A-Z_]+", "".join(blocks(path, "python")))
    named = set(re.findall(r"`(WORKBENCH_[A-Z_]+|[A-Z]+(?:_[A-Z]+)*_(?:API_KEY|URL))\b", prose(path)))
    assert named <= settings() | set(own)


# -- links and pictures -----------------------------------------------------------------------------------------------


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page as GitHub makes them: lower case, no punctuation, a hyphen for each space."""
    found: Counter[str] = Counter()
    names = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", prose(path), re.M):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        names.add(f"{slug}-{found[slug]}" if found[slug] else slug)
        found[slug] += 1
    return names


@EACH
def test_links_and_anchors_resolve(path: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if re.match(r"https?:|mailto:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target), link


@EACH
def test_paths_named_in_a_sentence_exist(path: Path) -> None:
    """Files that a tutorial tells the reader to save are exempt."""
    named = set(re.findall(r"`((?:research|pages|bench|tests|docs)/[\w/.-]+)`", prose(path)))
    saved = set(re.findall(r"[Ss]ave (?:it|this)\s+as\s+`([^`]+)`", read(path)))
    assert {each for each in named - saved if "NAME" not in each and not (ROOT / each).exists()} == set()


def test_every_picture_exists_and_is_shown() -> None:
    shown = {
        (path.parent / link).resolve()
        for path in PAGES
        for link in re.findall(r"!\[[^\]]+\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"", read(path))
        for link in link
        if link
    }
    assert shown == {each.resolve() for each in (DOCS / "images").iterdir()}


@EACH
def test_diagrams_have_balanced_brackets(path: Path) -> None:
    for drawn in blocks(path, "mermaid"):
        assert re.match(r"(flowchart (LR|TD)|sequenceDiagram)\n", drawn)
        for line in drawn.splitlines():
            bare = re.sub(r'"[^"]*"', "", line)
            assert '"' not in bare, line
            assert Counter(re.sub(r"[^\[({]", "", bare)) == Counter(
                re.sub(r"[^\])}]", "", bare).translate(str.maketrans("])}", "[({"))
            ), line  # fmt: skip


def test_the_index_links_to_every_page() -> None:
    named = set(re.findall(r"\]\((?!https?:|\.\.)([^)#]+\.md)", read(DOCS / "README.md")))
    assert named == {each.name for each in DOCS.glob("*.md") if each.name != "README.md"} | {"decisions/README.md"}


# -- the original documents -------------------------------------------------------------------------------------------


def test_every_place_and_test_of_a_capability_exists() -> None:
    rows = [line.split(" | ") for line in read(DOCS / "seeds.md").splitlines() if line.startswith("| ")][1:]
    assert rows
    missing = []
    for row in rows:
        if len(row) != 4:
            missing.append(f"a row of {len(row)} cells: {row[0]}")
            continue
        places, tests = (re.findall(r"`([^`]+)`", cell) for cell in row[2:])
        missing += [f"no place or test: {row[0]}"] * (not places or not tests)
        missing += [place for place in places if not (ROOT / place).exists()]
        for test in tests:
            path, _, name = test.partition("::")
            found = read(ROOT / path) if (ROOT / path).is_file() else ""
            if not path.startswith("tests/") or f"def {name or 'test_'}" not in found:
                missing.append(test)
    assert missing == []
