"""Every HTTP route of the server, with login on: no session, a foreign session, a forged origin, too much of everything."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value, generate_xsrf_token_string
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from pages.parts.shared import guard
from research.config import users
from research.config.settings import load
from research.workbench.example import EXAMPLE_QUESTION
from research.workbench.workbench import Workbench
from tests.browser.conftest import App, served
from tests.conftest import LIBRARY, BuiltOnce, embedded_countries
from tests.workers import LONG_S

SECRET = "0123456789abcdef" * 2
SECRETS = f"""[auth]
redirect_uri = "http://localhost:8501/oauth2callback"
cookie_secret = "{SECRET}"
client_id = "x"
client_secret = "y"
server_metadata_url = "http://localhost:1/.well-known/openid-configuration"
"""
ISSUER = "https://login.example.org"
XSRF = generate_xsrf_token_string()
ALICE, BOB = "alice", "bob"
CLIENT = httpx.Client(timeout=LONG_S)
STREAMLIT = ("_stcore/health", "_stcore/host-config", "_stcore/script-health-check", "_stcore/metrics", "media/{x}",
             "_stcore/upload_file/{x}/{x}", "component/{x}", "_stcore/bidi-components/{x}", "_stcore/agent/interact",
             "_stcore/agent/openapi.json", "_stcore/agent/mcp", "app/static/{x}", "api/health")  # fmt: skip


def cookie(who: str, **changed: Any) -> str:
    """Return the cookies of a browser in which that user is logged in."""
    claims = {"iss": ISSUER, "sub": who, "origin": "http://localhost:8501", "is_logged_in": True, **changed}
    signed = create_signed_value(str(changed.pop("secret", SECRET)), "_streamlit_user", json.dumps(claims)).decode()
    return f"_streamlit_user={signed}; _streamlit_xsrf={XSRF}"


@pytest.fixture(scope="module")
def server(prepared_home: Path, built_once: BuiltOnce, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A server with login on, where Alice has a finished run."""
    library = built_once("france", lambda folder: embedded_countries(prepared_home, folder, ["france"])) / LIBRARY
    home = tmp_path_factory.mktemp("routes")
    secrets = home / "secrets.toml"
    secrets.write_text(SECRETS)
    for who in (ALICE, BOB):
        settings = users.settings_for(load(home=home), users.key_of(ISSUER, who))
        shutil.copy(library, settings.home)
        if who == ALICE:
            bench = Workbench(settings)
            for _ in bench.engine.start(EXAMPLE_QUESTION, bench.recipe(), "261121-120000-abcd", here=True).events():
                pass
            bench.store.close()
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("STREAMLIT_SECRETS_FILES", str(secrets))
        with served(home) as app:
            yield app


@contextmanager
def page(server: App, who: str = "", **headers: str) -> Iterator[ClientConnection]:
    """Open a page's connection, as a browser does; `who` "" is not logged in."""
    port = server.url.rpartition(":")[2]
    given = {"Cookie": cookie(who) if who else f"_streamlit_xsrf={XSRF}", "Origin": "http://localhost:8501", **headers}
    with connect(
        "ws://localhost:8501/_stcore/stream",
        sock=socket.create_connection(("127.0.0.1", int(port))),
        additional_headers=given,
        subprotocols=["streamlit", XSRF],  # type: ignore[list-item]
        max_size=None,
    ) as connection:
        yield connection


def received(page: ClientConnection, kind: str, never: str = "") -> ForwardMsg:
    """Return the next message of that kind; none of the kind `never` may come before it."""
    while True:
        message = ForwardMsg()
        message.ParseFromString(bytes(page.recv(timeout=LONG_S)))  # type: ignore[arg-type]
        assert message.WhichOneof("type") != never
        if message.WhichOneof("type") == kind:
            return message


