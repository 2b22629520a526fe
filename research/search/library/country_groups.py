"""Groups of countries that people name, such as the European Union; the library compares the members of each."""

from __future__ import annotations

import re
import tomllib
from functools import cache, cached_property
from pathlib import Path

from msgspec import Struct

from research._util.decoding import convert


class Group(Struct, frozen=True, dict=True):
    """A group of countries."""

    name: str
    says: str
    """What people call it, as a regular expression over small letters."""
    members: str
    """Their names in the World Factbook, with semicolons between them."""
    region: bool = False
    """Its countries lie there, and did not join it."""

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of its members."""
        return frozenset(" ".join(self.members.split()).split("; "))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Matches its names in lower case."""
        return re.compile(rf"(?<![a-z])(?:{self.says})(?:[二三四五六七八九十]+国)?(?![a-z])")


@cache
def groups() -> tuple[Group, ...]:
    """Return the groups of countries that can be asked about."""
    text = Path(__file__).with_suffix(".toml").read_text("utf-8")
    return tuple(convert(tomllib.loads(text)["group"], list[Group]))
