"""What leaves this machine under each scope: a model that always obeys, on every channel, with the bytes counted."""

from __future__ import annotations

import re
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

import research
from research._util import egress
from research._util.egress import Egress, Sent, StaysHere
from research.config.settings import load
from research.errors import ConfigError, ProviderError, ToolError
from research.evaluation import candidate
from research.events import events as e
from research.events.view import fold
from research.exports import FORMATS
from research.types import Message, Request
from research.web.fetch import FetchPolicy, fetch
from research.web.remote import Remote, Setting
from research.workbench import leaving
from research.workbench.workbench import Workbench
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.served import openai_model
from tests.sockets import clients
from tests.workers import LONG_S

SECRET = "The word of the day is heron-4711."
QUESTION = "What is the word of the day?"


@contextmanager
def sink() -> Iterator[tuple[int, bytearray]]:
    """Listen, and keep whatever arrives; yield the port and what has arrived."""
    arrived, listener = bytearray(), socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for client in clients(listener):
            with client:
                head = client.recv(65536) or b"?"
                length = re.search(rb"content-length: (\d+)", head, re.I)
                while length and len(head.partition(b"\r\n\r\n")[2]) < int(length[1]):
                    head += client.recv(65536)
                arrived.extend(head)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    threading.Thread(target=serve, daemon=True).start()
    with listener:
        yield listener.getsockname()[1], arrived


def by_model(port: int) -> None:
    list(openai_model(base_url=f"http://127.0.0.1:{port}/v1").stream(Request((Message("user", SECRET),))))


def by_visit(port: int) -> None:
    fetch(f"http://127.0.0.1:{port}/?q=heron", policy=FetchPolicy(allow_hosts=(f"127.0.0.1:{port}",), total_s=LONG_S))


def by_search(port: int) -> None:
    Remote("x", Setting(f"http://127.0.0.1:{port}")).json(dict[str, Any], "/", params={"q": "heron"})


def by_socket(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"heron")


