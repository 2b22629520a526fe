"""Ask the judge: after the rules, a language model or a verifier reads each statement of the report beside its passages.

The report is saved with the verdicts of the rules before the judge is asked.  A language model reads several batches at
once, each as a sub-agent, so that a resumed run finds every reply again, in whatever order they came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Final

from msgspec.structs import replace

from research.agent.context import Steps
from research.agent.journal import JUDGE
from research.agent.model_call import Terms
from research.agent.run import Run
from research.citations.judge import Inquiries, inquiries, take_recorded
from research.citations.verification import MODEL, Pair, decided, fused, overrules, shares, to_judge
from research.errors import ConfigError, LimitReached, ProviderError, RunPaused, Stopped
from research.events.branches import VERIFY
from research.events.events import ReportUpdated, Warned
from research.models.traits import Scripted
from research.types import HOLDS, Citation, Judgement, Message, Reply

AT_ONCE: Final = 5
"""Batches that are read at the same time, unless the framework's `concurrency` says otherwise."""
SLICE: Final = 8
"""Claims that a local verifier judges between checks for a spent budget or a stop."""
_Found = dict[Pair, Judgement]


def judge(run: Run, citations: tuple[Citation, ...], report: str = "") -> Steps[tuple[Citation, ...]]:
    """Return the citations with the verdicts of rules and judge; citations that the judge skips are unchanged.

    `report` is shown with the verdicts so far while the judge reads.
    """
    name = run.recipe.judged_by
    pairs = _pairs(run, citations) if name else {}
    if not pairs:
        return citations
    found = _known(run, name, pairs.values())
    unknown = [pair for pair in dict.fromkeys(pairs.values()) if pair not in found]
    if report and unknown:
        so_far = _applied(run, name, citations, _by_claim(pairs, found))
        yield from run.context.mark(ReportUpdated(agent=run.agent, report=report, citations=so_far))
    problem = yield from _verify(run, name, unknown, found)
    if text := _shortfall(name, problem, [found.get(pair) for pair in pairs.values()]):
        yield from run.context.mark(Warned(agent=run.agent, kind="model", text=text))
    return _applied(run, name, citations, _by_claim(pairs, found))


def _by_claim(pairs: Mapping[str, Pair], found: _Found) -> dict[str, Judgement]:
    return {claim: found[pair] for claim, pair in pairs.items() if pair in found}


def _shortfall(name: str, problem: str, judged: Sequence[Judgement | None]) -> str:
    """Return the note on statements without a usable judgement, or nothing."""
    missing = judged.count(None)
    # Without probabilities, `unverified` only means that the judge's reply does not count.
    void = [each for each in judged if each and each.probability is None and each.status == "unverified"]
    notes = []
    if missing:
        notes.append(f"did not judge {missing} of {len(judged)} statements: {problem or 'no usable reply'}")
    if void:
        reasons = "; ".join(dict.fromkeys(each.reason for each in void))
        notes.append(f"gave {len(void)} of {len(judged)} verdicts that do not count: {reasons}")
    return f"The judge {name} {', and '.join(notes)}. The rules' verdicts stay." if notes else ""


def _pairs(run: Run, citations: Sequence[Citation]) -> dict[str, Pair]:
    """Return each claim that the judge reads with the passages of all sources that it cites."""
    asked = to_judge(citations, everything=not run.recipe.judges_open)
    cites: dict[str, dict[str, None]] = {}
    for each in citations:
        if each.status != "dead" and each.claim in asked:
            cites.setdefault(each.claim, {}).update(dict.fromkeys(_texts(run, each.n)))
    return {claim: Pair(claim, tuple(texts)) for claim, texts in cites.items() if texts}


def _keeps(run: Run, name: str) -> bool:
    """Return whether equal questions get equal verdicts; a script's replies depend on order instead."""
    try:
        return not (name.startswith(MODEL) and isinstance(run.context.models(name.removeprefix(MODEL)), Scripted))
    except Exception:  # noqa: BLE001 - it cannot be asked either, and the note on that says why
        return False


