"""Two users on one server, signed in through a real OIDC provider, never see each other's data."""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Request, WebSocket, expect

from research.config import saved_settings, users
from research.config.settings import load
from research.memory import Entry
from research.store.saved import Comparison, Opinion
from research.workbench.presets import Choices, keep
from research.workbench.workbench import Workbench
from tests.browser.conftest import LOCAL, OUTPUT, WAIT_MS, App, served, settle
from tests.browser.test_all_pages import dress_up, faults, settled_in
from tests.workers import LONG_S

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

QUESTION = "How long is the coastline of Japan? It is the vermilionfox who asks."
SECRETS = """
[auth]
redirect_uri = "http://localhost:{{port}}/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef0123"
client_id = "workbench"
client_secret = "anything"
server_metadata_url = "{issuer}/.well-known/openid-configuration"
"""
CANARY = "vermilionfox"
"""A word that occurs in all of Alice's data and nowhere else."""


@dataclass
class House:
    """The app with login, and its OIDC provider."""

    app: App
    issuer: str

    def bench(self, who: str) -> Workbench:
        """Open a user's workbench in this process."""
        return Workbench(users.settings_for(load(home=self.app.home), self.key(who)))

    def key(self, who: str) -> str:
        return users.key_of(self.issuer, who)


@contextmanager
def house(library: Path, home: Path, **environment: str) -> Iterator[House]:
    from oidc_provider_mock import User, run_server_in_thread

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    people = [
        User(
            sub=name, claims={"name": f"{name.title()} Liddell", "email": f"{name}@example.org", "email_verified": True}
        )
        for name in ("alice", "bob")
    ]
    people.append(User(sub="mallory", claims={"email": "alice@example.org", "email_verified": False}))
    with ExitStack() as stack, pytest.MonkeyPatch.context() as monkeypatch:
        provider = stack.enter_context(run_server_in_thread(user_claims=people))
        issuer = f"http://localhost:{provider.server_port}"
        secrets = home / "secrets.toml"
        secrets.write_text(SECRETS.format(issuer=issuer))
        monkeypatch.setenv("STREAMLIT_SECRETS_FILES", str(secrets))
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        for each in people:  # no library has to be built
            settings = users.settings_for(load(home=home), users.key_of(issuer, each.sub))
            shutil.copy(library, settings.home)
        yield House(stack.enter_context(served(home)), issuer)


@pytest.fixture(scope="module")
def two(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(library, tmp_path_factory.mktemp("two")) as both:
        yield both


@contextmanager
def visit(chromium: Browser) -> Iterator[BrowserContext]:
    """Open a browser context that fails the test on an error or a request by the app to another host.

    The provider's own page requests a style sheet, which is allowed.  Routes would turn off the browser's cache.
    """
    wrong: list[str] = []
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light", locale="en-US")
    context.set_default_timeout(WAIT_MS)
    context.on("request", lambda request: _elsewhere(request, wrong))
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    yield context
    context.close()
    assert not wrong, wrong


def _elsewhere(request: Request, wrong: list[str]) -> None:
    if not request.url.startswith(LOCAL) and "/oauth2/" not in request.frame.url:
        wrong.append(f"asked for {request.url}")


@dataclass
class Heard:
    """Records everything the server sent to a browser."""

    frames: list[bytes] = field(default_factory=list)

    def listen(self, context: BrowserContext) -> None:
        context.on("page", lambda page: page.on("websocket", self._socket))
        context.on("response", lambda response: self.frames.append(response.url.encode()))

    def _socket(self, socket: WebSocket) -> None:
        socket.on(
            "framereceived", lambda frame: self.frames.append(frame if isinstance(frame, bytes) else frame.encode())
        )

    def holds(self, words: str) -> bool:
        return any(words.encode() in frame for frame in self.frames)


def log_in(page: Page, who: str) -> None:
    """Sign in from the login page, through the provider, back to the app."""
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name=who, exact=True).click()


def log_out(page: Page, who: str) -> None:
    page.get_by_role("button", name=re.compile(who)).click()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url(re.compile("end_session"))  # the provider asks for confirmation
    page.locator("form button").first.click()
    expect(page.get_by_role("button", name="Log in")).to_be_visible()


def ask(page: Page, question: str) -> str:
    box = page.get_by_role("textbox", name="Question", exact=True)
    expect(box).to_be_visible()
    settle(page)
    box.fill(question)
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile(r"[?&]run="))
    expect(page.get_by_role("button", name="Export")).to_be_visible()
    return parse_qs(urlsplit(page.url).query)["run"][0]


