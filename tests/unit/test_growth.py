"""No pattern and no reader of foreign text takes more than linear time, whatever is repeated in its input.

The tests marked `slow` try everything; those of every run show that a quadratic one would be found.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import inspect
import pkgutil
import re
import signal
import time
from argparse import ArgumentTypeError
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from re import _compiler, _parser  # type: ignore[attr-defined]
from re import _constants as sre  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

import pytest

import pages.parts
import research
from pages.parts.shared import safe
from research import text as texts
from research._util.amounts import amount
from research._util.glossary import said
from research._util.redaction import key_pattern, mask_keys
from research._util.sentences import sentences
from research.auditing import styles
from research.citations import check, marks, urls
from research.citations.checking import check_claim
from research.citations.forgetting import losses
from research.compare import diff
from research.errors import ToolError, WorkbenchError
from research.exports import bibtex, blocks, markdown
from research.models.extractive import ExtractiveModel
from research.models.extractive.asked import parts_of
from research.models.extractive.kinds import kind_of
from research.models.extractive.names import Names
from research.models.extractive.question import parse as read_question
from research.models.extractive.words import directions
from research.models.tokens import count
from research.parsing import parse
from research.parsing.relaxed import Malformed, decode_all
from research.quantities import quantities
from research.search.merge import canonical, same_page
from research.types import Message, Observation, Passage, Request, Source, ToolCall, ToolSpec
from research.web.url_guard import UrlGuard, urls_in
from tests.growth import Text, grows, repeating, steeper, timed

ROOT = Path(__file__).parents[2]
REPEATED = tuple(" _[](1:\"|,中的a\n*`#<{\\/.-&'～") + ("1,", "a ", "Ab ", "[1]", "[a](", " \n", "、a")
HOSTILE = (*' _[(1:"|,中a`\\~', "[1]", "[a](", "a ", "A ", "Ab ", "1 ", "two ", "- a\n", "<tool_call>", "http://")
TOOLS = [ToolSpec("search", "", {"type": "object", "properties": {"query": {"type": "string"}}})]
SOURCES = [Source(1, "https://a.example/x", "T", "The river is 12 km long. It has 5 towns.")]


def patterns() -> dict[tuple[str, int], set[str]]:
    """Return every pattern of the source with where it is: compiled in a module, or written in a call of `re`."""
    found: dict[tuple[str, int], set[str]] = defaultdict(set)

    def collect(value: Any, where: str, deep: int = 0) -> None:
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            found[value.pattern, value.flags].add(where)
        elif deep < 5 and isinstance(value, list | tuple | set | frozenset):
            for each in value:
                collect(each, where, deep + 1)
        elif deep < 5 and isinstance(value, dict):
            collect([*value, *value.values()], where, deep + 1)
        elif deep < 5 and dataclasses.is_dataclass(value) and not isinstance(value, type):
            collect([getattr(value, field.name, None) for field in dataclasses.fields(value)], where, deep + 1)

    for module in modules():
        for name, value in list(vars(module).items()):
            collect(value, f"{module.__name__}.{name}")
    for path in [*ROOT.glob("research/**/*.py"), *ROOT.glob("pages/**/*.py")]:
        text = source_of(path)
        if re.search(r"\bre\.", text) is None:
            continue
        for pattern, flags, method, line in written(ast.parse(text)):
            found[pattern, flags].add(f"{path.relative_to(ROOT)}:{line}.{method}")
    return found


@cache
def source_of(path: Path) -> str:
    return path.read_text("utf-8")


def modules() -> Iterator[ModuleType]:
    for package in (research, pages.parts):
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not each.name.endswith("__main__"):
                try:
                    yield importlib.import_module(each.name)
                except ImportError:
                    continue  # an extra that is not installed


def written(tree: ast.AST) -> Iterator[tuple[str, int, str, int]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        if not isinstance(node.func.value, ast.Name) or node.func.value.id != "re":
            continue
        match node.args[0]:
            case ast.Constant(value=str(pattern)):
                pass
            case ast.JoinedStr(values=values) if (
                node.func.attr != "compile"
            ):  # compiled ones are found in their modules
                pattern = "".join(str(each.value) if isinstance(each, ast.Constant) else "x" for each in values)
            case _:
                continue
        flags = 0
        for each in [*node.args[1:], *(keyword.value for keyword in node.keywords)]:
            for inner in ast.walk(each):
                if isinstance(inner, ast.Attribute) and isinstance(flag := getattr(re, inner.attr, None), re.RegexFlag):
                    flags |= flag
        try:
            yield pattern, re.compile(pattern, flags).flags, node.func.attr, node.lineno
        except re.error:
            continue  # a variable in it is not a word


def only_from_the_start(where: Iterable[str]) -> bool:
    """Return whether all uses of a pattern match at one place, instead of searching."""
    used: set[str] = set()
    for place, _, name in (each.rpartition(".") for each in where):
        path = ROOT / (place.replace(".", "/") + ".py")
        if path.is_file():
            used |= set(re.findall(rf"\b{re.escape(name)}\b\.(\w+)\(", source_of(path))) or {"search"}
        elif name != "compile":
            used.add(name)
    return bool(used) and used <= {"match", "fullmatch"}


class Attack:
    """Texts made from a pattern: for each repetition in it, what comes before it, and what it repeats."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pairs: set[tuple[str, str]] = set()
        self.endless: list[re.Pattern[str]] = []
        self.whole = self._walk(_parser.parse(pattern, flags), "")

    def _walk(self, parts: Iterable[tuple[Any, Any]], text: str) -> str:
        for op, value in parts:
            if op is sre.LITERAL:
                text += chr(value)
            elif op in (sre.ANY, sre.NOT_LITERAL):
                text += "a"
            elif op is sre.IN:
                text += _member(value)
            elif op is sre.BRANCH:
                text = [self._walk(branch, text) for branch in value[1]][0]
            elif op is sre.SUBPATTERN:
                text = self._walk(value[3], text)
            elif op is sre.ATOMIC_GROUP:
                text = self._walk(value, text)
            elif op in (sre.ASSERT, sre.ASSERT_NOT):
                self._walk(value[1], text)
            elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
                least, most, inner = value
                piece = self._walk(inner, text)[len(text) :] or "a"
                if most is sre.MAXREPEAT or most > 20:
                    self.pairs.add((text[-60:], piece))
                if most is sre.MAXREPEAT:
                    again = _parser.SubPattern(inner.state, [(sre.MAX_REPEAT, (1, most, inner))])
                    self.endless.append(_compiler.compile(again))
                text += piece * least
        return text

    def texts(self, *, exhaustive: bool) -> Iterator[Text]:
        """Yield the texts; if not exhaustive, those along which a repetition without a bound can run."""
        pairs = {(before, piece) for before, piece in self.pairs} | {
            ("", before + piece) for before, piece in self.pairs
        }
        for before, piece in sorted({*pairs, *(("", each) for each in REPEATED), ("", self.whole or "a")}):
            if exhaustive or any(self._runs(each, piece) for each in self.endless):
                yield lambda n, before=before, piece=piece: before + piece * (n // len(piece)) + "\0"  # type: ignore[misc]

    @staticmethod
    def _runs(endless: re.Pattern[str], piece: str) -> bool:
        return any(len(match.group()) > 4 * len(piece) for match in endless.finditer(piece * 6))


def _member(items: list[tuple[Any, Any]]) -> str:
    """Return a character of a class."""
    kinds = {sre.CATEGORY_DIGIT: "1", sre.CATEGORY_SPACE: " ", sre.CATEGORY_NOT_WORD: "-"}
    op, value = items[0]
    if op is sre.LITERAL:
        return chr(value)
    if op is sre.RANGE:
        return chr(value[0])
    return kinds.get(value, "a") if op is sre.CATEGORY else "a"


def growing_text(pattern: str, flags: int, *, start_only: bool, exhaustive: bool) -> Text | None:
    """Return texts that a pattern takes more than linear time for."""
    compiled = re.compile(pattern, flags)

    def read(text: str) -> None:
        if start_only:
            compiled.match(text), compiled.fullmatch(text)
        else:
            sum(1 for _ in compiled.finditer(text))

    for text in Attack(pattern, flags).texts(exhaustive=exhaustive):
        with stopped_after(seconds=8 if exhaustive else 0.5) as ended:  # an exponential pattern would never end
            if grows(timed(read), text, exhaustive=exhaustive):
                ended.append("slow")
        if ended:
            return text
    return None


@pytest.mark.slow
def test_every_pattern_takes_linear_time() -> None:
    slow = []
    for (pattern, flags), where in patterns().items():
        text = growing_text(pattern, flags, start_only=only_from_the_start(where), exhaustive=True)
        if text is not None:
            slow.append((sorted(where)[0], pattern, text(60)))
    assert slow == [], "\n".join(map(str, slow))


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    "pattern", [r"\bof \d+ (?=.*,)", r"x(?!.*y)", r"[ \t]+$", r"a*b", r"(\w+ ){0,}x", r"<a>.*?</a>"]
)
def test_a_pattern_that_takes_quadratic_time_is_found(pattern: str) -> None:
    assert growing_text(pattern, 0, start_only=False, exhaustive=False) is not None


