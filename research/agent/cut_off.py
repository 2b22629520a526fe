"""Handle what a service cuts off: prompts, silently; and answers at its length limit, which the model continues."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import msgspec

from research._util.said import say
from research.errors import FormatError
from research.parsing.parsed import LENGTH
from research.protocols.protocol import CallProtocol
from research.types import Completion, Reply, ToolSpec, Usage

CUT_TO_TOKENS = 1000
"""Fewest tokens that a server which cuts a prompt reads: no context is smaller. One that reports less counts
differently, or skips cached tokens."""
_REPEATED = 400
"""Most characters compared at a seam."""
_BEGUN_AGAIN = 60
"""Equal characters that show a model restarting its answer instead of continuing it."""
_THOUGHTS = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>\s*", re.S)
_ANSWER = re.compile(r"\s*<answer>\s*")


class CutPrompts:
    """How much of its prompts a run's model servers report to have read, which reveals a cut."""

    def __init__(self, *, found: bool) -> None:
        self.found = found
        """Whether a server has cut a prompt of the run."""
        self._counting_otherwise: set[str] = set()

    def notice(self, model: str, usage: Usage | None, sent: int) -> str:
        """Return a warning that a server read far less than was sent; empty if it did not, or counts differently."""
        read = usage.prompt_tokens if usage and not usage.estimated else 0
        if not read or 2 * read >= sent:
            return ""
        if read < CUT_TO_TOKENS:
            self._counting_otherwise.add(model)
        if model in self._counting_otherwise:
            return ""
        self.found = True
        return (
            f"{model} reports that it read {read:,} of about {sent:,} tokens: its server has probably cut the prompt. "
            "Give it a larger context (for Ollama, OLLAMA_CONTEXT_LENGTH)."
        )


def is_cut_answer(completion: Completion, protocol: CallProtocol, tools: Sequence[ToolSpec]) -> bool:
    """Return whether the reply, if complete, would be an answer."""
    if completion.finish_reason not in LENGTH or completion.raw_calls or completion.calls:
        return False
    reply = _read(completion, protocol, tools)
    return reply is not None and bool(reply.answer) and not (reply.calls or reply.errors)


def gone_on(
    written: str, completion: Completion, protocol: CallProtocol, tools: Sequence[ToolSpec]
) -> tuple[str, Completion]:
    """Return what the reply continues, and the whole; empty if it calls a tool instead."""
    alone = _read(completion, protocol, tools) if written else None
    before = "" if alone is not None and alone.calls else written
    return before, _joined(before, completion)


def _read(completion: Completion, protocol: CallProtocol, tools: Sequence[ToolSpec]) -> Reply | None:
    try:
        return protocol.read(msgspec.structs.replace(completion, finish_reason="stop"), str, tools)
    except FormatError:
        return None


def _joined(written: str, completion: Completion) -> Completion:
    """Return the completion after the earlier text, without repeating their overlap."""
    more = completion.text
    if not written:
        return completion
    if len(os.path.commonprefix([written, more])) >= min(len(written), _BEGUN_AGAIN):
        return completion
    if thought := _THOUGHTS.match(more):
        more = more[thought.end() :]
    if "<answer>" in written and (again := _ANSWER.match(more)):
        more = more[again.end() :]
    sizes = range(min(len(written), len(more), _REPEATED), 9, -1)
    seam = next((size for size in sizes if written.endswith(more[:size])), 0)
    return msgspec.structs.replace(completion, text=written + more[seam:])


def kept(completion: Completion, *, go_on: bool, spent: bool = False) -> Completion:
    """Return a cut completion as complete, with a last line that says why it ends.

    `spent`: the run's budget cut it, and not the service.  Raises `FormatError` instead if the model is to go on.
    """
    if go_on:
        raise FormatError(
            say("The reply was cut off at the length limit. Go on exactly where it ends, and repeat nothing.")
        )
    why = say("The service cut the answer off here, at its limit of length.")
    if spent:
        why = say("The answer was cut off here: the budget of the run was spent.")
    text = f"{completion.text}…\n\n*{why}*"
    return msgspec.structs.replace(completion, text=text, finish_reason="stop")
