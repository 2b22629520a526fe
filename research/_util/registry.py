"""Plug-ins: functions that a decorator registers when their module, ours or another package's, is imported."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache, wraps
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from research._util.options import Option, options_of
from research.errors import ConfigError

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
P = ParamSpec("P")
R = TypeVar("R")

OURS = "research-workbench"


class Entry(Struct, frozen=True, kw_only=True):
    """A registered function, and its description for the pages."""

    what: str = ""
    """Its kind, in words."""
    id: str
    title: str
    summary: str
    """First line of the function's docstring."""
    function: Function
    options: tuple[Option, ...]
    package: str = ""
    """Its distribution; empty: this one, or this process."""
    hidden: bool = False
    """Found by name only: no list offers it, because it takes no question."""

    @property
    def folder(self) -> Path:
        """The folder of the function's file."""
        return Path(inspect.getfile(self.function)).parent

    def parse(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options given, each checked.  Raises `ConfigError` that names the option and what is known."""
        known = {option.name: option for option in self.options}
        unknown = [name for name in options if name not in known]
        if unknown:
            raise ConfigError(f"unknown option {unknown[0]!r} of {self.id}; known: {', '.join(known) or 'none'}")
        return {name: known[name].parse(value) for name, value in options.items()}

    def filled(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return every option: the given ones, checked, else the default."""
        return {option.name: option.default for option in self.options} | self.parse(options)


class Broken(Struct, frozen=True):
    """A plug-in that cannot be loaded."""

    kind: str
    name: str
    package: str
    error: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} of package {self.package} cannot be loaded: {self.error}"


E = TypeVar("E", bound=Entry)


def derived(function: Callable[P, R]) -> Callable[P, R]:
    """Cache what a function derives from the entries, until they change.  Its callers share one result."""
    cached: Callable[..., R] = lru_cache(lambda version, *args, **kwargs: function(*args, **kwargs))

    @wraps(function)
    def current(*args: P.args, **kwargs: P.kwargs) -> R:
        return cached(Registry.version, *args, **kwargs)

    return current


class Registry(Generic[E]):
    """The plug-ins of one kind; called with a title and traits, the fields of `kind`, it is their decorator.

    >>> @framework("ReAct", when="Few steps.")
    ... def react(run, *, rounds: Annotated[int, Range(1, 100), "help"] = 30): ...
    """

    version = 0
    """Grows with every change of any registry."""

    def __init__(self, kind: type[E], what: str, decorator: str, home: str, group: str) -> None:
        """`home` is the package whose modules register ours, `group` the last part of the entry points' group."""
        self.kind = kind
        self.what = what
        self.decorator = decorator
        self.home = home
        self.group = f"research_workbench.{group}"
        self._entries: dict[str, E] = {}
        self._broken: dict[str, Broken] = {}
        self._imported: set[EntryPoint] = set()

    def __call__(self, title: str, **traits: Any) -> Callable[[F], F]:
        """Register the decorated function under its own name."""

        def register(function: F) -> F:
            self._entries[function.__name__] = self.kind(
                what=self.what,
                id=function.__name__,
                title=title,
                summary=(inspect.getdoc(function) or "").split("\n")[0],
                function=function,
                options=options_of(function),
                **traits,
            )
            Registry.version += 1
            return function

        return register

    def restore(self, entries: Iterable[E]) -> None:
        """Restore the entries that `loaded` returned earlier, such as before a test."""
        self._entries = {each.id: each for each in entries}
        Registry.version += 1

    def names(self) -> list[str]:
        """Return the name of everything that a list may offer, without importing other packages."""
        self._import(_modules(self.home).values())
        hidden = {each.id for each in self.loaded() if each.hidden}
        return sorted({*self._entries, *self._broken, *_installed(self.group)} - hidden)

    def get(self, name: str) -> E:
        """Return the entry of that name.  Raises `ConfigError` that lists the known ones, or says why it is broken."""
        ours, installed = _modules(self.home), _installed(self.group)
        # Our file of that name, then all of ours, since a file may have several, then what another package names.
        for points in ([ours.get(name)], ours.values(), [installed.get(name)]):
            if name not in self._entries:
                self._import(filter(None, points))
        if name in self._entries:
            return self._entries[name]
        if name in self._broken:
            raise ConfigError(str(self._broken[name]))
        raise ConfigError(f"unknown {self.what} {name!r}; known: {', '.join(self.names())}")

    @derived
    def traits(self, name: str) -> E:
        """Return the entry of that name; a missing one (an MCP server's tool, a saved run's model) has no traits."""
        try:
            return self.get(name)
        except ConfigError:
            return self.kind(id="", title="", summary="", function=self.get, options=())

    def title(self, name: str) -> str:
        """Return the title of an entry; its id if it is not here, such as an imported run's."""
        return self.traits(name).title or name

    def all(self) -> list[E]:
        """Return all entries, imported; those that cannot be loaded are in `broken()` instead."""
        self.broken()
        return [self._entries[name] for name in self.names() if name in self._entries]

    def broken(self) -> list[Broken]:
        """Import every plug-in; return those that fail."""
        self._import([*_modules(self.home).values(), *_installed(self.group).values()])
        return list(self._broken.values())

    def loaded(self) -> list[E]:
        """Return the entries imported so far."""
        return list(self._entries.values())

    def _import(self, points: Iterable[EntryPoint]) -> None:
        """Import modules to run the decorators in them; keep the reason if one fails."""
        for point in points:
            if point in self._imported:
                continue
            known = point.name in self._entries
            try:
                self._load(point)
            except Exception as error:  # noqa: BLE001 - a plug-in's code may raise anything; the others still work
                if not known:
                    self._entries.pop(point.name, None)
                why = str(error) if isinstance(error, ConfigError) else f"{type(error).__name__}: {error}"
                package = point.dist.name if point.dist else OURS
                self._broken[point.name] = Broken(self.what, point.name, package, why)
            self._imported.add(point)
            Registry.version += 1

    def _load(self, point: EntryPoint) -> None:
        """Import what an entry point names.  Raises `ConfigError` if another package's does not register its name."""
        entry = self._entries.get(point.name)
        home = entry.function.__module__ if entry else point.module
        if point.dist and home.startswith(f"{self.home}."):
            raise ConfigError("the name is taken by a part of the workbench; rename it")
        if home != point.module:  # registered in this process, which comes first
            return
        function = point.load()
        if point.dist and point.name not in self._entries:
            named = getattr(function, "__name__", repr(function))
            raise ConfigError(f"it names {named}, which is not decorated with @{self.decorator} under that name")
        if point.dist:
            self._entries[point.name] = replace(self._entries[point.name], package=point.dist.name)


@cache
def _modules(home: str) -> Mapping[str, EntryPoint]:
    """Return the modules of one of our packages by name, in the form of entry points."""
    found = pkgutil.iter_modules(importlib.import_module(home).__path__)
    return {each.name: EntryPoint(each.name, f"{home}.{each.name}", home) for each in found}


@cache
def _installed(group: str) -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}
