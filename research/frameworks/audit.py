"""An audit: checks a report that someone else wrote against the sources that it names."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, zip_longest
from typing import Annotated, Final

from msgspec.structs import replace

from research import plugins
from research._util.glossary import labels_in
from research._util.http import host_of
from research._util.said import say, speaking
from research.agent.context import Steps
from research.agent.judging import judge
from research.agent.run import Run
from research.agent.tool_calls import MOST_CALLS
from research.auditing import links as link_states
from research.auditing.record import Record
from research.auditing.references import Reference
from research.auditing.styles import Report, read
from research.auditing.sums import miscounts
from research.auditing.tabled import tabled
from research.auditing.trial import beside_closest, judged, opinions, score
from research.citations import Statement, check_statements, shelf, without_marks
from research.citations.checking import JUDGED, KnowsMeasures, check_claim
from research.citations.language import listed, says
from research.citations.marks import named
from research.defaults import OFFLINE, QUERY
from research.errors import ConfigError, LimitReached
from research.events.audit_findings import FAILS, OPEN, READ, AuditedSource, AuditedStatement, Given, LinkState
from research.events.events import Audited
from research.plugins import Range, framework
from research.text import clip, content_tokens
from research.types import Answer, Checked, Citation, Observation, Outcome, Reply, Source, ToolCall
from research.web.url_guard import LIBRARY, is_users_own

TOGETHER: Final = 8
"""Most sources read at once."""
OF_A_SITE: Final = 2
"""Of these, most of one host."""
SLICE: Final = 10
"""Statements of one event."""
MOST_STATEMENTS: Final = 2_000
MOST_RESEARCHED: Final = 100
"""Statements for which the library is searched one by one."""
_GOAL, _QUERY = 1_500, 200
_BORDERS = "Land boundaries, border countries"
_BESIDE = 4
"""Sources of a statement that are also compared with it one by one."""
_NAMED = 6
"""Most names of a statement searched one by one, as in a list of neighbours."""
_ENDING = re.compile(r"(?<=\w)\.[a-z]\w{1,4}\b")
"""A file extension, which no document contains."""
_Wanted = tuple[int, Reference]


@framework("Check of a report", hidden=True, prompt="react", forkable=False, page=40_000)
def audit(
    run: Run,
    *,
    sources: Annotated[int, Range(1, 900), "Most sources that are looked for."] = 200,
) -> Steps[Answer]:
    """Find each statement of a report and what it cites, read every source once, and judge the statements.

    The report is that of the run's first event.  No model is asked, except the judge of citations.
    """
    given = run.context.journal.given
    if given is None:
        raise ConfigError("framework 'audit' checks a report, not a question; start it with `audit FILE`")
    trial = _Trial(run, read(given.text), sources, given)
    # The user has given the report, so its addresses may be opened even after a user's document was read.
    run.context.guard.allow_from_user("\n".join([given.text, *(each.url for each in trial.report.sources)]))
    yield from trial.open()
    outcome: Outcome = "answered"
    try:
        own = [(n, each) for n, each in trial.wanted if not each.url or shelf.in_factbook(each.url)]
        yield from trial.visit([each for each in trial.wanted if each not in own])
        yield from trial.look_up(own)
        yield from trial.visit([(n, each) for n, each in own if each.url and trial.sources[n].state not in READ])
        yield from trial.research()
        yield from trial.calculate()
    except LimitReached as limit:  # what was read is judged
        outcome = limit.limit
    yield from trial.leave_rest()
    citations = yield from trial.judge()
    with speaking(run.language):
        record = trial.record()
        text, written = record.headline, record.markdown
    if outcome == "answered" and not score(record.statements).judged:
        outcome = "no_evidence"
    uncited = tuple(each.text for each in trial.statements.values() if each.verdict == "no_source")
    return Answer(text, outcome, written, Checked(citations, uncited))


class _Tools:
    """Calls the tools of a run, many at once."""

    def __init__(self, run: Run, *, anywhere: bool) -> None:
        self._run, self._anywhere = run, anywhere
        self._reader = next((name for name in run.recipe.tools if plugins.tool.traits(name).reads), "")
        self.searches = next((name for name in run.recipe.tools if plugins.tool.traits(name).searches), "")

    def search(self, queries: dict[int, str]) -> Steps[dict[int, list[Source]]]:
        """Return the found documents of the library; if statements are searched again, also all others."""
        seen = yield from self.use(self.searches, {n: {"query": clip(query, _QUERY)} for n, query in queries.items()})
        return {n: [s for s in found.sources if self._anywhere or _in_library(s.url)] for n, found in seen.items()}

    def read(self, addresses: dict[int, str], goals: dict[int, str]) -> Steps[dict[int, Observation]]:
        """Return what is read at these addresses."""
        return (
            yield from self.use(
                self._reader, {n: {"url": url, "goal": goals.get(n, "")} for n, url in addresses.items()}
            )
        )

    def use(self, tool: str, arguments: dict[int, dict[str, str]]) -> Steps[dict[int, Observation]]:
        """Return the results of calls of one tool."""
        calls = tuple(ToolCall(f"{tool}-{n}", tool, dict(each)) for n, each in arguments.items())
        seen: list[Observation] = []
        for start in range(0, len(calls), MOST_CALLS):
            seen += yield from self._run.use(Reply(text="", calls=calls[start : start + MOST_CALLS]))
        return dict(zip(arguments, seen, strict=True))


class _Trial:
    """The state of checking one report."""

    def __init__(self, run: Run, report: Report, most: int, given: Given) -> None:
        self.run, self.report, self.given = run, report, given
        self._tools = _Tools(run, anywhere=bool(given.again))
        self._offline = _offline(run)
        self.miscounts = miscounts(report.body)
        self._known = {each.n: each for each in given.known}
        self.statements = {n: each for n, each in self._known.items() if n not in given.again}
        self._opened: dict[str, int] = {}
        self._beside: dict[int, list[int]] = {}
        """The documents that were read for single statements, by the statement's place."""
        self._near: dict[int, list[int]] = defaultdict(list)
        """The user's documents found for it; one about something else may have the closest passage."""
        self._tabled: dict[int, Citation] = {}
        # A statement citing all of the Factbook is searched like one citing nothing.
        book = {n for n, each in enumerate(report.sources, 1) if shelf.is_factbook(each.text)}
        said = report.statements
        self._all = [replace(each, numbers=tuple(n for n in each.numbers if n not in book)) for each in said]
        again = given.again
        self._kept = {n - 1: n for n in range(1, min(len(self._all), MOST_STATEMENTS) + 1) if n in again or not again}
        """Maps the place of each checked statement to its number."""
        if again:
            self._all = [replace(each, numbers=()) for each in self._all]
        self._cited = Counter(n for place in self._kept for n in set(self._all[place].numbers))
        used = sorted(self._cited)
        self.wanted: list[_Wanted] = [(n, report.sources[n - 1]) for n in used[:most]]
        names = {n: (clip(each.name, 300), clip(each.url, 2_000)) for n in used for each in [report.sources[n - 1]]}
        self.sources = {n: AuditedSource(n, *each, cited=self._cited[n]) for n, each in names.items()}
        with speaking(run.language):
            self.notes = tuple(_notes(report, given, over=len(used) - len(self.wanted), most=len(self.wanted)))

    def record(self) -> Record:
        """Return what was found."""
        found = list(self.statements.values())
        return Record(self.given.title, found, list(self.sources.values()), self.miscounts, self.notes)

    def open(self) -> Steps[None]:
        """Emit the findings known before reading."""
        sources, statements = tuple(self.sources.values()), tuple(self.statements.values())
        total = len(self._kept) + len(statements)
        first = Audited(statements=statements, sources=sources, miscounts=self.miscounts, total=total, notes=self.notes)
        yield from self.run.context.mark(first)

    def _found(self, states: Sequence[AuditedSource]) -> Steps[None]:
        self.sources |= {each.n: each for each in states}
        if states:
            yield from self.run.context.mark(Audited(sources=tuple(states)))

    def _state(self, n: int, state: LinkState, reason: str) -> AuditedSource:
        return replace(self.sources[n], state=state, reason=reason)

    def visit(self, wanted: Sequence[_Wanted]) -> Steps[None]:
        """Read each web source once, a few at a time, two per host."""
        for batch in _polite(wanted):
            yield from self._open({n: each.url for n, each in batch})

    def look_up(self, wanted: Sequence[_Wanted]) -> Steps[None]:
        """Read the user's documents titled like a source without an address."""
        with speaking(self.run.language):
            missing = say("the report has no such entry in its list of sources")
            unlisted = [self._state(n, "not_listed", missing) for n, each in wanted if each.unlisted]
        yield from self._found(unlisted)
        yield from self._open({n: self.given.chosen[n] for n, _ in wanted if n in self.given.chosen}, own=True)
        asked = wanted if self._tools.searches else ()
        listed = [(n, each) for n, each in asked if not each.unlisted and n not in self.given.chosen]
        for start in range(0, len(listed), TOGETHER):
            batch = listed[start : start + TOGETHER]
            own = yield from self._tools.search({n: _query(each) for n, each in batch})
            meant = {n: link_states.best_matches(each, own[n]) for n, each in batch}
            near = yield from self._tools.search({n: self._goal(n) for n, _ in batch if not meant[n]})
            meant |= {n: link_states.best_matches(each, near[n]) for n, each in batch if n in near}
            with speaking(self.run.language):
                unclear = [
                    self._unclear(n, meant[n] or link_states.may_be_meant(each, [*near[n], *own[n]]))
                    for n, each in batch
                    if len(meant[n]) != 1
                ]
            yield from self._found(unclear)
            yield from self._open({n: found[0].url for n, found in meant.items() if len(found) == 1}, own=True)

    def research(self) -> Steps[None]:
        """Read the library on each statement that cites nothing, or a country's whole Factbook entry."""
        cited = {i: self._countries(self._all[i]) for i in self._kept}
        places = [i for i in cited if cited[i] or not self._all[i].numbers]
        if over := len(places[MOST_RESEARCHED:]):
            with speaking(self.run.language):
                why = say(
                    "{number} statements were not looked for: at most {most} are", number=over, most=MOST_RESEARCHED
                )
            self.notes += (why,)
            yield from self.run.context.mark(Audited(notes=(why,)))
            places = places[:MOST_RESEARCHED]
        for start in range(0, len(places) if self._tools.searches else 0, TOGETHER):
            said = {i: without_marks(self._all[i].text) for i in places[start : start + TOGETHER]}
            about = {i: [each for each in map(_query, cited[i]) if each not in said[i]] for i in said}
            asked = {i: _queries(" ".join([*about[i], said[i]]), self._offline) for i in said}
            queries = list(dict.fromkeys(each for own in asked.values() for each in own))
            seen_for = yield from self._tools.search(dict(enumerate(queries)))
            rows = {i: zip_longest(*(seen_for[queries.index(each)] for each in asked[i])) for i in said}
            found = {i: [each for some in rows[i] for each in some if each] for i in said}
            meant = {i: self._on(i, found[i]) for i in said}
            own = {i: [each.url for each in found[i] if is_users_own(each.url)][:_BESIDE] for i in said}
            fresh = [url for url in dict.fromkeys(chain(*meant.values(), *own.values())) if url not in self._opened]
            seen = yield from self._tools.read(dict(enumerate(fresh)), {})
            self._opened |= {url: seen[n].sources[0].n for n, url in enumerate(fresh) if seen[n].sources}
            for i in said:
                self._near[i] = [self._opened[url] for url in own[i] if url in self._opened]
                read = (each for each in self.run.context.ledger.sources if each.n in self._near[i])
                both = dict.fromkeys([*meant[i], *self._on(i, read)])  # an excerpt may leave out what it is about
                self._beside[i] = [self._opened[url] for url in both if url in self._opened]

    def calculate(self) -> Steps[None]:
        """Ask the user's tables what statements say that cite nothing, or one of these files."""
        files = {n: each.found_url or each.url for n, each in self.sources.items() if each.state in READ}
        asked = {i: {files[n] for n in self._all[i].numbers if n in files} for i in self._kept}
        own = [i for i in asked if not self._all[i].numbers or any(map(_in_library, asked[i]))][:MOST_RESEARCHED]
        if QUERY in self.run.recipe.tools and own:
            said = {i: without_marks(self._all[i].text) for i in own}
            found = yield from tabled(said, self._offline, partial(self._tools.use, QUERY))
            urls = {each.n: each.url.partition("#")[0] for each in self.run.context.ledger.sources}
            self._tabled = {i: each for i, each in found.items() if not asked[i] or urls[each.n] in asked[i]}

    def _on(self, place: int, found: Iterable[Source]) -> list[str]:
        """Return the addresses of documents on the country that a statement cites, else on its names."""
        statement = self._all[place]
        cited, text = self._countries(statement), f"{statement.context}; {without_marks(statement.text)}"
        text = "; ".join([text, *self._offline.places(text)])
        meant = (
            each.url
            for each in found
            if any(name.means_country(each.title) for name in cited) or (not cited and link_states.concerns(text, each))
        )
        return list(dict.fromkeys(meant))[: max(_BESIDE, len(_queries(text, self._offline)))]

    def _countries(self, statement: Statement) -> list[Reference]:
        """Return the references of a statement to a country's whole entry, of which one section was read."""
        named = ((self.report.sources[n - 1], self.sources[n].found_title) for n in statement.numbers)
        return [each for each, section in named if each.means_country(section)]

    def _open(self, addresses: dict[int, str], *, own: bool = False) -> Steps[None]:
        """Read sources at these addresses: pages, or documents of the user's `own`."""
        seen = yield from self._tools.read(addresses, {n: self._goal(n) for n in addresses})
        with speaking(self.run.language):
            found = [self._read(n, seen[n], own=own) for n in addresses]
        yield from self._found(found)

    def leave_rest(self) -> Steps[None]:
        """Explain why sources were not looked for."""
        with speaking(self.run.language):
            more = say("not looked for: the limit of this check was reached")
            none = say("it has no address, and none of your documents was searched")
            rest = [
                self._state(n, "not_asked", more)
                if each.url or self._tools.searches
                else self._state(n, "not_found", none)
                for n, each in self.sources.items()
                if each.state == "not_asked" and not each.reason
            ]
        yield from self._found(rest)

    def _unclear(self, n: int, meant: Sequence[Source]) -> AuditedSource:
        """Return a source without an address or a read document, with documents that may be meant."""
        if not meant:
            return self._state(n, "not_found", say("it has no address, and none of your documents has its title"))
        titles = say("; ").join(f"“{each.title}”" for each in meant[:_BESIDE])
        state = self._state(n, "not_found", say("it may be any of several of your documents: {titles}", titles=titles))
        return replace(state, candidates={each.url: each.title for each in meant})

    def _goal(self, n: int) -> str:
        said = (without_marks(self._all[place].text) for place in self._kept if n in self._all[place].numbers)
        return clip(" ".join(said), _GOAL) or self.given.title

    def _read(self, n: int, seen: Observation, *, own: bool) -> AuditedSource:
        reference = self.report.sources[n - 1]
        reference = replace(reference, url="") if own else reference
        found = link_states.state_of(reference, seen)
        if own and found.state == "other_work":  # it was chosen by its title
            found = link_states.Found("reachable")
        page = seen.sources[0] if seen.ok and seen.sources else None
        return replace(
            self._state(n, found.state, found.reason),
            found_url=page.url if page and page.url != reference.url else "",
            found_title=clip(page.title, 300) if page else "",
            ledger=page.n if page and found.state in READ else 0,
        )

    def judge(self) -> Steps[tuple[Citation, ...]]:
        """Judge every statement against its sources; return the citations."""
        context = self.run.context
        ledger = {n: each.ledger for n, each in self.sources.items() if each.ledger}
        mapped = [
            _numbered(each, ledger, self._beside.get(i, ())) if i in self._kept else replace(each, numbers=())
            for i, each in enumerate(self._all)
        ]
        checks = enumerate(check_statements(mapped, context.ledger.sources, knows=self._offline))
        at_end = bool(self.run.recipe.judged_by)
        by_place: dict[int, list[Citation]] = {}
        for place, found in checks:
            if place in self._kept:
                sure = any(each.status in JUDGED for each in found) or place not in self._tabled
                by_place[place] = found if sure else [self._tabled[place]]
                if not at_end and len(by_place) % SLICE == 0:
                    yield from self._verdicts(list(by_place)[-SLICE:], by_place)
        if at_end:
            context.check_pause()
            flat = tuple(each for found in by_place.values() for each in found)
            after = iter((yield from judge(self.run, flat)))
            by_place = {place: [next(after) for _ in found] for place, found in by_place.items()}
        left = [place for place in by_place if self._kept[place] not in self.statements]
        for start in range(0, len(left), SLICE):
            yield from self._verdicts(left[start : start + SLICE], by_place)
        return tuple(each for found in by_place.values() for each in found)

    def _verdicts(self, places: Sequence[int], by_place: dict[int, list[Citation]]) -> Steps[None]:
        self.run.context.check_pause()
        with speaking(self.run.language):
            found = [self._settled(self._verdict(place, by_place[place])) for place in places]
        self.statements |= {each.n: each for each in found}
        yield from self.run.context.mark(Audited(statements=tuple(found)))

    def _settled(self, found: AuditedStatement) -> AuditedStatement:
        """Return what the check before found if a statement that it refuted is now open."""
        known = self._known.get(found.n)
        return known if known and known.verdict in FAILS and found.verdict in OPEN else found

    def _verdict(self, place: int, citations: Sequence[Citation]) -> AuditedStatement:
        statement = self._all[place]
        found = judged(self._kept[place], statement, self.sources, citations)
        beside = list(dict.fromkeys(each.n for each in citations))
        seen = self.run.context.ledger.sources
        if found.found:
            title = next(each.title for each in seen if each.n == found.found)
            given = [value for each in citations for reason in each.reasons for _, value in reason.values]
            if found.verdict == "supported" or any(value in found.quote for value in given):
                return replace(found, reason=say("found in “{title}”", title=title))
            return replace(found, reason=say("found in “{title}”: {reason}", title=title, reason=found.reason))
        if found.verdict == "no_source" and self._tools.searches:
            found = replace(found, reason=say("no passage clearly confirms or denies it"))
        if found.verdict in ("no_source", "unverified"):
            near = [*{each.n: each for each in seen if each.n in beside}.values()]
            near += [each for each in seen if each.n in self._near[place]]  # the user's documents, all that were read
            found = beside_closest(found, [(each.title, each.quote) for each in near])
        if len(beside) < 2:
            return found
        parts = {n: [each for each in seen if each.n == n] for n in beside[:_BESIDE]}
        alone = {n: check_claim(found.text, part, self._offline)[0] for n, part in parts.items()}
        return replace(found, opinions=opinions(self.sources, statement.numbers, alone))


