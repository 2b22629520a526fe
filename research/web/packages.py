"""Open untrusted zip packages (xlsx, ods, pptx, epub): find bombs, passwords and damage before parsing."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element

MAX_UNPACKED = 200 * 10**6
"""Maximum total size of the unpacked parts."""
_PARTS = 20_000
"""Most parts of a package."""
OLE = b"\xd0\xcf\x11\xe0"
"""The first bytes of an old Office file, and of an encrypted new one."""

_RELS, _STRICT = "_rels/.rels", b"http://purl.oclc.org/ooxml/"
_STRICT_NAME = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w{1,40})/")
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"

BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    AttributeError,
    EOFError,
    StopIteration,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""Errors from packages with wrong or missing parts, including lxml's (which are SyntaxErrors)."""


class Package:
    """The parts of a zip file.  `Refuse` makes the error for a reason shown to the user."""

    def __init__(self, data: bytes, refuse: Callable[[str], Exception]) -> None:
        self._refuse = refuse
        if data.startswith(OLE):
            raise refuse("is encrypted, or of an older format; save it in the new format without a password")
        self._zip = zipfile.ZipFile(io.BytesIO(data))
        infos = self._zip.infolist()
        unpacked = sum(each.file_size for each in infos)
        if unpacked > MAX_UNPACKED:
            raise refuse(f"unpacks to {unpacked / 1e6:.0f} MB, the limit is {MAX_UNPACKED / 1e6:.0f} MB; split it")
        if len(infos) > _PARTS:
            raise refuse(f"has {len(infos):,} parts, the limit is {_PARTS:,}; split it")
        if any(each.flag_bits & 1 for each in infos):
            raise refuse("is encrypted; save it without a password")
        self.names = frozenset(self._zip.namelist())

    def read(self, name: str) -> bytes:
        """Return the bytes of a part; its header may lie about the size, so no more than the limit is unpacked."""
        with self._zip.open(name) as part:
            data = part.read(MAX_UNPACKED + 1)
        if len(data) > MAX_UNPACKED:
            raise self._refuse(f"unpacks to more than {MAX_UNPACKED / 1e6:.0f} MB; split it")
        return data

    def size(self, name: str) -> int:
        """Return the size of a part by its header; 0 if missing."""
        return self._zip.getinfo(name).file_size if name in self.names else 0

    def pieces(self, name: str, size: int) -> Iterator[bytes]:
        """Yield a part that may be too big to be held as a whole."""
        with self._zip.open(name) as part:
            for _ in range(MAX_UNPACKED // size + 1):
                if not (piece := part.read(size)):
                    return
                yield piece

    def xml(self, name: str) -> _Element:
        """Return the root of an XML part; entities are not expanded, and repeated elements are left out."""
        from lxml import etree

        root = etree.fromstring(self.read(name), etree.XMLParser(resolve_entities=False, no_network=True, recover=True))
        etree.strip_elements(root, _FALLBACK, with_tail=False)
        return root

    def related(self, name: str) -> dict[str, tuple[str, str]]:
        """Return kind and name of each part that a part of an Office file refers to, by id."""
        rels = join(dirname(name), "_rels", f"{name.rpartition('/')[2]}.rels")
        if rels not in self.names:
            return {}
        return {
            each.get("Id", ""): (each.get("Type", "").rpartition("/")[2], resolved(name, each.get("Target", "")))
            for each in self.xml(rels)
            if each.get("TargetMode") != "External"
        }


def transitional(data: bytes, refuse: Callable[[str], Exception]) -> bytes:
    """Return an Office file with the usual names; some programs write the standard's strict ones.

    Finds bombs, passwords and damage as `Package` does.
    """
    package = Package(data, refuse)
    if _RELS not in package.names or _STRICT not in package.read(_RELS):
        return data
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as made:
        for name in package.names:
            part = package.read(name)
            plain = name.endswith((".xml", ".rels"))
            made.writestr(
                name, _STRICT_NAME.sub(rb"http://schemas.openxmlformats.org/\1/2006/", part) if plain else part
            )
    return written.getvalue()


def resolved(name: str, target: str) -> str:
    """Return the name of the part that another refers to."""
    return target.lstrip("/") if target.startswith("/") else normpath(join(dirname(name), target))
