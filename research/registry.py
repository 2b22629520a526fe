"""A framework, context strategy or provider is one file with one decorated function, found by its name.

`get("react")` imports `research/frameworks/react.py` and nothing else; only a listing walks the package.  A function's
keyword-only parameters are its options: their defaults, bounds and help exist once, in the signature, and the form on
the page, the command line and the docs are drawn from them.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct

from research.errors import ConfigError

F = TypeVar("F", bound=Callable[..., Any])


class Range(Struct, frozen=True):
    """Inclusive bounds of a number option."""

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
        """The value in its type (strings come from the command line).  Raises `ConfigError`."""
        try:
            parsed = self._convert(value)
        except ValueError:
            raise ConfigError(f"option {self.name}={value!r}: {self.accepts} is accepted") from None
        if self.choices and parsed not in self.choices:
            raise ConfigError(f"option {self.name}={value!r}: {self.accepts} is accepted")
        if self.minimum is not None and self.maximum is not None and not self.minimum <= parsed <= self.maximum:
            raise ConfigError(f"option {self.name}={value!r}: {self.accepts} is accepted")
        return parsed

    @property
    def accepts(self) -> str:
        """What may be given, in words."""
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
        return float(value) if self.kind == "float" else str(value)


class Entry(Struct, Generic[F], frozen=True):
    """A registered function with what the pages say about it."""

    id: str
    title: str
    summary: str
    """First line of its docstring."""
    function: F
    options: tuple[Option, ...]
    traits: Mapping[str, Any] = {}

    def parse(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options given, each checked.  Raises `ConfigError` that names the option and what is known."""
        known = {option.name: option for option in self.options}
        for name in options:
            if name not in known:
                names = ", ".join(known) or "none"
                raise ConfigError(f"unknown option {name!r} of {self.id}; known: {names}")
        return {name: known[name].parse(value) for name, value in options.items()}


class Registry(Generic[F]):
    """The decorated functions of one package, one file each.

    >>> framework = Registry("research.frameworks", "framework")
    >>> @framework("ReAct")
    ... def react(run, *, rounds: Annotated[int, Range(1, 100), "help"] = 30): ...
    """

    def __init__(self, package: str, what: str) -> None:
        self.package = package
        self.what = what
        self._entries: dict[str, Entry[F]] = {}

    def __call__(self, title: str, **traits: Any) -> Callable[[F], F]:
        def register(function: F) -> F:
            doc = inspect.getdoc(function) or ""
            self._entries[function.__name__] = Entry(
                id=function.__name__,
                title=title,
                summary=doc.split("\n")[0],
                function=function,
                options=tuple(_options(function)),
                traits=traits,
            )
            return function

        return register

    def names(self) -> list[str]:
        """Every name there is, without importing anything but the package itself."""
        package = importlib.import_module(self.package)
        found = [module.name for module in pkgutil.iter_modules(package.__path__)]
        return sorted({*found, *self._entries})

    def get(self, name: str) -> Entry[F]:
        """The entry of that name.  Raises `ConfigError` that lists the known ones."""
        if name not in self._entries and name in self.names():
            importlib.import_module(f"{self.package}.{name}")
        if name not in self._entries:
            raise ConfigError(f"unknown {self.what} {name!r}; known: {', '.join(self.names())}")
        return self._entries[name]

    def all(self) -> list[Entry[F]]:
        """All entries, imported."""
        return [self.get(name) for name in self.names()]


framework: Registry[Callable[..., Any]] = Registry("research.frameworks", "framework")
"""Registers a policy of the loop: a generator function `(run, *, options) -> Steps[Answer]`."""

context: Registry[Callable[..., Any]] = Registry("research.contexts", "context strategy")
"""Registers `(run, *, options) -> list[Message]`; one that needs a model call of its own is a generator."""

provider: Registry[Callable[..., Any]] = Registry("research.models", "model provider")
"""Registers `(name, workbench) -> Model`: what stands before the colon of a model's name."""

searcher: Registry[Callable[..., Any]] = Registry("research.search.services", "search service")
"""Registers `(settings) -> Searcher`; raises `ConfigError` naming the setting that is missing.  The trait `scholar=True`
marks services that find papers."""


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
