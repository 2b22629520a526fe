"""How many examples the tests with generated inputs try: all in `make test-all`, a tenth in `make test`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

settings.register_profile("all", max_examples=100, deadline=None)
settings.register_profile("a tenth", max_examples=10, deadline=None)
settings.load_profile("all")


def a_tenth() -> None:
    """Try a tenth of the examples.  Called before the tests are imported."""
    settings.load_profile("a tenth")


def up_to(examples: int, **more: Any) -> settings:
    """Return the settings of a test that tries this many examples in `make test-all`."""
    share = settings.get_profile(settings.get_current_profile_name()).max_examples / 100
    return settings(max_examples=max(5, int(examples * share)), deadline=None, **more)