def _notes(report: Report, given: Given, *, over: int, most: int) -> Iterable[str]:
    """Yield what a check leaves out, in the language that is spoken."""
    if (found := len(report.statements)) > MOST_STATEMENTS:
        yield say("{number} statements are checked; the report has {all}", number=MOST_STATEMENTS, all=found)
    if over:
        yield say("{number} sources were not looked for: at most {most} are", number=over, most=most)
    if report.dropped:
        yield say("{number} citations name more sources than can be numbered", number=report.dropped)
    if report.listed and not given.again:
        yield say("{number} entries of the reference list are cited nowhere", number=report.listed)


def _numbered(statement: Statement, ledger: dict[int, int], beside: Iterable[int]) -> Statement:
    """Return a statement with the report's source numbers replaced by the run's."""
    cited = (ledger[n] for n in statement.numbers if n in ledger)
    return replace(statement, numbers=tuple(dict.fromkeys([*cited, *beside])))


def _in_library(url: str) -> bool:
    return url.startswith(LIBRARY)


def _offline(run: Run) -> KnowsMeasures:
    found = run.context.models(OFFLINE)
    assert isinstance(found, KnowsMeasures)
    return found


def _query(reference: Reference) -> str:
    named = f"{reference.author} {reference.title}".strip() or reference.text
    return _ENDING.sub("", shelf.subject(reference.url if shelf.in_factbook(reference.url) else named))


