"""Asking the judge: after the rules, a language model or a verifier sees every claim of the report with its passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from research.agent.context import Steps
from research.agent.run import Run
from research.citations.judge import inquiries
from research.citations.verifiers import MODEL, Pair, decided, fused, overrules, shares
from research.errors import ConfigError, LimitReached, ProviderError, RunPaused, Stopped
from research.events.events import Warned
from research.types import HOLDS, Citation, Judgement, Scripted

SLICE: Final = 8
"""Claims that a verifier of this computer judges between two looks at the budget and at a stop."""
_Found = dict[Pair, Judgement]


def judge(run: Run, citations: tuple[Citation, ...]) -> Steps[tuple[Citation, ...]]:
    """Return the citations with the verdicts of rules and judge; what the judge does not judge stays as it is."""
    name = run.recipe.judged_by
    pairs = _pairs(run, citations) if name else {}
    if not pairs:
        return citations
    found: _Found = {}
    problem = yield from _verify(run, name, list(dict.fromkeys(pairs.values())), found)
    if text := _shortfall(name, problem, [found.get(pair) for pair in pairs.values()]):
        yield from run.context.mark(Warned(agent=run.agent, kind="model", text=text))
    return _applied(run, name, citations, {claim: found[pair] for claim, pair in pairs.items() if pair in found})


def _shortfall(name: str, problem: str, judged: Sequence[Judgement | None]) -> str:
    """Return the note on statements without a usable judgement, or nothing."""
    missing = judged.count(None)
    # A judge without probabilities says `unverified` only of a reply of its own that does not count.
    void = [each for each in judged if each and each.probability is None and each.status == "unverified"]
    notes = []
    if missing:
        notes.append(f"did not judge {missing} of {len(judged)} statements: {problem or 'no usable reply'}")
    if void:
        reasons = "; ".join(dict.fromkeys(each.reason for each in void))
        notes.append(f"gave {len(void)} of {len(judged)} verdicts that do not count: {reasons}")
    return f"The judge {name} {', and '.join(notes)}. The rules' verdicts stay." if notes else ""


def _pairs(run: Run, citations: Sequence[Citation]) -> dict[str, Pair]:
    """Return each claim with the passages of all sources that it cites."""
    cites: dict[str, dict[str, None]] = {}
    for each in citations:
        if each.status != "dead":
            cites.setdefault(each.claim, {}).update(dict.fromkeys(_texts(run, each.n)))
    return {claim: Pair(claim, tuple(texts)) for claim, texts in cites.items() if texts}


def _verify(run: Run, name: str, pairs: Sequence[Pair], found: _Found) -> Steps[str]:
    """Add the judgements of these pairs to `found`; return why some are missing, if an error is the reason."""
    verdicts = run.context.judges.verdicts
    try:
        model = name.removeprefix(MODEL) if name.startswith(MODEL) else ""
        # A script's replies depend on their order, not on what is asked.
        keeps = not (model and isinstance(run.context.models(model), Scripted))
        known = {pair: seen for pair in pairs if keeps and (seen := verdicts.get(name, pair))}
        found.update(known)
        unknown = [pair for pair in pairs if pair not in known]
        try:
            yield from _ask_model(run, model, unknown, found) if model else _ask_verifier(run, name, unknown, found)
        finally:
            for pair in unknown:
                if keeps and pair in found:
                    verdicts.put(name, pair, found[pair])
    except (ConfigError, LimitReached, ProviderError, Stopped) as error:
        if not isinstance(error, LimitReached):
            return str(error)
        return "no usable reply" if error.limit == "failed" else f"the {error.limit} budget is spent"
    except RunPaused as pause:
        if pause.reason:  # the judge is unreachable; after a user's pause, the resumed run asks it instead
            return pause.reason
        raise
    except Exception as error:  # noqa: BLE001 - a judge that fails in any way must not cost the report
        return f"{type(error).__name__}: {error}"
    return ""


def _ask_model(run: Run, model: str, pairs: Sequence[Pair], found: _Found) -> Steps[None]:
    """Ask a language model, except what the journal contains; it answers for the same messages only."""
    recorded = yield from run.recorded_verdicts()
    steps = inquiries(model, pairs, found)
    inquiry = next(steps, None)
    while inquiry is not None:
        reply = recorded.get(inquiry.messages)
        if reply is None:
            reply = yield from run.ask("verify", messages=inquiry.messages, tools=(), schema=inquiry.schema)
        try:
            inquiry = steps.send(reply.answer)
        except StopIteration:
            inquiry = None


def _ask_verifier(run: Run, name: str, pairs: Sequence[Pair], found: _Found) -> Steps[None]:
    verifier = run.context.judges.open(name)
    for start in range(0, len(pairs), SLICE):
        run.context.check_stop()
        run.context.meter.admit()
        some = pairs[start : start + SLICE]
        judged = verifier.verify(some)
        if len(judged) != len(some):
            raise ProviderError(f"{len(judged)} judgements of {len(some)} statements")
        found.update(zip(some, judged, strict=True))
    yield from ()


def _applied(run: Run, name: str, citations: Sequence[Citation], found: dict[str, Judgement]) -> tuple[Citation, ...]:
    thresholds = run.context.judges.thresholds(name)
    texts = {each.n: list(_texts(run, each.n)) for each in citations}
    cites = Counter(each.claim for each in citations if each.status != "dead")
    after = []
    for each in citations:
        if each.claim not in found:
            after.append(each)
            continue
        judgement = decided(found[each.claim], thresholds)
        overrule = overrules(judgement, thresholds, each)
        # Of several sources, only those that contain the quote support the claim.
        elsewhere = (
            judgement.status == "supported" and cites[each.claim] > 1 and not shares(judgement.quote, texts[each.n])
        )
        if elsewhere and each.status not in HOLDS:
            reason = "another source supports this"
            own = fused(each, replace(judgement, status="unverified", reason=reason))
            denied = overrule and each.status == "contradicted"
            after.append(replace(own, status="unverified", reason=reason) if denied else own)
        else:
            after.append(fused(each, judgement, overrule=overrule))
    return tuple(after)


def _texts(run: Run, n: int) -> Iterator[str]:
    """Yield the quotes of a source, each with its title."""
    for source in run.context.ledger.sources:
        if source.n == n:
            yield f"{source.title}\n{source.quote}"
