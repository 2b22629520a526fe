"""The output and exit status of a command, as scripts see them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from msgspec import Struct


class Done(Struct, frozen=True):
    """A finished command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.out.count("\n") == 1, "the command must print one JSON object and nothing else"
        return json.loads(self.out)


Cli = Callable[..., Done]
