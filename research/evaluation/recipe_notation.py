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
        return self._oracle is not None

    @property
    def shown_options(self) -> dict[str, Any]:
        """Return the options of the framework, without those that make it an oracle."""
        hidden = self._oracle.options if self._oracle else ()
        return {name: value for name, value in self.recipe.framework_options.items() if name not in hidden}

    def asked(self, question: Question) -> Recipe:
        """Return the recipe for one question.

        An oracle is given the gold answer, if the question has one.
        """
        oracle = self._oracle
        if oracle is None:
            return self.recipe
        options = {**self.recipe.framework_options}
        if question.answers:
            options[oracle.answer] = question.answers[0]
        else:
            known = plugins.framework.get(self.recipe.framework).options
            options |= {option.name: option.default for option in known if option.name in oracle.options}
        return replace(self.recipe, framework_options=options)

    @property
    def _oracle(self) -> plugins.Oracle | None:
        try:
            oracle = plugins.framework.get(self.recipe.framework).oracle
        except ConfigError:  # a saved plan may name a plug-in that is gone
            return None
        return oracle if oracle and oracle.options.items() <= self.recipe.framework_options.items() else None


@derived
def oracles() -> tuple[str, ...]:
    """Return a recipe that sees the gold answer for each framework that can, as `candidate` parses them."""
    found = []
    for entry in plugins.framework.all():
        if entry.oracle:
            options = ",".join(f"{name}={value}" for name, value in entry.oracle.options.items())
            found.append(f"{entry.id}:{options}/{entry.default_context}")
    return tuple(found)


def candidate(bench: Workbench, text: str, **common: Any) -> Candidate:
    """Parse a recipe; `common` holds the arguments that all recipes share.  Raises `ConfigError` that quotes the text.

    Options follow a name after a colon, separated by commas: `NAME:first=1,second=2/full`.  The name of the model may
    contain slashes and colons.
    """
    if given := command_of(text):
        first, second, model = "", "", ""
        framework, options = given
    else:
        first, second, model = (*text.split("/", 2), "", "")[:3]
        framework, options = _options("framework", first, text)
    context, more = _options("context", second, text)
    arguments = {**common, "options": {**options, **more}}
    if arguments.get("tools") is None:
        arguments["tools"] = defaults.TOOLS  # without those of tables, so that results of a recipe stay comparable
    if model:
        arguments["model"] = model
    try:
        return Candidate(text, bench.recipe(framework=framework, context=context or None, ask=False, **arguments))
    except MustChoose:
        raise
    except ConfigError as error:
        raise ConfigError(f"--recipe {text}: {error}") from error


def _options(side: str, words: str, text: str) -> tuple[str, dict[str, str]]:
    name, _, rest = words.partition(":")
    found = {}
    for each in filter(None, rest.split(",")):
        key, equals, value = each.partition("=")
        if not equals or not key:
            raise ConfigError(f"--recipe {text}: option {each!r} must have the form NAME=VALUE")
        found[f"{side}.{key}"] = value
    return name, found
