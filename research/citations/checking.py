"""Check each statement of an answer against the sources it cites.

The rules decide only what anybody can see: a sentence word for word, a labelled figure, or a calculation from labelled
figures.  All else is left to a judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from os.path import commonprefix
from typing import Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from research.citations.closest import closest
from research.citations.derived import (
    OPERATIONS,
    compare,
    denied,
    derive,
    inputs_of,
    members,
    neighbours,
    passing,
    per_unit,
    stands,
    written_of,
)
from research.citations.labelled import (
    Cell,
    Match,
    Told,
    accounted,
    cells_of,
    ending_so,
    listed_for,
    match,
    mentioned,
    told,
)
from research.citations.language import listed, says, spoken, words
from research.citations.marks import Statement, statements, without_marks
from research.citations.naming import Named, match_date, match_name, named_by, other_person
from research.citations.order import Index, chosen
from research.citations.parts import halves, joined
from research.citations.reasons import DEAD, OPEN, because, one_line
from research.citations.verbatim import QUOTES, Sentence, contains, of_some, stated
from research.quantities import Quantity, quantities
from research.text import has_cjk
from research.types import HOLDS, Citation, Reason, Source, Verdict

BY = "rules"
"""The judge named in every verdict here."""
VERBATIM = because("word for word")
LABELLED = because("the source gives this figure")
_EMPHASIS = re.compile(r"\*+|(?<![^\W_])_{1,3}(?=\S)|(?<=\S)_{1,3}(?![^\W_])")
_LONGEST_CLAIM = 2_000
"""Characters of a statement that the rules check."""
_MOST_CLAIMS = 500
"""Cited statements of one report that the rules check."""
_LONGEST_PAIR, _DEEP = 300, 2
"""Characters of a claim of two halves that are compared, and how often a half is cut again."""
JUDGED = ("contradicted", "supported", "calculated")
"""Verdicts of the rules, the one that counts of two halves first."""
_BEGIN = 5
"""Characters by which an article at the beginning is seen."""
_BEFORE = 3
"""Statements before one that may have the figures it is calculated from."""
_FIGURES = 8
"""Figures of a claim that may be calculated from the others."""


class TableFinding(Struct, frozen=True):
    """What the result of a query says of a statement."""

    holds: bool
    sentence: str
    """What it gives, in the language of the statement."""
    figure: str
    """The figure or name that the statement should have."""
    n: int
    """The number of its source."""


@runtime_checkable
class KnowsMeasures(Protocol):
    """A model that knows the measures of countries by other words than their labels."""

    def meant(self, claim: str, said: Told, cells: Sequence[Cell]) -> tuple[Cell, bool] | None:
        """Return the labelled figure that a claim in other words is about, and whether it is the claim's; None if unclear."""

    def compared(self, claim: str, said: Told, cells: Sequence[Cell]) -> list[tuple[Cell, Quantity | None]]:
        """Return the figures that a claim compares, that of its subject first, each with what it says of it; empty if unclear."""

    def places(self, text: str) -> list[str]:
        """Return the English names of the countries that a sentence names, by whatever name, in its order."""

    def measure_of(self, text: str) -> str:
        """Return the label of the measure that a sentence is most likely about; empty if none is likely."""

    def queries(self, claim: str, described: str, results: Mapping[str, Source | None]) -> list[str]:
        """Return the SQL, not in `results` yet, that finds what a claim says in the tables that are described."""

    def tabled(self, claim: str, described: str, results: Mapping[str, Source | None]) -> TableFinding | None:
        """Return what these results say of a claim; None if it is unclear."""


def check(answer: str, sources: Sequence[Source], computed: Iterable[str] = ()) -> tuple[Citation, ...]:
    """Check each cited statement against the quotes of its sources; return one `Citation` per statement and number.

    `dead`: no source has that number.  `supported`: a source says it word for word, or in a labelled figure.  `calculated`:
    its figure follows from labelled ones, by the formula in the reason.  `contradicted`: the sentence or the labelled line
    has another figure.  `unverified`: a judge has to read it; the quote is the nearest passage.  `computed` are outputs of
    the python tool.
    """
    found = statements(answer)
    return tuple(each for some in check_statements(found, sources, computed) for each in some)


