"""An untrusted PNG is copied only if it can be drawn, without anything but its pixels."""

from __future__ import annotations

import struct
import zlib

import pytest

from research.sandbox.png import SIGNATURE, sanitized


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def head(width: int = 2, height: int = 2, depth: int = 8, colour: int = 2, *rest: int) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, *(rest or (0, 0, 0))))


ROWS = b"\0abcdef" * 2
DATA, END = chunk(b"IDAT", zlib.compress(ROWS)), chunk(b"IEND", b"")
GOOD = SIGNATURE + head() + DATA + END


def test_a_valid_picture_is_copied_and_a_copy_of_a_copy_is_identical() -> None:
    assert sanitized(GOOD, 2) == GOOD
    halves = zlib.compress(ROWS)[:5], zlib.compress(ROWS)[5:]
    assert sanitized(SIGNATURE + head() + b"".join(chunk(b"IDAT", half) for half in halves) + END, 2) == GOOD
    palette = chunk(b"PLTE", b"rgbRGB") + chunk(b"tRNS", b"\0")
    indexed = SIGNATURE + head(2, 2, 1, 3) + palette + chunk(b"IDAT", zlib.compress(b"\0\x40\0\x80")) + END
    assert sanitized(indexed, 2) == indexed


@pytest.mark.parametrize(
    "more",
    [
        chunk(b"tEXt", b"Comment\0<script>alert(1)</script>"), chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(10**7))),
        chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(10**7))), chunk(b"acTL", struct.pack(">II", 10**6, 0)),
        chunk(b"fcTL", struct.pack(">IIIIIHHBB", 0, 60000, 60000, 0, 0, 1, 1, 0, 0)), chunk(b"eXIf", b"x"),
        chunk(b"ABCD", b""), chunk(b"gAMA", b""), chunk(b"tRNS", b"odd"), chunk(b"PLTE", b"xxxx"),
    ],
)  # fmt: skip
def test_chunks_other_than_pixels_are_dropped(more: bytes) -> None:
    assert sanitized(SIGNATURE + head() + more + DATA + END, 2) == GOOD


@pytest.mark.parametrize(
    "bad",
    [
        b"", SIGNATURE, GOOD[:-1], GOOD + b"x", GOOD + END, GOOD[:40] + b"x" + GOOD[41:], SIGNATURE + DATA + END,
        SIGNATURE + head() + END, SIGNATURE + head() + head(60000, 60000) + DATA + END, SIGNATURE + DATA + head() + END,
        *(SIGNATURE + wrong + DATA + END for wrong in (
            head(3, 2), head(2, 3), head(0, 2), head(2, 2, 77), head(2, 2, 8, 9), head(2, 2, 8, 3), head(2, 2, 4, 2),
            head(2, 2, 8, 2, 1, 0, 0), head(2, 2, 8, 2, 0, 0, 1), chunk(b"IHDR", b"short"),
        )),
        *(SIGNATURE + head() + chunk(b"IDAT", wrong) + END for wrong in (
            b"", b"garbage", zlib.compress(ROWS)[:-1], zlib.compress(ROWS) + b"x", zlib.compress(ROWS + b"x"),
            zlib.compress(bytes(10**8)), zlib.compress(ROWS[:-1]), zlib.compress(b"\5" + ROWS[1:]),
        )),
    ],
)  # fmt: skip
def test_an_invalid_picture_gives_none(bad: bytes) -> None:
    assert sanitized(bad, 2) is None


def test_the_size_is_checked_before_anything_is_decompressed() -> None:
    wide = SIGNATURE + head(15_000, 15_000) + chunk(b"IDAT", zlib.compress(bytes(1000))) + END
    assert sanitized(wide, 16_000) is None
    assert sanitized(wide, 10_000) is None
    long = SIGNATURE + head(1, 9_000, 8, 0) + chunk(b"IDAT", zlib.compress(bytes(18_000))) + END
    assert sanitized(long, 9_000) == long
    assert sanitized(long, 8_999) is None
