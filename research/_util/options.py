"""Options of a function: its keyword-only parameters, with their types, bounds, defaults and help."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from msgspec import Struct

from research.errors import ConfigError
from research.text import clip


class Range(Struct, frozen=True):
    """Inclusive bounds of an option that is a number.

    >>> def react(run: Run, *, rounds: Annotated[int, Range(1, 100)] = 30) -> Steps[Answer]: ...
    """

    minimum: float
    maximum: float


class Option(Struct, frozen=True):
    """One choice that a function leaves to the user."""

    name: str
    kind: Literal["int", "float", "bool", "str", "choice"]
    default: Any
    help: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()

    def parse(self, value: Any) -> Any:
        """Return the value in the option's type (strings come from the command line).  Raises `ConfigError`."""
        parsed = self._convert(value)
        if (self.choices and parsed not in self.choices) or self._bounded(parsed) != parsed:
            raise self._refused(value)
        return parsed

    def nearest(self, value: Any) -> Any:
        """Return the accepted value nearest to a number; return other values unchanged.

        Raises `ConfigError` if a number is expected.  For recipes from files, which may exceed the limits here.
        """
        if self.kind not in ("int", "float"):
            return value
        number = self._convert(value)
        nearest = self._bounded(number)
        return value if nearest == number else type(number)(nearest)

    @property
    def accepts(self) -> str:
        """A description of the accepted values."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        words = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "text"}[self.kind]
        return words if self.minimum is None else f"{words} from {self.minimum:,.10g} to {self.maximum:,.10g}"

    def _bounded(self, value: Any) -> Any:
        if self.minimum is None or self.maximum is None:
            return value
        return min(max(value, self.minimum), self.maximum)

    def _refused(self, value: Any) -> ConfigError:
        return ConfigError(f"option {self.name}={clip(repr(value), 80)}: expected {self.accepts}")

    def _convert(self, value: Any) -> Any:
        try:
            if self.kind == "bool":
                return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[
                    str(value).lower()
                ]
            if self.kind in ("str", "choice"):
                return str(value)
            number = float(value)
            if not math.isfinite(number) or (self.kind == "int" and number != int(number)):
                raise ValueError(value)
            return int(number) if self.kind == "int" else number
        except (KeyError, TypeError, ValueError, OverflowError):  # a value from a file may have any type and size
            raise self._refused(value) from None


def options_of(function: Callable[..., Any]) -> tuple[Option, ...]:
    """Read the options from a function's signature."""
    parameters = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    # Without options, the annotations may be types imported only for the type checker.
    hints = get_type_hints(function, include_extras=True) if parameters else {}
    return tuple(_option(parameter, hints[parameter.name]) for parameter in parameters)


def _option(parameter: inspect.Parameter, hint: Any) -> Option:
    notes: list[Any] = []
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
    bounds = next((note for note in notes if isinstance(note, Range)), None)
    kinds: dict[Any, Any] = {int: "int", float: "float", bool: "bool", str: "str"}
    choice = get_origin(hint) is Literal
    return Option(
        name=parameter.name,
        kind="choice" if choice else kinds[hint],
        default=parameter.default,
        help=next((note for note in notes if isinstance(note, str)), ""),
        minimum=bounds.minimum if bounds else None,
        maximum=bounds.maximum if bounds else None,
        choices=get_args(hint) if choice else (),
    )
