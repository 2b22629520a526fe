"""Names of runs."""

from __future__ import annotations

from research.engine.engine import new_id


def test_many_runs_of_one_second_have_names_of_their_own() -> None:
    assert len({new_id() for _ in range(1_000)}) == 1_000
