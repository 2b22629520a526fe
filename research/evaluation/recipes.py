"""The recipes of an evaluation, as they are written: `FRAMEWORK[:OPTION=VALUE…]/CONTEXT[:OPTION=VALUE…][/MODEL]`."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from research.errors import ConfigError
from research.evaluation.datasets import Question
from research.recipe import Recipe
from research.workbench import Workbench


class Candidate(Struct, frozen=True):
    """A recipe that takes part."""

    name: str
    """As it was written; what the figures stand under."""
    recipe: Recipe

    @property
    def key(self) -> str:
        """Twelve hex digits that are the same for equal recipes, however they came to be.

        `Recipe.hash` is not: a value that equals its default is left out of the JSON only where it is the same object.
        """
        whole = asdict(self.recipe) | {"budget": asdict(self.recipe.budget)}
        return hashlib.sha256(msgspec.json.encode(whole, order="deterministic")).hexdigest()[:12]

    @property
    def oracle(self) -> bool:
        """Whether it sees the gold answer: a bound for the others, and no rival of theirs."""
        return self.recipe.framework_options.get("evaluator") == "gold"

    def asked(self, question: Question) -> Recipe:
        """The recipe for one question; an oracle is told its answer, and is none where there is nothing to tell."""
        if not self.oracle:
            return self.recipe
        told = {"gold": question.answers[0]} if question.answers else {"evaluator": "heuristic"}
        return replace(self.recipe, framework_options={**self.recipe.framework_options, **told})


def candidate(bench: Workbench, text: str, **shared: Any) -> Candidate:
    """The recipe that is written so, with what all of them share.  Raises `ConfigError` that names it.

    Options follow a name after a colon, separated by commas: `reflexion:evaluator=gold,trials=2/full`.  A model's own
    name may hold slashes and colons.
    """
    first, second, model = (*text.split("/", 2), "", "")[:3]
    framework, options = _options("framework", first, text)
    context, more = _options("context", second, text)
    arguments = {**shared, "options": {**options, **more}}
    if model:
        arguments["model"] = model
    try:
        return Candidate(text, bench.recipe(framework=framework, context=context or None, **arguments))
    except ConfigError as error:
        raise ConfigError(f"--recipe {text}: {error}") from error


def _options(side: str, words: str, text: str) -> tuple[str, dict[str, str]]:
    name, _, rest = words.partition(":")
    found = {}
    for each in filter(None, rest.split(",")):
        key, equals, value = each.partition("=")
        if not equals or not key:
            raise ConfigError(f"--recipe {text}: {each!r}: write NAME=VALUE")
        found[f"{side}.{key}"] = value
    return name, found
