"""Rate an answer by structure alone: what it cites, how the checks ended, and which parts it calls missing."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence

from research import plugins
from research.types import FAILS, Citation, Observation, Outcome, Part, ToolCall


def outcome_of(citations: Sequence[Citation], parts: Sequence[Part]) -> Outcome:
    """Return `answered`, `partly_answered` or `no_evidence`.

    `answered`: there is a cited statement, none is dead or contradicted, and no part is missing.  `no_evidence`: no
    cited statement holds, or the answer says that no part was found.
    """
    failed = [citation.status in FAILS for citation in citations]
    if all(failed) or refused(parts):
        return "no_evidence"
    return "partly_answered" if any(failed) or any(part.status == "not_found" for part in parts) else "answered"


def refused(parts: Sequence[Part]) -> bool:
    """Return whether the answer says that no part was found."""
    return bool(parts) and all(part.status == "not_found" for part in parts)


def failed_search(calls: Iterable[tuple[ToolCall, Observation]]) -> str:
    """Return why a search of this run did not take place, if the same one did not succeed later; else an empty text."""
    why: dict[str, str] = {}
    for call, seen in calls:
        traits = plugins.tool.traits(call.name)
        if not (traits.searches or traits.library):
            continue
        key = json.dumps([call.name, call.arguments], sort_keys=True)
        why.pop(key, "")
        if seen.failed:
            why[key] = "; ".join(f"{name}: {reason}" for name, reason in seen.failed.items())
        elif not seen.ok and seen.code in ("timeout", "failed"):
            why[key] = seen.text
    return next(iter(why.values()), "")


def objections(question: str, answer: str, citations: Sequence[Citation]) -> list[str]:
    """Return what the answer checks of this installation find wrong (see `plugins.AnswerCheck`)."""
    found = []
    for entry in plugins.answer_check.all():
        try:
            finding = entry.function(question, answer, citations)
        except Exception as error:  # another package's code may raise anything, and must not lose the answer
            logging.getLogger(__name__).exception("the answer check %s failed", entry.id)
            finding = None
            found.append(f"{entry.title} could not check the answer: {type(error).__name__}: {error}")
        if finding:
            found.append(f"{entry.title}: {finding}")
    return found
