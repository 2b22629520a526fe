"""What a tool of an MCP server gives back, as a model reads it and an answer cites it."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from research.guard import PrivateError
from research.mcp.config import Mask
from research.mcp.schemas import clean
from research.sandbox.png import copied
from research.text import clip
from research.types import Passage, ToolOutput

if TYPE_CHECKING:
    from mcp_types import CallToolResult

SHOWN = 3_800
"""Characters of a result that the model sees; with number, title and url about 4,000."""
ERROR = 1_000
"""Characters of a failed call's text."""
IMAGES = 4
IMAGE_BYTES = 5_000_000
IMAGE_SIDE = 16_000
"""Pixels: a screenshot of a whole page is long."""

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_QUERY = 300
"""Characters of the arguments in a source's url."""


def output(result: CallToolResult, server: str, tool: str, arguments: Mapping[str, Any], mask: Mask) -> ToolOutput:
    """The result as one passage that can be cited, with notes on what could not be shown.

    Text, embedded texts, links, and the structured content where the text does not say the same; PNG images.
    Raises `PrivateError` with the result's own words, as a quotation, when the server marks it as an error.
    """
    texts, images, notes = _parts(result)
    if result.structured_content is not None and not _said(texts, result.structured_content):
        texts.append(json.dumps(result.structured_content, ensure_ascii=False, indent=1))
    # Masked before it is clipped: half a key is a leak too.
    text = mask(_UNSEEN.sub("", "\n\n".join(text for text in texts if text.strip()).replace("\r\n", "\n")))
    shown = mask(clean(tool))
    if result.is_error:
        # Quoted line by line, as a source is: its lines could pass for sources of ours.
        said = "\n".join(f"> {line}" for line in clip(text, ERROR).splitlines()) or "it gave no reason"
        raise PrivateError(f"{shown} of MCP server {server} reports an error:\n{said}")
    if len(text) > SHOWN:
        notes.append(f"The result has {len(text):,} characters; only its beginning is shown.")
    url = mask(source_url(server, tool, arguments))
    passages = (Passage(url, f"{server}: {shown}", clip(text, SHOWN)),) if text else ()
    if not text and not images:
        notes.append("The tool returned nothing.")
    return ToolOutput(mask("\n".join(notes)), passages, private=True, images=tuple(images))


def source_url(server: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """`mcp://server/tool?…`, the same for the same call in whatever order its arguments come."""
    query = urlencode(
        [(key, value if isinstance(value, str) else json.dumps(value, sort_keys=True)) for key, value in
         sorted(arguments.items())]
    )  # fmt: skip
    if len(query) > _QUERY:
        import hashlib

        query = f"{query[:_QUERY].rpartition('%')[0]}&sha256={hashlib.sha256(query.encode()).hexdigest()[:16]}"
    return f"mcp://{server}/{quote(tool, safe='')}" + (f"?{query}" if query else "")


def _parts(result: CallToolResult) -> tuple[list[str], list[bytes], list[str]]:
    """Texts, PNG images, and notes on what is neither."""
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
                if image is not None and len(images) < IMAGES:
                    images.append(image)
                else:
                    notes.append("An image was left out: at most 4 in plain PNG, of 5 MB each, can be shown.")
            case AudioContent():
                notes.append("A sound was left out: only text and images can be shown.")
    return texts, images, notes


def _said(texts: list[str], value: Any) -> bool:
    """Whether the texts are this value, as servers repeat it for clients that know text only: whole, or item by item."""
    if isinstance(value, dict) and set(value) == {"result"}:  # how the SDKs wrap what is no object
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
    return copied(image, IMAGE_SIDE)