def full_of_canaries(house: House, tmp_path: Path, run: str) -> dict[str, str]:
    """Give Alice data of every kind, each with the canary word, and return the names."""
    bench = house.bench("alice")
    bench.store.tag(run, [CANARY])
    bench.saved.save_comparison(Comparison("cmp-alice", f"{CANARY} compared", (run, run), 1.0))
    bench.saved.save_opinion(Opinion("cmp-alice", run, 1, f"{CANARY} is right"))
    keep(bench, CANARY, Choices())
    entry = bench.memory.add([Entry(text=f"The {CANARY} sleeps at noon.", title=f"Note of {CANARY}")])[0].id
    papers = bench.settings.home / "uploads" / "Papers"
    papers.mkdir(parents=True)
    (papers / "paper.md").write_text(f"# {CANARY}\n\nThe {CANARY} is seen in Hokkaido.")
    bench.library.add_folder(papers)
    document = bench.library.documents(str(papers))[0].url
    bench.library.close()
    bench.memory.close()
    bench.store.close()
    return {"run": run, "entry": entry, "papers": str(papers), "document": document}


def everywhere(names: dict[str, str]) -> list[str]:
    """Return the path of every page and every kind of link to Alice's data."""
    run, papers = names["run"], names["papers"]
    return [
        "", f"?run={run}", f"?run={run}&round=1", f"?again={run}", f"?preset={CANARY[:4]}", f"?shared={run}",
        "runs", f"runs?run={run}", f"runs?run={run}&round=1", f"runs?tag={CANARY[:4]}", "compare", "compare?id=cmp-alice",
        f"compare?runs={run}", "memory", f"memory?entry={names['entry']}", "memory?q=who+sleeps+at+noon", "library",
        f"library?collection={papers}", f"library?doc={names['document']}",
        "library?q=seen+in+Hokkaido", *(f"settings?section={each}" for each in ("models", "search", "defaults", "data", "system")),
    ]  # fmt: skip


@pytest.mark.slow
def test_no_data_of_one_user_reaches_another(chromium: Browser, two: House, tmp_path: Path) -> None:
    saved_settings.save(
        two.bench("alice").settings, tavily_api_key=f"tvly-{CANARY}", searxng_url=f"http://{CANARY}.example.org"
    )
    with visit(chromium) as context:
        page = context.new_page()
        page.goto(two.app.url)
        log_in(page, "alice")
        expect(page.get_by_text("Alice Liddell").first).to_be_visible()
        names = full_of_canaries(two, tmp_path, ask(page, QUESTION))
        page.goto(f"{two.app.url}/memory?entry={names['entry']}")
        expect(page.get_by_text(re.compile(CANARY)).first).to_be_visible()  # Alice sees it herself
        page.goto(f"{two.app.url}/settings?section=search")
        expect(page.get_by_text(re.compile(CANARY)).first).to_be_visible()
        page.goto(f"{two.app.url}/library?doc={names['document']}")
        expect(page.get_by_text(re.compile(CANARY)).first).to_be_visible()
        page.goto(two.app.url)
        log_out(page, "Alice")

        heard = Heard()
        heard.listen(context)
        other = context.new_page()  # the same browser, as on a shared computer
        other.goto(two.app.url)
        log_in(other, "bob")
        expect(other.get_by_text("Bob Liddell").first).to_be_visible()
        for place in everywhere(names):
            other.goto(f"{two.app.url}/{place}")
            expect(other.get_by_text("Bob Liddell").first).to_be_visible()
            settle(other)
            assert not heard.holds(CANARY), place
        assert len(heard.frames) > 50
        assert heard.holds("Bob Liddell")


