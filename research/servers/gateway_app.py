"""`gateway`: a base address for other programs' agents, whose calls become events of a run.

Requests are passed on byte for byte to the endpoint that the address or the model names.  Paths:
`[/runs/NAME][/endpoints/ENDPOINT][/v1]/chat/completions`, and likewise `/responses` and `/messages`.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from research._util.http import address_of
from research.config.named_endpoints import BY_SETTINGS
from research.engine.rate_limit import RateLimiter
from research.errors import ConfigError, ProviderError, StoreUnavailable
from research.models import prices
from research.servers.gateway_calls import JSON, Errand, carry
from research.servers.gateway_desk import Desk
from research.servers.gateway_flow import Flow
from research.servers.gateway_pipe import OneRun, Pipe
from research.servers.gateway_replay import RecordedUpstream
from research.servers.gateway_requests import PATHS, Api, Asking, error_body, read, with_model
from research.servers.gateway_runs import Call
from research.servers.gateway_upstream import HttpUpstream, open_client
from research.text import estimate_tokens
from research.types import Usage
from research.workbench import endpoint_registry

if TYPE_CHECKING:
    import httpx2

    from research.workbench.workbench import Workbench

LOOK_S: Final = 0.5
_PATH: Final = re.compile(r"/(?:runs/([^/]+)/)?(?:endpoints/([^/]+)/)?(?:v1/)?(.*)")
_UNRECORDED: Final = re.compile(r"models(/.{1,300})?|embeddings|messages/count_tokens")
"""Paths passed on without becoming events."""
_DEFAULT: Final[dict[Api, str]] = {"chat": "openai", "responses": "openai", "messages": "anthropic"}


class Options(Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    host: str = "127.0.0.1"
    port: int = 8400
    endpoint: str = ""
    """Default endpoint of requests; empty: `openai`, and `anthropic` for Anthropic's messages."""
    token: str = ""
    """The key that agents must send; empty: any."""
    idle_s: float = 60.0
    """Seconds without a request after which a run ends."""


