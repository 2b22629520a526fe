from __future__ import annotations

import os
import socket
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
        ("10**5000", "1" + "0" * 1900),
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


@pytest.mark.parametrize(
    "code", ["while True:\n    pass", "import time\nwhile True:\n    time.sleep(9)", "10**10**8 % 7"]
)
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


# The process apart, seen from a Python console in it


def inside(*lines: str, timeout_s: float = 20.0) -> str:
    return run_apart("code", "\n".join([*lines, "", ""]).encode(), "-q", timeout_s=timeout_s).decode()


def test_the_environment_stays_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary")
    output = inside("import os", "print(list(os.environ))")
    assert "[" in output
    assert "SOME_API_KEY" not in output


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_open_files_stay_outside(tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        output = inside("import os", "print(sorted(os.listdir('/proc/self/fd')))")
        assert "['0', '1', '2', '3']" in output  # the last lists the others


def test_what_a_process_may_use_is_limited(tmp_path: Path) -> None:
    file = tmp_path / "written"
    output = inside(
        "from research.sandbox import confine", "confine(5)",
        "try:", "    bytearray(3 * 2**30)", "except MemoryError:", "    print('no memory')", "",
        "try:", f"    with open({str(file)!r}, 'w') as file: print('x', file=file)", "except OSError:",
        "    print('no file')", "",
    )  # fmt: skip
    assert "no memory" in output
    assert "no file" in output
    assert file.read_text() == ""


@pytest.mark.parametrize("end", ["", "while True: pass"])
def test_what_the_process_started_is_killed_with_it(end: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)
        lines = [
            "import socket, subprocess",
            f"line = socket.create_connection({listener.getsockname()!r})",
            "quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[line.fileno()])",
            "started = subprocess.Popen(['/bin/sleep', '60'], **quiet)",
            end,
        ]
        if end:
            with pytest.raises(TimeoutError):
                inside(*lines, timeout_s=2)
        else:
            inside(*lines)
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(20)
            assert connection.recv(1) == b""  # nobody holds the other end any more


def test_a_process_that_fails_is_told() -> None:
    with pytest.raises(ChildProcessError, match="status 1"):
        run_apart("no_such_module", b"", timeout_s=20)
