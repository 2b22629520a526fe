"""Run ids."""

from __future__ import annotations

from research.engine.engine import new_id


def test_ids_created_within_one_second_are_unique() -> None:
    assert len({new_id() for _ in range(1_000)}) == 1_000
