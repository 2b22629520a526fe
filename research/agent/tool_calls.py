"""Running a reply's tool calls: each gets exactly one observation, in order, and loops of actions are detected."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from research import citations
from research.agent import prompts
from research.agent.context import MAIN, RunContext, Steps
from research.agent.toolbox import Local
from research.errors import LimitReached, NeedsInput
from research.events.events import ToolFinished, ToolStarted, WaitingForUser, Warned
from research.text import clip
from research.types import Observation, Reply, ToolCall

_YES = re.compile(r"\s*(?:(?:y|yes|yep|yeah|ok|okay|sure|allow|allowed)\b|是|好|可以|允许|同意|行)", re.I)
"""How a reply begins that consents."""
MOST_CALLS = 16
"""Calls of one reply that run."""
ONE_A_ROUND = "(not run: each round takes one action; make this call in your next reply if you still need it)"
TOO_MANY = f"(not run: one reply may make {MOST_CALLS} calls; make this call in your next reply if you still need it)"
CYCLES = (1, 2, 3)
"""Lengths of the sequences of actions that count as a loop when repeated three times in a row."""


class ToolCalls:
    """The tool calls of one agent."""

    def __init__(self, agent: str, language: str, context: RunContext) -> None:
        self.agent = agent
        self.language = language
        self.context = context
        self._actions: list[str] = []
        self._hinted = False

    def use(
        self, reply: Reply, local: Mapping[str, Local], most: int
    ) -> Steps[tuple[tuple[Observation, ...], str, LimitReached | None]]:
        """Run the calls of a reply; return its observations, a hint for the model, and the limit that was reached.

        A call that cannot run, or comes after the first `most`, fails with the reason; when a limit is reached, all calls do.
        """
        hint, reached = "", None
        observations: list[Observation] = []
        try:
            hint = yield from self.watch_for_loops(reply.calls)
            why = ONE_A_ROUND if most == 1 else TOO_MANY
            left = self._left_out(reply.calls, most, why)
            observations += yield from self.observe([call for call in reply.calls if call not in left], local)
            if left and most == 1:
                text = f"One action a round: {', '.join(call.name for call in left)} was not run."
                yield from self.context.mark(Warned(agent=self.agent, kind="tool", text=text))
            for call in left:
                observations.append((yield from self.refuse(call.id, call.name, why)))
        except LimitReached as limit:
            reached = limit
            for call in reply.calls:
                why = f"(not run: the limit of {limit.limit} is reached)"
                observations.append((yield from self.refuse(call.id, call.name, why)))
        for error in reply.errors:
            yield from self.context.mark(Warned(agent=self.agent, kind="tool", text=error.message))
            observations.insert(error.index, (yield from self.refuse(error.id, error.name, error.message)))
        return tuple(observations), hint, reached

    def _left_out(self, calls: Sequence[ToolCall], most: int, why: str) -> list[ToolCall]:
        """Return the calls after the first `most`, without those that an earlier version of the workbench has run."""
        seen = {call.id: self.context.journal.observation(call.id) for call in calls[most:]}
        return [call for call in calls[most:] if (found := seen[call.id]) is None or found.text == why]

    def observe(self, calls: Sequence[ToolCall], local: Mapping[str, Local]) -> Steps[tuple[Observation, ...]]:
        """Run the calls in parallel; return one observation for each, in order.  Raises `LimitReached`."""
        context, journal = self.context, self.context.journal
        fresh = [call for call in calls if journal.observation(call.id) is None]
        yield from self._consent(calls, fresh)
        if fresh:
            context.check_pause()
        if fresh or not all(journal.started(call.id) for call in calls):  # new calls, or calls refused before
            context.meter.admit()
        context.meter.spend_tool_calls(len(calls))
        observations: list[Observation] = []
        with ExitStack() as stack:
            pending = {
                call.id: stack.enter_context(context.tools.begin(call, local.get(call.name), context.guard.check))
                for call in fresh
            }
            for call in fresh:
                if not journal.started(call.id):
                    yield ToolStarted(agent=self.agent, call=call)
            for call in calls:
                seen = journal.observation(call.id)
                if seen is None:
                    result = pending[call.id].result()
                    # Results are read in the order of the calls, so that sources get the same numbers every time.
                    sources = tuple(context.ledger.add(passage) for passage in result.passages)
                    seen = Observation(
                        call.id,
                        call.name,
                        citations.tool_result_text(result.text, sources) or "(nothing)",
                        result.ok,
                        sources,
                        result.seconds,
                        result.cached,
                        result.private,
                        result.images,
                    )
                    context.guard.observe(seen)
                    yield ToolFinished(agent=self.agent, observation=seen)
                observations.append(seen)
                if call.name not in local:
                    context.tool_calls.append((call, seen))
                if seen.name == "python" and seen.ok:
                    context.computed.append(seen.text)
        context.check_stop()
        return tuple(observations)

    def _consent(self, calls: Sequence[ToolCall], fresh: Sequence[ToolCall]) -> Steps[None]:
        """Ask the user before calls that could tell a site too much about private data; see `UrlGuard`.

        Only the main agent asks, because several sub-agents could wait at once: their calls are refused with the reason.
        """
        context, journal = self.context, self.context.journal
        asked = {self._question(call): call for call in calls}
        while True:
            prompt = journal.next_prompt(self.agent)
            if prompt not in asked:  # the rest was not asked before
                call = context.guard.lacking(fresh) if self.agent == MAIN else None
                if call is None:
                    return
                prompt = self._question(call)
            site = context.guard.site(asked[prompt])
            yield from context.mark(WaitingForUser(agent=self.agent, prompt=prompt, site=site))
            reply = journal.user_reply(self.agent)
            if reply is None:
                context.check_stop()
                raise NeedsInput(prompt)
            context.guard.allow_from_user(reply)
            context.guard.answer(site, more=_YES.match(reply) is not None)

    def _question(self, call: ToolCall) -> str:
        """Return what the user is asked before the call."""
        site, url = self.context.guard.site(call), clip(str(call.arguments.get("url", call.name)), 300)
        return prompts.text("to_user/open_more", self.language, site=site, url=url)

    def refuse(self, call_id: str, name: str, why: str) -> Steps[Observation]:
        """Return the failed observation of a call that does not run."""
        seen = Observation(call_id, name, why, ok=False)
        if self.context.journal.observation(call_id) is None:
            yield ToolFinished(agent=self.agent, observation=seen)
        return seen

    def watch_for_loops(self, calls: Sequence[ToolCall]) -> Steps[str]:
        """Return a hint the first time actions repeat themselves; raise `LimitReached` the second time."""
        self._actions.append(json.dumps(sorted(map(_same, calls))))
        done = self._actions
        if not any(len(done) >= 3 * n and done[-n:] == done[-2 * n : -n] == done[-3 * n : -2 * n] for n in CYCLES):
            return ""
        if self._hinted:
            raise LimitReached("loop")
        self._hinted = True
        hint = prompts.text("loop", self.language)
        yield from self.context.mark(Warned(agent=self.agent, kind="loop", text=hint))
        return hint


def _same(call: ToolCall) -> str:
    """Return what equal calls have in common: a query counts without case, punctuation and order of words."""
    arguments = dict(call.arguments)
    if isinstance(query := arguments.get("query"), str):
        arguments["query"] = sorted(re.findall(r"\w+", query.casefold())) or query
    return json.dumps([call.name, arguments], sort_keys=True)
