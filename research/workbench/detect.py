"""Model servers that run on this machine, found by asking their usual ports on loopback, and nowhere else."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from research._util.connections import ssl_context
from research._util.http import is_loopback
from research.config import named_endpoints
from research.config.named_endpoints import Entry, Preset
from research.config.settings import Settings, environment
from research.models.host import Host
from research.workbench import endpoint_registry as workbench_endpoints

if TYPE_CHECKING:
    import httpx2

TIMEOUT_S: Final = 1.0
_MOST_BYTES: Final = 1_000_000
_NO_CHAT: Final = ("embed", "rerank", "bge-", "whisper")
"""Parts of the names of models that do not chat."""


class Server(Struct, frozen=True):
    """A model server that was found."""

    name: str
    """The name for its endpoint: the preset's."""
    title: str
    url: str
    models: tuple[str, ...]

    @property
    def model(self) -> str:
        """The model to offer; empty: it lists none that chats."""
        return next((each for each in self.models if not any(part in each.lower() for part in _NO_CHAT)), "")


def detect(variables: Mapping[str, str] | None = None) -> list[Server]:
    """Return the model servers of this machine.  Takes a second at most; asks loopback addresses only."""
    given = environment() if variables is None else variables
    import httpx2

    asked = [(name, preset) for name, preset in named_endpoints.presets().items() if preset.probe]
    # No proxy of the environment and no redirect: the requests stay on this machine.
    with (
        httpx2.Client(trust_env=False, follow_redirects=False, timeout=TIMEOUT_S, verify=ssl_context()) as client,
        ThreadPoolExecutor(len(asked)) as pool,
    ):
        found = list(pool.map(lambda each: _probe(client, each[0], each[1], _root(each[0], each[1], given)), asked))
    return [server for server in found if server]


class Detection(threading.Thread):
    """Looks for servers in the background, so that no page waits for it."""

    def __init__(self) -> None:
        super().__init__(name="detect-servers", daemon=True)
        self.servers: list[Server] = []
        self.start()

    def run(self) -> None:
        self.servers = detect()


def wanted(bench: Host) -> bool:
    """Return whether to look for servers at the start: no local one is set up, and it is not forbidden.

    With a login, the servers of this machine are the administrator's, who lists them.
    """
    settings = bench.settings
    local = any(is_loopback(each.url) for each in workbench_endpoints.known(settings))
    return settings.detect == "start" and not (settings.user or settings.lock_settings or local)


def offered(bench: Host, servers: list[Server], *, again: bool = False) -> list[Server]:
    """Return the servers worth offering: with a model, not yet in use, and not declined.

    `again`: the user asked, so declined ones count too.
    """
    declined = set() if again else {body.decode() for body in bench.store.values("declined")}
    used = {_address(each.url) for each in workbench_endpoints.known(bench.settings)}
    return [each for each in servers if each.model and each.name not in declined and _address(each.url) not in used]


def decline(bench: Host, name: str) -> None:
    """Never offer this server again."""
    bench.store.put("declined", name, name.encode())


def accept(bench: Host, server: Server) -> Settings:
    """Save the endpoint of a server that was found, and return the new settings.  Raises `ConfigError`."""
    entry = Entry(url=server.url, model=server.model)
    return workbench_endpoints.add(bench.settings, server.name, entry, replace=True)


def _root(name: str, preset: Preset, variables: Mapping[str, str]) -> str:
    """Return the address to ask: the preset's port on loopback; for Ollama, its variable's."""
    port = urlsplit(preset.url).port or 80
    if name == "ollama" and (given := variables.get("OLLAMA_HOST", "").strip()):
        parts = urlsplit(given if "://" in given else f"http://{given}")
        try:
            port = parts.port or port
        except ValueError:
            return ""
        # Servers listen on 0.0.0.0 for everybody, this machine included; other hosts are not ours to ask.
        if parts.hostname not in (None, "", "0.0.0.0", "::") and not is_loopback(parts.geturl()):
            return ""
    return f"http://127.0.0.1:{port}"


def _probe(client: httpx2.Client, name: str, preset: Preset, root: str) -> Server | None:
    """Return the server at this address if it answers as the preset expects."""
    probe = preset.probe
    if probe is None or not root:
        return None
    for path, key in probe.signs.items():
        if key not in _get(client, f"{root}/{path}"):
            return None
    listed = _get(client, f"{root}/{probe.models}").get(probe.list)
    rows = listed if isinstance(listed, list) else []
    models = [row[probe.name] for row in rows if isinstance(row, dict) and isinstance(row.get(probe.name), str)]
    path = urlsplit(preset.url).path
    local = preset.url if f":{urlsplit(root).port}" in preset.url else f"{root}{path}"
    return Server(name, preset.title, local, tuple(models[:200]))


def _get(client: httpx2.Client, url: str) -> dict[str, Any]:
    """Return the JSON object at the address; empty if it has none."""
    import httpx2

    body = bytearray()
    try:
        with client.stream("GET", url) as response:
            if response.status_code != 200:
                return {}
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _MOST_BYTES:
                    return {}
        found = json.loads(body)
    except (httpx2.HTTPError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _address(url: str) -> tuple[str, int | None]:
    """Return host and port for comparison; all names of this machine are equal."""
    parts = urlsplit(url)
    return ("loopback" if is_loopback(url) else parts.hostname or "", parts.port)
