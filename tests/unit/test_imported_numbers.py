"""Every number of a run from a file, at its extremes: refused with a clear sentence, or within today's limits.

Also: an imported run that had not ended is paused, and only a person continues it.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from msgspec import Struct

from research import plugins
from research.config.settings import load
from research.errors import ConfigError
from research.events.events import Event, WaitingForUser
from research.events.recipe import Recipe
from research.events.view import fold
from research.exports.markdown import markdown
from research.store.sqlite import SqliteStore
from research.workbench import run_import
from research.workbench.workbench import Workbench
from tests.unit.test_importing import file, life, stamped

EXTREMES = ("0", "-0", "-0.0", "-1", "1e-320", "1e308", "1e999", "-1e999", "NaN", "Infinity", "1" + "0" * 30, "9" * 2_600,
            "-" + "9" * 2_600, "9" * 5_000, "0." + "9" * 2_600)  # fmt: skip
PLACE = '"@@"'
FRAMEWORK, CONTEXT = "supervisor", "resum"


def skeleton(kind: Any) -> Any:
    """Return JSON of this type with one element in each list, and every number set to 1."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return skeleton(next(each for each in get_args(kind) if each is not type(None)))
    if origin is Literal:
        return get_args(kind)[0]
    if origin in (tuple, list):
        parts = [each for each in get_args(kind) if each is not ...]
        return [skeleton(each) for each in parts]
    if isinstance(kind, type) and issubclass(kind, Struct):
        made = {name: skeleton(each) for name, each in get_type_hints(kind).items() if name in kind.__struct_fields__}
        tag = kind.__struct_config__.tag
        return made | ({"type": tag} if tag else {})
    if origin is dict or kind is dict or kind is Any:
        key, value = get_args(kind) or (str, Any)
        return {"1" if key is int else "n": "x" if value is str else 1}
    return {bool: True, int: 1, float: 1, str: "x", bytes: ""}[kind]


def whole(kind: type[Event]) -> list[dict[str, Any]]:
    """Return a run as JSON that ends with an event of this kind."""
    first = skeleton(type(life()[0]))
    options = {
        side: {option.name: option.default for option in entry.options if option.kind in ("int", "float")}
        for side, entry in (("framework", plugins.framework.get(FRAMEWORK)), ("context", plugins.context.get(CONTEXT)))
    }
    first |= {"question": "Why?", "recipe": {
        **first["recipe"], "framework": FRAMEWORK, "context": CONTEXT, "framework_options": options["framework"],
        "context_options": options["context"], "temperature": 1, "remember": "off", "tools": ["search"], "roles": {},
    }}  # fmt: skip
    asked = {"type": "Asked", "ask": 1, "round": 1, "purpose": "act", "model": "m"}
    events = [first, asked] if kind is type(life()[0]) else [first, asked, skeleton(kind)]
    for seq, event in enumerate(events):
        event.update(run="261121-120000-abcd", seq=seq, agent="main", time=1_795_000_000 + seq)
        if event["type"] == "RunFinished":
            event["status"] = "completed"
    return events


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every number."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        if isinstance(each, int | float) and not isinstance(each, bool):
            yield (*path, key)
        else:
            yield from numbers(each, (*path, key))


def with_number(events: list[dict[str, Any]], path: tuple[Any, ...], literal: str) -> bytes:
    """Return the run as a file with that number written literally so."""
    copy = json.loads(json.dumps(events))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = json.loads(PLACE)
    return "\n".join(json.dumps(event).replace(PLACE, literal) for event in copy).encode()


@pytest.mark.examples(9)
@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_every_number_at_its_extremes_is_refused_or_within_limits(kind: type[Event]) -> None:
    events = whole(kind)
    assert fold(run_import.read_run("\n".join(map(json.dumps, events)).encode()).events).question == "Why?"
    start = 0 if len(events) == 2 else 2
    for path in numbers(events[start:]):
        for literal in EXTREMES:
            data = with_number(events, (path[0] + start, *path[1:]), literal)
            try:
                checked = run_import.read_run(data)
            except ConfigError as error:
                assert len(str(error)) < 400, (path, literal[:20])
                continue
            recipe = checked.started.recipe
            assert plugins.framework.get(FRAMEWORK).parse(recipe.framework_options) == recipe.framework_options
            assert plugins.context.get(CONTEXT).parse(recipe.context_options) == recipe.context_options
            assert recipe.temperature is not None and 0 <= recipe.temperature <= 2, (path, literal[:20])
            assert all(each is None or 0 < each <= 1e12 for each in budget(recipe)), (path, literal[:20])
            assert markdown(fold(checked.events))


def budget(recipe: Recipe) -> tuple[float | None, ...]:
    return tuple(getattr(recipe.budget, name) for name in recipe.budget.__struct_fields__)


def test_what_was_limited_is_named() -> None:
    recipe = Recipe(framework_options={"rounds": 10**9}, temperature=1e9)
    checked = run_import.read_run(file(life(recipe, ended=False)))
    assert checked.started.recipe.framework_options == {"rounds": 2048}
    assert any("rounds" in each and "2,048" in each for each in checked.limited)
    assert any("temperature" in each for each in checked.limited)


def test_an_option_within_its_limits_is_unchanged() -> None:
    recipe = Recipe(framework_options={"rounds": 7})
    checked = run_import.read_run(file(life(recipe, ended=False)))
    assert (checked.started.recipe, checked.limited) == (recipe, ())


def test_an_option_that_is_no_number_is_refused() -> None:
    for wrong in ([1], {}, None, "many"):
        with pytest.raises(ConfigError, match="rounds"):
            run_import.read_run(file(life(Recipe(framework_options={"rounds": wrong}), ended=False)))


@pytest.mark.parametrize("last", range(1, 7))
def test_an_unfinished_run_waits_for_a_person(tmp_path: Path, last: int) -> None:
    """Wherever the file ends, no process takes the run up by itself: not at the import, and not later."""
    bench = Workbench(load(home=tmp_path))
    kept = run_import.import_run(bench.store, run_import.read_run(file(life(ended=False)[:last])))
    assert bench.store.run(kept.id).status == "paused"
    assert bench.engine.reclaimer.reclaim_lost() == []
    bench.engine.drive(kept.id)  # as a worker does with an entry of the queue
    assert bench.store.run(kept.id).status == "paused"
    assert fold(bench.store.events(kept.id)).status == "paused"
    with pytest.raises(ConfigError):
        bench.engine.wait(kept.id) and bench.engine.pause(kept.id)


def test_importing_an_unfinished_run_twice_keeps_one(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "workbench.sqlite")
    checked = run_import.read_run(file(life(ended=False)))
    assert [run_import.import_run(store, checked).state for _ in range(2)] == ["new", "there"]
    store.close()


def test_a_run_that_waits_for_a_reply_keeps_waiting(tmp_path: Path) -> None:
    bench = Workbench(load(home=tmp_path))
    events = stamped([*life(ended=False), WaitingForUser(prompt="Which?")])
    kept = run_import.import_run(bench.store, run_import.read_run(file(events)))
    assert bench.store.run(kept.id).status == "waiting_input"
    assert bench.engine.reclaimer.reclaim_lost() == []
