"""`Conversation`: one agent's transcript as messages, in the format of its protocol."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from research import plugins, prompts, protocols
from research._util import said
from research.agent import plan_text, remembering, repeats
from research.agent.asking import ASK_USER, ask_user_spec
from research.agent.context import MAIN, RunContext
from research.agent.follow_up import PROMPT_ROOM, earlier_findings
from research.agent.inherited import translated
from research.agent.model_call import USUAL
from research.citations import cited
from research.errors import LimitReached
from research.events.recipe import Recipe
from research.events.transcript import Interaction, Transcript
from research.models import tokens
from research.models.traits import Verbatim, Windowed
from research.protocols.protocol import CallProtocol, ProtocolName
from research.protocols.tagged import write_call
from research.text import clip, language_of
from research.types import Message, ToolCall, ToolSpec


class Conversation:
    """One agent's question and transcript, and how they become messages; context strategies read it."""

    def __init__(
        self, question: str, recipe: Recipe, context: RunContext, agent: str, prompt: str, tools: Sequence[ToolSpec]
    ) -> None:
        self.recipe = recipe
        self.context = context
        self.agent = agent
        self.language = recipe.language if recipe.language != "auto" else language_of(question)
        self.protocol = self._protocol_of("act")
        """The protocol of the current request; between requests, that of `act` requests."""
        self._verbatim = self._verbatim_for("act")
        """Whether its results repeat what earlier ones show."""
        self._instructions = ""
        """What the framework adds to the system prompt."""
        self._terms = USUAL
        """The tools of the current request."""
        self._rounds = 0
        """Rounds that the framework allows, stated in the prompt; 0: not stated."""
        self._own_protocol = self.protocol.name
        self._written_under: dict[int, ProtocolName] = {}
        """The protocols of rounds not written under the agent's own."""
        self._own_prompt = bool(prompt)
        self._prompt = prompt or plugins.framework.get(recipe.framework).prompt or recipe.framework
        self._question = question
        self._alone = not recipe.ask
        """Whether there is no one to ask for a missing detail."""
        self._tools = tuple(self.worded(each) for each in (*context.tools.specs, *tools))
        if self.asks and ASK_USER not in {tool.name for tool in self._tools}:
            self._tools = (*self._tools, ask_user_spec(self.language))
        adopted = agent == MAIN and context.journal.adopted
        self._transcript = (
            context.journal.adopted_transcript(question, self._own_protocol) if adopted else Transcript(question)
        )
        self._tokens = tokens.Counter()
        strategy = plugins.context.get(recipe.context)
        self._bound = strategy.bound(strategy.filled(recipe.context_options)) if strategy.bound else 0
        """Largest prompt that the context strategy allows, in tokens; 0: it sets no limit."""
        self._dropped = 0
        """Oldest rounds whose observations were dropped because the model found the prompt too long."""
        self._windows: dict[str, int] = {}

    def worded(self, tool: ToolSpec) -> ToolSpec:
        """Return the tool with our descriptions in the agent's language."""
        text = "\n".join(said.translated(line, self.language) for line in tool.description.split("\n"))
        return ToolSpec(tool.name, text, said.described(tool.parameters, self.language), tool.each)

    def _protocol_of(self, purpose: str) -> CallProtocol:
        """Return the protocol of the model for this purpose."""
        name, recipe = self.recipe.model_for(purpose), self.recipe
        choose = protocols.choose if name == recipe.model else protocols.choose_for_role
        return choose(recipe.protocol, self.context.models(name))

    def _verbatim_for(self, purpose: str) -> bool:
        model = self.context.models(self.recipe.model_for(purpose))
        return isinstance(model, Verbatim) and model.verbatim

    @property
    def question(self) -> str:
        return self._question

    @property
    def asks(self) -> bool:
        """Whether the agent may ask the user."""
        return not (self._alone or self._own_prompt)

    def ask_nobody(self) -> None:
        """Keep the agent and its sub-agents from asking the user; they assume the likeliest and say so."""
        self._alone = True
        self._tools = tuple(tool for tool in self._tools if tool.name != ASK_USER)

    @property
    def transcript(self) -> Transcript:
        """The agent's rounds so far."""
        return self._transcript

    def _write(self, **changes: Any) -> None:
        """Replace fields of the transcript; nothing else writes it."""
        self._transcript = msgspec.structs.replace(self._transcript, **changes)

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the agent may call: the recipe's, and those that the framework adds."""
        return self._tools

    def head(self) -> list[Message]:
        """Return the system prompt, and the question with earlier findings; every strategy's messages begin with them."""
        listing = self.protocol.instructions(self.tools, self.language)
        system = prompts.system(self._prompt, self._calling(), self.language, tools=listing)
        if self._instructions:
            system += "\n\n" + self._instructions
        if self._rounds:
            system += "\n\n" + prompts.text("rounds", self.language, rounds=str(self._rounds))
        system += self.budget()
        if not (self._own_prompt or self._terms.must_act or self._terms.must_call):  # tools have fields for it
            system += "\n\n" + prompts.text("account", self.language)
        if self._alone:
            system += "\n\n" + prompts.text("assume", self.language)
        if self.transcript.reflections:
            notes = "\n".join(f"- {text}" for text in self.transcript.reflections)
            system += "\n\n" + prompts.text("reflections", self.language, notes=notes)
        return [Message("system", system), Message("user", self._with_findings(self.question))]

    def budget(self) -> str:
        """Return the paragraph that states the budget of tokens; empty without one."""
        tokens = self.context.meter.budget.tokens
        return "\n\n" + prompts.text("budget", self.language, tokens=f"{tokens:,}") if tokens else ""

    def _calling(self) -> str:
        """Return the text that says how to call tools, which never contradicts the framework's prompt."""
        if self._terms.must_call:
            return f"{self.protocol.name}_must_call"
        calling = "must_act" if self._terms.must_act else self.protocol.name
        reports = not self._own_prompt and plugins.framework.get(self.recipe.framework).writes_report
        return f"{calling}_report" if reports else calling

    def _with_findings(self, question: str) -> str:
        """Return the question with the approved plan and as many findings of the memory and earlier runs as fit.

        The plan is about the user's question; an agent with another question has a part of it.
        """
        earlier, recalled = self.context.journal.earlier, self.context.recalled
        parts = [question]
        window = self._window(self.recipe.model)
        if earlier:
            room = min(PROMPT_ROOM, window // 2) if window else PROMPT_ROOM
            parts.append(earlier_findings(earlier, self.language, room))
        if recalled and (
            quotation := remembering.quoted(recalled, self.language, window // 4 if window else PROMPT_ROOM)
        ):
            parts.append(quotation)
        if self.context.plan and self._question == self.context.user_texts[0]:
            parts.append(plan_text.quoted(self.context.plan, self.language))
        return "\n\n".join(parts)

    def brief(self, prompt: str, **values: str) -> list[Message]:
        """Return a separate conversation: the prompt `NAME` as system, and `NAME_task` with its slots filled as user."""
        if "question" in values:
            values["question"] = self._with_findings(values["question"])
        return [
            Message("system", prompts.text(prompt, self.language, date=prompts.today())),
            Message("user", prompts.text(f"{prompt}_task", self.language, **values)),
        ]

    def room(self, purpose: str) -> int:
        """Return the largest prompt of the purpose's model, in tokens; 0: unknown."""
        return self._window(self.recipe.model_for(purpose), composed=False)

    def _window(self, model: str, *, composed: bool = True) -> int:
        """Return the largest prompt for that model, in tokens; 0: unknown.

        `composed`: the strategy's bound applies too.
        """
        if model not in self._windows:
            opened = self.context.models(model)
            self._windows[model] = opened.window if isinstance(opened, Windowed) else 0
        bounds = (self._bound if composed else 0, self._windows[model])
        return min(filter(None, bounds), default=0)

    def turns(self, first: int = 0) -> list[Message]:
        """Return the messages of the rounds from index `first`."""
        rounds = range(first, self.transcript.length)
        return [message for index in rounds for message in self.protocol.turn(self.round(index))]

    def without_repeats(self, messages: Sequence[Message]) -> list[Message]:
        """Return messages as sent: results refer back to what earlier ones show; see `repeats`."""
        return list(messages) if self._verbatim else repeats.without_repeats(messages, self.language)

    def round(self, index: int) -> Interaction:
        """Return a round as a model under the current protocol would have written it.

        Observations that no longer fit into the model's context are replaced by a placeholder.
        """
        interaction = self.transcript.interactions[index]
        notes = []
        if index + 2 <= self._rounds:
            notes.append(prompts.text("round", self.language, n=str(index + 2), rounds=str(self._rounds)))
        if (left := interaction.tokens_left) is not None:
            about, budget = f"{float(f'{left:.2g}'):,.0f}", f"{self.context.meter.budget.tokens:,}"
            notes.append(prompts.text("tokens_left", self.language, left=about, budget=budget))
        if notes:
            interaction = msgspec.structs.replace(interaction, note=" ".join(notes))
        if self._written_under.get(index, self._own_protocol) != self.protocol.name:
            interaction = translated(interaction, self.protocol.name)
        if index >= self._dropped:
            return interaction
        short = tuple(
            msgspec.structs.replace(seen, text=said.translated("(dropped: no room)", self.language))
            for seen in interaction.observations
        )
        return msgspec.structs.replace(interaction, observations=short)

    def _rounds_shown(self, messages: Sequence[Message]) -> int:
        """Return how many rounds composed messages contain with their observations; the oldest lose these first."""
        return min(sum(each.role == "assistant" for each in messages), self.transcript.length - self._dropped)

    def _drop_older_half(self) -> int:
        """Drop the observations of the older half of the rounds that still have them; return how many rounds lack them.

        Raises `LimitReached` if every round already does.
        """
        remaining = self.transcript.length - self._dropped
        if remaining == 0:
            raise LimitReached("tokens")
        self._dropped += (remaining + 1) // 2
        return self._dropped

    def written(self, words: str, calls: Sequence[ToolCall]) -> str:
        """Return the text of a reply that makes these calls: tagged calls are part of the text, native calls are not."""
        tags = [write_call(call.name, **call.arguments) for call in calls] if self.protocol.name == "tagged" else []
        return "\n".join(filter(None, [words, *tags]))

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the size of a prompt for the recipe's model, in tokens."""
        return self._tokens(messages, self.recipe.model)

    def known(self) -> str:
        """Return the answer when no model can be asked: the report so far, or quotes of the sources seen."""
        report, found = self.transcript.report, self.findings()
        if cited(report) or not found:
            return report or prompts.text("nothing", self.language)
        return "\n\n".join(filter(None, [report, found]))

    def findings(self) -> str:
        """Return quotes of the sources seen; empty if there are none."""
        firsts = {source.n: source for source in reversed(self.context.ledger.sources)}
        lines = [
            f"- {source.title}: {clip(source.quote.splitlines()[0], 200)} [{n}]"
            for n, source in sorted(firsts.items())[:10]
            if source.quote
        ]
        return "\n\n".join([prompts.text("known", self.language), "\n".join(lines)]) if firsts else ""


def as_text(messages: Sequence[Message]) -> str:
    """Return a conversation as plain text, for a prompt that quotes it."""
    lines = []
    for message in messages:
        calls = "\n".join(f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in message.calls)
        lines.append(f"[{message.role}] " + "\n".join(filter(None, [message.content, calls])))
    return "\n\n".join(lines)