def _known(run: Run, name: str, pairs: Iterable[Pair]) -> _Found:
    """Return the judge's earlier judgements of these pairs in this process."""
    if not _keeps(run, name):
        return {}
    return {pair: seen for pair in pairs if (seen := run.context.services.judges.recall(name, pair))}


def _verify(run: Run, name: str, pairs: Sequence[Pair], found: _Found) -> Steps[str]:
    """Add the judgements of these pairs to `found`; return why some are missing, if an error is the reason."""
    try:
        try:
            ask = _ask_model if name.startswith(MODEL) else _ask_verifier
            yield from ask(run, name, pairs, found)
        finally:
            for pair in pairs if _keeps(run, name) else ():
                if pair in found:
                    run.context.services.judges.remember(name, pair, found[pair])
    except (ConfigError, LimitReached, ProviderError, Stopped) as error:
        if not isinstance(error, LimitReached):
            return str(error)
        return "no usable reply" if error.limit == "failed" else f"the {error.limit} budget is spent"
    except RunPaused as pause:
        if pause.reason:  # unreachable; after a user's pause, the resumed run asks again
            return pause.reason
        raise
    except Exception as error:  # noqa: BLE001 - a judge that fails in any way must not cost the report
        return f"{type(error).__name__}: {error}"
    return ""


def _ask_model(run: Run, name: str, pairs: Sequence[Pair], found: _Found) -> Steps[None]:
    """Ask a language model, except what the journal contains."""
    model = name.removeprefix(MODEL)
    recorded = yield from run.recorded_verdicts()  # from a run of an earlier version
    last, free = run.context.journal.judges(run.agent), list[Run]()
    for number in range(1, last + 1):
        reader = run.child(f"{JUDGE}{number}")
        before = yield from reader.recorded_verdicts()
        recorded |= before
        free += [] if before else [reader]  # it was asked, and had not replied
    asked: set[Pair] = set()
    for sent, reply in recorded.items():
        asked.update(take_recorded(sent, reply.answer, model, pairs, found))
    readings = inquiries(model, [pair for pair in pairs if pair not in asked], found)
    readers = chain(free, (run.child(f"{JUDGE}{number}") for number in count(last + 1)))
    limit = run.recipe.framework_options.get("concurrency", AT_ONCE)
    yield from run.together(
        [_read(reader, reading, recorded) for reading, reader in zip(readings, readers, strict=False)],
        limit if isinstance(limit, int) else AT_ONCE,
    )


def _read(reader: Run, reading: Inquiries, recorded: Mapping[tuple[Message, ...], Reply]) -> Steps[None]:
    """Make the calls of one reading, one after the other."""
    inquiry = next(reading, None)
    while inquiry is not None:
        reply = recorded.get(inquiry.messages)
        if reply is None:
            reply = yield from reader.ask(
                VERIFY, messages=inquiry.messages, tools=(), terms=Terms(schema=inquiry.schema)
            )
        try:
            inquiry = reading.send(reply.answer)
        except StopIteration:
            inquiry = None


def _ask_verifier(run: Run, name: str, pairs: Sequence[Pair], found: _Found) -> Steps[None]:
    verifier = run.context.services.judges.open(name)
    for start in range(0, len(pairs), SLICE):
        run.context.check_stop()
        run.context.meter.admit()
        some = pairs[start : start + SLICE]
        judged = verifier.verify(some)
        if len(judged) != len(some):
            raise ProviderError(f"the judge returned {len(judged)} judgements of {len(some)} statements")
        found.update(zip(some, judged, strict=True))
    yield from ()


def _applied(run: Run, name: str, citations: Sequence[Citation], found: dict[str, Judgement]) -> tuple[Citation, ...]:
    thresholds = run.context.services.judges.thresholds(name)
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
