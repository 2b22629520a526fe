"""Everything that can be added to the workbench: what a plug-in of each kind must offer, and how it is registered.

A plug-in is one function; its name is what users choose, and its keyword-only parameters are its options.  Its decorator,
such as `@tool("Look up")`, registers it when its module is imported; the arguments are its traits, the fields of its kind.
Modules are imported when a name is requested or all are listed: those in the kind's folder (see the table below; a file
has its plug-in's name) and those that other packages name as entry points in the kind's group, which cannot take our
names.  A module imports large packages where it uses them.

Errors are `ConfigError`: an unknown name, with the known ones; an option that is not accepted; a plug-in that cannot be
imported, which `doctor` lists while the others work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from research._util.options import Range as Range
from research._util.registry import Entry, Function, Registry
from research.errors import ConfigError


class Framework(Entry, frozen=True, kw_only=True):
    """A policy of the loop: a generator function `(run, *, options) -> Steps[Answer]`."""

    when: str = ""
    """When to choose it, in a sentence."""
    note: str = "shapes what the model sees in each round"
    """What a context strategy does in it, with the strategy as subject."""
    default_context: str = "full"
    """Its default context strategy."""
    refuses: Mapping[str, str] = {}
    """Context strategies it does not work with, and why."""
    prompt: str = ""
    """Name of the system prompt, a file `NAME.en.md` in `prompts/` beside the framework's file; by default its id."""
    purposes: Mapping[str, str] = {}
    """The purposes of its requests besides `act`, each with its role (see `events.recipe.ROLES`)."""
    calls: Mapping[str, str] = {}
    """The titles of the tools that only it offers, by name."""
    steps: tuple[str, ...] = ()
    """The purposes whose requests count as rounds."""
    work: Function | None = None
    """`(options) -> Work`: its requests, for the estimate (see `agent.work`); None: a loop of its `rounds`."""
    forkable: bool = True
    """It works round by round in one agent, so it can continue from another framework's rounds."""
    writes_report: bool = False
    """Each reply contains the evolving report, so that no other request has to write it."""
    page: int = 0
    """Characters of a page that `visit` returns to it; 0: as many as suit a prompt."""
    oracle: Mapping[str, Any] = {}
    """The options that make it an upper bound for the others in an evaluation, such as `{"evaluator": "gold"}`."""
    told_by: str = ""
    """The option that tells such an oracle the right answer."""
    command: str = ""
    """The option with a command of this machine: in a recipe's text, everything after the colon."""


class ContextStrategy(Entry, frozen=True, kw_only=True):
    """A context strategy: `(run, *, options) -> Composed`; one that asks the model is a generator."""

    when: str = ""
    """When to choose it, in a sentence."""
    purposes: Mapping[str, str] = {}
    """The purposes of its own requests, each with its role."""
    shows_report: bool = False
    """The model sees the evolving report instead of the history."""
    keeps: Function | None = None
    """`(options, rounds) -> int`: how many of the last rounds the next prompt contains in full; None: all."""
    bound: Function | None = None
    """`(options) -> int`: the largest prompt that it allows, in tokens; None: as large as the model takes."""
    shows: Function | None = None
    """`(options, per_token) -> HistorySize`: how many tokens of earlier rounds it shows (see `agent.work`)."""
    extra: Function | None = None
    """`(options, agent.work.History) -> [Call]`: its own requests, for the estimate."""


class ToolEntry(Entry, frozen=True, kw_only=True):
    """A tool: `(host, recipe, stop) -> Tool` (see `tools.host`), whose spec has the same name.

    A tool without traits, such as an MCP server's, may do anything with its arguments and results.
    """

    calculates: bool = False
    """Its results follow from its arguments alone: recorded worlds leave it out, and answers may state them."""
    searches: bool = False
    """It finds sources by its argument `query`, which it sends to services that the user set up and to nobody else."""
    scholar: bool = False
    """It asks the services that the recipe's `scholar` names."""
    library: bool = False
    """It works with the sources that the recipe's `search` and `folders` name."""
    recalls: bool = False
    """It searches the memory."""
    reads: bool = False
    """It opens its argument `url` without the fragment, and requests a page once in a run."""


class Provider(Entry, frozen=True, kw_only=True):
    """A model provider: `(name, host) -> Model`; its id comes before the colon of a model's name."""

    local: bool = False
    """Its models run in this process: their tokens cost nothing, and a name may reveal a path of this machine."""
    file: bool = False
    """A model's name has a file path after the colon."""
    written_by: Literal["model", "rules", "script"] = "model"
    """The source of its replies: a language model, fixed rules, or a script played in order."""


class SearchService(Entry, frozen=True, kw_only=True):
    """A search service: `(settings) -> Searcher`; raises `ConfigError` naming the setting that is missing."""

    needs: str = ""
    """The setting that it requires."""
    scholar: bool = False
    """It finds papers."""


class Scorer(Entry, frozen=True, kw_only=True):
    """A measure of a run: `(view, question) -> float | None`; None if it does not apply."""


class AnswerCheck(Entry, frozen=True, kw_only=True):
    """A check of a final answer: `(question, answer, citations) -> str | None`; the problem, or None.

    An answer with a problem is shown with it, and its outcome is `rejected`.
    """


framework = Registry(Framework, "framework", "framework", "research.frameworks", "frameworks")
context = Registry(ContextStrategy, "context strategy", "context", "research.contexts", "contexts")
tool = Registry(ToolEntry, "tool", "tool", "research.tools", "tools")
provider = Registry(Provider, "model provider", "provider", "research.models", "models")
searcher = Registry(SearchService, "search service", "searcher", "research.search.services", "search")
scorer = Registry(Scorer, "scorer", "scorer", "research.evaluation", "scorers")
answer_check = Registry(AnswerCheck, "answer check", "answer_check", "research.agent", "answer_checks")

KINDS: Mapping[str, Registry[Any]] = {
    each.decorator: each for each in (framework, context, tool, provider, searcher, scorer, answer_check)
}


def register(kind: str, function: Function, title: str, **traits: Any) -> None:
    """Register a function in this process, as its decorator would.  Raises `ConfigError` for an unknown kind.

    >>> register("tool", lookup, "Look up")
    """
    if kind not in KINDS:
        raise ConfigError(f"unknown kind of plug-in {kind!r}; known: {', '.join(KINDS)}")
    KINDS[kind](title, **traits)(function)
