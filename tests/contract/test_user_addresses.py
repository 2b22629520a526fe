"""Addresses that users of a shared server enter: they lead to public hosts, and nowhere else.

The servers here are on loopback, which no user may name; `*.test` poses as a public host.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from research._util import network
from research.config import saved_settings, users
from research.config.settings import Settings, load
from research.workbench import diagnostics
from research.workbench.workbench import Workbench
from tests import fake_search as fake
from tests.fake_openai import FakeOpenAI, FakeReply
from tests.fake_search import FakeSearch, Reply

ALICE = users.key_of("https://login.example.org", "alice")
PRIVATE = [
    "http://127.0.0.1:{port}",
    "http://localhost:{port}",
    "http://[::ffff:127.0.0.1]:{port}",
    "http://name.test:{port}",
]
METADATA = "http://169.254.169.254"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    real = socket.getaddrinfo

    def resolve(host: Any, *rest: Any, **options: Any) -> Any:
        known = {"name.test": "127.0.0.1", "example.com": "93.184.216.34"}
        return real(known.get(str(host), host), *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return load(home=tmp_path / "home")


def bench_of(settings: Settings, **values: Any) -> Workbench:
    return Workbench(saved_settings.save(settings, **values))


SEARCHES: dict[str, Callable[[str], dict[str, str]]] = {
    "searxng": lambda url: {"searxng_url": url},
    "tavily": lambda url: {"tavily_url": url, "tavily_api_key": "tvly-123456"},
    "brave": lambda url: {"brave_url": url, "brave_api_key": "brave-123456"},
    "serper": lambda url: {"serper_url": url, "serper_api_key": "serper-123456"},
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("address", PRIVATE)
def test_a_search_address_of_a_user_reaches_no_private_host(name: str, address: str, root: Settings) -> None:
    alice = users.settings_for(root, ALICE)
    with FakeSearch([Reply({"secret": "of the server"}, 500)]) as server:
        url = address.replace("{port}", server.url.rpartition(":")[2])
        check = diagnostics.service(bench_of(alice, **SEARCHES[name](url)), name)
        assert server.asked == []
    assert check.state == "broken"
    assert "cannot be visited" in check.text and "change the address in Settings" in check.text
    assert "of the server" not in check.text


@pytest.mark.parametrize("field", ["openai_base_url", "anthropic_base_url"])
@pytest.mark.parametrize("address", PRIVATE)
def test_a_model_address_of_a_user_reaches_no_private_host(field: str, address: str, root: Settings) -> None:
    alice = users.settings_for(root, ALICE)
    service = field.partition("_")[0]
    with FakeOpenAI() as server:
        url = address.replace("{port}", server.base_url.split(":")[2].partition("/")[0])
        check = diagnostics.connect(bench_of(alice, **{field: url, f"{service}_api_key": "sk-123456"}), f"{service}:*")
        assert server.authorizations == []
    assert check.state == "broken"
    assert "cannot be used" in check.text and "change the address in Settings" in check.text


def test_no_user_reaches_the_metadata_of_a_cloud_even_if_it_is_allowed(root: Settings) -> None:
    alice = users.settings_for(load(home=root.home, allow_hosts="169.254.169.254"), ALICE)
    for name, values in (("searxng", {"searxng_url": METADATA}), ("jina", {"jina_url": METADATA})):
        bench = bench_of(alice, **values)
        check = diagnostics.reader(bench) if name == "jina" else diagnostics.service(bench, name)
        assert "169.254.169.254 is reserved" in check.text


def test_a_redirect_of_a_public_host_is_not_followed_to_a_private_one(
    root: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "is_public", lambda address: True)
    alice = users.settings_for(root, ALICE)
    with FakeSearch([fake.searxng([])]) as inside:
        with FakeSearch([Reply("", 302, headers={"Location": f"{inside.url}/search"})]) as outside:
            url = f"http://name.test:{outside.url.rpartition(':')[2]}"
            assert diagnostics.service(bench_of(alice, searxng_url=url), "searxng").state == "broken"
            assert len(outside.asked) == 1
        assert inside.asked == []


def test_a_name_is_vetted_again_for_each_connection(root: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that was public when it was saved may resolve to this machine later."""
    public = [True]
    monkeypatch.setattr(network, "is_public", lambda address: public[0])
    alice = users.settings_for(root, ALICE)
    with FakeSearch([fake.searxng([])]) as server:
        bench = bench_of(alice, searxng_url=f"http://name.test:{server.url.rpartition(':')[2]}", search_cache_s=0)
        assert diagnostics.service(bench, "searxng").state == "ok"
        public[0] = False
        assert "cannot be visited" in diagnostics.service(bench, "searxng").text
        assert len(server.asked) == 1


def test_a_public_address_of_a_user_is_used_as_usual(root: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "is_public", lambda address: True)
    alice = users.settings_for(root, ALICE)
    with FakeOpenAI([FakeReply("ready")], key="sk-alice-1") as server:
        bench = bench_of(alice, openai_base_url=server.base_url, openai_api_key="sk-alice-1")
        check = diagnostics.connect(bench, "openai:fake", ask=True)
        assert check.state == "ok", check.text


def test_a_private_host_that_the_administrator_allows_is_reached(root: Settings) -> None:
    with FakeSearch([fake.searxng([])]) as server:
        host = server.url.removeprefix("http://")
        alice = users.settings_for(load(home=root.home, allow_hosts=host), ALICE)
        assert diagnostics.service(bench_of(alice, searxng_url=server.url), "searxng").state == "ok"


@pytest.mark.parametrize("user", ["", ALICE])
def test_addresses_of_the_administrator_are_trusted(user: str, root: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeSearch([fake.searxng([])]) as search, FakeOpenAI() as model:
        monkeypatch.setenv("SEARXNG_URL", search.url)
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        bench = Workbench(users.settings_for(root, user))
        assert diagnostics.service(bench, "searxng").state == "ok"
        assert diagnostics.connect(bench, "openai:*").state == "ok"


def test_without_login_a_local_address_can_be_saved_and_used(root: Settings) -> None:
    with FakeSearch([fake.searxng([])]) as search, FakeOpenAI() as model:
        bench = bench_of(root, searxng_url=search.url, openai_base_url=model.base_url)
        assert diagnostics.service(bench, "searxng").state == "ok"
        assert diagnostics.connect(bench, "openai:*").state == "ok"
