"""`RecordedWorld`: plays the tool results of saved runs, so that recipes differ in how they work, not in what they find."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Iterable
from typing import Any, Final

from research import citations
from research._util.said import say
from research.agent.toolbox import Played, Result
from research.events.events import Edited, Event, ToolFinished, ToolStarted
from research.types import Observation, Passage

_IN_WORDS: Final = frozenset({"query"})
"""Arguments whose case does not matter."""


class RecordedWorld:
    """The results of runs that have ended, by tool and arguments.  If several runs made the same call, the first counts."""

    def __init__(self, runs: Iterable[Iterable[Event]]) -> None:
        self._results: dict[str, Result] = {}
        for events in runs:
            self._add(events)

    def __len__(self) -> int:
        return len(self._results)

    def player(self, *, new: bool, outside: Collection[str] = ()) -> Played:
        """Return the function that gives a toolbox its results.

        `new`: make calls without a record instead of refusing them.  The tools `outside` always work.
        """

        def play(name: str, arguments: dict[str, Any]) -> Result | None:
            if name in outside:
                return None
            found = self._results.get(same_call(name, arguments))
            if found is not None:
                return found
            return Result(world="new") if new else _refused(name)

        return play

    def _add(self, events: Iterable[Event]) -> None:
        calls = {}
        for event in events:
            if isinstance(event, ToolStarted):
                calls[event.call.id] = event.call
            elif isinstance(event, ToolFinished) and not isinstance(event, Edited):
                call = calls.get(event.observation.call_id)
                if call is not None and _is_record(event.observation):
                    self._results.setdefault(same_call(call.name, call.arguments), _result(event.observation))


def same_call(name: str, arguments: dict[str, Any]) -> str:
    """Return a key that equal calls share: the tool, and its arguments without nulls and extra spaces.

    >>> same_call("search", {"query": " Brass  tower", "site": None}) == same_call("search", {"query": "brass Tower"})
    True
    """
    kept = {key: _normal(key, value) for key, value in arguments.items() if value is not None}
    return f"{name} {json.dumps(kept, sort_keys=True, ensure_ascii=False)}"


def _normal(key: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = unicodedata.normalize("NFC", value).strip()
    if "\n" not in text:  # in code, indentation counts
        text = " ".join(text.split())
    return text.casefold() if key in _IN_WORDS else text


def _is_record(seen: Observation) -> bool:
    """Return whether this result came from a tool, and not from the workbench: a refusal or a limit."""
    return seen.world in ("", "recorded", "new") and (seen.ok or seen.world == "recorded" or seen.seconds > 0)


def _result(seen: Observation) -> Result:
    passages = tuple(Passage(each.url, each.title, each.quote, each.csl, each.memory) for each in seen.sources)
    return Result(
        _own_text(seen),
        passages,
        private=seen.private,
        images=seen.images,
        searched=seen.searched,
        failed=seen.failed,
        ok=seen.ok,
        code=seen.code,
        world="recorded",
    )


def _own_text(seen: Observation) -> str:
    """Return the text without its sources, whose numbers differ between runs."""
    quoted = citations.tool_result_text("", seen.sources)
    return seen.text.removesuffix(quoted).rstrip("\n") if quoted else seen.text


def _refused(name: str) -> Result:
    text = say(
        "{name}: this run works in a recorded world, which holds no result for these arguments. Use what you have found, or "
        "make a call that is likelier to be recorded.",
        name=name,
    )
    return Result(text, ok=False, code="not_recorded", world="missing")
