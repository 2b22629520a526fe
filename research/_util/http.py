"""Checks of urls and keys for HTTP services, and the reading of Retry-After."""

from __future__ import annotations

import string
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from research.errors import ConfigError

if TYPE_CHECKING:
    import httpx2

_AROUND = f"{string.whitespace}\u00a0\u200b\ufeff\"'`<>,;"


def tidied(text: str) -> str:
    """Strip what is copied along with an address or key: white space, invisible characters, quotation marks."""
    return text.strip(_AROUND)


@cache
def base_url(text: str, setting: str) -> httpx2.URL:
    """Parse a base url.  Raises `ConfigError`, which names the setting."""
    import httpx2

    shown = text.rpartition("@")[2].partition("?")[0]  # without a password or key
    accepted = "accepted: http://HOST[:PORT][/PATH] or https://…, without user, query and fragment"
    try:
        if any(map(str.isspace, text)):
            raise httpx2.InvalidURL("white space")
        url = httpx2.URL(text.rstrip("/"))
        url.host.encode("idna")  # otherwise the look-up fails here with an obscure error
    except (httpx2.InvalidURL, UnicodeError):
        raise ConfigError(
            f"{setting} {shown!r} is not a url; {accepted}"
        ) from None  # its message may contain a password
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
        raise ConfigError(f"{setting} {shown!r} cannot be used; {accepted}")
    return url


def host_of(url: str | None) -> str:
    """Return scheme, host and port of an address, in lower case; "" for none."""
    if not url:
        return ""
    try:
        parts = urlsplit(url.strip().lower())
    except ValueError:
        return ""  # the code that uses the address reports what is wrong
    return f"{parts.scheme}://{parts.netloc}"


def address_of(host: str) -> IPv4Address | IPv6Address:
    """Parse a host as an IP address; `localhost` is this machine. Raises `ValueError` for other names."""
    return ip_address("127.0.0.1" if host == "localhost" else host)


def is_nearby(url: str) -> bool:
    """Return whether an address names this machine or a private network."""
    host = urlsplit(url.strip()).hostname or ""
    try:
        return address_of(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".localhost"))


def is_loopback(url: str) -> bool:
    """Return whether an address names this machine."""
    try:
        return address_of(urlsplit(url).hostname or "").is_loopback
    except ValueError:
        return False


def check_key(key: str, setting: str) -> None:
    """Raise `ConfigError`, which names the setting, for a key that an HTTP header cannot contain."""
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(f"{setting} contains white space or a character outside ASCII: copy it again")
    if key.startswith(('"', "'")):
        raise ConfigError(f"{setting} begins with a quotation mark: enter it without")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait, from a number or date in Retry-After; None if absent or invalid.  Callers cap it.

    OpenAI's `retry-after-ms`, which is more exact, comes first.
    """
    exact = headers.get("retry-after-ms", "").strip()
    if exact.isdecimal():
        return float(exact) / 1000
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            # Use the server's clock if it sends the time, because ours may be wrong.
            now = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
            seconds = (parsedate_to_datetime(value) - now).total_seconds()
        except (ValueError, TypeError, OverflowError):  # not a date, or one without a time zone
            return None
    return seconds if seconds >= 0 else None
