"""Run a model's code in sealed CPython: `python -m research.sandbox.child` in an isolated process.

First import everything the code may use, then seal the process (`linux.py`), and only then parse the code.
"""

from __future__ import annotations

import ast
import codecs
import importlib
import importlib.abc
import io
import linecache
import os
import re
import signal
import sys
import time
import traceback
import types
from collections.abc import Iterator
from importlib.machinery import BuiltinImporter, FrozenImporter
from pathlib import Path
from typing import Any

import msgspec

from research.sandbox import linux
from research.sandbox.job import SEED, TRACEBACK_CHARACTERS, Job, OutputHead, Result, out_of_time
from research.sandbox.process import confine

USEFUL = tuple(
    """bisect calendar cmath collections copy csv dataclasses datetime decimal enum fractions functools hashlib heapq
    itertools json math numbers operator pprint random re statistics string textwrap time typing unicodedata
    zoneinfo""".split()
)
"""Standard-library modules that code may import, and that an import error lists."""

HARMLESS = tuple(
    """abc array ast base64 binascii colorsys concurrent contextlib ctypes difflib dis errno gc graphlib gzip hmac html
    inspect io keyword locale logging mmap os pathlib pickle platform queue secrets shlex signal socket struct
    subprocess sys tempfile threading timeit tokenize traceback types urllib uuid warnings weakref xml zlib""".split()
)
"""Further modules that code may import; the kernel refuses their calls that leave the process."""

PARTS = {
    "concurrent": ("futures.thread",),
    "numpy": ("char", "ctypeslib", "fft", "lib.recfunctions", "linalg", "ma", "polynomial", "random", "rec", "strings"),
    "urllib": ("parse",),
    "xml": ("etree.ElementTree",),
}
"""Submodules that their packages do not import, or import only at first use."""

CODECS = "big5 cp1252 euc-jp euc-kr gb18030 gb2312 gbk idna latin-1 punycode shift-jis utf-16 utf-32 utf-8-sig".split()

_CODE = "<code>"
_RESERVE = 16 * 2**20
"""Bytes set aside while the code runs, so that a `MemoryError` can be reported."""

MEMORY = 2**30
"""Bytes of address space that the code may use in addition to its libraries."""


class _OutOfTime(BaseException):
    """Raised in the code when its time is up."""


