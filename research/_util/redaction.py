"""Redact keys: services echo the keys that they refuse, and HTTP clients log the urls that they request."""

from __future__ import annotations

import base64
import logging
import re
from functools import cache
from html.entities import html5


@cache
def key_pattern(key: str) -> re.Pattern[str]:
    """Return a pattern that matches a key as servers echo it: plain, in hex, or inside base64 at any alignment.

    Each character may be percent-encoded, escaped or an HTML entity, and line breaks may occur anywhere.
    """
    data = key.encode("utf-8", "surrogatepass")
    forms = {data.hex()} if len(key) >= 4 else set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for shift in range(3):
            # Keep only the digits that do not depend on the bytes around the key.
            size = shift + len(data)
            digits = encode(b"\0" * shift + data).decode()
            forms.add(digits[(shift * 8 + 5) // 6 : size * 8 // 6])
    # Shorter forms are dummy keys of local servers such as "x", and would match everywhere.
    long = sorted((form for form in forms if len(form) >= 4), key=len, reverse=True)
    broken = r"\s{0,40}" if "\\" in key else r"(?:\s|\\{1,4}[nr]){0,40}"  # also as JSON writes it
    patterns = [broken.join(each if each.isalnum() else _character(each) for each in form) for form in long]
    if len(key) >= 4:
        patterns.append(broken.join(map(_character, key)))
    return re.compile("|".join(patterns) or r"(?!)", re.IGNORECASE)


@cache
def _character(character: str) -> str:
    """Return a pattern for one character as JSON, a url or HTML may encode it."""
    data, units = character.encode("utf-8", "surrogatepass"), character.encode("utf-16-be", "surrogatepass")
    forms = [re.escape(character), "".join(f"%(?:25){{0,3}}{byte:02x}" for byte in data)]
    if not character.isalnum() or not character.isascii():
        forms += [
            rf"\\{{1,4}}{re.escape(character)}",
            "".join(rf"\\{{1,4}}u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)),
            rf"&\#0{{0,5}}{ord(character)};",
            rf"&\#x0{{0,5}}{ord(character):x};",
            *(f"&{name}" for name, value in html5.items() if value == character and name.endswith(";")),
            *(["\\+"] if character == " " else []),
        ]
    return f"(?:{'|'.join(forms)})"


@cache
def redact_in_logs(key: str) -> None:
    """Redact a key in the log lines of the HTTP clients, which contain urls and, at `debug`, response headers."""
    secret = key_pattern(key)

    def mask(record: logging.LogRecord) -> bool:
        record.msg, record.args = secret.sub("***", record.getMessage()), ()
        return True

    for name in ("httpx2", "httpcore2.http11", "httpcore2.http2"):
        logging.getLogger(name).addFilter(mask)