def upload_address(page: ClientConnection, never: str = "") -> str:
    """Ask for the address of an upload."""
    asked = BackMsg()
    asked.file_urls_request.request_id = "r"
    asked.file_urls_request.file_names.append("a.txt")
    page.send(asked.SerializeToString())
    return str(received(page, "file_urls_response", never).file_urls_response.file_urls[0].upload_url)


def request(server: App, method: str, path: str, who: str = "", data: bytes = b"", **headers: str) -> httpx.Response:
    given = {"X-Xsrftoken": XSRF, "Host": "localhost:8501", "Cookie": cookie(who) if who else f"_streamlit_xsrf={XSRF}"}
    files = {"file": ("a.txt", data)} if method == "PUT" else None
    address = server.url.replace("localhost", "127.0.0.1")
    return CLIENT.request(method, f"{address}/{path.lstrip('/')}", headers={**given, **headers}, files=files)


def paths() -> list[str]:
    return [path.replace("{x}", "0" * 36) for path in STREAMLIT]


def test_every_route_of_streamlit_is_known() -> None:
    """A route that a later version adds has to be judged here, and is closed without a login until then."""
    import app as started

    routes = {getattr(route, "path", "").strip("/") for route in started.app._build_starlette_app().routes}
    guarded = {path for path in routes if path.partition("/")[0] in guard.GUARDED}
    known = {path.partition("/{")[0].replace("{x}", "") for path in STREAMLIT} | {guard.STREAM}
    assert {path.partition("/{")[0] for path in guarded} <= known
    assert routes - guarded <= {"auth/login", "auth/logout", "oauth2callback", "", "{path:path}"}


@pytest.mark.examples(2)
@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD"])
def test_without_a_session_only_health_and_the_login_page_answer(server: App, method: str) -> None:
    for path in paths():
        status = request(server, method, path, data=b"x").status_code
        assert (status == 401) == (path not in guard.OPEN), (path, status)
    for path in ("", "runs", "static/nothing.js", "app/static/fonts/inter.woff2"):
        assert request(server, "GET", path).status_code in (200, 404)