class _ImportAdvice(importlib.abc.MetaPathFinder):
    """Fails every import that reaches it, with a message that lists the modules on offer."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name.partition(".")[0] in sys.modules:
            return  # for a missing submodule, Python's own message is better
        offered = ", ".join(("numpy", "matplotlib.pyplot", *USEFUL))
        raise ModuleNotFoundError(f"No module named {name!r} here; available: {offered}", name=name)


class _Stream(OutputHead, io.TextIOBase):
    """Replaces standard output and standard error of the code."""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self.add(text)
        return len(text)

    def note(self, text: str) -> None:
        """Append text on a new line."""
        if text:
            self.add(text if not self.text or self.text.endswith("\n") else f"\n{text}")


def _prepare(code: str) -> list[Any]:
    """Import what `code` seems to need, judging by its words: it is parsed only in the sealed process.

    Returns objects that the caller must keep alive, because Python would otherwise read their files again.
    """
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads cannot be started later
    words = set(re.findall(r"\w+", code))
    wanted = {"_strptime", "locale", *words.intersection((*USEFUL, *HARMLESS, "numpy"))}
    if "matplotlib" in words:
        wanted.add("numpy")
    for name in wanted:
        importlib.import_module(name)
        for part in PARTS.get(name, ()):
            importlib.import_module(f"{name}.{part}")
    for name in CODECS:
        codecs.lookup(name)
    if "matplotlib" in words:
        from research.sandbox import plots

        plots.prepare(code)
    time.localtime()  # reads the time zone
    return list(_zones(code)) if "zoneinfo" in words else []


def _zones(code: str) -> Iterator[Any]:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    for key in {"UTC", *re.findall(r"\b[A-Z]\w+(?:/[\w+-]+)+", code)[:100]}:
        try:
            yield ZoneInfo(key)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue  # not a time zone


def _run(job: Job) -> Result:
    """Run the job in the sealed process.  The result cannot be trusted: the code may have changed everything here."""
    printed, warned = _Stream(), _Stream()
    sys.stdout, sys.stderr = printed, warned
    sys.set_int_max_str_digits(0)  # the result may be a very long integer
    reserve = bytearray(_RESERVE)
    linecache.cache[_CODE] = (len(job.code), None, job.code.splitlines(keepends=True), _CODE)
    signal.signal(signal.SIGALRM, _expired)
    images: tuple[bytes, ...] = ()
    error = ""
    try:
        signal.setitimer(signal.ITIMER_REAL, job.timeout_s)
        value = _executed(job.code)
        if value is not None and not printed.length:
            printed.add(_shown(value))
        if "matplotlib.pyplot" in sys.modules:
            from research.sandbox import plots

            images, note = plots.open_figures()
            printed.note(note)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except _OutOfTime as late:
        error = f"{out_of_time(job.timeout_s)}{_place(late)}"
    except SystemExit as end:
        error = end.code if isinstance(end.code, str) else ""
    except BaseException as wrong:  # noqa: BLE001 - the model is told about everything that its code raises
        signal.setitimer(signal.ITIMER_REAL, 0)
        del reserve
        error = _traceback(wrong)
    printed.note(warned.text)
    return Result(_plain(printed.text), printed.length, _plain(error), images)


def _expired(*_: object) -> None:
    raise _OutOfTime


def _seed() -> None:
    """Seed all random numbers equally, so that a calculation gives the same result every time."""
    drawing: dict[str, Any] = {name: sys.modules[name] for name in ("random", "numpy.random") if name in sys.modules}
    for module in drawing.values():
        module.seed(SEED)
    if numpy := drawing.get("numpy.random"):
        unseeded = numpy.default_rng
        numpy.default_rng = lambda seed=None: unseeded(SEED if seed is None else seed)


def _executed(code: str) -> Any:
    """Run the code as a script; return the value of its last statement if that is an expression, else None."""
    tree = ast.parse(code, _CODE)
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main  # pickle and dataclasses look classes up there
    _seed()
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(compile(tree, _CODE, "exec"), main.__dict__)
        return None
    tree.body.pop()
    exec(compile(tree, _CODE, "exec"), main.__dict__)
    return eval(compile(ast.Expression(last.value), _CODE, "eval"), main.__dict__)


def _shown(value: object) -> str:
    try:
        return repr(value)
    except RecursionError:
        raise RecursionError("the last expression is nested too deeply to be shown: print a part of it") from None


def _traceback(error: BaseException) -> str:
    """Return the end of the traceback, without the frames of libraries, and with advice where there is any."""
    whole = traceback.TracebackException.from_exception(error, compact=True)
    link: traceback.TracebackException | None = whole
    while link is not None:
        link.stack[:] = [frame for frame in link.stack if frame.filename == _CODE]
        link = link.__cause__ or link.__context__
    text = "".join(whole.format()).strip()[-TRACEBACK_CHARACTERS:]
    if isinstance(error, MemoryError):
        text += f"\nthe code may hold {MEMORY / 2**30:g} GiB"
    if isinstance(error, PermissionError):
        text += "\nfiles, network and processes are closed to this code; open figures are shown without savefig"
    return text


def _place(error: BaseException) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _CODE]
    return f" (it was in line {lines[-1]})" if lines else ""


def _plain(text: str) -> str:
    return str(text).encode(errors="backslashreplace").decode()  # JSON cannot carry lone surrogates


def _used() -> int:
    """Return the bytes of address space that this process uses (proc(5), statm)."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


_LATE_S = 1.0
"""Seconds within which code that reached its time-out can still say so."""


def _main() -> None:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    answer = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # libraries may write to these; keep that out of the answer
        os.dup2(nothing, number)
    os.close(nothing)
    held = _prepare(job.code)
    os.environ.clear()
    try:
        confine(time.process_time() + job.timeout_s, memory=_used() + MEMORY)
        linux.killed_after(job.timeout_s + _LATE_S)
        linux.seal()
    except OSError as error:
        result = Result(unsealed=str(error))
    else:
        sys.meta_path[:] = [BuiltinImporter, FrozenImporter, _ImportAdvice()]
        result = _run(job)
    del held
    left = memoryview(msgspec.json.encode(result))
    while left:
        left = left[os.write(answer, left) :]
    os._exit(0)  # skip exit handlers, which the code may have registered


if __name__ == "__main__":
    _main()
