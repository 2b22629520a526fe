"""Run a model's code in one of two backends, each used only after passing a self-test.

On Linux the code runs in CPython with numpy and matplotlib, in a process that the kernel seals (`linux.py`); elsewhere
it runs in Monty, an interpreter without access to anything (`monty.py`).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Literal

import msgspec
from msgspec import Struct

from research._util import decoding
from research._util.said import say
from research.errors import ToolError
from research.sandbox.job import (
    OUTPUT_CHARACTERS,
    PLOT_BYTES,
    PLOT_PIXELS,
    PLOTS,
    TRACEBACK_CHARACTERS,
    Job,
    Result,
    out_of_time,
)
from research.sandbox.png import sanitized
from research.sandbox.process import ProcessDied, run_isolated
from research.types import ToolOutput

Backend = Literal["cpython", "monty"]
Choice = Literal["auto", "cpython", "monty"]

START_S = 10.0
"""Seconds allowed for starting the process, in addition to the time-out of the code."""

_MODULES = {"cpython": "research.sandbox.child", "monty": "research.sandbox.monty"}
_ANSWER_BYTES = 4 * 2**20


class State(Struct, frozen=True):
    """The result of the self-test."""

    backend: Backend | None
    """The backend that code runs in; None when no backend is safe here and the python tool is off."""
    why: str = ""
    """Why the backend is not CPython, or why the tool is off."""


def run_python(
    code: str,
    *,
    timeout_s: float = 30.0,
    stop: threading.Event | None = None,
    choice: Choice = "auto",
) -> ToolOutput:
    """Run `code` and return what it printed, or else the repr of its last expression, or else "".

    The text has at most `OUTPUT_CHARACTERS` characters and says so when it is cut; open figures are returned as PNG.
    Raises `ToolError` with the output and the traceback when the code fails, or exceeds `timeout_s` seconds or its
    memory; `ToolError` also when `state(choice)` has no backend; and `Stopped` soon after `stop` is set.
    """
    found = state(choice)
    if found.backend is None:
        raise ToolError(say("the python tool is off: {why}", why=found.why))
    return run_in(found.backend, code, timeout_s=timeout_s, stop=stop)


def run_in(backend: Backend, code: str, *, timeout_s: float = 30.0, stop: threading.Event | None = None) -> ToolOutput:
    """Run `code` like `run_python`, in a backend that need not have passed its self-test."""
    job = Job(code.encode(errors="backslashreplace").decode(), timeout_s)  # JSON cannot carry lone surrogates
    started = time.monotonic()
    try:
        answer = run_isolated(
            _MODULES[backend],
            msgspec.json.encode(job),
            timeout_s=timeout_s + START_S,
            output_bytes=_ANSWER_BYTES,
            stop=stop,
        )
        result = decoding.decode(answer, Result)
    except TimeoutError:
        raise ToolError(out_of_time(timeout_s)) from None
    except ProcessDied as error:
        if error.status == -signal.SIGKILL and time.monotonic() - started >= timeout_s:
            raise ToolError(out_of_time(timeout_s)) from None  # its CPU time ran out
        raise ToolError(
            say("the Python process died ({error}): do it another way, or with less memory", error=error)
        ) from error
    except ChildProcessError as error:
        raise ToolError(say("the Python sandbox failed: {error}", error=error)) from error
    except (ValueError, RecursionError) as error:
        raise ToolError(
            say("the code ended its process, or wrote over its answer: print the result instead")
        ) from error
    return _output(result)


def _output(result: Result) -> ToolOutput:
    """Return the result as a tool's output, within all limits.  The code may have forged every part of it."""
    if result.unsealed:
        raise ToolError(
            say("the Python process cannot be sealed: {unsealed}", unsealed=result.unsealed[:TRACEBACK_CHARACTERS])
        )
    output = _shortened(result.output, result.length)
    if result.error:
        raise ToolError(f"{output}\n{result.error[: 2 * TRACEBACK_CHARACTERS]}".strip())
    drawn = (sanitized(image, PLOT_PIXELS) for image in result.images[:PLOTS] if len(image) <= PLOT_BYTES)
    return ToolOutput(output, images=tuple(filter(None, drawn)))


_MOST_COUNTED = 10**12
"""Largest length shown; a forged one may have any number of digits."""


def _shortened(text: str, length: int) -> str:
    if max(len(text), length) <= OUTPUT_CHARACTERS:
        return text
    mark = f"\n[cut: {min(max(len(text), length), _MOST_COUNTED)} characters in all]"
    return text[: OUTPUT_CHARACTERS - len(mark)] + mark


_lock = threading.Lock()
_states: dict[Choice, State] = {}


def state(choice: Choice = "auto") -> State:
    """Return the backend that code runs in.  The first call in this process runs the self-test: half a second."""
    with _lock:
        if choice not in _states:
            _states[choice] = probe(choice)
        return _states[choice]


