"""The command that repeats an evaluation, and the hashes of what it depends on."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from research import defaults
from research.evaluation.plans import Plan
from research.evaluation.recipe_notation import Candidate
from research.events.recipe import FOLDERS, LIBRARY, Recipe
from research.workbench.worlds import PREFIX, name_of

QUESTIONS: Final = "questions.jsonl"
DOCUMENTS: Final = "DOCUMENTS"
"""Stands for the documents, which are not part of a published page."""
_PLAIN: Final = Recipe()


def questions_jsonl(plan: Plan) -> str:
    """Return the questions with their answers, one JSON object per line; `eval` reads them back unchanged."""
    return "".join(msgspec.json.encode(each).decode() + "\n" for each in plan.questions)


def command(plan: Plan) -> str:
    """Return the command line that asks the same questions with the same recipes and limits."""
    recipe = plan.candidates[0].recipe
    words = ["research-workbench", "eval", QUESTIONS, "--name", plan.name]
    for each in plan.candidates:
        words += ["--recipe", _spec(each)]
    words += _shared(recipe)
    if plan.corpus.folder:
        words += ["--corpus", DOCUMENTS]
    if plan.world:
        words += ["--world", f"{PREFIX}{name_of(plan.world)}", *(["--world-allow-new"] if recipe.world_new else [])]
    if plan.trials > 1:
        words += ["--trials", f"{plan.trials}"]
    words += _option("--seed", plan.seed, 0) + _option("--judge", plan.judge, "")
    return shlex.join(words)


@cache
def code_hash() -> str:
    """Return the SHA-256 of this version's code, prompts and data, by path."""
    root = Path(__file__).parents[1]
    found = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".md", ".toml", ".html", ".jsonl") and path.is_file():
            found.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def _spec(each: Candidate) -> str:
    recipe = each.recipe
    first = recipe.framework + _options(recipe.framework_options)
    return f"{first}/{recipe.context}{_options(recipe.context_options)}/{recipe.model}"


def _options(given: Mapping[str, Any]) -> str:
    return f":{','.join(f'{name}={value}' for name, value in given.items())}" if given else ""


def _shared(recipe: Recipe) -> list[str]:
    """Return the options that all recipes share, where they differ from the defaults."""
    words = [word for role, model in recipe.roles.items() for word in ("--role", f"{role}={model}")]
    words += _option("--protocol", recipe.protocol, "auto")
    words += _option("--tools", ",".join(recipe.tools), ",".join(defaults.TOOLS))
    search = [each for each in recipe.search if each not in (LIBRARY, FOLDERS)]
    words += ["--search", ",".join(recipe.search)] if search else []
    words += _option("--mcp", ",".join(recipe.mcp), "")
    words += _option("--temperature", recipe.temperature, None) + _option("--citation-judge", recipe.judge, "")
    words += [] if recipe.novelty else ["--novelty", "off"]
    for name in ("allow", "deny"):
        words += [word for each in getattr(recipe, f"{name}_domains") for word in (f"--{name}-domain", each)]
    for name in ("since", "until", "as_of"):
        words += _option(f"--{name.replace('_', '-')}", getattr(recipe, name), "")
    for name in ("tokens", "usd", "seconds"):
        words += _option(f"--budget-{name}", getattr(recipe.budget, name), None)
    return words


def _option(name: str, value: object, default: object) -> list[str]:
    return [] if value in (default, None) else [name, f"{value}"]
