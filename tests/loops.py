"""Run many cases in one test, where the cases need no fixtures of their own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def loop_over(names: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with every case, like `pytest.mark.parametrize`, but as one test that fails with all cases that failed.

    The cases share the fixtures: use it where a case leaves nothing behind.
    """
    parameters = [name.strip() for name in names.split(",")]
    rows = [case if len(parameters) > 1 else (case,) for case in cases]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def looped(**fixtures: Any) -> None:
            assert rows, f"{test.__name__} has no cases"
            failed: list[BaseException] = []
            for row in rows:
                case = dict(zip(parameters, row, strict=True))
                try:
                    test(**case, **fixtures)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - each is raised at the end
                    error.add_note(f"case: {case}")
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(rows)} cases failed", failed)

        signature = inspect.signature(test)
        left = [each for each in signature.parameters.values() if each.name not in parameters]
        looped.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return looped

    return decorate
