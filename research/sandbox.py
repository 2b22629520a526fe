"""Running what cannot be trusted: Python code of a model, and parsers over pages of strangers.

Both run in a process of their own: empty environment, no file descriptor but its three pipes, limits on
memory, processor time and files, and its whole process group killed when it is done or out of time.  The code of
a model runs, inside that process, in Monty: an interpreter without files, network or processes to offer.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from research.errors import ToolError

OUTPUT_CHARACTERS = 2000
"""Longest output of `run_python`, the mark of the cut included."""

TRACEBACK_CHARACTERS = 1000
"""How much of the end of a traceback is told."""

CODE_MEMORY = 256 * 2**20
"""Bytes of objects that the code may hold."""

PROCESS_MEMORY = 2 * 2**30
"""Bytes of address space of each process set apart."""

START_S = 10.0
"""Seconds granted for starting the process, on top of the time-out of its work."""


def run_python(code: str, *, timeout_s: float = 30.0) -> str:
    """Run `code` and return what it printed, or else the repr of its last expression, or else "".

    At most `OUTPUT_CHARACTERS`, with a marked cut.  Raises `ToolError` with what was printed and the traceback when
    the code is wrong, fails, or takes more than `timeout_s` seconds or `CODE_MEMORY` bytes.
    """
    job = _Job(code.encode(errors="backslashreplace").decode(), timeout_s)  # JSON cannot carry lone surrogates
    try:
        answer = run_apart("research.sandbox", msgspec.json.encode(job), timeout_s=timeout_s + START_S)
    except TimeoutError:
        raise ToolError(_out_of_time(timeout_s)) from None
    except ChildProcessError as error:
        raise ToolError(f"the Python sandbox died ({error}); make the code hold less in memory") from error
    result = msgspec.json.decode(answer, type=_Result)
    output = _shortened(result.output, result.length)
    if result.error:
        raise ToolError(f"{output}\n{result.error}".strip())
    return output


def self_test() -> str | None:
    """None when `run_python` works and lets nothing out, else why the python tool must stay off.  Takes seconds."""
    try:
        output = run_python("import math\nprint(math.floor((3.732 / 3.689 - 1) * 1000))")
    except ToolError as error:
        return f"the Python sandbox does not run: {error}"
    if output.strip() != "11":
        return f"the Python sandbox cannot calculate: it printed {output!r} instead of 11"
    for attempt, code in _FORBIDDEN.items():
        try:
            output = run_python(code, timeout_s=1.0)
        except ToolError:
            continue
        return f"the Python sandbox let code {attempt}: it printed {output!r}"
    return None


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
    "run without end": "while True:\n    pass",
    "fill the memory": "x = [0]\nwhile True:\n    x += x",
}
"""What the self-test tries, by what a success would mean.  Each must raise."""


def run_apart(module: str, data: bytes, *arguments: str, timeout_s: float) -> bytes:
    """Run `python -m module arguments` over `data` on stdin in a process of its own; return its stdout.

    Raises `TimeoutError` after `timeout_s` seconds and `ChildProcessError` when the process fails.  Whatever it
    started is killed with it.
    """
    if sys.platform == "win32":
        raise ChildProcessError("processes cannot be confined on Windows; run the workbench on Linux or macOS")
    process = subprocess.Popen(
        [sys.executable, "-B", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd=Path(__file__).parents[1],  # where `-m` finds this package
        start_new_session=True,
    )
    with process:
        try:
            output, _ = process.communicate(data, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{module} took more than {timeout_s:g} s") from None
        finally:
            _kill_group(process.pid)
    if process.returncode:
        raise ChildProcessError(f"{module} ended with status {process.returncode}")
    return output


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # the latter on macOS, when only zombies are left
        return  # all of it has ended already


def confine(seconds: float) -> None:
    """Called by a process set apart before it touches anything: it can only ever have less from here on.

    `seconds` bounds its processor time, so that it also ends when nobody is left to kill it.
    """
    import resource

    os.chdir("/")
    limits = {
        resource.RLIMIT_CPU: int(seconds) + 1,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 64,
    }
    if sys.platform == "linux":  # macOS refuses to bound the address space
        limits[resource.RLIMIT_AS] = PROCESS_MEMORY
    for limit, value in limits.items():
        resource.setrlimit(limit, (value, value))


class _Job(Struct, frozen=True):
    code: str
    timeout_s: float


class _Result(Struct, frozen=True):
    output: str
    """The first characters of it."""
    length: int
    """Characters of the whole output."""
    error: str = ""
    """Traceback, when the code failed."""


def _out_of_time(timeout_s: float) -> str:
    return f"the code was stopped after {timeout_s:g} s: make it do less"


def _shortened(text: str, length: int) -> str:
    if length <= OUTPUT_CHARACTERS:
        return text
    mark = f"\n[cut: {length} characters in all]"
    return text[: OUTPUT_CHARACTERS - len(mark)] + mark


def _interpret(job: _Job) -> _Result:
    """Run inside the process set apart."""
    import pydantic_monty

    head, length = "", 0

    def keep_head(_stream: str, text: str) -> None:
        nonlocal head, length
        head += text[: OUTPUT_CHARACTERS - len(head)]
        length += len(text)

    limits = pydantic_monty.ResourceLimits(max_feed_duration_secs=job.timeout_s, max_memory=CODE_MEMORY)
    with (
        pydantic_monty.Monty(max_processes=1, request_timeout=job.timeout_s + 1) as pool,
        # Sleeping would not count as execution time.
        pool.checkout(limits=limits, os_policy={"sleep": "zero"}) as session,
    ):
        try:
            value = session.feed_run(job.code, print_callback=keep_head)
        except (pydantic_monty.MontySyntaxError, pydantic_monty.MontyRuntimeError) as error:
            return _Result(head, length, error.display()[-TRACEBACK_CHARACTERS:])
        except pydantic_monty.MontyCrashedError as error:
            return _Result(head, length, _out_of_time(job.timeout_s) if error.timed_out else str(error))
    if length or value is None:
        return _Result(head, length)
    sys.set_int_max_str_digits(0)  # long integers are results like any other
    try:
        shown = repr(value)
    except RecursionError:
        return _Result("", 0, "the last expression is nested too deeply to be shown: print a part of it")
    return _Result(shown[:OUTPUT_CHARACTERS], len(shown))


def _main() -> None:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=_Job)
    confine(job.timeout_s + START_S)
    sys.stdout.buffer.write(msgspec.json.encode(_interpret(job)))


if __name__ == "__main__":
    _main()