def by_datagram(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.sendto(b"heron", ("127.0.0.1", port))


def by_urllib(port: int) -> None:
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/heron").read()


def by_httpx(port: int) -> None:
    httpx2.get(f"http://127.0.0.1:{port}/heron", trust_env=False)


def by_name(port: int) -> None:
    socket.getaddrinfo("heron-4711.evil.test", port)


CHANNELS: list[Callable[[int], None]] = [
    by_name,
    by_model,
    by_visit,
    by_search,
    by_socket,
    by_datagram,
    by_urllib,
    by_httpx,
]


def used(carried: Egress, channel: Callable[[int], None], port: int) -> None:
    """Use a channel within a run that carries this."""

    def steps() -> Iterator[None]:
        channel(port)
        yield

    list(egress.carrying(carried, steps()))


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize(
    "carried", [Egress("offline"), Egress("private", declared=True), Egress("private", seen=lambda: True)]
)
def test_no_byte_leaves_by_any_channel(channel: Callable[[int], None], carried: Egress) -> None:
    if channel is by_visit and carried.scope == "private":
        pytest.skip("a private host that the administrator allows is a source of the user's own")
    with sink() as (port, arrived):
        with pytest.raises((StaysHere, ProviderError, ToolError, OSError)) as refused:
            used(carried, channel, port)
        assert not arrived
    assert isinstance(refused.value, StaysHere) or "was not contacted" in repr((refused.value, refused.value.__cause__))
    assert carried.taken() == ()


@pytest.mark.parametrize("channel", [by_model, by_visit, by_search])
def test_what_leaves_is_counted_to_the_byte(channel: Callable[[int], None]) -> None:
    carried = Egress("private")  # nothing private is among the sources
    with sink() as (port, arrived):
        with suppress(ProviderError, ToolError):  # the answer is none
            used(carried, channel, port)
        (sent,) = carried.taken()
    assert sent.host == f"127.0.0.1:{port}"
    assert sent.bytes == len(arrived)
    assert sent.requests == 1


def test_a_local_endpoint_is_used_where_private_data_stays_here_and_not_offline() -> None:
    with sink() as (port, arrived):
        model = openai_model(base_url=f"http://127.0.0.1:{port}/v1", near=True)

        def ask(port: int) -> None:
            list(model.stream(Request((Message("user", SECRET),))))

        with pytest.raises(ProviderError):  # `{}` is no reply
            used(Egress("private", declared=True), ask, port)
        assert b"heron" in arrived
        arrived.clear()
        with pytest.raises(StaysHere):
            used(Egress("offline"), ask, port)
        assert not arrived


@pytest.fixture
def place(home: Path, own_library: Path) -> Path:
    return home


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fake server count as one in the cloud."""
    monkeypatch.setattr("research.workbench.endpoint_registry.is_loopback", lambda url: False)
    monkeypatch.setattr("research.models.endpoint.is_loopback", lambda url: False)


def with_notes(place: Path, tmp_path: Path, url: str) -> Workbench:
    bench, notes = Workbench(load(home=place, openai_base_url=url)), tmp_path / "notes"
    notes.mkdir()
    (notes / "diary.md").write_text(f"# Diary\n\n{SECRET}\n", encoding="utf-8")
    bench.library.add_folder(notes)
    return bench


SEARCH = FakeReply(calls=[("search", {"query": "word of the day"})])
DONE = FakeReply("The word of the day is heron-4711 [1].")


def script(body: Body) -> FakeReply:
    return DONE if any(message["role"] == "tool" for message in body["messages"]) else SEARCH


def test_private_documents_stay_here_until_the_user_has_said_otherwise_once(
    place: Path, tmp_path: Path, far: None
) -> None:
    with FakeOpenAI(script) as server:
        bench = with_notes(place, tmp_path, server.base_url)
        with pytest.raises(leaving.MustChoose, match="not a local model"):
            bench.recipe(model="openai:fake")
        assert bench.recipe(model="extractive").egress == ""
        assert bench.recipe(model="openai:fake", folders=()).egress == ""
        assert bench.recipe(model="openai:fake", egress="open").egress == ""
        leaving.answer(bench.store, "private")
        with pytest.raises(ConfigError, match="stays on this machine"):
            bench.recipe(model="openai:fake")
        leaving.answer(bench.store, "open")
        assert bench.recipe(model="openai:fake").egress == ""
        assert not server.requests


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"model": "openai:fake"}, "not a local|needs a connection"),
        ({"roles": {"judge": "openai:fake"}}, "not a local|needs a connection"),
        ({"readers": ("openai:fake",)}, "not a local|needs a connection"),
        ({"search": ("library", "duckduckgo")}, "search of duckduckgo"), ({"tools": ("search", "scholar")}, "scholar"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("scope", ["private", "offline"])
def test_what_would_send_is_refused_at_the_start(
    place: Path, tmp_path: Path, far: None, scope: str, choices: dict[str, Any], said: str
) -> None:
    bench = with_notes(place, tmp_path, "http://127.0.0.1:9/v1")
    with pytest.raises(ConfigError, match=said):
        bench.recipe(**{"model": "extractive", **choices}, egress=scope)
    assert bench.recipe(model="extractive", egress=scope).egress == scope


def test_offline_asks_no_server_of_this_machine_either(place: Path) -> None:
    with FakeOpenAI(script) as server:
        bench = Workbench(load(home=place, openai_base_url=server.base_url))
        (place / "mcp.json").write_text('{"mcpServers": {"x": {"command": "no-such-program"}}}', encoding="utf-8")
        with pytest.raises(ConfigError, match="needs a connection"):
            bench.recipe(model="openai:fake", egress="offline")
        with pytest.raises(ConfigError, match="MCP server x sends"):
            bench.recipe(model="extractive", mcp=("x",), egress="offline")
        assert not server.connections


def test_a_judge_in_the_cloud_is_a_reader_that_the_user_is_asked_about(place: Path, tmp_path: Path, far: None) -> None:
    bench = with_notes(place, tmp_path, "http://127.0.0.1:9/v1")
    with pytest.raises(leaving.MustChoose, match="openai:fake is not a local model"):
        candidate(bench, "react/full", model="extractive", readers=("openai:fake",))
    leaving.answer(bench.store, "open")
    assert candidate(bench, "react/full", model="extractive", readers=("openai:fake",)).recipe.egress == ""


def test_a_run_that_comes_upon_private_data_sends_it_nowhere(place: Path, tmp_path: Path, far: None) -> None:
    with FakeOpenAI(script) as server:
        bench = with_notes(place, tmp_path, server.base_url)
        recipe = bench.recipe(model="openai:fake", egress="open", judge="off")
        recipe = research.Recipe(
            **{**{name: getattr(recipe, name) for name in recipe.__struct_fields__}, "egress": "private"}
        )
        folders = recipe.folders
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(leaving, "private_sources", lambda recipe: [])  # as if it were found on the way
            events = list(bench.engine.start(QUESTION, recipe, here=True).events())
        assert folders
        assert len(server.requests) == 1
        assert SECRET.encode() not in b"".join(server.sent)
    assert any("stays on this machine" in event.error for event in events if isinstance(event, e.RunFailed))


def test_the_run_and_its_exports_say_what_left(place: Path, tmp_path: Path) -> None:
    with FakeOpenAI(script) as server:
        bench = with_notes(place, tmp_path, server.base_url)
        events = list(research.stream(QUESTION, workbench=bench, model="openai:fake", judge="off"))
        view = fold(events)
        (sent,) = view.sent or ()
        assert sent.requests == len(server.requests) == 2
        assert sent.kinds == ("question", "passages")
        assert sent.bytes > sum(map(len, server.sent))
    assert sent.host not in FORMATS["html"].make(view, []).decode(), "the server is on this machine"
    view.sent = (Sent("models.example.org", 2, 5_000, sent.kinds),)
    for name in ("md", "html", "json"):
        assert "models.example.org" in FORMATS[name].make(view, events).decode()
    offline = fold(research.stream(QUESTION, workbench=bench, model="extractive", egress="offline", ask=False))
    assert offline.sent == ()
    assert "Left this machine" in FORMATS["html"].make(offline, []).decode()