def check_statements(
    found: Sequence[Statement],
    sources: Sequence[Source],
    computed: Iterable[str] = (),
    knows: KnowsMeasures | None = None,
) -> Iterator[list[Citation]]:
    """Check statements as `check` does, and those in other words by what `knows` reads; yield the citations of each."""
    checker = _Checker(sources, {n for each in found for n in each.numbers}, computed, knows)
    for at, statement in enumerate(found):
        yield checker.citations(statement, found[max(at - _BEFORE, 0) : at][::-1])


def check_claim(claim: str, sources: Sequence[Source], knows: KnowsMeasures | None = None) -> tuple[Citation, ...]:
    """Check one sentence without marks against all given sources; return one `Citation` per source."""
    numbers = tuple(dict.fromkeys(source.n for source in sources))
    return tuple(_Checker(sources, set(numbers), (), knows).citations(Statement(claim, numbers=numbers), ()))


class _Found(Struct, frozen=True):
    """A verdict, and the lines that decide it by the number of their source."""

    status: Verdict
    reasons: tuple[Reason, ...]
    lines: dict[int, str]
    text: str = ""
    """The claim in the words of the labels, by which the nearest line is found."""
    prose: bool = False
    """Whether the lines are sentences, of which the next may be about another subject."""


class _Page(Struct, frozen=True, dict=True):
    """What is read of a source once for all claims."""

    n: int
    title: str
    text: str
    sentences: list[Sentence]
    cells: list[Cell]
    names: list[Named]
    lines: list[str]
    """Pieces of its lines, of which the nearest is shown beside a claim that stays open."""

    @cached_property
    def index(self) -> Index:
        """Its sentences, in one order of words."""
        return Index(self.title, self.text, self.sentences)


