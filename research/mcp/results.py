"""Convert the result of an MCP tool into text, citable passages and images."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from research.mcp.config import Redactor
from research.mcp.sanitising import clean
from research.sandbox.png import sanitized
from research.text import clip
from research.types import Passage, ToolOutput
from research.web.url_guard import PrivateError

if TYPE_CHECKING:
    from mcp_types import CallToolResult

RESULT_CHARACTERS = 3_800
"""Characters of a result that the model sees; about 4,000 with number, title and url."""
ERROR_CHARACTERS = 1_000
"""Characters of a failed call's message."""
MAX_IMAGES = 4
IMAGE_BYTES = 5_000_000
IMAGE_PIXELS = 16_000
"""Maximum width and height; a screenshot of a whole page is long."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_QUERY_CHARACTERS = 300
"""Maximum characters of the arguments in a source's url."""


def output(
    result: CallToolResult, server: str, tool: str, arguments: Mapping[str, Any], redact: Redactor
) -> ToolOutput:
    """Return the result as one citable passage and PNG images, with notes on the parts that cannot be shown.

    The passage joins texts, embedded texts and links, and the structured content unless the texts repeat it.  Raises
    `PrivateError` that quotes the result when the server marks it as an error.
    """
    texts, images, notes = _parts(result)
    if result.structured_content is not None and not _repeats(texts, result.structured_content):
        texts.append(json.dumps(result.structured_content, ensure_ascii=False, indent=1))
    # Redact before clipping: half of a key would be a leak too.
    text = redact(_CONTROL.sub("", "\n\n".join(text for text in texts if text.strip()).replace("\r\n", "\n")))
    shown = redact(clean(tool))
    if result.is_error:
        # Quote each line, so that none can pass for one of our own numbered sources.
        quoted = "\n".join(f"> {line}" for line in clip(text, ERROR_CHARACTERS).splitlines()) or "it gave no reason"
        raise PrivateError(f"{shown} of MCP server {server} reports an error:\n{quoted}")
    if len(text) > RESULT_CHARACTERS:
        notes.append(f"The result has {len(text):,} characters; only its beginning is shown.")
    url = redact(source_url(server, tool, arguments))
    passages = (Passage(url, f"{server}: {shown}", clip(text, RESULT_CHARACTERS)),) if text else ()
    if not text and not images:
        notes.append("The tool returned nothing.")
    return ToolOutput(redact("\n".join(notes)), passages, private=True, images=tuple(images))


def source_url(server: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """Return `mcp://server/tool?…`, which does not depend on the order of the arguments."""
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, sort_keys=True) for key, value in arguments.items()
    }
    query = urlencode(sorted(texts.items()))
    if len(query) > _QUERY_CHARACTERS:
        import hashlib

        query = (
            f"{query[:_QUERY_CHARACTERS].rpartition('%')[0]}&sha256={hashlib.sha256(query.encode()).hexdigest()[:16]}"
        )
    return f"mcp://{server}/{quote(tool, safe='')}" + (f"?{query}" if query else "")


def _parts(result: CallToolResult) -> tuple[list[str], list[bytes], list[str]]:
    """Return the texts, the PNG images, and notes on the other parts."""
    from mcp_types import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents

    texts: list[str] = []
    images: list[bytes] = []
    notes: list[str] = []
    for part in result.content:
        match part:
            case TextContent():
                texts.append(part.text)
            case EmbeddedResource(resource=TextResourceContents() as resource):
                texts.append(f"{resource.uri}\n{resource.text}")
            case EmbeddedResource():
                notes.append("A file was left out: only text can be read.")
            case ResourceLink():
                about = f": {part.description}" if part.description else ""
                texts.append(f"{part.title or part.name} <{part.uri}>{about}")
            case ImageContent():
                image = _png(part.data)
                if image is not None and len(images) < MAX_IMAGES:
                    images.append(image)
                else:
                    notes.append("An image was left out: at most 4 in plain PNG, of 5 MB each, can be shown.")
            case AudioContent():
                notes.append("A sound was left out: only text and images can be shown.")
    return texts, images, notes


def _repeats(texts: list[str], value: Any) -> bool:
    """Return whether the texts are this value, whole or item by item.

    Servers repeat structured content as text for clients that know text only.
    """
    if isinstance(value, dict) and set(value) == {"result"}:  # the SDKs wrap values other than objects so
        value = value["result"]
    found: list[Any] = []
    for text in texts:
        try:
            found.append(json.loads(text))
        except (ValueError, RecursionError):
            found.append(text)
    return value in (found, texts) or (len(texts) == 1 and value in (found[0], texts[0]))


def _png(data: str) -> bytes | None:
    if len(data) > IMAGE_BYTES * 4 // 3 + 4:
        return None
    try:
        image = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return sanitized(image, IMAGE_PIXELS)
