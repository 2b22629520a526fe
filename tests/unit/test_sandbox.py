from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from research.errors import ToolError
from research.sandbox import OUTPUT_CHARACTERS, run_apart, run_python, self_test


def test_what_the_code_prints_comes_back() -> None:
    assert run_python("print((3.732/3.689-1)*100)") == "1.1656275413391093\n"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("import math\nmath.floor(math.pi * 100)", "314"),
        ("'text'", "'text'"),
        ("10**5000", "1" + "0" * 1970),
        ("x = 1", ""),
        ("None", ""),
        ("print('said')\n42", "said\n"),
        ("", ""),
    ],
)
def test_a_last_expression_is_shown_when_nothing_was_printed(code: str, shown: str) -> None:
    assert run_python(code).startswith(shown)
    assert bool(run_python(code)) == bool(shown)


@pytest.mark.parametrize("code", ["for i in range(200_000):\n    print(i)", "print('é' * 9000)", "list(range(9999))"])
def test_long_output_is_cut_and_marked(code: str) -> None:
    output = run_python(code)
    assert len(output) == OUTPUT_CHARACTERS
    assert output.endswith("characters in all]")
    assert "\n[cut: " in output


def test_output_of_exactly_the_limit_is_whole() -> None:
    assert run_python(f"print('x' * {OUTPUT_CHARACTERS}, end='')") == "x" * OUTPUT_CHARACTERS


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("1 +", "SyntaxError"),
        ("def half(x):\n    return x / 0\nhalf(2)", "ZeroDivisionError"),
        ("unknown_name", "NameError: name 'unknown_name' is not defined"),
        ("import numpy", "No module named 'numpy'"),
        ("def f():\n    return f()\nf()", "RecursionError"),
        ("raise TimeoutError('own')", "TimeoutError: own"),
        ("x = [0]\nwhile True:\n    x += x", "MemoryError"),
        ("'x' * 10**12", "MemoryError"),
        ("x = []\nfor _ in range(100_000):\n    x = [x]\nx", "nested too deeply"),
    ],
)
def test_an_error_comes_back_as_its_traceback(code: str, told: str) -> None:
    with pytest.raises(ToolError, match=told) as caught:
        run_python(code)
    assert len(str(caught.value)) < 2 * OUTPUT_CHARACTERS


def test_what_was_printed_before_an_error_is_told_too() -> None:
    with pytest.raises(ToolError, match=r"(?s)step 1\n.*line 2, in .*ZeroDivisionError"):
        run_python("print('step 1')\n1 / 0")


@pytest.mark.parametrize("code", ["while True:\n    pass", "import time\nwhile True:\n    time.sleep(9)", "10**10**8 % 7"])
def test_code_without_end_is_stopped(code: str) -> None:
    with pytest.raises(ToolError, match="time limit exceeded|stopped after 0.5 s"):
        run_python(code, timeout_s=0.5)


def test_lone_surrogates_do_no_harm() -> None:
    assert run_python("len('\ud800')") == "1"


def test_calls_share_nothing() -> None:
    run_python("x = 1")
    with pytest.raises(ToolError, match="NameError"):
        run_python("x")


def test_the_sandbox_passes_its_own_test() -> None:
    assert self_test() is None


def test_the_self_test_fails_closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert "does not run" in (self_test() or "")
    liar = tmp_path / "liar"
    liar.write_text("""#!/bin/sh\ncat > /dev/null\necho '{"output": "11", "length": 2}'\n""")
    liar.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(liar))
    assert "let code read a file" in (self_test() or "")


# The process itself, seen from a module that looks around in it.

SPY = """
import os, resource, subprocess, sys
sys.stdin.buffer.read()
if sys.argv[1:] == ["fork"]:
    child = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
elif sys.argv[1:] == ["hang"]:
    child = subprocess.Popen(["sleep", "60"])
    open(sys.argv[0] + ".pid", "w").write(str(child.pid))
    child.wait()
else:
    print(sorted(os.environ), sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:3], os.getpid() == os.getsid(0))
"""