class Refused(Exception):
    """A request that is not carried out."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


def serve(bench: Workbench, options: Options) -> None:
    """Serve until the process is stopped.  Raises `ConfigError` for an address that cannot be used."""
    with listening(options) as listener:
        host, port = listener.getsockname()[:2]
        place = f"[{host}]" if ":" in host else host
        sys.stderr.write(f"gateway at http://{place}:{port}/v1\n")
        sys.stderr.flush()
        _run(Gateway(bench, options), listener)


def serve_run(bench: Workbench, options: Options, run_id: str) -> None:
    """Serve the agent of one run until standard input is closed; its events go to standard output.

    The process at the other end saves them (`research/frameworks/agent.py`).
    """
    with listening(options) as listener:
        pipe = Pipe(sys.stdin.buffer, sys.stdout.buffer)
        gateway = Gateway(bench, options, OneRun(bench.store.events(run_id), pipe))
        pipe.begin(f"http://127.0.0.1:{listener.getsockname()[1]}")
        _run(gateway, listener)


def _run(gateway: Gateway, listener: socket.socket) -> None:
    import uvicorn

    config = uvicorn.Config(
        gateway.app(), log_level="critical", access_log=False, server_header=False, date_header=False, ws="none"
    )
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])


def listening(options: Options) -> socket.socket:
    """Return the socket to serve on.  Raises `ConfigError`, also if other machines could connect without a token."""
    try:
        address = address_of(options.host)
    except ValueError:
        raise ConfigError(f"--host {options.host}: give an IP address, such as 127.0.0.1 or 0.0.0.0") from None
    if not address.is_loopback and not options.token:
        raise ConfigError(
            f"--host {options.host} can be reached from other machines, so agents must send a token: set "
            "WORKBENCH_GATEWAY_TOKEN, and give it to them as their API key"
        )
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        listener = socket.create_server((str(address), options.port), family=family)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"--port {options.port}: cannot listen there ({error}); choose another port") from error
    # Accepted sockets inherit it. Otherwise an answer's end waits 40 ms for the agent's acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


class Gateway:
    """Receives requests, and sends each on."""

    def __init__(self, bench: Workbench, options: Options, desk: Desk | OneRun | None = None) -> None:
        """Raises `ConfigError` for an unknown endpoint."""
        self._bench, self._options = bench, options
        self._desk = desk or Desk(bench, options.idle_s)
        self._client: httpx2.AsyncClient | None = None
        self._upstreams: dict[str, HttpUpstream | RecordedUpstream] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._rates = endpoint_registry.rates(bench.settings)
        self._limiter = RateLimiter(self._rates, lambda: bench.common, bench.settings.user)
        if options.endpoint.startswith("recorded:"):
            self._find(options.endpoint)
        elif options.endpoint:
            endpoint_registry.find(bench.settings, options.endpoint)

    def app(self) -> Starlette:
        """Return the ASGI application."""
        routes = [
            Route("/", self._about, methods=["GET"]),
            Route("/runs/{name}/end", self._end, methods=["POST"]),
            Route("/{path:path}", _Endpoint(self._serve), methods=["GET", "POST"]),
        ]
        return Starlette(routes=routes, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self._client = open_client()
        self._upstreams.clear()
        await run_in_threadpool(self._desk.open)
        warm = asyncio.create_task(run_in_threadpool(prices.cost_usd, "openai", "gpt-5", Usage(1, 1)))
        looking = asyncio.create_task(self._look())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.gather(looking, warm, return_exceptions=True)
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.gather(*(self._leave(run.id) for run in list(self._desk.runs.values())))
            await self._client.aclose()

    async def _leave(self, run_id: str) -> None:
        run = self._desk.runs[run_id]
        done = all(each.answered for each in run.conversations)
        await run_in_threadpool(self._desk.end if done else self._desk.pause, run)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                over = await run_in_threadpool(lambda: list(self._desk.look()))
            except StoreUnavailable:
                continue  # meanwhile the spool keeps the events
            for run in over:
                self._desk.runs.pop(run.id, None)
                self._start(run_in_threadpool(self._desk.end, run))

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- requests -----------------------------------------------------------------------------------------------------

    async def _about(self, request: Request) -> Response:
        lines = ["A gateway of the Research Workbench.  Base addresses for agents:", ""]
        base = f"http://{request.headers.get('host', '')}"
        lines += [
            f"OPENAI_BASE_URL={base}/v1",
            f"ANTHROPIC_BASE_URL={base}",
            f"with a name for the run: {base}/runs/NAME/v1",
        ]
        return PlainTextResponse("\n".join(lines) + "\n")

    async def _end(self, request: Request) -> Response:
        """End a run, and return how it ended."""
        try:
            self._check(request)
            name = request.path_params["name"]
            run = self._desk.open_run(name)
            if run is None or run.at_work:
                why = "no such run is open" if run is None else "a call is in flight"
                raise Refused(409, "cannot_end", f"run {name!r} cannot end: {why}")
            await run_in_threadpool(self._desk.end, run)
            row = await run_in_threadpool(self._bench.store.run, run.id)
        except Refused as error:
            return Response(error_body("chat", error.kind, str(error)), error.status, dict(JSON))
        return JSONResponse({"run_id": row.id, "status": row.status, "outcome": row.outcome, "answer": row.answer})

    async def _serve(self, request: Request) -> _Answered:
        """Return the call that performs the request."""
        self._check(request)
        match = _PATH.fullmatch(request.url.path)
        assert match is not None
        name, endpoint, path = match[1] or request.headers.get("x-research-run", ""), match[2] or "", match[3]
        body = await request.body()
        if _UNRECORDED.fullmatch(path):
            return await self._pass_on(request, endpoint, path, body)
        if path not in PATHS or request.method != "POST":
            accepted = ", ".join(f"POST /v1/{each}" for each in PATHS)
            raise Refused(
                404, "not_found", f"{request.method} {request.url.path}: expected {accepted} or GET /v1/models"
            )
        asking, upstream = self._read(PATHS[path], body, endpoint)
        retried = request.headers.get("x-stainless-retry-count", "0") not in ("", "0")
        call = self._desk.repeated(asking, name, retried=retried)
        if call is not None:
            return _Answered(self._again(call), asking.stream, call)
        label = f"{upstream.name}:{asking.model if isinstance(upstream, HttpUpstream) else upstream.run_id}"
        run = self._desk.run_for(asking, name, label)
        if run.closed:
            raise Refused(403, "run_closed", f"run {run.id} takes no further requests: {run.closed}")
        call = run.ask(asking, label)
        call.flow = Flow()
        errand = Errand(
            upstream=upstream,
            model=asking.model,
            path=path,
            query=request.url.query,
            headers=request.headers.items(),
            turn=lambda: self._turn(label, asking),
        )
        self._start(carry(call, asking, errand))
        return _Answered(call.flow, asking.stream, call)

    def _again(self, call: Call) -> Flow:
        """Return the answer of a repeated call."""
        if call.flow is not None and not call.flow.done:
            return call.flow
        assert call.returned is not None
        call.run.repeat(call)
        flow = Flow()
        flow.whole(call.returned.status, list(call.returned.headers.items()), call.returned.body)
        return flow

    async def _pass_on(self, request: Request, endpoint: str, path: str, body: bytes) -> _Answered:
        upstream = self._find(endpoint or self._options.endpoint or _DEFAULT["messages" if "count" in path else "chat"])
        flow = Flow()
        if isinstance(upstream, RecordedUpstream):
            raise Refused(
                404, "not_recorded", f"{path} is not recorded, so recorded:{upstream.run_id} cannot answer it"
            )
        sent = upstream.sent(request.method, path, request.url.query, request.headers.items(), body, "")
        try:
            async with sent as answer:
                whole = upstream.clean(await answer.whole(), answer.status)
        except ProviderError as error:
            raise Refused(502, "upstream_unreachable", str(error)) from error
        flow.whole(answer.status, answer.headers, whole)
        return _Answered(flow, False, None)

    def _read(self, api: Api, body: bytes, endpoint: str) -> tuple[Asking, HttpUpstream | RecordedUpstream]:
        """Return the request as sent on, and where to.  Raises `ConfigError`."""
        asking = read(api, body)
        if endpoint:
            return asking, self._find(endpoint)
        kind, _, model = asking.model.partition(":")
        if model and kind == "recorded":
            return asking, self._find(asking.model)
        settings = self._bench.settings
        if model and (kind in BY_SETTINGS or kind in settings.endpoints or kind in settings.local_endpoints()):
            return read(api, with_model(body, model)), self._find(kind)
        return asking, self._find(self._options.endpoint or _DEFAULT[api])

    def _find(self, name: str) -> HttpUpstream | RecordedUpstream:
        if name not in self._upstreams:
            kind, _, run = name.partition(":")
            if kind == "recorded":
                row = self._bench.store.run(run)
                self._upstreams[name] = RecordedUpstream(row.id, self._bench.store.events(row.id))
            else:
                client = self._client or open_client()
                self._upstreams[name] = HttpUpstream(endpoint_registry.find(self._bench.settings, name), client)
        return self._upstreams[name]

    async def _turn(self, model: str, asking: Asking) -> None:
        if model.partition(":")[0] in self._rates:
            tokens = sum(estimate_tokens(message.content) for message in asking.messages)
            await asyncio.sleep(await run_in_threadpool(self._limiter, model, tokens))

    def _check(self, request: Request) -> None:
        """Raise `Refused` for a request without the token or from a page of another site."""
        if self._options.token:
            given = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
            keys = (given, request.headers.get("x-api-key", ""), request.headers.get("api-key", ""))
            if not any(hmac.compare_digest(key.encode(), self._options.token.encode()) for key in keys):
                raise Refused(
                    401, "invalid_api_key", "send the gateway's token (WORKBENCH_GATEWAY_TOKEN) as the API key"
                )
            return
        host = request.headers.get("host", "").rpartition(":")[0].strip("[]") or request.headers.get("host", "")
        with suppress(ValueError):
            if address_of(host).is_loopback:
                if "origin" in request.headers:
                    raise Refused(403, "forbidden", "web pages cannot use a gateway without a token")
                return
        raise Refused(403, "forbidden", f"host {host!r}: a gateway without a token answers only at loopback addresses")


class _Answered(Struct, frozen=True):
    """An answer, and its call; None if it is not recorded."""

    flow: Flow
    streamed: bool
    call: Call | None


class _Endpoint:
    """An ASGI endpoint whose answer may arrive in pieces."""

    def __init__(self, serve: Callable[[Request], Awaitable[_Answered]]) -> None:
        self._serve = serve

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        api: Api = "messages" if "/messages" in scope["path"] else "chat"
        try:
            answered = await self._serve(request)
        except Refused as error:
            await _error(error.status, api, error.kind, str(error))(scope, receive, send)
            return
        except ConfigError as error:
            await _error(400, api, "invalid_request_error", str(error))(scope, receive, send)
            return
        except StoreUnavailable as error:
            await _error(503, api, "not_recorded", str(error))(scope, receive, send)
            return
        delivered = await answered.flow.deliver(receive, send, streamed=answered.streamed)
        if answered.call is not None and delivered:
            answered.call.delivered = True


def _error(status: int, api: Api, kind: str, message: str) -> Response:
    return Response(error_body(api, kind, message), status, dict(JSON))
