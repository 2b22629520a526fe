"""Saved runs as training data: conversations for supervised fine-tuning, and pairs for preference optimisation.

Conversations have the form of OpenAI's fine-tuning files, pairs that of TRL's conversational preference data set:
https://platform.openai.com/docs/guides/supervised-fine-tuning, https://huggingface.co/docs/trl/dataset_formats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from research._util.redaction import mask_keys
from research.events.events import Asked, ChildFinished, ChildStarted, Event, Replied
from research.events.view import RunView, fold
from research.store import RunRow
from research.store.saved import Comparison, Opinion
from research.types import Message

HELD = ("supported", "calculated")


class Saved(Struct, frozen=True):
    """A run with its row in the store."""

    row: RunRow
    events: list[Event]
    view: RunView


def saved(row: RunRow, events: Iterable[Event]) -> Saved:
    """Return the run with its view."""
    kept = list(events)
    return Saved(row, kept, fold(kept))


def reward(view: RunView) -> float | None:
    """Return 0 for a run that did not answer, else the share of its judged citations that hold; None if none was judged."""
    if view.outcome not in ("answered", "partly_answered"):
        return 0.0
    judged = [citation for citation in view.citations if citation.status != "unverified"]
    return sum(citation.status in HELD for citation in judged) / len(judged) if judged else None


def conversations(run: Saved) -> Iterator[dict[str, Any]]:
    """Yield the prompts of a run as they were sent, each with the model's reply at its end.

    A request that only continues the one before is in the same conversation.  If the context is rewritten, as in
    IterResearch, each round is its own conversation.
    """
    open_: dict[str, tuple[Asked, list[Message]]] = {}
    sent: dict[str, list[Message]] = {}
    done: dict[tuple[str, int], dict[str, Any]] = {}
    for event in run.events:
        if isinstance(event, Asked):
            before = sent.get(event.agent, [])
            prompt = [*before[: event.keep], *event.messages]
            if before and len(before) <= event.keep:  # it continues: the longer conversation has all of the shorter one
                done.pop((event.agent, event.ask - 1), None)
            sent[event.agent] = prompt
            open_[event.agent] = (event, prompt)
        elif isinstance(event, Replied) and event.agent in open_:
            asked, prompt = open_.pop(event.agent)
            native = run.view.recipe.protocol == "native"
            reply = Message("assistant", event.reply.text, event.reply.calls if native else ())
            done[event.agent, event.ask] = {
                "messages": [_message(each) for each in (*prompt, reply)],
                "tools": list(asked.tools),
                "agent": event.agent,
                "round": asked.round,
                "purpose": event.purpose,
                "model": asked.model,
                "run_id": run.view.run,
                "recipe": run.view.recipe.label,
                "outcome": run.view.outcome or run.view.status,
                "reward": reward(run.view),
            }
    yield from done.values()


def pairs(
    runs: Mapping[str, Saved], votes: Iterable[tuple[Comparison, Mapping[str, Opinion]]]
) -> Iterator[dict[str, Any]]:
    """Yield a better and a worse report for one question, from forks, votes in comparisons, and repeated attempts.

    A fork and its origin are a pair if their rewards differ; an attempt and the last one, if the last was answered.
    """
    for run in runs.values():
        origin = runs.get(run.row.origin.run) if run.row.origin and run.row.origin.how == "fork" else None
        if origin:
            first, second = reward(run.view), reward(origin.view)
            if first is not None and second is not None and first != second:
                yield _pair("fork", *((run, origin) if first > second else (origin, run)))
        yield from _attempts(run)
    for comparison, opinions in votes:
        better = [
            runs[name] for name in comparison.runs if name in runs and name in opinions and opinions[name].vote > 0
        ]
        worse = [
            runs[name] for name in comparison.runs if name in runs and (name not in opinions or opinions[name].vote < 1)
        ]
        yield from (_pair("comparison", one, two) for one in better for two in worse)


def lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the rows as JSON Lines, with anything like a key redacted."""
    return "".join(mask_keys(json.dumps(row, ensure_ascii=False)) + "\n" for row in rows).encode()


def _attempts(run: Saved) -> Iterator[dict[str, Any]]:
    """Yield each attempt of a run but the last, paired with the last, if the last was answered."""
    if run.view.outcome != "answered":
        return
    ended: list[ChildFinished] = []
    started = 0
    for event in run.events:
        if isinstance(event, ChildStarted):
            if event.question != run.view.question or started > len(ended):
                return  # a part of the work, or at the same time as another
            started += 1
        elif isinstance(event, ChildFinished):
            ended.append(event)
    for failed in ended[:-1]:
        if failed.answer.strip() and failed.answer != ended[-1].answer:
            yield {
                **_sides("attempts", run.view.question, ended[-1].answer, failed.answer),
                "chosen_run": run.view.run,
                "rejected_run": run.view.run,
                "rejected_agent": failed.agent,
            }


def _pair(source: str, better: Saved, worse: Saved) -> dict[str, Any]:
    return {
        **_sides(source, better.view.question, better.view.report, worse.view.report),
        "chosen_run": better.view.run,
        "rejected_run": worse.view.run,
        "chosen_reward": reward(better.view),
        "rejected_reward": reward(worse.view),
    }


def _sides(source: str, question: str, chosen: str, rejected: str) -> dict[str, Any]:
    return {
        "prompt": [{"role": "user", "content": question}],
        "chosen": [{"role": "assistant", "content": chosen}],
        "rejected": [{"role": "assistant", "content": rejected}],
        "source": source,
    }


def _message(message: Message) -> dict[str, Any]:
    """Return a message in OpenAI's chat format."""
    found: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        found["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
            }
            for call in message.calls
        ]
    if message.call_id is not None:
        found["tool_call_id"] = message.call_id
    return found
