"""`mcp.json`: the MCP servers and how to connect to each.

The format is that of other MCP clients: `{"mcpServers": {"NAME": {"command", "args", "env"}}}` for a program that
communicates over its standard streams, `{"url", "headers"}` for HTTP.  Only this file can name a command: no page, no
argument and no model can.  `${NAME}` is replaced by an environment variable, so that the file need not contain keys.
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

from research._util import decoding
from research._util.redaction import key_pattern, redact_in_logs
from research.errors import ConfigError

FILE = "mcp.json"

_NAME = re.compile(r"(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,30}(?<!_)")
"""Excludes `__`, so that the first `__` of `server__tool` is always the separator."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, token
_ACCEPTED = (
    '{"command": "…", "args": ["…"], "env": {"NAME": "…"}} or {"url": "https://…", "headers": {"NAME": "…"}}, '
    'each with optional "type" ("stdio" or "http") and "timeout_s" (seconds of one call, up to 600)'
)


class Server(Struct, frozen=True, forbid_unknown_fields=True):
    """One server as in the file, before variables are substituted: `address` has only secrets written in the file."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    type: Literal["stdio", "http", "streamable-http", "streamableHttp"] | None = None
    timeout_s: Annotated[float, Meta(gt=0, le=600)] = 60.0
    """Seconds that one call may take."""

    @property
    def address(self) -> str:
        """Return the exact command line, or the url without user, query and fragment, which may contain a key."""
        if self.command:
            return shlex.join((self.command, *self.args))
        return re.sub(r"(?<=//)[^/]*@", "", re.split(r"[?#]", self.url)[0])


class Redactor:
    """Replaces secrets in a text, also in the encoded forms that servers echo (see `key_pattern`)."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # Longest first: one secret may be the beginning of another.
        self._patterns = [key_pattern(secret) for secret in sorted(set(secrets), key=len, reverse=True)]

    def __call__(self, text: str) -> str:
        for pattern in self._patterns:
            text = pattern.sub("***", text)
        return text

    def inside(self, value: Any) -> Any:
        """Return a JSON value with every text in it redacted."""
        match value:
            case str():
                return self(value)
            case list():
                return [self.inside(each) for each in value]
            case dict():
                return {self(key): self.inside(each) for key, each in value.items()}
        return value


class Launch(Struct, frozen=True):
    """How to start or connect to a server, with all variables substituted."""

    command: tuple[SecretStr, ...]
    """Empty for a server reached over HTTP."""
    env: Mapping[str, SecretStr]
    url: SecretStr
    headers: Mapping[str, SecretStr]
    redact: Redactor
    """Apply it to every text from this server, and to connection errors."""


def read(path: Path) -> dict[str, Server]:
    """Return the servers of the file by name; empty when the file does not exist.

    Raises `ConfigError` with the file, the server and the accepted form.
    """
    try:
        content = json.loads(path.read_text("utf-8-sig"), object_pairs_hook=_unique_keys)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f'{path} cannot be read as JSON: {error}; write {{"mcpServers": {{…}}}}') from error
    if not isinstance(content, dict) or set(content) != {"mcpServers"} or not isinstance(content["mcpServers"], dict):
        raise ConfigError(f'{path}: expected one object with the key "mcpServers": {{"mcpServers": {{"NAME": …}}}}')
    return {name: _server(path, name, entry) for name, entry in content["mcpServers"].items()}


def launch(path: Path, name: str, server: Server, environment: Mapping[str, str]) -> Launch:
    """Substitute the variables of a server.  Raises `ConfigError` with the server and the variable, never a value."""
    used: list[str] = []

    def substituted(text: str, where: str) -> str:
        def value(match: re.Match[str]) -> str:
            if match[1] not in environment:
                raise ConfigError(f"{path}: server {name!r}, {where}: environment variable {match[1]} is not set")
            used.append(environment[match[1]])
            return environment[match[1]]

        if "${" in _VARIABLE.sub("", text):
            raise ConfigError(
                f"{path}: server {name!r}, {where}: write variables as ${{NAME}}; other forms are not supported"
            )
        result = _VARIABLE.sub(value, text)
        if "\0" in result or any("\ud800" <= character <= "\udfff" for character in result):
            raise ConfigError(f"{path}: server {name!r}, {where}: remove NUL characters and lone surrogates")
        return result

    command = (substituted(server.command, "command"), *(substituted(word, "args") for word in server.args))
    env = {key: substituted(value, f"env {key}") for key, value in server.env.items()}
    url = substituted(server.url, "url")
    headers = {key: substituted(value, f"header {key}") for key, value in server.headers.items()}
    for key, value in headers.items():
        if not _HEADER.fullmatch(key) or not value.isascii() or not value.isprintable():
            raise ConfigError(f"{path}: server {name!r}, header {key!r}: write its value as one line of plain ASCII")
    in_query = [
        value for part in re.split(r"[?#]", url)[1:] for value in (part, *(each for _, each in parse_qsl(part)))
    ]
    written = [
        *env.values(),
        *headers.values(),
        *(word for value in headers.values() for word in value.split()),
        *in_query,
    ]
    user = re.search(r"(?<=//)[^/?#]*(?=@)", url)  # refused later, with the url in the message;
    if user:  # its password must be hidden in that message
        used += [unquote(user[0]).rpartition(":")[2], user[0].rpartition(":")[2]]
    # A path is not a secret, and tools need unchanged paths in results.
    secrets = {value for value in (*used, *(each for each in written if len(each) >= 8)) if not _is_path(value)}
    for secret in secrets:
        redact_in_logs(secret)
    return Launch(
        tuple(map(SecretStr, command)) if server.command else (),
        {key: SecretStr(value) for key, value in env.items()},
        SecretStr(url),
        {key: SecretStr(value) for key, value in headers.items()},
        Redactor(secrets),
    )


def _server(path: Path, name: str, entry: Any) -> Server:
    where = f"{path}: server {name!r}"
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{where}: a name has 1 to 31 letters, digits, - and single _, and does not end with _")
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
        raise ConfigError(f"{where}: give either a command or a url, each with its own keys; accepted: {_ACCEPTED}")
    for key in server.env:
        if not key or "=" in key or "\0" in key:
            raise ConfigError(f"{where}: env {key!r} is not a valid variable name")
    return server


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dict.  Raises `ValueError` for a repeated key, such as two servers of one name."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for n, (key, _) in enumerate(pairs) if key in dict(pairs[:n]))
        raise ValueError(f"the key {twice!r} appears twice in one object")
    return found


def _is_path(text: str) -> bool:
    """Return whether the text is an absolute path on this machine that exists, or whose folder exists."""
    path = Path(text)
    try:
        return path.is_absolute() and (path.exists() or (len(path.parts) > 2 and path.parent.exists()))
    except OSError:  # too long for a path
        return False