@pytest.mark.parametrize(
    "wrong",
    [{"secret": "f" * 32}, {"is_logged_in": False}, {"origin": "https://evil.example"}, {"sub": ""}, {"iss": None}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_an_invalid_cookie_is_no_session(server: App, wrong: dict[str, Any]) -> None:
    forged = f"{cookie(ALICE, **wrong)}"
    for path in paths():
        if path not in guard.OPEN:
            assert request(server, "GET", path, Cookie=forged).status_code == 401, path


@pytest.mark.parametrize("origin", ["https://evil.example", "http://localhost:9999", "null"])
def test_a_request_from_another_site_is_refused(server: App, origin: str) -> None:
    for method in ("GET", "PUT", "DELETE"):
        for path in paths():
            if path not in guard.OPEN:
                assert request(server, method, path, ALICE, b"x", Origin=origin).status_code == 403, path
                assert request(server, method, path, ALICE, b"x", Host="evil.example").status_code == 403, path
    with pytest.raises(InvalidStatus), page(server, ALICE, Origin=origin):
        pass


def test_a_file_is_uploaded_only_to_an_address_of_the_users_own_pages(server: App) -> None:
    with page(server, ALICE) as hers, page(server, BOB) as his:
        address, other = upload_address(hers), upload_address(his)
        assert request(server, "PUT", address, BOB, b"x").status_code == 404
        assert request(server, "DELETE", address, BOB).status_code == 404
        assert request(server, "PUT", address, "", b"x").status_code == 401
        guessed = address[:-4] + "0000"
        assert request(server, "PUT", guessed, ALICE, b"x").status_code == 404
        assert request(server, "PUT", address, ALICE, b"x").status_code == 204
        assert request(server, "PUT", other, BOB, b"x").status_code == 204
        assert request(server, "DELETE", address, ALICE).status_code == 204


def test_a_page_that_is_not_logged_in_gets_no_address_for_an_upload(server: App) -> None:
    with page(server) as stranger:
        asked = BackMsg()
        asked.file_urls_request.file_names.append("a.txt")
        stranger.send(asked.SerializeToString())
        asked = BackMsg()
        asked.rerun_script.query_string = ""
        stranger.send(asked.SerializeToString())
        received(stranger, "script_finished", never="file_urls_response")


def test_uploads_are_limited_in_size_and_number(server: App) -> None:
    with page(server, BOB) as his:
        assert request(server, "PUT", upload_address(his), BOB, b"x" * 70_000_000).status_code == 413
        asked = BackMsg()
        asked.file_urls_request.file_names.extend(["a"] * (guard.HELD_FILES + 1))
        his.send(asked.SerializeToString())
        given = received(his, "file_urls_response").file_urls_response.file_urls
        statuses = [request(server, "PUT", each.upload_url, BOB, b"x").status_code for each in given]
    assert set(statuses) == {204, 413} and statuses[-1] == 413


def test_a_page_that_is_not_logged_in_may_send_little(server: App) -> None:
    with page(server) as stranger:
        stranger.send(b"x" * (guard.STRANGER_BYTES + 1))
        with pytest.raises(ConnectionClosed):
            while True:
                stranger.recv(timeout=LONG_S)


@pytest.mark.slow
def test_a_file_of_a_page_answers_its_user_only(server: App) -> None:
    with page(server, ALICE) as hers, page(server, BOB) as his:
        her_session, his_session = opened(hers, "run=261121-120000-abcd"), opened(his, "run=261121-120000-abcd")
        shown = download_of(hers)
        for socket_, session in ((his, his_session), (hers, her_session)):  # his page was never sent the button
            asked = BackMsg()
            asked.backend_operation_request.request_id = "d"
            asked.backend_operation_request.session_id = session
            asked.backend_operation_request.deferred_file.file_id = shown
            socket_.send(asked.SerializeToString())
        response = received(hers, "backend_operation_response").backend_operation_response
        made = response.deferred_file.url
        assert made, response
        answered = request(server, "GET", made, ALICE)
        assert answered.status_code == 200 and b"France" in answered.content
        assert answered.headers["x-content-type-options"] == "nosniff"
        assert request(server, "GET", made).status_code == 401
        assert request(server, "GET", made, BOB).status_code == 404
        upload_address(his, never="backend_operation_response")  # he gets what he asked for later


def opened(page: ClientConnection, query: str) -> str:
    """Open Ask with this query and return the id of the session."""
    asked = BackMsg()
    asked.rerun_script.query_string = query
    page.send(asked.SerializeToString())
    return str(received(page, "new_session").new_session.initialize.session_id)


def download_of(page: ClientConnection) -> str:
    """Return the id of the first download on a page."""
    while True:
        button = received(page, "delta").delta.new_element.download_button
        if button.deferred_file_id:
            return str(button.deferred_file_id)


def test_every_answer_forbids_frames_of_other_sites(server: App) -> None:
    for path in ("", "runs", "_stcore/health", "_stcore/metrics", "api/health", "media/none"):
        answer = request(server, "GET", path)
        assert answer.headers["content-security-policy"] == "frame-ancestors 'self'", path
        assert answer.headers["x-frame-options"] == "SAMEORIGIN", path


def test_the_address_of_a_file_counts_only_where_no_user_writes() -> None:
    text = ForwardMsg()
    text.delta.new_element.markdown.body = "/media/" + "a" * 32
    link = ForwardMsg()
    link.delta.new_element.link_button.url = "/media/" + "a" * 32
    plot = ForwardMsg()
    plot.delta.new_element.imgs.imgs.add().url = "/media/" + "a" * 32 + ".png"
    found = [list(guard.addresses(each.SerializeToString())) for each in (text, link, plot)]
    assert found == [[], [], ["media/" + "a" * 32]]
