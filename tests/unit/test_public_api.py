"""The public API: its names, and a docstring for each."""

from __future__ import annotations

import inspect
import re
import sys
import types

import pytest

import research
from tests.loops import loop_over

NAMES = """
    run stream arun astream audit
    Workbench Recipe Budget RunView Event Source Citation fold
    framework context tool provider searcher scorer register Range
    WorkbenchError ConfigError ToolError FormatError ProviderError LimitReached StoreUnavailable
""".split()


def test_the_public_names_are_stable() -> None:
    """Removing or renaming one breaks users' code: change the major version with this list."""
    assert sorted(research.__all__) == sorted(NAMES)
    assert sorted(research._MODULE_OF) == sorted(NAMES)
    assert set(NAMES) <= set(dir(research))


@loop_over("name", NAMES)
def test_each_public_name_is_the_object_its_module_defines(name: str) -> None:
    value = getattr(research, name)
    assert not isinstance(value, types.ModuleType)
    assert value is getattr(sys.modules[research._MODULE_OF[name]], name)


def test_each_public_name_has_a_docstring_with_an_example() -> None:
    without = []
    for name in NAMES:
        doc = inspect.getdoc(getattr(research, name)) or ""
        if not re.search(r"^>>> ", doc, re.M) and name != "Event":  # a union cannot have one
            without.append(name)
    assert not without
    assert "`Event`" in (research.__doc__ or "")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'research' has no attribute 'walk'"):
        research.walk  # noqa: B018