def probe(choice: Choice = "auto") -> State:
    """Test the backends that `choice` allows, best first, and return the first one that passes."""
    reasons: list[str] = []
    backends: tuple[Backend, ...] = ("cpython", "monty") if choice == "auto" else (choice,)
    for backend in backends:
        problem = problem_with(backend)
        if problem is None:
            return State(backend, "; ".join(reasons))
        reasons.append(problem)
    return State(None, "; ".join(reasons))


def self_test() -> str | None:
    """Return None when `run_python` works and is safe, else why the python tool must stay off.  Takes seconds."""
    found = probe()
    return None if found.backend else found.why


def problem_with(backend: Backend) -> str | None:
    """Return None when a backend can calculate and refuses every forbidden action, else what is wrong with it."""
    if backend == "cpython" and sys.platform != "linux":
        return f"CPython can be sealed on Linux only, this is {sys.platform}"
    try:
        output = run_in(backend, _CALCULATION[backend] + (_attempts() if backend == "cpython" else "")).text.strip()
    except ToolError as error:
        return f"the Python sandbox ({backend}) does not run: {error}"
    answer, _, done = output.partition("\n")
    if answer != "11":
        return f"the Python sandbox ({backend}) cannot calculate: it printed {answer!r} instead of 11"
    if backend == "cpython" and done != f"refused {len(_ATTEMPTS)}":
        return f"the Python sandbox ({backend}) let code {done[:300]}"
    for attempt, code in (_FORBIDDEN if backend == "monty" else _ENDLESS).items():
        try:
            output = run_in(backend, code, timeout_s=0.1 if attempt in _ENDLESS else 0.5).text
        except ToolError:
            continue
        return f"the Python sandbox ({backend}) let code {attempt}: it printed {output!r}"
    return None


_CALCULATION = {
    "cpython": "import math, numpy\nprint(math.floor((numpy.linalg.det([[3.732]]) / 3.689 - 1) * 1000))\n",
    "monty": "import math\nprint(math.floor((3.732 / 3.689 - 1) * 1000))\n",
}
"""By backend: code that prints 11."""

_ATTEMPTS = {
    "read a file": "open({file!r}).close()",
    "see a file": "os.stat({file!r})",
    "write a file": "open('/tmp/research-probe', 'w').close()",
    "list a folder": "os.listdir('/')",
    "read the environment of the workbench": "open('/proc/{pid}/environ').close()",
    "see an environment": "list(os.environ)[0]",
    "use an open file of the workbench": "[os.read(number, 1) for number in range(4, 64) if can_read(number)][0]",
    "open an internet socket": "socket.socket()",
    "open a Unix socket": "socket.socket(socket.AF_UNIX)",
    "start a process": "os.waitpid(os.fork() or os._exit(0), 0)",
    "start a program": "os.waitpid(os.posix_spawn('/bin/true', ['true'], {{}}), 0)",
    "become a program": "tried(os.execv, '/bin/no-such-program', ['x'])",
    "start a thread": "threading.Thread(target=int).start()",
    "signal the workbench": "os.kill({pid}, 0)",
    "trace a process": "kernel(libc.ptrace(0, 0, 0, 0))",
    "change its own limits": "kernel(libc.prctl(4, 1, 0, 0, 0))",
    "run machine code": "mmap.mmap(-1, 4096, prot=7)",
    "fill the memory": "bytearray(4 * 2**30)",
}
"""Expressions that must raise in the self-test of CPython, by the forbidden action that each one tries.

Those that wait for a child come before the one that traces: a traced process stops at its next signal.
"""

_ENDLESS = {"run without end": "while True:\n    pass"}

_FORBIDDEN = {
    "read a file": f"open({__file__!r}).read()",
    "read a file through pathlib": f"from pathlib import Path\nPath({__file__!r}).read_text()",
    "write a file": "open('/tmp/probe', 'w').write('x')",
    "list a folder": "import os\nos.listdir('/')",
    "read the environment": "import os\ndict(os.environ)",
    "start a program": "import os\nos.system('true')",
    "start a process": "import subprocess\nsubprocess.run(['true'])",
    "open a socket": "import socket\nsocket.socket()",
    "load a library": "import ctypes\nctypes.CDLL(None)",
    "climb to the interpreter's classes": "().__class__.__base__.__subclasses__()",
    **_ENDLESS,
    "fill the memory": "x = [0]\nwhile True:\n    x += x",
}
"""Programs that must raise in Monty's self-test, one at a time, by the meaning of a success."""


def _attempts() -> str:
    """Return code that evaluates everything in `_ATTEMPTS` and prints which attempts succeeded."""
    tries = {what: code.format(file=__file__, pid=os.getpid()) for what, code in _ATTEMPTS.items()}
    return f"""import ctypes, mmap, os, socket, threading
libc = ctypes.CDLL(None)
def kernel(result):
    if result < 0: raise OSError("refused")
def tried(what, *arguments):
    try: what(*arguments)
    except PermissionError: raise
    except OSError: pass
def can_read(number):
    try: os.read(number, 0)
    except OSError: return False
    return True
done, refused = [], 0
for what, code in {tries!r}.items():
    try: eval(code)
    except BaseException: refused += 1
    else: done.append(what)
print(", ".join(done) or f"refused {{refused}}")
"""
