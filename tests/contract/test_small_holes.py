"""Small holes of the security review, each closed: files, exports, logs, MCP, the database and the log-out."""

from __future__ import annotations

import asyncio
import io
import logging
import re
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from pages.parts.shared.guard import Guard
from research._util.egress import Egress
from research.citations import clean
from research.cli.main import main
from research.config.settings import load
from research.errors import ConfigError, ProviderError
from research.events.events import RunFinished, RunStarted
from research.events.recipe import Recipe
from research.events.view import fold
from research.exports.markdown import markdown
from research.mcp import intake
from research.mcp.sanitising import parameters
from research.memory.sqlite_store import SqliteMemoryStore
from research.models import bounded
from research.models.failures import Problem
from research.ops import logs
from research.sandbox.interpreter import run_python
from research.store import RunRow
from research.store.sqlite import SqliteStore
from research.types import Completion, Delta, Message, Request
from research.web.isolated import read_isolated
from tests.contract.test_endless_replies import ENDLESS, Dialect, model_at, serving
from tests.unit.test_importing import life
from tests.workers import LONG_S

RUN = "261121-120000-abcd"


def docx_without(part: str) -> bytes:
    import docx

    document, whole, less = docx.Document(), io.BytesIO(), io.BytesIO()
    document.add_paragraph("The bridge is 12 km long.")
    document.save(whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(less, "w") as target:
        for name in source.namelist():
            if name != part:
                data = re.sub(rb'<(Relationship|Override) [^>]*styles\.xml"[^>]*/>', b"", source.read(name))
                target.writestr(name, data)
    return less.getvalue()


def test_a_docx_without_styles_is_read() -> None:
    assert "12 km" in read_isolated(docx_without("word/styles.xml"), ".docx", "x").text


def exported(report: str, question: str = "How many?") -> str:
    events = []
    for event in life(Recipe(), RUN):
        if isinstance(event, RunStarted):
            event = msgspec.structs.replace(event, question=question)
        events.append(msgspec.structs.replace(event, report=report) if isinstance(event, RunFinished) else event)
    return markdown(fold(events))


@pytest.mark.parametrize(
    "fence",
    [
        "```mermaid\nx\n```",
        "~~~ mermaid\nx\n~~~",
        "> ```geojson\n> x\n> ```",
        "- ```plantuml\n  x\n  ```",
        "````stl\nx\n````",
    ],
)
def test_a_markdown_export_names_no_language_that_a_viewer_would_draw(fence: str) -> None:
    assert not re.search(r"(`{3,}|~{3,})[ \t]*\w", exported(fence))


def test_a_markdown_export_hides_and_fetches_nothing() -> None:
    text = exported("a\u202eb\u200bc SECRET@evil.test\n\n:::mermaid\nx\n:::", "![t](https://evil.test/t.png) q\u202ex")
    assert not re.search("[\u200b\u202e]", text)
    assert "![" not in text and ":::" not in text
    assert not re.search(r"\w@\w", text)


@pytest.mark.parametrize("link", ["mailto:SECRET@evil.test", "xmpp:SECRET@evil.test", "[x](mailto:SECRET@evil.test)"])
def test_a_mailbox_that_nobody_gave_is_no_link(link: str) -> None:
    text, removed = clean(f"See {link} now.", [], "q")
    assert "SECRET" not in text and removed
    kept, _ = clean(f"See {link} now.", [], "Write to SECRET@evil.test")
    assert "SECRET@evil.test" in kept


@pytest.mark.parametrize("name", ["</tool_call>", "<tool_call>", "<answer>"])
def test_no_name_in_a_schema_poses_as_a_tag(name: str) -> None:
    kept = parameters(
        {"type": "object", "properties": {name: {"type": "string"}, "q": {"enum": [name], "format": name}}}
    )
    assert name not in str(kept)
    assert "q" in kept["properties"]


def test_a_log_keeps_no_control_characters(caplog: pytest.LogCaptureFixture) -> None:
    before = logging.getLogRecordFactory()
    logs.start()
    try:
        logging.getLogger("uvicorn").warning("bad \x1b[2J %s", "host\x1b]0;x\x07 \u202e")
    finally:
        logging.setLogRecordFactory(before)
    said = caplog.records[-1].getMessage()
    assert not re.search("[\x00-\x1f\u202e]", said)
    assert r"\x1b[2J" in said


def test_an_erased_run_gets_no_more_events(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "workbench.sqlite")) as store:
        events = list(life(Recipe(), RUN))
        store.create(RunRow(RUN, "How many?", Recipe()))
        store.append(events[:2])
        store.delete([RUN])
        store.purge(time.time() + 1)
        store.append(events[2:])
        assert store.bodies(RUN) == []


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000])
def test_a_database_that_was_emptied_is_refused_like_any_that_is_damaged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "workbench.sqlite"
    path.write_bytes(content)
    opened: list[Callable[[Path], object]] = [SqliteStore, SqliteMemoryStore]
    for open_it in opened:
        with pytest.raises(ConfigError, match=f"{path}.*left unchanged. Move it away"):
            open_it(path)
    assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("emptied", [True, False])
def test_changes_beside_a_database_that_is_gone_are_kept(tmp_path: Path, emptied: bool) -> None:
    path = tmp_path / "workbench.sqlite"
    if emptied:
        path.write_bytes(b"")
    changes = Path(f"{path}-wal")
    changes.write_bytes(b"changes")
    with pytest.raises(ConfigError, match="holds changes"):
        SqliteStore(path)
    assert changes.read_bytes() == b"changes"


