"""A model behind `FakeOpenAI` that does what any framework asks, and misbehaves on request.

It keeps no state: the highest `lap` in a conversation says how far it has come.  So one player serves several agents at
once, under every context strategy.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

from research import prompts
from research.protocols.protocol import ProtocolName
from tests.fake_openai import Body, FakeReply, history_problem

Call = tuple[str, Any]
Misbehaviour = Callable[["Player", str, Body, int], FakeReply | None]
"""Called with the player, the purpose, the request and its number from 1; returns None to behave."""

QUESTION = "How many people live in Japan?"
ANSWER = "Japan has 123,201,945 people [1]."
LIMIT = 400
"""The number of requests after which a run counts as endless."""


class Player:
    """Searches for `laps` rounds, then answers; plans, summarises, evaluates and outlines when asked to.

    Rejects what the strictest services reject: unanswered or orphaned calls, empty assistant messages, and, with
    `thinking`, tool turns that come back without their reasoning.  `refused` lists each rejection with its reason.
    """

    def __init__(
        self, protocol: ProtocolName, laps: int = 12, *, thinking: bool = False, misbehave: Misbehaviour | None = None
    ) -> None:
        self.native = protocol == "native"
        self.laps = laps
        self.purposes: list[str] = []
        self.refused: list[str] = []
        self._thinking = thinking
        self._misbehave = misbehave
        self._lock = threading.Lock()

    def __call__(self, body: Body) -> FakeReply:
        purpose = purpose_of(body)
        with self._lock:
            self.purposes.append(purpose)
            number = len(self.purposes)
        problem = history_problem(body["messages"]) or _problem(body["messages"], thinking=self._thinking)
        if number > LIMIT:
            problem = "endless"
        if problem:
            self.refused.append(f"{purpose}: {problem}")
            return FakeReply(status=400, body={"error": {"message": problem, "type": "invalid_request_error"}})
        odd = self._misbehave(self, purpose, body, number) if self._misbehave else None
        return odd or self.behave(purpose, body)

    def behave(self, purpose: str, body: Body) -> FakeReply:
        lap = lap_of(body)
        match purpose:
            case "plan":
                steps = (f"Plan: look.\n#E{n} = search[{query(n)}]" for n in range(1, self.laps + 1))
                return FakeReply("\n".join(steps), reasoning="planned")
            case "summarise" | "scribe" | "condense" | "reflect":
                return FakeReply(f"Notes up to lap {lap}. {ANSWER}", reasoning="noted")
            case "evaluate":
                return FakeReply("PASS", reasoning="judged")
            case "outline":
                sections = [{"name": f"Part {n}", "description": QUESTION} for n in (1, 2)]
                return self.say(calls=[("Sections", {"sections": sections})])
            case "introduce":
                return self.say(calls=[("Introduction", {"name": "Japan", "content": ANSWER})])
            case "finish":
                return self.say(calls=[("Conclusion", {"name": "End", "content": ANSWER})])
            case "research" if lap >= self.laps:
                return self.say(calls=[("Section", {"name": "Part", "description": "", "content": ANSWER})])
            case "act" | "research" if lap < self.laps:
                return self.say(calls=[("search", {"query": query(lap + 1)})], report=f"Report of lap {lap}.")
            case _:
                return self.say(answer=ANSWER, report=f"Report of lap {lap}.")

    def say(self, *, calls: Sequence[Call] = (), answer: str = "", report: str = "", think: str = "hm") -> FakeReply:
        """Return a reply in the format of the protocol."""
        told = f"<report>{report}</report>" if report else ""
        if self.native:
            return FakeReply(told + answer, calls, think)
        made = "".join(f"<tool_call>{_tagged(name, given)}</tool_call>" for name, given in calls)
        return FakeReply(f"<think>{think}</think>{told}{made}" + (f"<answer>{answer}</answer>" if answer else ""))


def query(lap: int) -> str:
    return f"Japan population lap {lap}"


def lap_of(body: Body) -> int:
    """Return the highest lap in the conversation."""
    told = json.dumps(body["messages"][1:], ensure_ascii=False)
    return max(map(int, re.findall(r"\blap (\d+)", told)), default=0)


def purpose_of(body: Body) -> str:
    """Return the purpose of a request, recognised by its prompts."""
    system = body["messages"][0]["content"]
    users = [str(message["content"]) for message in body["messages"] if message["role"] == "user"]
    asked = next((text for text in reversed(users) if not text.startswith(_CORRECTIONS)), "")
    for purpose in ("scribe", "condense", "summarise", "reflect", "evaluate", "synthesise", "worker"):
        if system.startswith(_heads(purpose)):
            return purpose
    if system.startswith(_heads("rewoo_plan")):
        return "plan"
    for name, purpose in _LAST.items():
        if any(head in asked for head in _heads(name)):
            return purpose
    return "research" if system.startswith(_heads("researcher")) else "act"


def _heads(name: str) -> tuple[str, ...]:
    """Return the beginning of a prompt, up to its first slot or line break, in both languages."""
    names = ("date", "calling", "reason", "form", "question", "left", "plan", "sections")
    slots = dict.fromkeys(names, "\0")
    texts = (prompts.text(name, language, **slots) for language in ("en", "zh"))
    return tuple(text.partition("\0")[0].partition("\n")[0] for text in texts)


_CORRECTIONS = ("The reply", "The tool", "No tool")
_LAST = {
    "conclude": "conclude", "rewoo_solve": "solve", "outline_task": "outline", "introduce_task": "introduce",
    "finish_task": "finish",
}  # fmt: skip


def _tagged(name: str, given: Any) -> str:
    if isinstance(given, str):
        return f'{{"name": {json.dumps(name)}, "arguments": {given}}}'
    return json.dumps({"name": name, "arguments": given})


def _problem(messages: Sequence[Body], *, thinking: bool) -> str | None:
    ids: set[str] = set()
    for message in messages:
        calls = message.get("tool_calls") or ()
        if message["role"] == "assistant" and not calls and not str(message["content"]).strip():
            return "an assistant message with neither content nor calls"
        if any(call["id"] in ids for call in calls):
            return "a call id that was used before"
        ids.update(call["id"] for call in calls)
        if calls and thinking and not message.get("reasoning_content"):
            return "a tool turn without its reasoning_content"
    return None
