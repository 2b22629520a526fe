"""The view of a run while it goes on, and what events and recipes are without their optional fields."""

from __future__ import annotations

import pytest

from research._util import decoding
from research.events.events import Earlier, Event, RunStarted
from research.events.recipe import Recipe
from research.events.rounds import RoundView
from research.events.view import RunView, fold
from research.types import Usage
from tests.long_run import QUESTION, RECIPE, of_round, stamp

STARTED = 1_000.0


def view_of(*rounds: list[Event]) -> RunView:
    """Return the view of a run that goes on, with one event a second."""
    events: list[Event] = [RunStarted(question=QUESTION, recipe=RECIPE), *sum(rounds, [])]
    return fold(stamp(event, "r", seq, STARTED + seq) for seq, event in enumerate(events))


@pytest.mark.parametrize(("missing", "forkable"), [(0, 3), (1, 2)])
def test_a_fork_can_keep_the_complete_rounds(missing: int, forkable: int) -> None:
    last = list(of_round(3))
    assert view_of(list(of_round(1)), list(of_round(2)), last[: len(last) - missing]).forkable == forkable


def test_the_time_of_a_running_run_grows() -> None:
    view = view_of(list(of_round(1)))
    assert view.elapsed(view.updated + 10) == view.updated - STARTED + 10


@pytest.mark.parametrize(("estimated", "full"), [(False, 0.5), (True, 0.25)])
def test_a_window_is_filled_by_the_count_of_the_provider_or_else_by_the_estimate(estimated: bool, full: float) -> None:
    usage = Usage(500, estimated=estimated)
    asked = RoundView("main", 1, 1, "act", "extractive", STARTED, 250, [], usage=usage, window=1_000)
    assert asked.full == full


def test_a_run_whose_provider_counts_tokens_has_no_estimate() -> None:
    assert not view_of(list(of_round(1))).estimated


def test_a_follow_up_of_an_earlier_version_has_seen_nothing_private() -> None:
    assert not decoding.decode('{"exchanges": []}', Earlier).private


def test_the_hash_of_a_recipe_has_twelve_digits() -> None:
    assert len(Recipe().hash) == 12