def _queries(text: str, offline: KnowsMeasures) -> list[str]:
    """Return the queries for a statement: one for each name if it compares several, else all of it."""
    names = offline.places(text)
    if len(names) < 2 and (name := "|".join(re.escape(each) for each in named(text) if content_tokens(each))):
        names = list(dict.fromkeys(re.findall(rf"(?:{name})(?: (?:{name}))*", text)))
    labels = [_BORDERS] if says("borders", text) else labels_in(text) or [*filter(None, [offline.measure_of(text)])]
    if not 1 < len(names) < _NAMED:
        return [" ".join([text, *labels])]
    if labels:
        return [" ".join([each, *labels]) for each in names]
    topic = set(content_tokens(text)) - set(content_tokens(" ".join(names)))
    said = ["population" if word in listed("population") else word for word in content_tokens(text) if word in topic]
    measured = [word for word in said if word not in listed("high") | listed("low")]
    return [" ".join([each, *(measured or said)]) for each in names]


def _polite(wanted: Sequence[_Wanted]) -> Iterable[list[_Wanted]]:
    """Yield the sources in batches with few of one host."""
    while wanted:
        hosts: Counter[str] = Counter()
        batch: list[_Wanted] = []
        later: list[_Wanted] = []
        for each in wanted:
            hosts[host := host_of(each[1].url).partition("//")[2]] += 1
            (batch if len(batch) < TOGETHER and hosts[host] <= OF_A_SITE else later).append(each)
        yield batch
        wanted = later