@pytest.mark.slow
def test_a_shared_run_is_read_only_until_sharing_stops(chromium: Browser, two: House) -> None:
    with visit(chromium) as hers, visit(chromium) as his:
        page = hers.new_page()
        page.goto(two.app.url)
        log_in(page, "alice")
        run = ask(page, "What is the population of Japan? It is the ceruleanheron who asks.")
        other = two.bench("alice")
        follow = other.engine.follow_up(run, "And that of the ochrebadger?").run_id  # follow-ups are not shared
        assert other.engine.wait(follow, LONG_S)
        other.store.tag(run, ["umbratoad"])
        page.reload()
        expect(page.get_by_text("ochrebadger").first).to_be_visible()
        page.get_by_role("button", name="Share").click()
        page.get_by_role("button", name="Create link").click()
        link = page.get_by_text(re.compile(r"^http://localhost.*shared=")).inner_text()
        OUTPUT.mkdir(exist_ok=True)
        page.screenshot(path=OUTPUT / "login-share-1440-light.png")

        heard = Heard()
        heard.listen(his)
        guest = his.new_page()
        guest.goto(link)
        expect(guest.get_by_role("button", name="Log in")).to_be_visible()
        assert not heard.holds("ceruleanheron")
        log_in(guest, "bob")  # and is redirected to the run
        expect(guest.get_by_text("ceruleanheron").first).to_be_visible()
        expect(guest.get_by_text("Shared with you, read-only")).to_be_visible()
        settle(guest)
        for name in ("Send", "Fork", "Share", "Pause", "Stop", "Save", "Run again"):
            expect(guest.get_by_role("button", name=name, exact=True)).to_have_count(0)
        expect(guest.get_by_role("link", name="Run again")).to_have_count(0)
        with guest.expect_download() as download:
            guest.get_by_role("button", name="Export").click()
            guest.get_by_role("button", name="Markdown").click()
        assert "ceruleanheron" in Path(download.value.path()).read_text()
        for width, scheme in ((1440, "light"), (390, "dark")):
            guest.set_viewport_size({"width": width, "height": 900})
            guest.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            settle(guest)
            guest.screenshot(path=OUTPUT / f"login-shared-{width}-{scheme}.png")
            assert faults(guest) == []
        guest.set_viewport_size({"width": 1440, "height": 900})
        settle(guest)
        round_ = guest.get_by_test_id("stExpander").first
        round_.click()
        guest.get_by_text("Full prompt").first.click()
        expect(guest.get_by_text(re.compile("Tools offered"))).to_be_visible()
        for place in (f"?run={run}", f"runs?run={run}", f"?run={follow}", f"compare?runs={run}",
                      f"runs?run={run}&{link.partition('?')[2]}"):  # fmt: skip
            guest.goto(f"{two.app.url}/{place}")
            expect(guest.get_by_text("Bob Liddell").first).to_be_visible()
            settle(guest)
            expect(guest.get_by_text("ceruleanheron")).to_have_count(0)
        assert not heard.holds("ochrebadger") and not heard.holds("umbratoad")

        guest.goto(link)
        expect(guest.get_by_role("button", name="Export")).to_be_visible()
        page.get_by_role("button", name="Stop sharing").click()
        expect(page.get_by_role("button", name="Create link")).to_be_visible()
        guest.goto(link)
        expect(guest.get_by_text("This link doesn't work")).to_be_visible()
        settle(guest)
        expect(guest.get_by_text("ceruleanheron")).to_have_count(0)


def test_logging_out_ends_the_session_in_every_tab_and_for_a_stolen_cookie(chromium: Browser, two: House) -> None:
    with visit(chromium) as context, visit(chromium) as thief:
        page, tab = context.new_page(), context.new_page()
        page.goto(f"{two.app.url}/runs?lang=en")
        log_in(page, "alice")
        expect(page).to_have_url(re.compile("/runs"))  # the page she opened
        tab.goto(f"{two.app.url}/settings")
        expect(tab.get_by_text("Alice Liddell").first).to_be_visible()
        thief.add_cookies(context.cookies())
        settle(page)
        log_out(page, "Alice")
        tab.get_by_role("link", name="Runs").click()
        expect(tab.get_by_role("button", name="Log in")).to_be_visible()
        stolen = thief.new_page()
        stolen.goto(two.app.url)
        expect(stolen.get_by_role("button", name="Log in")).to_be_visible()


@pytest.mark.slow
def test_the_login_page_is_accessible_in_both_languages_and_both_widths(chromium: Browser, two: House) -> None:
    sizes = ((390, "dark"), (390, "light"), (1440, "dark"), (1440, "light"))
    with visit(chromium) as context:
        page = context.new_page()

        def looked_at(name: str, shown: Locator) -> None:
            for width, scheme in sizes:
                dress_up(page, width, scheme)
                expect(shown).to_be_visible()
                settled_in(page, scheme, OUTPUT / f"{name}-{width}-{scheme}.png")
                assert faults(page) == []

        for language in ("zh", "en"):
            dress_up(page, *sizes[0])
            page.goto(f"{two.app.url}/?lang={language}")
            looked_at(f"login-{language}", page.get_by_test_id("stMain").get_by_role("heading"))
        log_in(page, "alice")
        looked_at("login-inside", page.get_by_role("button", name="Start"))


@pytest.mark.slow
def test_only_verified_addresses_on_the_allow_list_get_in(
    chromium: Browser, library: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("chosen")
    with house(library, home, WORKBENCH_ALLOW_USERS="alice@example.org") as chosen:
        for who in ("mallory", "bob", "alice"):
            with visit(chromium) as context:
                page = context.new_page()
                page.goto(chosen.app.url)
                log_in(page, who)
                if who == "alice":
                    expect(page.get_by_role("button", name="Start")).to_be_visible()
                else:
                    expect(page.get_by_text("No access")).to_be_visible()
                    expect(page.get_by_role("button", name="Log out")).to_be_visible()
                    expect(page.get_by_role("button", name="Start")).to_have_count(0)
