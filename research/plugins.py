"""Plug-ins: frameworks, context strategies, tools, models, search services, scorers and checks of answers.

Each is one file with one decorated function, found by its name: in its own room of this package, in another installed
package that names it as an entry point, or in this process, where the decorator ran.  `framework.get("react")` imports
one file; only a listing imports all of them.  A function's keyword-only parameters are its options: defaults, bounds and
help exist once, in the signature, and the form on the page, the command line and the docs are drawn from them.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache, wraps
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from research import defaults
from research.errors import ConfigError
from research.text import clip

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)


class Range(Struct, frozen=True):
    """Inclusive bounds of an option that is a number.

    >>> def react(run: Run, *, rounds: Annotated[int, Range(1, 100)] = 30) -> Steps[Answer]: ...
    """

    minimum: float
    maximum: float


class Option(Struct, frozen=True):
    """One choice that a framework or strategy leaves to the user."""

    name: str
    kind: Literal["int", "float", "bool", "str", "choice"]
    default: Any
    help: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()

    def parse(self, value: Any) -> Any:
        """Return the value in the option's type (strings come from the command line).  Raises `ConfigError`."""
        refused = ConfigError(f"option {self.name}={clip(repr(value), 80)}: {self.accepts} is accepted")
        try:
            parsed = self._convert(value)
        except (TypeError, ValueError, OverflowError):  # a value from a file may have any type and size
            raise refused from None
        if self.choices and parsed not in self.choices:
            raise refused
        if self.minimum is not None and self.maximum is not None and not self.minimum <= parsed <= self.maximum:
            raise refused
        return parsed

    def nearest(self, value: Any) -> Any:
        """Return the accepted value nearest to a number; other values unchanged.  Raises `ConfigError` if a number is due.

        For recipes from files, which may exceed what this installation accepts.
        """
        if self.kind not in ("int", "float"):
            return value
        try:
            number = self._convert(value)
        except (TypeError, ValueError, OverflowError):
            raise ConfigError(f"option {self.name}={clip(repr(value), 80)}: {self.accepts} is accepted") from None
        if self.minimum is None or self.maximum is None:
            return value
        kind = type(number)
        return value if self.minimum <= number <= self.maximum else kind(min(max(number, self.minimum), self.maximum))

    @property
    def accepts(self) -> str:
        """A description of the accepted values."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        words = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "text"}[self.kind]
        return words if self.minimum is None else f"{words} from {self.minimum:,.10g} to {self.maximum:,.10g}"

    def _convert(self, value: Any) -> Any:
        if self.kind == "bool":
            truth = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
            if str(value).lower() not in truth:
                raise ValueError(value)
            return truth[str(value).lower()]
        if self.kind == "int":
            if float(value) != int(float(value)):
                raise ValueError(value)
            return int(float(value))
        if self.kind in ("str", "choice"):
            return str(value)
        if not math.isfinite(float(value)):
            raise ValueError(value)
        return float(value)


class Entry(Struct, frozen=True, kw_only=True):
    """A registered function, and what the pages say about it."""

    id: str
    title: str
    summary: str
    """First line of its docstring."""
    function: Function
    options: tuple[Option, ...]
    package: str = ""
    """The distribution it comes from; empty: this one, or this process."""

    @property
    def folder(self) -> Path:
        """The folder of its file."""
        return Path(inspect.getfile(self.function)).parent

    def parse(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options given, each checked.  Raises `ConfigError` that names the option and what is known."""
        known = {option.name: option for option in self.options}
        for name in options:
            if name not in known:
                names = ", ".join(known) or "none"
                raise ConfigError(f"unknown option {name!r} of {self.id}; known: {names}")
        return {name: known[name].parse(value) for name, value in options.items()}

    def filled(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return every option: those given, checked, and the defaults of the others."""
        return {option.name: option.default for option in self.options} | self.parse(options)


class Oracle(Struct, frozen=True):
    """How an evaluation tells a framework the right answer, which makes it an upper bound for the others."""

    options: Mapping[str, Any]
    """The options that make it one, such as `{"evaluator": "gold"}`."""
    answer: str
    """The option that takes the right answer."""


class Framework(Entry, frozen=True, kw_only=True):
    """A policy of the loop: a generator function `(run, *, options) -> Steps[Answer]`."""

    when: str = ""
    """When to choose it, in a sentence."""
    note: str = "shapes what the model sees in each round"
    """What a context strategy does in it; the subject is the strategy."""
    default_context: str = "full"
    """The context strategy it starts with."""
    refuses: Mapping[str, str] = {}
    """Context strategies it does not work with, and why."""
    prompt: str = ""
    """Name of the system prompt, a file `NAME.en.md` in `prompts/` beside the framework's file; by default its id."""
    purposes: Mapping[str, str] = {}
    """The purposes of its requests besides `act`, each with its role (see `events.recipe.ROLES`)."""
    calls: Mapping[str, str] = {}
    """The titles of the tools that it alone offers to the model, by name."""
    steps: tuple[str, ...] = ()
    """The purposes whose requests count as rounds."""
    work: Function | None = None
    """`(options) -> Work`: its requests, for the estimate (see `agent.work`); None: a loop of its `rounds`."""
    forkable: bool = True
    """It works round by round in one agent, so it can continue from another framework's rounds."""
    writes_report: bool = False
    """Each reply contains the evolving report, so that no other request has to write it."""
    page: int = 0
    """Characters of a page that the tool `visit` returns to it; 0: as many as suit a prompt."""
    oracle: Oracle | None = None
    """How it can be told the right answer; None: it cannot."""
    command: str = ""
    """The option that has a command of this machine: in a recipe's text, it is everything behind the colon."""


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
    shows: Function | None = None
    """`(options, per_token) -> HistorySize`: how many tokens of earlier rounds it shows (see `agent.work`)."""
    extra: Function | None = None
    """`(options, agent.work.History) -> [Call]`: its own requests, for the estimate."""


class ToolEntry(Entry, frozen=True, kw_only=True):
    """A tool: `(host, recipe, stop) -> Tool` (see `tools.host`)."""

    calculates: bool = False
    """Its results follow from its arguments alone, so that a recorded world has no part in them."""


class Provider(Entry, frozen=True, kw_only=True):
    """A model provider: `(name, host) -> Model`; its id comes before the colon of a model's name."""

    local: bool = False
    """Its models run in this process: nobody is paid for their tokens, and a name may tell a path of this machine."""
    file: bool = False
    """A model's name has the path of a file behind the colon."""
    written_by: Literal["model", "rules", "script"] = "model"
    """What writes its replies: a language model, fixed rules, or a script, whose lines are played in order."""


class SearchService(Entry, frozen=True, kw_only=True):
    """A search service: `(settings) -> Searcher`; raises `ConfigError` naming the setting that is missing."""

    needs: str = ""
    """The setting that it requires."""
    scholar: bool = False
    """It finds papers."""


class Scorer(Entry, frozen=True, kw_only=True):
    """A measure of a run: `(view, question) -> float | None`; None where the question leaves it open."""

    higher_is_better: bool = True


class AnswerCheck(Entry, frozen=True, kw_only=True):
    """A check of a final answer: `(question, answer, citations) -> str | None`; what it finds wrong, or None.

    An answer with a finding is shown with it, and its outcome is `rejected`.
    """


class Broken(Struct, frozen=True):
    """A plug-in that cannot be loaded."""

    kind: str
    name: str
    package: str
    error: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} of package {self.package} cannot be loaded: {self.error}"


