"""Sanitize untrusted PNG files: accept only complete ones, and copy nothing but their pixels.

Format: PNG specification, third edition (W3C): 5 (chunks), 7.2 (rows), 11.2.1 (`IHDR`).
"""

# Why not Pillow: it would parse the many other chunks and encodings of a forged file inside our own process.

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
AREA = 40_000_000
"""Maximum number of pixels of an image."""

_SAMPLES = {0: (1, (1, 2, 4, 8, 16)), 2: (3, (8, 16)), 3: (1, (1, 2, 4, 8)), 4: (2, (8, 16)), 6: (4, (8, 16))}
"""By colour type: samples per pixel, and the bit depths allowed for each."""
_TRANSPARENCY_BYTES = {0: 2, 2: 6}
"""By colour type: length of `tRNS`.  For colour type 3 it is at most one byte for each palette entry."""
_STEP_BYTES = 2**15


def sanitized(data: bytes, side: int) -> bytes | None:
    """Return a copy of the image without texts, profiles and animation, or None if it is not acceptable.

    Acceptable is one complete PNG, not interlaced, of at most `side` pixels each way and with all of its pixels.
    """
    chunks = list(_chunks(data)) if data.startswith(SIGNATURE) else []
    kinds = [kind for kind, _ in chunks]
    if kinds[:1] != [b"IHDR"] or kinds[-1:] != [b"IEND"] or kinds.count(b"IHDR") + kinds.count(b"IEND") != 2:
        return None
    head = chunks[0][1]
    if len(head) != 13:
        return None
    width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", head)
    samples, depths = _SAMPLES.get(colour, (0, ()))
    if not (0 < width <= side and 0 < height <= side and width * height <= AREA) or depth not in depths or any(rest):
        return None
    palette = next((body for kind, body in chunks if kind == b"PLTE"), b"")
    if colour == 3 and (not palette or len(palette) % 3 or len(palette) > 3 * 2**depth):
        return None
    transparency = next((body for kind, body in chunks if kind == b"tRNS"), b"")
    packed = b"".join(body for kind, body in chunks if kind == b"IDAT")
    if not _has_all_rows(packed, height, 1 + (width * samples * depth + 7) // 8):
        return None
    kept = [(b"IHDR", head)]
    if colour == 3:
        kept.append((b"PLTE", palette))
    if 0 < len(transparency) == _TRANSPARENCY_BYTES.get(colour) or (
        colour == 3 and 0 < len(transparency) <= len(palette) // 3
    ):
        kept.append((b"tRNS", transparency))
    kept += [(b"IDAT", packed), (b"IEND", b"")]
    return SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in kept
    )


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the kind and content of each chunk; a damaged file ends with an empty kind and content."""
    place = len(SIGNATURE)
    while place < len(data):
        length, kind = struct.unpack_from(">I4s", data, place) if place + 12 <= len(data) else (0, b"")
        end = place + 12 + length
        if end > len(data) or not kind or zlib.crc32(data[place + 4 : end - 4]) != int.from_bytes(data[end - 4 : end]):
            yield b"", b""
            return
        yield kind, data[place + 8 : end - 4]
        place = end


def _has_all_rows(packed: bytes, rows: int, row: int) -> bool:
    """Return whether the data unpacks to exactly `rows` rows of `row` bytes, each with a valid filter byte.

    Unpacks in steps of bounded size and never holds the whole image.
    """
    unpacker, place = zlib.decompressobj(), 0
    try:
        for start in range(0, len(packed), _STEP_BYTES):
            piece, raw = packed[start : start + _STEP_BYTES], b""
            while piece or len(raw) == _STEP_BYTES:  # after a full step the unpacker may hold more
                if unpacker.eof and piece:
                    return False  # data follows the end of the stream
                raw = unpacker.decompress(piece, _STEP_BYTES)
                if max(raw[-place % row :: row], default=0) > 4:
                    return False
                place += len(raw)
                if place > rows * row:
                    return False
                piece = unpacker.unconsumed_tail or unpacker.unused_data
    except zlib.error:
        return False
    return unpacker.eof and place == rows * row