def _wrapped(text: str, limit: int = 2_000) -> list[str]:
    """Return a text in pieces of at most `limit` characters, cut at white space where there is some."""
    pieces = []
    while len(text) > limit:
        cut = max(text.rfind(" ", limit // 2, limit), 0) or limit
        pieces.append(text[:cut])
        text = text[cut:].lstrip()
    return [*pieces, text]


def _page(source: Source) -> _Page:
    cells = cells_of(source)
    lines = [line for line in source.quote.splitlines() if not line.lstrip().startswith("|")]
    calculated = any(cell.how for cell in cells)  # the result of a query is quoted by its cells
    rows = [*(() if calculated else lines), *dict.fromkeys(cell.line for cell in cells)]
    pieces = [piece for row in rows if row.strip() for piece in _wrapped(row.strip())]
    return _Page(source.n, source.title, source.quote, list(stated(source)), cells, list(named_by(source)), pieces)


def _whole(sources: Sequence[Source]) -> Iterator[Source]:
    """Yield the sources without excerpts of which a longer one is there: what stands above a sentence is in that one."""
    for source in sources:
        if not any(
            source.n == each.n and source.quote != each.quote and source.quote in each.quote for each in sources
        ):
            yield source


class _Checker:
    def __init__(
        self, sources: Sequence[Source], cited: set[int], computed: Iterable[str], knows: KnowsMeasures | None = None
    ) -> None:
        self.pages = [_page(source) for source in _whole([each for each in sources if each.n in cited])]
        self.computed = [q for text in computed for q in quantities(text) if q.kind in ("number", "year")]
        self.checked, self.knows = 0, knows

    def citations(self, statement: Statement, before: Sequence[Statement]) -> list[Citation]:
        """Return a citation for each number that a statement cites; `before` are the statements before it, last first."""
        if not statement.numbers:
            return []
        claim = without_marks(statement.text)
        pages = [page for page in self.pages if page.n in statement.numbers]
        self.checked += 1
        found = self.read(claim, statement.context, before, pages)
        return [self._citation(n, claim, found, [page for page in pages if page.n == n]) for n in statement.numbers]

    def _citation(self, n: int, claim: str, found: _Found, own: Sequence[_Page]) -> Citation:
        if not own:
            return Citation(n, claim, "dead", reason=str(DEAD), by=BY, reasons=(DEAD,))
        status, reasons = found.status, found.reasons
        if status != "unverified" and n not in found.lines:
            spare = because("the other sources support this; this one adds nothing to it")
            status, reasons = "unverified", (spare if status in HOLDS else OPEN,)
        quote = (
            found.lines.get(n) or closest(found.text or claim, (("", line) for page in own for line in page.lines))[1]
        )
        return Citation(n, claim, status, quote, one_line(reasons), BY, reasons=reasons)

    def read(
        self, claim: str, context: str, before: Sequence[Statement], pages: Sequence[_Page], depth: int = _DEEP
    ) -> _Found:
        """Return what the cited sources say of a claim, or one of its sentences or rows of both its halves."""
        whole = self.find(claim, context, before, pages)
        if whole.status != "unverified" or not depth or len(claim) > _LONGEST_PAIR or whole.reasons != (OPEN,):
            return whole
        for first, seconds in halves(claim):
            one = self.read(first, context, before, pages, depth - 1)
            for second in seconds if one.status in JUDGED else ():
                other = self.read(second, context, before, pages, depth - 1)
                # `Its capital is Oslo, with 700,000 people` may give the people of either
                unclear = other.status == "contradicted" and second not in claim and not quantities(first)
                if not unclear and (found := _both(one, other)):
                    return found
        return whole

    def find(self, claim: str, context: str, before: Sequence[Statement], pages: Sequence[_Page]) -> _Found:
        """Return what the cited sources say of a claim below a heading."""
        if (limit := _limit(claim, self.checked)) is not None:
            return _Found("unverified", (limit,), {})
        plain = _EMPHASIS.sub("", claim)
        cells = [cell for page in pages for cell in page.cells]
        row = rowed(plain, context)
        said = told(row, cells, [page.title for page in pages])
        above = [*(each.text for each in before if each.context == context), context]
        bare = _attributed(plain, [page.title for page in pages])
        verbatim = _verbatim(bare, pages, above)
        if not verbatim and has_cjk(plain) and (read := _verbatim(said.text, pages)):  # about an English line
            verbatim = replace(read, reasons=(LABELLED,), prose=False) if read.status == "supported" else read
        if verbatim and verbatim.status == "supported":
            return verbatim
        if found := _labelled(said, cells, context) or _named(said.text if has_cjk(plain) else row, pages):
            return found
        if not verbatim and (found := _other_person(plain, pages)):
            return found
        earlier = [told(_EMPHASIS.sub("", without_marks(each.text)), cells) for each in before]
        found, knows = _calculated(said, cells, earlier, self.computed) or verbatim, self.knows
        if joined(plain):  # two facts, of which each is read alone
            knows = None
        if not found and knows and (labelled := knows.meant(plain, said, cells)):
            found = _stated(*labelled)
        if not found and knows and (compared := knows.compared(plain, said, cells)):
            found = _related(said, compared)
        return found or _Found("unverified", self._printed_only(said), {}, said.text if bare == plain else bare)

    def _printed_only(self, said: Told) -> tuple[Reason, ...]:
        """Return why a claim is left open; a figure that the python tool printed without cited inputs is named."""
        printed = next((q for q in said.figures if any(q.states(each) for each in self.computed)), None)
        if printed is None:
            return (OPEN,)
        return (
            because(
                "the python tool printed {figure}, but the cited sources do not give its inputs", figure=printed.written
            ),
        )


def _both(one: _Found, other: _Found) -> _Found | None:
    """Return what is said of a claim of two halves, by the same sentences or by labelled lines; None if it is not clear."""
    if not {one.status, other.status} & HOLDS or not {one.status, other.status} <= set(JUDGED):
        return None
    worst = min((one, other), key=lambda each: JUDGED.index(each.status))
    if one.prose or other.prose:
        same = dict(one.lines.items() & other.lines.items())
        return _Found(worst.status, worst.reasons, same, prose=True) if same else None
    if worst.status == "contradicted":
        return worst
    lines = one.lines | other.lines
    for n in one.lines.keys() & other.lines.keys():
        lines[n] = "\n".join(dict.fromkeys((one.lines[n], other.lines[n])))
    return _Found(worst.status, tuple(dict.fromkeys(one.reasons + other.reasons)), lines)


def _verbatim(claim: str, pages: Sequence[_Page], context: Sequence[str] = ()) -> _Found | None:
    """Return whether sentences say a claim, of the subject above them, or otherwise."""
    some = of_some(claim) if says("duty", claim) else claim  # `Pilots must rest` is said of all pilots
    found = [
        (page.n, each)
        for page in pages
        for form in dict.fromkeys((claim, some))
        for each in page.index.hits(form)
        if form == claim or each.sentence.text[:_BEGIN].casefold() == form[:_BEGIN].casefold()
    ]
    own = chosen(found, [without_marks(each) for each in context], claim)
    agreed = {each.other for _, each in own}
    several = sum(each is None or bool(re.search(r"\d", each)) for each in agreed) > 1
    quoted = claim.lstrip()[:1] in tuple(QUOTES)
    sure = len(agreed) == 1 and "" not in agreed
    if not sure:
        own = [(n, each) for n, each in found if not each.subject]
        if several and any(each.sentence.later for _, each in own):
            return None  # each may be of another subject
        if any(each.other is None for _, each in own):
            own = [(n, each) for n, each in own if each.other is None]
    own = [(n, each) for n, each in own if quoted or not each.sentence.quoted]
    lines = {n: each.sentence.whole or each.sentence.text for n, each in own}
    if own and all(each.other is None for _, each in own):
        return _Found("supported", (VERBATIM,), lines, prose=True)
    others = {each.other for _, each in own if each.other}
    others = {each for each in others if re.search(r"\d", each)} or others
    if several or len(others) != 1 or not (sure or not any(contains(page.lines, claim) for page in pages)):
        return None
    return _Found("contradicted", (_other(others.pop()),), lines, prose=True)


def _other(said: str) -> Reason:
    """Return why a sentence refutes a claim that differs from it in what the sentence says: a figure, or a word."""
    if said in listed("not"):
        return because("the source says the opposite")
    if not re.search(r"\d", said):
        return because("the source gives {figure}", figure=said)
    return because("the source has the same words with another figure: {figure}", figure=said)


def _named(claim: str, pages: Sequence[_Page]) -> _Found | None:
    """Return whether a labelled line or a row names what a claim names, or something else in its place."""
    known = [each for page in pages for each in page.names]
    found = match_name(claim, known) or match_date(claim, known)
    if found is None:
        return None
    holds, named = found
    same = because("the source gives this name")
    reason = (
        same if holds and not says("not", claim) else because("the source gives {figure}", figure=named.value.strip())
    )
    return _Found("supported" if holds else "contradicted", (reason,), {named.n: named.line})


def _other_person(claim: str, pages: Sequence[_Page]) -> _Found | None:
    """Return the contradiction of a claim by sentences that name one other person in the same place."""
    said = [
        (page.n, claim[at:], each)
        for page in pages
        for each in (page.sentences if has_cjk(claim) else ())
        if (at := claim.find(each.text[:2])) >= 0
        and claim[:at].rstrip("的") == commonprefix([claim[:at].rstrip("的"), each.lead])
    ]
    found = [(person, n, each.whole or each.text) for n, own, each in said if (person := other_person(own, each))]
    if len({person for person, *_ in found}) != 1 or any(contains(page.lines, claim) for page in pages):
        return None
    reason = because("the source gives {figure}", figure=found[0][0])
    return _Found("contradicted", (reason,), {n: line for _, n, line in found}, prose=True)


def _attributed(claim: str, titles: Iterable[str]) -> str:
    """Return the quotation in a claim that is one below the title of its source; any other claim as it is."""
    said = next((claim[len(each) :] for each in titles if each and claim.startswith(each)), "")
    found = re.fullmatch(r"\s?[:：]\s?(?P<quote>[“「\"][^“”「」\"]+[”」\"])\s?", said)
    return found["quote"] if found else claim


def rowed(claim: str, context: str) -> str:
    """Return a row of a table with the head of its column before each figure; any other claim as it is."""
    cells = claim.split(" | ")
    if len(cells) < 2:
        return claim
    heads = context.split("; ")[-len(cells) :]
    return ", ".join(
        f"{head}: {cell}" if re.search(r"\d", cell) else cell for head, cell in zip(heads, cells, strict=False)
    )


def _limit(claim: str, n: int) -> Reason | None:
    """Return why the nth claim of a report is left unchecked, so that no report occupies the checker for long."""
    if len(claim) > _LONGEST_CLAIM:
        return because("the statement has more than {number} characters", number=f"{_LONGEST_CLAIM:,}")
    if n > _MOST_CLAIMS:
        return because("the report cites in more than {number} statements", number=f"{_MOST_CLAIMS:,}")
    return None


def _labelled(said: Told, cells: Sequence[Cell], context: str) -> _Found | None:
    """Return what labelled lines say of a claim about them; None if it says anything else, or they cannot tell."""
    own = words(said.text)
    whole = {cell.label for cell in cells if cell.label <= own}
    # `Kenya has 55.8 million people` is about its population, not about that of one of its cities
    items = [(cell, listed_for(cell, said.text)) for cell in cells]
    cells = [cell if item.label in whole else item for cell, item in items]
    found = match(said, cells, context)
    if found is None:  # a shorter name of a measure is enough for what its figure confirms, not to refute one
        found = match(said, ending_so(cells, said), context)
        if found is None or not all(found.held):
            return None
    lines = _lines(found.cells)
    compared = _compared(said, found, cells)
    if not all(found.held):
        return _refuted(said, found, cells) if compared is None else None
    if compared == "":
        return None
    made: dict[str, list[str]] = {}
    for figure, cell in zip(found.figures, found.cells, strict=False):
        if cell.made:
            made.setdefault(cell.how, []).append(figure.written)
    if made:
        return _Found("calculated", tuple(Reason(f"{', '.join(each)}: {how}") for how, each in made.items()), lines)
    return _Found("supported", (LABELLED,), lines)


def _compared(said: Told, found: Match, cells: Sequence[Cell]) -> str | None:
    """Return how the figures of a claim compare that says so, empty if they do not; None if it does not say so."""
    if any(cell.rank for cell in found.cells):
        return compare(said, found.cells)
    labels = frozenset(word for cell in found.cells for word in cell.label)
    if not (says("high", said.text) or says("low", said.text)) or spoken(*OPERATIONS) & labels:
        return None
    first = found.cells[0]
    column = first.how, first.written
    others = [cell for cell in cells if (cell.how, cell.written) == column and cell.names != first.names]
    return compare(said, [first, *others] if first.how else found.cells) or ""


def _refuted(said: Told, found: Match, cells: Sequence[Cell]) -> _Found | None:
    """Return the contradiction of the only figure of a claim by the line with its label and year, or by all if it is of now."""
    if len(found.cells) > 1 or found.cells[0].how:
        return None
    (figure,), (cell,) = found.figures, found.cells
    same = [each for each in cells if (each.names, each.label) == (cell.names, cell.label) and not said.years]
    earlier = len({each.year for each in same}) > 1 and not (has_cjk(said.text) or says("now", said.text))
    if earlier or not all(differs(figure, each.quantity) for each in (cell, *same)):
        return None
    return _stated(cell, False)


def _stated(cell: Cell, holds: bool) -> _Found:
    """Return that a labelled figure holds a claim, or refutes it."""
    reason = LABELLED if holds else because("the source gives {figure}", figure=cell.quantity.written)
    return _Found("supported" if holds else "contradicted", (reason,), {cell.n: cell.line})


def differs(figure: Quantity, seen: Quantity) -> bool:
    """Return whether a figure of a claim is plainly another than that of a source."""
    unscaled = re.sub(r"\W", "", figure.written) == re.sub(r"\D", "", seen.written)  # 5,686, of a column in millions
    rounded = (
        seen.states(figure) or figure.rounds(seen) or abs(seen.value - figure.value) <= max(seen.half, figure.half)
    )
    loose = figure.limit and figure.bounds(seen) is not False
    if figure.hedge in ("about", "nearly", "past"):  # `about 79` is wrong of 85.2, which `about 80` may be
        loose = replace(figure, half=3 * figure.half).states(seen)
    return figure.unit == seen.unit and not (rounded or unscaled or loose or seen.hedge or figure.weak)


def _calculated(
    said: Told, cells: Sequence[Cell], before: Sequence[Told], printed: Sequence[Quantity]
) -> _Found | None:
    """Return how a figure of a claim follows from labelled ones, which the python tool may have calculated with.

    They are in the claim, else in a statement before it, else those of the names and the measure that it has.
    """
    if not said.dates and not said.ordinal and (near := neighbours(said, cells)):
        holds, lists = near
        reason = because("the source lists its neighbours")
        return _Found("supported" if holds else "contradicted", (reason,), _lines(lists))
    if not said.figures and not said.dates and not said.ordinal:
        meant = inputs_of(said, cells)
        each = accounted(said, meant, spoken("high", "low", "compared")) and not says("sum", said.text)
        return _set_against(said, meant) if each else None
    if all_of_them := members(said, cells):
        holds, rows = all_of_them
        count = because("the source lists {figure} countries", figure=len(rows))
        return _Found("calculated" if holds else "contradicted", (count,), _lines(rows))
    if past := passing(said, cells):
        return _Found("calculated", (Reason(", ".join(written_of(cell, past) for cell in past)),), _lines(past))
    said_words = words(said.text)
    known = [cell for cell in cells if cell.label <= said_words]
    given = tuple(q for q in said.figures if any(cell.states(q) for cell in known))
    for own, made in ((given, tuple(q for q in said.figures if q not in given)), ((), said.figures)):
        for inputs in _inputs(said, cells, before, own) if made else ():
            formulas = [derive(said, q, inputs) or _printed(said, q, inputs, printed) for q in made[:_FIGURES]]
            if reasons := tuple(each for each in formulas if each):
                return _Found("calculated", reasons, _lines(inputs)) if len(reasons) == len(made) else None
    return None


def _set_against(said: Told, cells: Sequence[Cell]) -> _Found | None:
    """Return whether labelled figures compare as a claim says; None if they cannot tell."""
    formula = compare(said, cells)
    if formula == "" and denied(said, cells):
        return _side_by_side(cells, False)
    return _Found("calculated", (Reason(formula),), _lines(cells)) if formula else None


def _related(said: Told, compared: Sequence[tuple[Cell, Quantity | None]]) -> _Found | None:
    """Return whether labelled figures stand to each other as a claim says, and are what it gives; None if they cannot tell."""
    cells = [cell for cell, _ in compared]
    holds = stands(said, cells)
    if holds is None or (holds and not all(figure is None or cell.states(figure) for cell, figure in compared)):
        return None
    return _side_by_side(cells, holds)


def _side_by_side(cells: Sequence[Cell], holds: bool) -> _Found:
    """Return that figures side by side hold a claim, or refute it."""
    both = ", ".join(written_of(cell, cells) for cell in cells)
    if holds:
        return _Found("calculated", (Reason(both),), _lines(cells))
    return _Found("contradicted", (because("the source gives {figure}", figure=both),), _lines(cells))


def _printed(said: Told, figure: Quantity, inputs: Sequence[Cell], printed: Sequence[Quantity]) -> Reason | None:
    """Return that the python tool printed a figure of a claim that says no more than its inputs and the operation."""
    if not any(figure.states(each) for each in printed) or not accounted(said, inputs, spoken(*OPERATIONS)):
        return None
    return because("the python tool printed {figure}", figure=figure.written)


def _inputs(
    said: Told, cells: Sequence[Cell], before: Sequence[Told], given: tuple[Quantity, ...]
) -> Iterator[Sequence[Cell]]:
    """Yield the labelled figures that a figure may be calculated from."""
    if given:
        own = replace(said, figures=given, text=per_unit(said.text)[0])
        inner = match(own, cells, extra=spoken(*OPERATIONS, "product", "rest", "per"))
        if inner and all(inner.held):
            yield inner.cells
        return
    for each in before:
        if (earlier := match(each, cells)) and all(earlier.held):
            names = mentioned(said.text, earlier.cells)
            yield sorted(earlier.cells, key=lambda cell: min(map(names.index, set(names) & set(cell.names)), default=0))
    if meant := inputs_of(said, cells):
        yield meant


def _lines(cells: Iterable[Cell]) -> dict[int, str]:
    """Return the lines of cells, by the number of their source."""
    found: dict[int, dict[str, None]] = {}
    for cell in cells:
        found.setdefault(cell.n, {})[cell.line] = None
    return {n: "\n".join(lines) for n, lines in found.items()}