E = TypeVar("E", bound=Entry)


class Registry(Generic[E]):
    """The decorated functions of one kind.

    >>> @framework("ReAct", when="Few steps.")
    ... def react(run, *, rounds: Annotated[int, Range(1, 100), "help"] = 30): ...
    """

    def __init__(self, kind: type[E], what: str, decorator: str, room: str, group: str) -> None:
        """`room` is the package that holds ours, `group` the last part of the entry points' name."""
        self.kind = kind
        self.what = what
        self.decorator = decorator
        self.room = room
        self.group = f"research_workbench.{group}"
        self._entries: dict[str, E] = {}
        self._hidden: set[str] = set()
        self._broken: dict[str, Broken] = {}
        self.version = 0
        """Grows with every change of the entries."""

    def __call__(self, title: str, **traits: Any) -> Callable[[F], F]:
        """Register the decorated function; `traits` are the fields of the kind, such as `Framework`."""

        def register(function: F) -> F:
            if self.kind is Framework:
                traits.setdefault("prompt", function.__name__)
            self._entries[function.__name__] = self.kind(
                id=function.__name__,
                title=title,
                summary=(inspect.getdoc(function) or "").split("\n")[0],
                function=function,
                options=tuple(_options(function)),
                **traits,
            )
            self.version += 1
            return function

        return register

    def hidden(self, title: str, **traits: Any) -> Callable[[F], F]:
        """Register a function that is found by its name only: no list offers it, because it does not take a question."""

        def register(function: F) -> F:
            self._hidden.add(function.__name__)
            return self(title, **traits)(function)

        return register

    def remove(self, name: str) -> None:
        """Remove an entry that was registered in this process, such as a test's."""
        del self._entries[name]
        self.version += 1

    def names(self) -> list[str]:
        """Return every name, without importing what it names."""
        return sorted({*self._ours(), *self._installed(), *self._entries} - self._hidden)

    def get(self, name: str) -> E:
        """Return the entry of that name.  Raises `ConfigError` that lists the known ones, or says why it is broken."""
        if name not in self._entries and (module := self._ours().get(name) or self._ours(".hidden").get(name)):
            importlib.import_module(module)
        if name not in self._entries and (point := self._installed().get(name)):
            self._load(point)
        if name in self._broken:
            raise ConfigError(str(self._broken[name]))
        if name not in self._entries:
            raise ConfigError(f"unknown {self.what} {name!r}; known: {', '.join(self.names())}")
        return self._entries[name]

    def all(self) -> list[E]:
        """Return all entries, imported; those that cannot be loaded are in `broken()` instead."""
        self.broken()
        return [self.get(name) for name in self.names() if name not in self._broken]

    def broken(self) -> list[Broken]:
        """Load the plug-ins of other packages; return those that fail."""
        for name, point in self._installed().items():
            if name not in self._entries and name not in self._broken:
                self._load(point)
        taken = [point for point in _entry_points(self.group) if point.name in self._ours()]
        why = "the name is taken by a part of the workbench; rename it"
        return [*self._broken.values(), *(Broken(self.what, each.name, _package(each), why) for each in taken)]

    def loaded(self) -> list[E]:
        """Return the entries imported so far."""
        return list(self._entries.values())

    def _ours(self, variant: str = "") -> Mapping[str, str]:
        """Names of the decorated functions in the room, each with its module."""
        return _decorated(self.room, self.decorator + variant)

    def _installed(self) -> dict[str, EntryPoint]:
        """The entry points of other packages; a name of ours cannot be taken."""
        ours = self._ours()
        return {point.name: point for point in _entry_points(self.group) if point.name not in ours}

    def _load(self, point: EntryPoint) -> None:
        package = _package(point)
        try:
            function = point.load()
            if point.name not in self._entries:
                named = getattr(function, "__name__", repr(function))
                raise ConfigError(f"it names {named}, which is not decorated with @{self.decorator} under that name")
            self._entries[point.name] = replace(self._entries[point.name], package=package)
        except Exception as error:  # noqa: BLE001 - another package's code may raise anything; other plug-ins still work
            self._entries.pop(point.name, None)
            why = str(error) if isinstance(error, ConfigError) else f"{type(error).__name__}: {error}"
            self._broken[point.name] = Broken(self.what, point.name, package, why)
        finally:
            self.version += 1


