"""What the server answers to whom: a layer around all its HTTP routes and websockets.

With login on, only what the login page needs and the health checks answer without a login. An address of an upload or of
a file that a page shows answers only users to whom the server has sent it.
"""

from __future__ import annotations

import logging
import re
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from google.protobuf.message import DecodeError, Message
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as Part
from streamlit import config
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime
from streamlit.web.server.server_util import allow_all_cross_origin_requests, allowlisted_origins
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from pages.parts.shared import account

GUARDED: Final = ("_stcore", "media", "component", "app", "api")
"""First parts of the paths that need a login; all others are the pages' own files and the login itself."""
OPEN: Final = ("_stcore/health", "_stcore/host-config", "api/health")
"""Paths below them that answer everyone."""
FONTS: Final = re.compile(r"app/static/fonts/[\w-]+\.woff2")
"""The typefaces, which the login page shows too."""
STREAM: Final = "_stcore/stream"
"""The websocket of the pages, including the login page; the script behind it asks `account` who is there."""
ADDRESS: Final = re.compile(r"/(media/[0-9a-f]{32,64}|_stcore/upload_file/[0-9a-f-]{36}/[0-9a-f-]{36})(?:\.\w+)?")
FIELDS: Final = frozenset({"url", "upload_url", "delete_url", "image", "icon_image", "favicon"})
"""Fields of messages to a page that hold addresses; a text that a user wrote is in none of them, except in a link."""
HARMLESS: Final = frozenset({"rerun_script", "stop_script", "app_heartbeat", None})
"""What a page that is not logged in may send: no upload, and no download."""
KEPT: Final = 20_000
"""Most addresses kept for each user; the oldest is dropped."""
DEFERRED: Final = "deferred_file"
"""Prefix of a download that is made when the page asks for it; its id is as good as an address."""
HELD_FILES, HELD_BYTES, HELD_AT_ONCE = 200, 512_000_000, 8
"""Uploads of one user that wait in memory until a page has read them, and uploads in transit."""
SOCKETS, STRANGERS = 64, 128
"""Most open pages of one user, and of everyone who has not logged in."""
STRANGER_BYTES, STRANGER_MESSAGES = 65_536, 120
"""Largest message, and most messages in a minute, of a page that is not logged in."""
HEADERS: Final = (
    (b"content-security-policy", b"frame-ancestors 'self'"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)

LOGOUT = "auth/logout"
_log = logging.getLogger(__name__)


class Guard:
    """ASGI middleware; one exists in each server."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._sent: dict[str | None, OrderedDict[str, None]] = {}
        """By user, None for those not logged in: the addresses that the server has sent."""
        self._sockets: dict[str | None, int] = {}
        self._uploading: dict[str, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    # -- requests -----------------------------------------------------------------------------------------------------

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HTTPConnection(scope)
        path = _path(scope)
        if path.rstrip("/") == LOGOUT and _is_foreign(request):
            await PlainTextResponse("A page of another site may not log you out.", 403)(scope, receive, send)
            return
        if path.partition("/")[0] not in GUARDED or path in OPEN or FONTS.fullmatch(path):
            await self._app(scope, receive, send)
            return
        user = account.visitor(request.cookies)
        wrong = _forged(request) or self._refused(path, user)
        uploads = path.startswith("_stcore/upload_file/") and scope["method"] == "PUT"
        if not wrong and uploads:
            wrong = self._too_much(path, user or "")
        if wrong:
            await PlainTextResponse(wrong[1], wrong[0], {"Cache-Control": "no-store"})(scope, receive, send)
        elif uploads:
            await self._upload(user or "", scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refused(self, path: str, user: str | None) -> tuple[int, str] | None:
        """Return status and reason if the user may not open the path."""
        address = ADDRESS.fullmatch(f"/{path}")
        if user == "" or (address and address[1] in self._sent.get(None, ())):
            return None  # there is no login, or the login page shows it
        if user is None:
            return 401, "Log in first."
        if path.startswith(("media/", "_stcore/upload_file/")) and not (
            address and address[1] in self._sent.get(user, ())
        ):
            return 404, "Not found."  # in the same words whether it exists or not
        return None

    def _too_much(self, path: str, user: str) -> tuple[int, str] | None:
        if self._uploading.get(user, 0) >= HELD_AT_ONCE:
            return 429, f"At most {HELD_AT_ONCE} files can be uploaded at once; wait until one is done."
        files = [file for session in self._sessions(path, user) for file in session.values()]
        if len(files) >= HELD_FILES or sum(len(file.data) for file in files) >= HELD_BYTES:
            return 413, (
                f"At most {HELD_FILES} files and {HELD_BYTES // 1_000_000} MB can wait on the pages that you have open; "
                "remove some, or close the pages."
            )
        return None

    def _sessions(self, path: str, user: str) -> Iterator[dict[str, Any]]:
        """Yield the files that wait in memory, by session of the user."""
        storage = Runtime.instance().uploaded_file_mgr.file_storage  # type: ignore[attr-defined]
        sessions = {path.split("/")[2]}
        sessions.update(address.split("/")[2] for address in self._sent.get(user, ()) if address.startswith("_stcore"))
        yield from (storage[session] for session in sessions if session in storage)

    async def _upload(self, user: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._uploading[user] = self._uploading.get(user, 0) + 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._uploading[user] -= 1

    # -- pages --------------------------------------------------------------------------------------------------------

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope)
        user = account.visitor(connection.cookies)
        if _path(scope) != STREAM or _forged(connection):
            await send({"type": "websocket.close", "code": 1008})
            return
        if self._sockets.get(user, 0) >= (STRANGERS if user is None else SOCKETS) and user != "":
            _log.warning("too many open pages; one more is refused")
            await send({"type": "websocket.close", "code": 1013})
            return
        self._sockets[user] = self._sockets.get(user, 0) + 1
        try:
            await self._app(scope, self._checked(user, receive), self._noting(user, send))
        finally:
            self._sockets[user] -= 1

    def _checked(self, user: str | None, receive: Receive) -> Receive:
        """Return `receive` without messages that ask for what is not the user's; one that sends too much is cut off."""
        if user == "":
            return receive
        limit = _Limit() if user is None else None

        async def checked() -> Part:
            while True:
                message = await receive()
                data = message.get("bytes") or b""
                if message["type"] != "websocket.receive" or not data:
                    return message
                if limit and limit.exceeded(len(data)):
                    return {"type": "websocket.disconnect", "code": 1009}
                if self._may_ask(user, data):
                    return message

        return checked

    def _may_ask(self, user: str | None, data: bytes) -> bool:
        message = BackMsg()
        try:
            message.ParseFromString(data)
        except DecodeError:
            return True  # Streamlit ends the connection
        asked = message.WhichOneof("type")
        if user is None:
            return asked in HARMLESS
        # Streamlit builds a download for anyone who names it.
        file = message.backend_operation_request.deferred_file.file_id if asked == "backend_operation_request" else ""
        return not file or f"{DEFERRED}/{file}" in self._sent.get(user, ())

    def _noting(self, user: str | None, send: Send) -> Send:
        """Return `send`, which remembers the addresses that it sends to this user."""
        if user == "":
            return send

        async def noting(message: Part) -> None:
            for address in addresses(message.get("bytes") or b""):
                known = self._sent.setdefault(user, OrderedDict())
                known[address] = None
                known.move_to_end(address)
                if len(known) > KEPT:
                    known.popitem(last=False)
            await send(message)

        return noting


def addresses(data: bytes) -> Iterator[str]:
    """Yield the addresses in a message to a page."""
    message = ForwardMsg()
    try:
        message.ParseFromString(data)
    except DecodeError:
        return
    if file := message.delta.new_element.download_button.deferred_file_id:
        yield f"{DEFERRED}/{file}"
    if b"/media/" in data or b"/upload_file/" in data:  # a walk through every field of every message takes longer
        yield from _addresses(message)


def _addresses(message: Message) -> Iterator[str]:
    for field, value in message.ListFields():
        values = value if field.is_repeated else [value]
        if field.message_type is not None:
            if not field.message_type.GetOptions().map_entry and field.message_type.name != "LinkButton":
                for each in values:
                    yield from _addresses(each)
        elif field.name in FIELDS:
            yield from (found[1] for each in values if isinstance(each, str) and (found := ADDRESS.fullmatch(each)))


def _path(scope: Scope) -> str:
    """Return the path below the base URL, without the first slash."""
    base = str(config.get_option("server.baseUrlPath") or "").strip("/")
    path = str(scope["path"]).lstrip("/")
    return path.removeprefix(base).lstrip("/") if base else path


def _forged(connection: HTTPConnection) -> tuple[int, str] | None:
    """Return status and reason if a page of another site has caused the request, or it names a foreign host."""
    host, origin = connection.headers.get("host"), connection.headers.get("origin")
    if not is_host_allowed(host):
        return 403, "This host name is not allowed; STREAMLIT_SERVER_ALLOWED_HOSTS lists those that are."
    if origin is None or allow_all_cross_origin_requests() or urlsplit(origin).netloc == host:
        return None
    known = {*allowlisted_origins(), *account.origins()}
    if config.is_manually_set("browser.serverAddress") and urlsplit(origin).hostname == config.get_option(
        "browser.serverAddress"
    ):
        return None
    return None if origin in known else (403, "A page of another site may not do this.")


def _is_foreign(connection: HTTPConnection) -> bool:
    """Return whether a page of another site has caused a request that browsers send without an origin."""
    site = connection.headers.get("sec-fetch-site", "")
    if site:
        return site not in ("same-origin", "none")
    referrer = connection.headers.get("referer")
    return referrer is not None and urlsplit(referrer).netloc != connection.headers.get("host")


def _with_headers(send: Send) -> Send:
    async def adding(message: Part) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *((name, value) for name, value in HEADERS if name not in given)]
        await send(message)

    return adding


class _Limit:
    """Limits what a page that is not logged in sends."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=STRANGER_MESSAGES)

    def exceeded(self, size: int) -> bool:
        now = time.monotonic()
        often = len(self._times) == STRANGER_MESSAGES and now - self._times[0] < 60
        self._times.append(now)
        return often or size > STRANGER_BYTES
