"""What a model reads in a Chinese run is Chinese, and so are the checks and the exported files of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any

from research import plugins
from research._util.glossary import terms
from research._util.said import catalogue, described, say, speaking, translated
from research.agent.tool_calls import ONE_A_ROUND, TOO_MANY
from research.auditing.trial import STATES, VERDICTS
from research.citations.reasons import JUDGED
from research.defaults import FACTBOOK_LANGUAGE, OFFLINE, OWN_DOCUMENTS, PAGES_READ
from research.events.recipe import model_title
from research.exports.document import STATUSES
from research.exports.labels import Words
from research.exports.progress import OUTCOMES
from research.frameworks import supervisor
from research.frameworks.rewoo import LLM
from research.memory import KINDS
from research.memory.recalling import _AUTHORS as AUTHORS
from research.models.extractive.chinese import thought
from research.models.extractive.roles import DONE
from research.parsing.calls import FINAL_ANSWER
from research.parsing.parsed import MESSAGES
from research.text import has_cjk
from research.tools.python import _DESCRIPTIONS, PythonTool
from research.tools.query import _DESCRIPTION as _ABOUT_TABLES
from research.tools.query import NO_TABLE, QueryTool
from research.tools.recall import RecallTool
from research.tools.scholar import ScholarTool
from research.tools.search import SearchTool
from research.tools.spec import spec_of
from research.types import ToolSpec
from tests.visits import visits

TITLES = {entry.title for entry in [*plugins.framework.all(), *plugins.context.all(), plugins.framework.get("audit")]}
TITLES -= {"IterResearch", "ReAct", "Reflexion", "ReSum", "ReWOO"}  # names of methods, the same in every language
TITLES.add(model_title(OFFLINE))

PACKAGE = Path(plugins.__file__).parent
IMPORTS = re.compile(
    r"research\._util(?:\.said import| import said)|research\.citations\.reasons import .*\bbecause|"
    r"research\.exports\.labels import .*\b(?:W|w)ords"
)
OTHER_TEXTS = {*MESSAGES.values(), *KINDS, *AUTHORS.values(), *VERDICTS.values(), *STATES.values(), *JUDGED.values()}
OTHER_TEXTS |= {*OUTCOMES.values(), *STATUSES.values()}
"""Texts that the code translates by a variable."""


def specs() -> Iterator[Any]:
    """Yield every tool that we offer to a model."""
    tools = [SearchTool([]), ScholarTool([]), visits(None), RecallTool(None, None)]  # type: ignore[arg-type]
    yield from (tool.spec for tool in tools)
    yield spec_of(PythonTool().__call__, "python", "")
    yield FINAL_ANSWER
    yield LLM
    yield ToolSpec("query", _ABOUT_TABLES, spec_of(QueryTool.__call__, "query", "").parameters)
    yield from (supervisor._spec(getattr(supervisor, name)) for name in plugins.framework.get("supervisor").calls)


def descriptions(schema: Any) -> Iterator[str]:
    """Yield every description in a JSON schema."""
    if isinstance(schema, dict):
        yield from (value for key, value in schema.items() if key == "description" and isinstance(value, str))
        schema = list(schema.values())
    if isinstance(schema, list):
        for each in schema:
            yield from descriptions(each)


def texts_of(path: Path) -> Iterator[str]:
    """Yield the texts that a module says by `say`, `translated` and `because`, with those of its constants in capitals."""
    tree = ast.parse(path.read_text("utf-8"))
    constants = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and re.search(r"\b(?:say|translated|because)$", ast.unparse(node.func))
            and node.args
        ):
            first = node.args[0]
            for each in (first.body, first.orelse) if isinstance(first, ast.IfExp) else [first]:
                yield from literals(each) if isinstance(each, ast.Constant) else ()
            if isinstance(first, ast.Name) and first.id in constants:
                yield str(constants[first.id])


def literals(tree: ast.AST) -> set[str]:
    """Return every text that the code contains literally."""
    return {each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def slots(text: str) -> list[tuple[str | None, ...]]:
    return sorted((name, form, how) for _, name, form, how in Formatter().parse(text) if name is not None)


def test_every_text_has_its_chinese_and_none_is_left_over() -> None:
    speakers = [path for path in PACKAGE.rglob("*.py") if IMPORTS.search(path.read_text("utf-8"))]
    said = {text for path in speakers for text in texts_of(path)} | OTHER_TEXTS | set(_DESCRIPTIONS.values()) | TITLES
    said |= {ONE_A_ROUND, TOO_MANY, OWN_DOCUMENTS, PAGES_READ, FACTBOOK_LANGUAGE, NO_TABLE}
    for spec in specs():
        said |= {text for text in (spec.description, *descriptions(spec.parameters)) if text}
    assert said - catalogue().keys() == set()
    files = {
        *speakers,
        *(path for room in ("exports", "events", "citations") for path in (PACKAGE / room).glob("*.py")),
    }
    written = {text for path in files for text in literals(ast.parse(path.read_text("utf-8")))}
    assert catalogue().keys() - written - said == set()


def test_a_translation_fills_the_same_slots_and_is_chinese() -> None:
    wrong = [text for text, chinese in catalogue().items() if slots(text) != slots(chinese)]
    assert wrong == []
    assert [text for text, chinese in catalogue().items() if not re.search("[\u3001-\u9fff（），：；]", chinese)] == []


def test_what_an_export_counts_is_chinese() -> None:
    calls = [
        node for path in (PACKAGE / "exports").glob("*.py") for node in ast.walk(ast.parse(path.read_text("utf-8")))
    ]
    nouns = {
        noun
        for node in calls
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "say.count"
        for noun in literals(node.args[-1])
    }
    assert len(nouns) > 4
    assert [noun for noun in nouns if not has_cjk(Words("zh").count(2, noun))] == []


def test_a_tool_is_described_in_the_language_of_the_run() -> None:
    spec = SearchTool([]).spec
    assert described(spec.parameters, "zh")["properties"]["filter_year"]["description"] == "只要这一年的结果。"
    assert described(spec.parameters, "en") == spec.parameters
    assert translated("A plug-in's own words.", "zh") == "A plug-in's own words."


def test_a_text_is_said_in_the_language_of_the_run() -> None:
    text = "the query {query!r} has no words to search for"
    assert say(text, query="{x}") == "the query '{x}' has no words to search for"
    with speaking("zh"):
        assert say(text, query="{x}") == "查询 '{x}' 中没有可供搜索的词"


def thoughts_in(path: Path) -> Iterator[str]:
    """Yield what the offline model says before a step, with `{}` for what it fills in."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and re.search(
            r"\b(?:_?search|act|_?computed?|Action|_said)$", ast.unparse(node.func)
        ):
            for each in [text for argument in node.args for text in ast.walk(argument)]:
                if isinstance(each, ast.JoinedStr):
                    yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in each.values)
                elif isinstance(each, ast.Constant):
                    yield str(each.value)


def test_every_thought_of_the_offline_model_has_its_chinese_and_none_is_left_over() -> None:
    files = (PACKAGE / "models" / "extractive").glob("*.py")
    said = {text for path in files for text in thoughts_in(path) if re.match(r"(?:[A-Z]|\{\} [a-z]).*\.$", text)} | {
        DONE
    }
    assert [text for text in said if not has_cjk(thought(text.replace("{}", "X")))] == []
    assert {re.sub(r"\{\w\}", "{}", text) for text in terms("thought")} <= said