@cache
def _decorated(room: str, decorator: str) -> Mapping[str, str]:
    """Find the decorated functions of a room in its source, since importing it would load everything they need."""
    uses = re.compile(rf"^@{re.escape(decorator)}\(.*?^def (\w+)\(", re.M | re.S)
    found: dict[str, str] = {}
    for each in pkgutil.iter_modules(importlib.import_module(room).__path__):
        spec = each.module_finder.find_spec(each.name, None)
        if spec and spec.origin:
            found |= dict.fromkeys(uses.findall(Path(spec.origin).read_text("utf-8")), f"{room}.{each.name}")
    return found


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.module


@cache
def _entry_points(group: str) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))


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


_SERVED = Provider(id="", title="", summary="", function=lambda name, host: None, options=())
"""The traits of endpoints, and of providers that saved runs name but nobody has installed: those of most services."""

P = ParamSpec("P")
R = TypeVar("R")


def derived(function: Callable[P, R]) -> Callable[P, R]:
    """Cache what a function derives from the entries, until they change.  Its callers share one result."""
    cached: Callable[..., R] = lru_cache(lambda version, *args, **kwargs: function(*args, **kwargs))

    @wraps(function)
    def current(*args: P.args, **kwargs: P.kwargs) -> R:
        return cached(sum(registry.version for registry in KINDS.values()), *args, **kwargs)

    return current


