"""Pictures of strangers: a PNG is taken only if it can be drawn, and copied without anything but its pixels.

Format: PNG specification, third edition (W3C): 5 (chunks), 7.2 (rows), 11.2.1 (`IHDR`).
"""

# Why not Pillow: what it meets in the many other chunks and packings of a forged file, it meets in our own process.

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
AREA = 40_000_000
"""Most pixels of a picture."""

_SAMPLES = {0: (1, (1, 2, 4, 8, 16)), 2: (3, (8, 16)), 3: (1, (1, 2, 4, 8)), 4: (2, (8, 16)), 6: (4, (8, 16))}
"""By colour type: samples of a pixel, and how many bits each may have."""
_CLEAR = {0: 2, 2: 6}
"""By colour type: bytes of `tRNS`; colour type 3 has one for each colour at most."""
_PIECE = 2**15


def copied(data: bytes, side: int) -> bytes | None:
    """The picture without texts, profiles and animation; None if it is not one whole PNG of at most `side` pixels each
    way whose pixels are all there, as they come when it is not interlaced.
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
    clear = next((body for kind, body in chunks if kind == b"tRNS"), b"")
    packed = b"".join(body for kind, body in chunks if kind == b"IDAT")
    if not _fills(packed, height, 1 + (width * samples * depth + 7) // 8):
        return None
    kept = [(b"IHDR", head)]
    if colour == 3:
        kept.append((b"PLTE", palette))
    if 0 < len(clear) == _CLEAR.get(colour) or (colour == 3 and 0 < len(clear) <= len(palette) // 3):
        kept.append((b"tRNS", clear))
    kept += [(b"IDAT", packed), (b"IEND", b"")]
    return SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in kept
    )


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kind and content of each chunk; of a broken file those before the break, and then one that is none."""
    place = len(SIGNATURE)
    while place < len(data):
        length, kind = struct.unpack_from(">I4s", data, place) if place + 12 <= len(data) else (0, b"")
        end = place + 12 + length
        if end > len(data) or not kind or zlib.crc32(data[place + 4 : end - 4]) != int.from_bytes(data[end - 4 : end]):
            yield b"", b""
            return
        yield kind, data[place + 8 : end - 4]
        place = end


def _fills(packed: bytes, rows: int, row: int) -> bool:
    """Whether this unpacks to so many rows of so many bytes, each beginning with a filter there is; in bounded steps."""
    unpacker, place = zlib.decompressobj(), 0
    try:
        for start in range(0, len(packed), _PIECE):
            piece, raw = packed[start : start + _PIECE], b""
            while piece or len(raw) == _PIECE:  # a full step may leave something inside
                if unpacker.eof and piece:
                    return False  # something follows
                raw = unpacker.decompress(piece, _PIECE)
                if max(raw[-place % row :: row], default=0) > 4:
                    return False
                place += len(raw)
                if place > rows * row:
                    return False
                piece = unpacker.unconsumed_tail or unpacker.unused_data
    except zlib.error:
        return False
    return unpacker.eof and place == rows * row
