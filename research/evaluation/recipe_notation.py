"""The recipes of an evaluation, parsed from `FRAMEWORK[:OPTION=VALUE…]/CONTEXT[:OPTION=VALUE…][/MODEL]`."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from research import defaults, plugins
from research._util.registry import derived
from research.errors import ConfigError
from research.evaluation.questions import Question
from research.events.recipe import Recipe
from research.workbench.leaving import MustChoose
from research.workbench.recipes import command_of
from research.workbench.workbench import Workbench


class Candidate(Struct, frozen=True):
    """A recipe that takes part in an evaluation."""

    name: str
    """The parsed text; labels its figures."""
    recipe: Recipe

    @property
    def key(self) -> str:
        """Twelve hex digits that are the same for equal recipes."""
        return self.recipe.hash

    @property
    def oracle(self) -> bool:
        """Whether the recipe sees the gold answer, which makes it an upper bound rather than a competitor."""
        told = self._framework.oracle
        return bool(told) and told.items() <= self.recipe.framework_options.items()

    @property
    def shown_options(self) -> dict[str, Any]:
        """Return the options of the framework, without those that make it an oracle."""
        hidden = self._framework.oracle if self.oracle else ()
        return {name: value for name, value in self.recipe.framework_options.items() if name not in hidden}

    def asked(self, question: Question) -> Recipe:
        """Return the recipe for one question.

        An oracle is given the gold answer, if the question has one.
        """
        if not self.oracle:
            return self.recipe
        entry, options = self._framework, {**self.recipe.framework_options}
        if question.answers:
            options[entry.told_by] = question.answers[0]
        else:
            options |= {option.name: option.default for option in entry.options if option.name in entry.oracle}
        return replace(self.recipe, framework_options=options)

    @property
    def _framework(self) -> plugins.Framework:
        return plugins.framework.traits(self.recipe.framework)  # a saved plan may name a plug-in that is gone


@derived
def oracles() -> tuple[str, ...]:
    """Return a recipe that sees the gold answer for each framework that can, as `candidate` parses them."""
    found = []
    for entry in plugins.framework.all():
        if entry.oracle:
            options = ",".join(f"{name}={value}" for name, value in entry.oracle.items())
            found.append(f"{entry.id}:{options}/{entry.default_context}")
    return tuple(found)


def candidate(bench: Workbench, text: str, **common: Any) -> Candidate:
    """Parse a recipe; `common` holds the arguments that all recipes share.  Raises `ConfigError` that quotes the text."""
    arguments = {**common, **parsed(text)}
    if arguments.get("tools") is None:
        arguments["tools"] = defaults.TOOLS  # without those of tables, so that results of a recipe stay comparable
    try:
        return Candidate(text, bench.recipe(ask=False, **arguments))
    except MustChoose:
        raise
    except ConfigError as error:
        raise ConfigError(f"--recipe {text}: {error}") from error


def parsed(text: str) -> dict[str, Any]:
    """Return the arguments of `Workbench.recipe` that the text of a recipe names.  Raises `ConfigError` that quotes it.

    Options follow a name after a colon, separated by commas: `NAME:first=1,second=2/full`.  The name of the model may
    contain slashes and colons.
    """
    if given := command_of(text):
        return {"framework": given[0], "options": given[1]}
    first, second, model = (*text.split("/", 2), "", "")[:3]
    framework, options = _options("framework", first, text)
    context, more = _options("context", second, text)
    return {"framework": framework, "context": context or None, "options": {**options, **more}} | (
        {"model": model} if model else {}
    )


def _options(side: str, words: str, text: str) -> tuple[str, dict[str, str]]:
    name, _, rest = words.partition(":")
    found = {}
    for each in filter(None, rest.split(",")):
        key, equals, value = each.partition("=")
        if not equals or not key:
            raise ConfigError(f"--recipe {text}: option {each!r} must have the form NAME=VALUE")
        found[f"{side}.{key}"] = value
    return name, found