@derived
def provider_of(model: str) -> Provider:
    """Return the provider of a model, by the model's name `PROVIDER:NAME`; its traits say how to treat the model.

    For an endpoint, or a provider that cannot be loaded here, each trait has its default.
    """
    try:
        return provider.get(model.partition(":")[0])
    except ConfigError:
        return _SERVED


def register(kind: str, function: Function, title: str, **traits: Any) -> None:
    """Register a function in this process, as its decorator would.  Raises `ConfigError` for an unknown kind.

    >>> register("tool", lookup, "Look up")
    """
    if kind not in KINDS:
        raise ConfigError(f"unknown kind of plug-in {kind!r}; known: {', '.join(KINDS)}")
    KINDS[kind](title, **traits)(function)


def pairs() -> list[tuple[str, str]]:
    """Return every framework with each context strategy that it works with, in the order in which they are shown."""
    frameworks = defaults.ordered(entry.id for entry in framework.all())
    contexts = defaults.ordered(entry.id for entry in context.all())
    return [(f, c) for f in frameworks for c in contexts if c not in framework.get(f).refuses]


class Installed(Struct, frozen=True):
    """A plug-in of another package."""

    id: str
    title: str
    what: str
    """Its kind, in words."""
    package: str


def installed() -> list[Installed]:
    """Load every plug-in of other packages; return those that work."""
    return [
        Installed(each.id, each.title, registry.what, each.package)
        for registry in KINDS.values()
        for each in registry.all()
        if each.package
    ]


def broken() -> list[Broken]:
    """Load every plug-in of other packages; return those that fail."""
    return [each for registry in KINDS.values() for each in registry.broken()]


def _options(function: Callable[..., Any]) -> list[Option]:
    parameters = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    # A function without options may name types that it imports for the type checker only.
    hints = get_type_hints(function, include_extras=True) if parameters else {}
    return [_option(parameter, hints[parameter.name]) for parameter in parameters]


def _option(parameter: inspect.Parameter, hint: Any) -> Option:
    notes: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *rest = get_args(hint)
        notes = tuple(rest)
    bounds = next((note for note in notes if isinstance(note, Range)), None)
    help_text = next((note for note in notes if isinstance(note, str)), "")
    if get_origin(hint) is Literal:
        return Option(parameter.name, "choice", parameter.default, help_text, choices=get_args(hint))
    kinds: dict[Any, Any] = {int: "int", float: "float", bool: "bool", str: "str"}
    return Option(
        parameter.name,
        kinds[hint],
        parameter.default,
        help_text,
        minimum=bounds.minimum if bounds else None,
        maximum=bounds.maximum if bounds else None,
    )
