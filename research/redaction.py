"""Keep keys out of sight: services echo the key that they refuse, and HTTP clients log what they send."""

from __future__ import annotations

import base64
import logging
import re
from functools import cache
from html.entities import html5


@cache
def disguises(key: str) -> re.Pattern[str]:
    """Matches a key as servers echo it: plain, in hex, or within base64 at any of its three alignments.

    Each character of it may be percent-encoded, escaped or an entity of HTML, and lines may be broken anywhere.
    """
    data = key.encode("utf-8", "surrogatepass")
    forms = {data.hex()} if len(key) >= 4 else set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for shift in range(3):
            # Only the digits that depend on no byte around the key.
            size = shift + len(data)
            digits = encode(b"\0" * shift + data).decode()
            forms.add(digits[(shift * 8 + 5) // 6 : size * 8 // 6])
    # Shorter ones are the dummies of local servers ("x"), and would match everywhere.
    long = sorted((form for form in forms if len(form) >= 4), key=len, reverse=True)
    broken = r"\s{0,40}" if "\\" in key else r"(?:\s|\\{1,4}[nr]){0,40}"  # also as JSON writes it
    patterns = [broken.join(each if each.isalnum() else _written(each) for each in form) for form in long]
    if len(key) >= 4:
        patterns.append(broken.join(map(_written, key)))
    return re.compile("|".join(patterns) or r"(?!)", re.IGNORECASE)


@cache
def _written(character: str) -> str:
    """A pattern of one character as JSON, a url and HTML may write it."""
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
def hide_in_logs(key: str) -> None:
    """Mask a key in what the HTTP clients log: every url, and at the finest level the headers of answers."""
    secret = disguises(key)

    def mask(record: logging.LogRecord) -> bool:
        record.msg, record.args = secret.sub("***", record.getMessage()), ()
        return True

    for name in ("httpx2", "httpcore2.http11", "httpcore2.http2"):
        logging.getLogger(name).addFilter(mask)
