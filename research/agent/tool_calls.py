"""Running a reply's tool calls: each gets exactly one observation, in order.

Detects repeating actions, and observations that add nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from msgspec.structs import replace

from research import citations, prompts
from research._util.said import speaking, translated
from research.agent.context import MAIN, RunContext, Steps
from research.agent.novelty import Novelty
from research.agent.page_reader import PageReader
from research.agent.toolbox import Local
from research.errors import LimitReached
from research.events.events import ToolFinished, ToolStarted, Warned
from research.text import clip
from research.types import Observation, Reply, ToolCall

_YES = re.compile(r"\s*(?:(?:y|yes|yep|yeah|ok|okay|sure|allow|allowed)\b|是|好|可以|允许|同意|行)", re.I)
"""The beginning of a reply that consents."""
MOST_CALLS = 16
"""Most calls of one reply that run."""
ONE_A_ROUND = "(not run: each round takes one action; make this call in your next reply if you still need it)"
TOO_MANY = "(not run: one reply may make {most} calls; make this call in your next reply if you still need it)"
CYCLES = (1, 2, 3)
"""Lengths of the sequences of actions that count as a loop when repeated three times in a row."""
FIRST = 3
"""The round from which new statements are counted: a shorter run cannot be stale and needs no encoder."""
STALE = 3
"""Consecutive rounds that add nothing before the model is told, and again before the run ends."""


class ToolCalls:
    """The tool calls of one agent."""

    def __init__(
        self,
        agent: str,
        language: str,
        context: RunContext,
        *,
        novelty: bool = True,
        page_reader: PageReader | None = None,
    ) -> None:
        """`novelty`: whether rounds that add nothing are counted.  `page_reader` chooses the passages of visited pages."""
        self._page_reader = page_reader
        self.agent = agent
        self.language = language
        self.context = context
        self._actions: list[str] = []
        self._hinted = False
        self._novelty = Novelty(context.services.embedder) if novelty else None
        self._stale = 0
        """Consecutive rounds that added nothing."""
        self._told_stale = False
        if self._novelty and agent == MAIN:
            for seen in (seen for each in context.journal.adopted for seen in each.observations):
                self._novelty.remember(seen)

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
            english = ONE_A_ROUND if most == 1 else TOO_MANY
            why = translated(english, self.language).format(most=MOST_CALLS)
            left = self._left_out(reply.calls, most, why)
            observations += yield from self.observe([call for call in reply.calls if call not in left], local)
            stale, reached = yield from self._watch_for_nothing_new(observations)
            hint = "\n".join(filter(None, [hint, stale]))
            if left and most == 1:
                text = f"One action a round: {', '.join(call.name for call in left)} was not run."
                yield from self.context.mark(Warned(agent=self.agent, kind="tool", text=text))
            for call in left:
                observations.append((yield from self.refuse(call.id, call.name, why)))
        except LimitReached as limit:
            reached = limit
            for call in reply.calls:
                why = translated("(not run: the limit of {limit} is reached)", self.language).format(limit=limit.limit)
                observations.append((yield from self.refuse(call.id, call.name, why)))
        for error in reply.errors:
            yield from self.context.mark(Warned(agent=self.agent, kind="tool", text=error.message))
            observations.insert(error.index, (yield from self.refuse(error.id, error.name, error.message)))
        return tuple(observations), hint, reached

    def _left_out(self, calls: Sequence[ToolCall], most: int, why: str) -> list[ToolCall]:
        """Return the calls after the first `most`, except those that an earlier version already ran."""
        seen = {call.id: self.context.journal.observation(call.id) for call in calls[most:]}
        return [call for call in calls[most:] if (found := seen[call.id]) is None or found.text in (why, ONE_A_ROUND)]

    def observe(self, calls: Sequence[ToolCall], local: Mapping[str, Local]) -> Steps[tuple[Observation, ...]]:
        """Run the calls in parallel; return one observation for each, in order.  Raises `LimitReached`."""
        context, journal = self.context, self.context.journal
        fresh = [call for call in calls if journal.observation(call.id) is None]
        self._consent(calls, fresh)
        if fresh:
            context.check_pause()
        if fresh or not all(journal.started(call.id) for call in calls):  # new calls, or calls refused before
            context.meter.admit()
        context.meter.spend_tool_calls(len(calls))
        observations: list[Observation] = []
        with ExitStack() as stack:
            with speaking(self.language):
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
                    with speaking(self.language):
                        result = pending[call.id].result()
                    if self._page_reader and result.document and result.ok:
                        result = yield from self._page_reader.read(call, result)
                    # Results are read in the order of the calls, so that sources get the same numbers every time.
                    sources = tuple(context.ledger.add(passage) for passage in result.passages)
                    seen = Observation(
                        call.id,
                        call.name,
                        citations.tool_result_text(result.text, sources) or translated("(nothing)", self.language),
                        result.ok,
                        sources,
                        result.seconds,
                        result.cached,
                        result.private,
                        result.images,
                        read=result.read,
                        code=result.code,
                        searched=result.searched,
                        failed=result.failed,
                        world=result.world,
                    )
                    if self._novelty and call.name not in local and len(self._actions) >= FIRST:
                        seen = replace(seen, new=self._novelty.count(seen))
                    context.guard.observe(seen)
                    yield ToolFinished(agent=self.agent, observation=seen)
                elif seen.read and self._page_reader:
                    self._page_reader.reader.take_request(seen.read)
                observations.append(seen)
                if call.name not in local:
                    context.tool_calls.append((call, seen))
                    if self._novelty:
                        self._novelty.remember(seen)
                context.note_computed(seen)
        context.check_stop()
        return tuple(observations)

    def _consent(self, calls: Sequence[ToolCall], fresh: Sequence[ToolCall]) -> None:
        """Ask the user before calls that could tell a site too much about private data; see `UrlGuard`.

        Only the main agent asks, because several sub-agents could wait at once: their calls are refused with the reason.
        """
        context, journal = self.context, self.context.journal
        asked = {self._question(call): call for call in calls}
        while True:
            prompt = journal.next_prompt(self.agent)
            if prompt not in asked:  # the rest have not been asked
                call = context.guard.lacking(fresh) if self.agent == MAIN else None
                if call is None:
                    return
                prompt = self._question(call)
            site = context.guard.site(asked[prompt])
            reply = context.user_reply(self.agent, prompt, site=site)
            context.guard.allow_from_user(reply)
            context.guard.answer(site, more=_YES.match(reply) is not None)

    def _question(self, call: ToolCall) -> str:
        """Return the question for the user before the call."""
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

    def _watch_for_nothing_new(self, observations: Sequence[Observation]) -> Steps[tuple[str, LimitReached | None]]:
        """Return a hint the first time that consecutive rounds add nothing; the second time, the limit reached.

        Counts are part of the observations, so a resumed run comes to the same result.
        """
        counts = [seen.new for seen in observations if seen.new is not None]
        self._stale = 0 if any(counts) else self._stale + bool(counts)  # a round without statements does not count
        if self._stale < STALE:
            return "", None
        self._stale = 0
        if self._told_stale:
            return "", LimitReached("loop")
        self._told_stale = True
        hint = prompts.text("stale", self.language)
        yield from self.context.mark(Warned(agent=self.agent, kind="loop", text=hint))
        return hint, None


def _same(call: ToolCall) -> str:
    """Return a key that equal calls share; it ignores the case, punctuation and word order of a query."""
    arguments = dict(call.arguments)
    if isinstance(query := arguments.get("query"), str):
        arguments["query"] = sorted(re.findall(r"\w+", query.casefold())) or query
    return json.dumps([call.name, arguments], sort_keys=True)