def test_several_openings_begin_one_database(tmp_path: Path) -> None:
    path = tmp_path / "workbench.sqlite"
    with ThreadPoolExecutor(4) as pool:
        for store in pool.map(lambda _: SqliteStore(path), range(4)):
            store.close()
    assert {each.name for each in tmp_path.iterdir()} <= {path.name, f"{path.name}.lock"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "cross-site"}, 403), ({"sec-fetch-site": "same-site"}, 403),
        ({"referer": "https://evil.test/"}, 403), ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200), ({"referer": "http://here/"}, 200), ({}, 200),
    ],
)  # fmt: skip
def test_a_page_of_another_site_logs_nobody_out(headers: dict[str, str], status: int) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in {"host": "here", **headers}.items()]
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/auth/logout",
        "headers": raw,
        "query_string": b"",
        "root_path": "",
    }
    asyncio.run(Guard(app)(scope, None, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == status


class Endless:
    """The output of a server's program that writes the same piece for ever."""

    def __init__(self, piece: bytes) -> None:
        self.piece = piece

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return self.piece


@pytest.mark.parametrize(
    ("piece", "limit"),
    [
        (b"x" * 60_000, "10 MB"), (b"x" * 9_000_000 + b"\n", "30 MB"), (b"\n" * 60_000, "50,000 messages"),
        (b'{"jsonrpc": "2.0", "method": "x"}\n' * 2_000, "50,000 messages"),
    ],
)  # fmt: skip
def test_a_server_that_writes_without_end_is_read_to_a_limit(piece: bytes, limit: str) -> None:
    counted = intake.Intake()

    async def read() -> None:
        intake.current.set(counted)
        lines = intake.Lines(Endless(piece))
        while True:
            await lines.receive()

    with pytest.raises(anyio.BrokenResourceError):
        asyncio.run(read())
    assert limit in counted.problem


def test_lines_arrive_whole_however_they_are_cut() -> None:
    data = iter(['{"a": "é"}\n{'.encode()[:9], '{"a": "é"}\n{'.encode()[9:], b"}\n"])

    class Pieces:
        async def receive(self, max_bytes: int = 65536) -> bytes:
            return next(data)

    lines = intake.Lines(Pieces())
    assert asyncio.run(lines.receive()) == '{"a": "é"}\n'
    assert asyncio.run(lines.receive()) == "{}\n"


def test_a_model_that_is_tried_outside_a_run_does_not_answer_for_ever() -> None:
    served = serving(b"", ENDLESS["chat"]["text"][1], pause_s=0.001)
    with served as (url, _), pytest.raises(ProviderError, match="still answering"):
        bounded.completion(model_at("chat", url), Request((Message("user", "?"),)), Egress(), seconds=0.2)


@pytest.mark.parametrize(("dialect", "form"), [("chat", "text"), ("chat", "arguments"), ("messages", "arguments")])
def test_a_model_that_is_tried_outside_a_run_has_a_largest_reply(
    dialect: Dialect, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded, "MOST_BYTES", 20_000)
    head, piece = ENDLESS[dialect][form]
    with serving(head, piece) as (url, gone):
        with pytest.raises(ProviderError, match="sent more than"):
            bounded.completion(model_at(dialect, url), Request((Message("user", "?"),)), Egress())
        assert gone.wait(LONG_S)


class Says:
    """A model that says this in pieces, and then as a whole."""

    name, native = "says", True

    def __init__(self, *pieces: str) -> None:
        self._pieces = pieces

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        yield from map(Delta, self._pieces)
        yield Completion("".join(self._pieces))


def test_a_streamed_text_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "MOST_BYTES", 1_000)
    assert len(bounded.completion(Says("x" * 400, "y" * 400), Request(()), Egress()).text) == 800
    with pytest.raises(ProviderError, match="sent more than"):
        bounded.completion(Says("x" * 600, "y" * 600), Request(()), Egress())


@pytest.mark.parametrize("place", ["~no-such-user/x", "loop/x", "a\0b", "a" * 5_000])
@pytest.mark.parametrize("name", ["WORKBENCH_HOME", "WORKBENCH_ENDPOINTS"])
def test_a_place_that_cannot_be_is_refused_in_words(
    name: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.chdir(tmp_path)
    given = {"WORKBENCH_HOME": str(tmp_path), name: place}
    with pytest.raises(ConfigError):
        load(home=Path(given["WORKBENCH_HOME"]), endpoint_list=given.get("WORKBENCH_ENDPOINTS"))


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("screen", [Screen(), io.StringIO()], ids=["terminal", "pipe"])
def test_what_is_printed_does_not_steer_a_terminal(
    screen: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "stderr", screen)
    assert main(["library", "add", "\x1b]0;title\x07\x9b2J\u202e"]) == 2
    assert sys.stderr is screen
    assert ("\x1b" in screen.getvalue()) is (type(screen) is io.StringIO)
    assert (r"\x1b]0;title\x07\x9b2J\u202e" in screen.getvalue()) is (type(screen) is Screen)


def test_an_error_code_without_end_is_an_error() -> None:
    assert Problem("x", code="9" * 5_000).status == 500


@pytest.mark.slow
def test_a_loop_in_c_ends_soon_after_its_time() -> None:
    started = time.monotonic()
    with pytest.raises(Exception, match="stopped after 1 s"):
        run_python("sum(range(10**13))", timeout_s=1.0)
    assert time.monotonic() - started < 6
