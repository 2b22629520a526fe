"""`mcp.json`: which MCP servers there are, and how each is reached.

The file is the one that other MCP clients read: `{"mcpServers": {"NAME": {"command", "args", "env"}}}` for a program
that speaks over its standard streams, `{"url", "headers"}` for one that speaks HTTP.  Nothing else can name a command:
no page, no argument and no model.  `${NAME}` stands for a variable of the environment, so that keys need not be here.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import Meta, Struct
from pydantic import SecretStr

from research import decoding
from research.errors import ConfigError
from research.redaction import disguises, hide_in_logs

FILE = "mcp.json"

_NAME = re.compile(r"(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,30}(?<!_)")
"""So that the first `__` of `server__tool` is always the seam."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, token
_ACCEPTED = (
    '{"command": "…", "args": ["…"], "env": {"NAME": "…"}} or {"url": "https://…", "headers": {"NAME": "…"}}, '
    'each with "type" ("stdio" or "http") and "timeout_s" (seconds of one call, up to 600) if you like'
)


class Server(Struct, frozen=True, forbid_unknown_fields=True):
    """One server as the file writes it, variables not yet filled in: nothing in `how` is secret unless the file is."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    type: Literal["stdio", "http", "streamable-http", "streamableHttp"] | None = None
    timeout_s: Annotated[float, Meta(gt=0, le=600)] = 60.0
    """Seconds that one call may take."""

    @property
    def how(self) -> str:
        """The exact command line, or the url without user, query and fragment, which may hold a key."""
        if self.command:
            return shlex.join((self.command, *self.args))
        return re.sub(r"(?<=//)[^/]*@", "", re.split(r"[?#]", self.url)[0])


class Mask:
    """Makes secrets unreadable in a text, also as servers echo them (see `disguises`)."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # The longest first: a secret may be the beginning of another one.
        self._patterns = [disguises(secret) for secret in sorted(set(secrets), key=len, reverse=True)]

    def __call__(self, text: str) -> str:
        for pattern in self._patterns:
            text = pattern.sub("***", text)
        return text

    def inside(self, value: Any) -> Any:
        """A JSON value with every text in it masked."""
        match value:
            case str():
                return self(value)
            case list():
                return [self.inside(each) for each in value]
            case dict():
                return {self(key): self.inside(each) for key, each in value.items()}
        return value


class Launch(Struct, frozen=True):
    """What it takes to reach a server, variables filled in."""

    command: tuple[SecretStr, ...]
    """Empty for a server that speaks HTTP."""
    env: Mapping[str, SecretStr]
    url: SecretStr
    headers: Mapping[str, SecretStr]
    mask: Mask
    """For every text that comes from this server or from trying to reach it."""


def read(path: Path) -> dict[str, Server]:
    """The servers of the file, by name; none when there is no file.

    Raises `ConfigError` that names the file, the server and what is accepted.
    """
    try:
        content = json.loads(path.read_text("utf-8-sig"), object_pairs_hook=_once)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f'{path} cannot be read as JSON: {error}; write {{"mcpServers": {{…}}}}') from error
    if not isinstance(content, dict) or set(content) != {"mcpServers"} or not isinstance(content["mcpServers"], dict):
        raise ConfigError(f'{path}: one object with the key "mcpServers" is accepted: {{"mcpServers": {{"NAME": …}}}}')
    return {name: _server(path, name, entry) for name, entry in content["mcpServers"].items()}


def launch(path: Path, name: str, server: Server, environment: Mapping[str, str]) -> Launch:
    """Fill the variables in.  Raises `ConfigError` that names the server and the variable, never a value."""
    used: list[str] = []

    def filled(text: str, where: str) -> str:
        def value(match: re.Match[str]) -> str:
            if match[1] not in environment:
                raise ConfigError(f"{path}: server {name!r}, {where}: the environment has no variable {match[1]}")
            used.append(environment[match[1]])
            return environment[match[1]]

        if "${" in _VARIABLE.sub("", text):
            raise ConfigError(f"{path}: server {name!r}, {where}: a variable is written ${{NAME}}, nothing else")
        result = _VARIABLE.sub(value, text)
        if "\0" in result or any("\ud800" <= character <= "\udfff" for character in result):
            raise ConfigError(f"{path}: server {name!r}, {where}: text without NUL and half characters is accepted")
        return result

    command = (filled(server.command, "command"), *(filled(word, "args") for word in server.args))
    env = {key: filled(value, f"env {key}") for key, value in server.env.items()}
    url = filled(server.url, "url")
    headers = {key: filled(value, f"header {key}") for key, value in server.headers.items()}
    for key, value in headers.items():
        if not _HEADER.fullmatch(key) or not value.isascii() or not value.isprintable():
            raise ConfigError(f"{path}: server {name!r}, header {key!r}: one line of plain ASCII is accepted")
    asked = [value for part in re.split(r"[?#]", url)[1:] for value in (part, *(each for _, each in parse_qsl(part)))]
    written = [
        *env.values(),
        *headers.values(),
        *(word for value in headers.values() for word in value.split()),
        *asked,
    ]
    user = re.search(r"(?<=//)[^/?#]*(?=@)", url)  # refused later, with the url in the message
    if user:
        used += [unquote(user[0]).rpartition(":")[2], user[0].rpartition(":")[2]]
    # A path is no secret, and tools need paths back as they are.
    secrets = {value for value in (*used, *(each for each in written if len(each) >= 8)) if not _is_path(value)}
    for secret in secrets:
        hide_in_logs(secret)
    return Launch(
        tuple(map(SecretStr, command)) if server.command else (),
        {key: SecretStr(value) for key, value in env.items()},
        SecretStr(url),
        {key: SecretStr(value) for key, value in headers.items()},
        Mask(secrets),
    )


def _server(path: Path, name: str, entry: Any) -> Server:
    where = f"{path}: server {name!r}"
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{where}: a name is 1 to 31 letters, digits, - and single _, and does not end with _")
    try:
        server = decoding.convert(entry, Server)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {error}; accepted: {_ACCEPTED}") from error
    over_http = server.type not in (None, "stdio")
    if (
        bool(server.command) == bool(server.url)
        or (server.type is not None and over_http != bool(server.url))
        or (server.url and (server.args or server.env))
        or (server.command and server.headers)
    ):
        raise ConfigError(f"{where}: either a command or a url, each with its own keys; accepted: {_ACCEPTED}")
    for key in server.env:
        if not key or "=" in key or "\0" in key:
            raise ConfigError(f"{where}: env {key!r} is not the name of a variable")
    return server


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys come once: of two servers of one name, which would be meant?"""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for n, (key, _) in enumerate(pairs) if key in dict(pairs[:n]))
        raise ValueError(f"the key {twice!r} comes twice in one object")
    return found


def _is_path(text: str) -> bool:
    """Whether it is an absolute path here: of what is there, or of something in a folder that is there."""
    path = Path(text)
    try:
        return path.is_absolute() and (path.exists() or (len(path.parts) > 2 and path.parent.exists()))
    except OSError:  # too long for one
        return False