@pytest.mark.parametrize("pattern", [r"\d+%?", r"\bof \d{1,9} (?=.{0,300},)", r"(?<![ \t])[ \t]+$", r"(?<!a)a*b"])
def test_a_pattern_that_takes_linear_time_is_not(pattern: str) -> None:
    assert growing_text(pattern, 0, start_only=False, exhaustive=False) is None


@contextlib.contextmanager
def stopped_after(*, seconds: float) -> Iterator[list[str]]:
    """Stop the work inside after this much of CPU time; the list is not empty then."""
    ended: list[str] = []

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield ended
    except TimeoutError:
        ended.append("stopped")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def tolerant(text: str) -> None:
    with contextlib.suppress(Malformed):
        decode_all(text)


def guarded(text: str) -> None:
    with contextlib.suppress(ToolError):
        UrlGuard([Observation("1", "files", "", private=True)]).check(ToolCall("2", "other", {"text": text}))


def headed(head: str, row: str) -> str:
    """Return as many rows as fit into half of a text whose other half is their head."""
    return f"{head}\n" + row * (len(head) // len(row))


READERS: dict[str, Callable[[str], object]] = {
    **{form: lambda text, form=form: parse(form, text, TOOLS) for form in ("react", "iter", "rewoo")},  # type: ignore[misc]
    "call": lambda text: parse("react", f'<tool_call>{{"name":"search","arguments":{{"query":"{text}', TOOLS),
    "step": lambda text: parse("rewoo", f"Plan: a\n#E1 = search[{text}", TOOLS),
    "json": tolerant,
    "statements": marks.statements,
    "uncited": marks.uncited,
    "clean": lambda text: urls.clean(f"http://a.example/{text}", SOURCES),
    "check": lambda text: check(f"{text} [1].", SOURCES),
    "check source": lambda text: check("The river is 12 km long [1].", [Source(1, "u", "t", text)]),
    "heading of a source": lambda text: check(
        "It has 5 towns [1].", [Source(1, "u", "t", headed(f"# {text}", "a, b\n"))]
    ),
    "heading of a table": lambda text: marks.statements(headed(f"# {text}\n|a|", "|a b|\n")),
    "first cell of a row": lambda text: marks.statements(f"|a|\n|{text}" + "|[1]" * (len(text) // 4) + "|"),
    "head of a table": lambda text: marks.statements(headed(f"|{text}|", "|a b|\n")),
    "check claim": lambda text: check_claim(text, SOURCES),
    "parts of a question": parts_of,
    "kind of a question": kind_of,
    "question": read_question,
    "offline model": lambda text: list(
        ExtractiveModel().stream(Request((Message("system", "- search: x"), Message("user", text)), ()))
    ),
    "export": blocks.parse,
    "markdown": markdown.prose,
    "bibtex": bibtex.escaped,
    "difference": lambda text: diff.changes(text, text[1:] + "b"),
    "page": safe.prose,
    "label": safe.plain,
    "urls": lambda text: urls_in(f"http://a.example/{text}"),
    "guard": guarded,
    "tokens": lambda text: (texts.tokens(text), sentences(text), texts.numbers(text)),
    "tokens of a model": count,
    "names": lambda text: Names([text]).of(text),
    "figures": quantities,
    "lost statements": lambda text: losses([(1, f"{text} [1]"), (2, text)], SOURCES),
    "audit": lambda text: styles.read(f"A {text}").statements,
    "same page": lambda text: same_page(Passage("http://a.example", "t", text), Passage("http://b.example", text, "q")),
    "address": lambda text: (canonical(f"http://{text}"), canonical(f"http://a.example/{text}")),
    "amount": lambda text: (amount(text), amount(text, last=True)),
    "Chinese terms": said,
    "directions": directions,
    "keys": lambda text: mask_keys(text, ["sk-abcdefgh12345678"]),
}
TAKEN = frozenset("text url line key word label latex report body answer draft query question".split())
"""Names of parameters that are foreign text."""
ACTING = {
    "research._util.connections.pool", "research._util.redaction.key_pattern",
    "research._util.redaction.redact_in_logs", "research.auditing.report_intake.read_url",
    "research.models.heard.unseen", "research.store.database.close_pool", "research.store.database.pool",
    "research.web.fetch.fetch", "research.web.fetch.vet", "research.workbench.running.run",
    "research.workbench.running.stream",
}  # fmt: skip
"""Functions of one text that do more than read it, or read a short one."""
WORDS = (*HOSTILE, ")", "a: ", "Japan ", "2023 ")


def public_readers() -> Iterator[tuple[str, Callable[[str], object]]]:
    """Yield every public function that needs one foreign text and nothing else, with its name."""
    for module in modules():
        for name, value in list(vars(module).items()):
            own = (
                callable(value) and not isinstance(value, type) and getattr(value, "__module__", "") == module.__name__
            )
            where = f"{module.__name__}.{name}"
            if not own or name.startswith("_") or not where.startswith("research.") or where in ACTING:
                continue
            needed = [each for each in inspect.signature(value).parameters.values() if each.default is each.empty]
            if [each.name in TAKEN and each.annotation == "str" for each in needed] == [True]:
                yield where, value


def reading(read: Callable[[str], object]) -> Callable[[str], None]:
    """Return a function that reads all that a reader yields of a text, which it may refuse."""

    def whole(text: str) -> None:
        with contextlib.suppress(ValueError, TypeError, LookupError, WorkbenchError, ArgumentTypeError):
            found = read(text)
            if isinstance(found, Iterator):
                deque(found, maxlen=0)

    return whole


BOUNDED: dict[str, Callable[[str], object]] = {"different words": lambda text: diff.words(text, text[1:] + "b")}
"""Readers that take quadratic time up to a bound: large texts show only that they have one."""


def growing_pieces(
    reader: Callable[[str], object],
    *,
    exhaustive: bool,
    pieces: Iterable[str] = HOSTILE,
    clock: Callable[[], float] = time.thread_time,
) -> list[str]:
    """Return what a reader takes more than linear time for if it is repeated."""
    reader("warm")
    taken = timed(reader, clock)
    return [piece for piece, text in repeating(pieces).items() if grows(taken, text, exhaustive=exhaustive)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*READERS, *BOUNDED])
def test_every_reader_takes_linear_time(name: str) -> None:
    assert growing_pieces((READERS | BOUNDED)[name], exhaustive=True) == []


@pytest.mark.slow
def test_every_public_reader_takes_linear_time() -> None:
    readers = dict(public_readers())
    assert len(readers) > 100
    slow = {name: growing_pieces(reading(read), exhaustive=False, pieces=WORDS) for name, read in readers.items()}
    assert {name: pieces for name, pieces in slow.items() if pieces} == {}


@pytest.mark.slow
def test_the_pattern_of_a_key_takes_linear_time() -> None:
    assert not steeper(timed(key_pattern), repeating(["aB3"])["aB3"], (250, 2_000))  # the longest value of a setting


steps: list[int] = []
"""What the quadratic reader has done, by call: its clock, which no other work on the machine moves."""


def quadratic(text: str) -> None:
    steps.append(len(text) ** 2)


remembering = lru_cache(quadratic)
CACHED: dict[str, Callable[[str], object]] = {
    "none": quadratic,
    "all": remembering,
    "words": lambda text: remembering(" ".join(text.split())),
}


@pytest.mark.examples(1)
@pytest.mark.parametrize("cached", CACHED)
def test_a_reader_that_takes_quadratic_time_is_found_behind_its_cache(cached: str) -> None:
    assert growing_pieces(CACHED[cached], exhaustive=False, pieces=["a "], clock=lambda: sum(steps)) == ["a "]


def test_a_number_too_large_for_any_machine_is_no_figure() -> None:
    assert check(f"It has 1{'0' * 400} towns [1].", SOURCES)
    assert check(f"It has 5 towns [{'0' * 309}1].", SOURCES) == ()


def test_a_statement_too_long_to_compare_is_left_unverified() -> None:
    (found,) = check(f"The river is 12 km long {'and wide ' * 6_000} [1].", SOURCES)
    assert (found.status, "2,000 characters" in found.reason) == ("unverified", True)
