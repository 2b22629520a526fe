"""The Python sandbox with both backends, and the isolated process below it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from research.errors import Stopped, ToolError
from research.sandbox import process, run_isolated, run_python, self_test, state
from research.sandbox.interpreter import Backend
from research.sandbox.job import OUTPUT_CHARACTERS
from research.tools.python import PythonTool
from tests.workers import LONG_S


@pytest.fixture(
    params=["monty", pytest.param("cpython", marks=pytest.mark.skipif(sys.platform != "linux", reason="Linux only"))]
)
def backend(request: pytest.FixtureRequest) -> Backend:
    chosen: Backend = request.param
    return chosen


@pytest.fixture
def cpython() -> None:
    if sys.platform != "linux":
        pytest.skip("CPython is sealed on Linux only")


def test_printed_output_is_returned(backend: Backend) -> None:
    assert run_python("print((3.732/3.689-1)*100)", choice=backend).text == "1.1656275413391093\n"


@pytest.mark.examples(4)
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
def test_a_last_expression_is_shown_when_nothing_was_printed(code: str, shown: str, backend: Backend) -> None:
    text = run_python(code, choice=backend).text
    assert text.startswith(shown)
    assert bool(text) == bool(shown)


@pytest.mark.examples(2)
@pytest.mark.parametrize("code", ["for i in range(200_000):\n    print(i)", "print('é' * 9000)", "list(range(9999))"])
def test_long_output_is_cut_and_marked(code: str, backend: Backend) -> None:
    output = run_python(code, choice=backend).text
    assert len(output) == OUTPUT_CHARACTERS
    assert output.endswith("characters in all]")
    assert "\n[cut: " in output


def test_output_of_exactly_the_limit_is_not_cut(backend: Backend) -> None:
    code = f"print('x' * {OUTPUT_CHARACTERS}, end='')"
    assert run_python(code, choice=backend).text == "x" * OUTPUT_CHARACTERS


@pytest.mark.examples(5)
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("1 +", "SyntaxError"),
        ("def half(x):\n    return x / 0\nhalf(2)", "ZeroDivisionError"),
        ("unknown_name", "NameError: name 'unknown_name' is not defined"),
        ("import no_such_module", "No module named 'no_such_module'"),
        ("def f():\n    return f()\nf()", "RecursionError"),
        ("raise TimeoutError('own')", "TimeoutError: own"),
        ("x = [0]\nwhile True:\n    x += x", "MemoryError"),
        ("'x' * 10**12", "MemoryError"),
        ("x = []\nfor _ in range(100_000):\n    x = [x]\nx", "nested too deeply"),
    ],
)
def test_an_error_is_returned_as_its_traceback(code: str, told: str, backend: Backend) -> None:
    with pytest.raises(ToolError, match=told) as caught:
        run_python(code, choice=backend)
    assert len(str(caught.value)) < 2 * OUTPUT_CHARACTERS


def test_output_printed_before_an_error_is_returned_too(backend: Backend) -> None:
    with pytest.raises(ToolError, match=r"(?s)step 1\n.*line 2, in .*ZeroDivisionError"):
        run_python("print('step 1')\n1 / 0", choice=backend)


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    "code", ["while True:\n    pass", "import time\nwhile True:\n    time.sleep(9)", "10**10**8 % 7"]
)
def test_endless_code_is_stopped_at_the_time_limit(code: str, backend: Backend) -> None:
    with pytest.raises(ToolError, match="time limit exceeded|stopped after 0.2 s"):
        run_python(code, timeout_s=0.2, choice=backend)


def test_the_user_can_stop_code(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    state(backend)
    stop, start = threading.Event(), subprocess.Popen

    def started(*given: Any, **named: Any) -> Any:
        made = start(*given, **named)
        stop.set()
        return made

    monkeypatch.setattr(subprocess, "Popen", started)
    with pytest.raises(Stopped):
        run_python("while True:\n    pass", timeout_s=LONG_S, stop=stop, choice=backend)


def test_lone_surrogates_are_accepted(backend: Backend) -> None:
    assert run_python("len('\ud800')", choice=backend).text == "1"


def test_calls_share_no_state(backend: Backend) -> None:
    run_python("x = 1", choice=backend)
    with pytest.raises(ToolError, match="NameError"):
        run_python("x", choice=backend)


def test_the_sandbox_passes_its_self_test(backend: Backend) -> None:
    assert self_test() is None
    assert state(backend).backend == backend


def test_the_self_test_fails_closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert "does not run" in (self_test() or "")
    liar = tmp_path / "liar"
    liar.write_text("""#!/bin/sh\ncat > /dev/null\necho '{"output": "11", "length": 2}'\n""")
    liar.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(liar))
    assert "let code read a file" in (self_test() or "")


# Calculations that need CPython


@pytest.mark.examples(3)
@pytest.mark.usefixtures("cpython")
@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("import numpy as np\nnp.linalg.eigvalsh([[2, 1], [1, 2]]), np.polyfit([0, 1, 2], [1, 3, 5], 1).round(6), "
         "int(np.random.default_rng(1).integers(5, 6))", "(array([1., 3.]), array([2., 1.]), 5)"),
        ("import statistics, json, re, random, math, itertools, collections\n"
         "from fractions import Fraction\nfrom decimal import Decimal\nfrom datetime import datetime\n"
         "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n"
         "days = (datetime.strptime('2024-03-01', '%Y-%m-%d') - datetime(2024, 2, 1)).days\n"
         "(statistics.median([3, 1, 2]), Fraction(1, 3), Decimal('0.1') * 3, days, P(3), "
         "json.dumps({'人口': 1}, ensure_ascii=False), '人'.encode('gbk'))",
         "(2, Fraction(1, 3), Decimal('0.3'), 29, P(x=3), '{\"人口\": 1}', b'\\xc8\\xcb')"),
        ("print('中国的人口')", "中国的人口\n"),
        ("if __name__ == '__main__':\n    print('main')", "main\n"),
        ("import sys\nprint('done')\nsys.exit()", "done\n"),
    ],
)  # fmt: skip
def test_cpython_runs_calculations_with_the_standard_library_and_numpy(code: str, shown: str) -> None:
    assert run_python(code, choice="cpython").text == shown


@pytest.mark.usefixtures("cpython")
def test_a_warning_appears_below_the_result() -> None:
    text = run_python("import numpy as np\nnp.array([1.0]) / 0", choice="cpython").text
    assert text.startswith("array([inf])\n<code>:2: RuntimeWarning")


@pytest.mark.usefixtures("cpython")
def test_plots_are_returned_as_png() -> None:
    code = (
        "import matplotlib.pyplot as plt\n"
        "for year in range(2):\n    plt.figure()\n    plt.bar(['中国', 'a'], [1, 2])\n"
        "    plt.title('人口 $x^2$', fontsize=17, family='SimHei')\n    plt.show()\n"
    )
    output = run_python(code, choice="cpython")
    assert output.text == "[2 plots shown to the user]"
    assert [image[:8] for image in output.images] == [b"\x89PNG\r\n\x1a\n"] * 2


@pytest.mark.slow
@pytest.mark.usefixtures("cpython")
def test_plots_are_limited_in_number_and_size() -> None:
    code = (
        "import matplotlib.pyplot as plt, numpy as np\n"
        "for each in range(5):\n    plt.figure(figsize=(2, 2) if each else (60, 40))\n    plt.imshow(np.random.rand(300, 300))\n"
    )
    output = run_python(code, choice="cpython")
    assert "4 plots shown to the user, 1 left out" in output.text
    assert len(output.images) == 4
    assert max(map(len, output.images)) <= 300_000


@pytest.mark.examples(3)
@pytest.mark.usefixtures("cpython")
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import pandas", "No module named 'pandas' here; available: numpy, matplotlib.pyplot, "),
        ("open('data.csv')", "files, network and processes are closed to this code"),
        ("import numpy as np\nnp.linalg.inv(np.zeros((2, 2)))", "LinAlgError: Singular matrix"),
        ("import numpy as np\nnp.ones(10**9)", "the code may hold 1 GiB"),
        (
            "print('a')\nx = 1\nwhile True:\n    x += 1",
            r"(?s)a\n.*stopped after 0.5 s: make it do less \(it was in line",
        ),
    ],
)
def test_an_error_says_what_to_do(code: str, told: str) -> None:
    with pytest.raises(ToolError, match=told) as caught:
        run_python(code, timeout_s=0.5 if "while" in code else 10, choice="cpython")
    assert "site-packages" not in str(caught.value)


def test_the_tool_description_lists_the_available_packages(backend: Backend) -> None:
    tool = PythonTool(backend)
    assert ("no numpy" in tool.spec.description) == (backend == "monty")
    assert tool(code="print(6 * 7)").text == "42\n"


# The isolated process, seen from a Python console in it


def inside(*lines: str, stop: threading.Event | None = None) -> str:
    return run_isolated("code", "\n".join([*lines, "", ""]).encode(), "-q", timeout_s=LONG_S, stop=stop).decode()


def test_the_process_does_not_inherit_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary")
    output = inside("import os", "print(list(os.environ))")
    assert "[" in output
    assert "SOME_API_KEY" not in output


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_process_does_not_inherit_open_files(tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        output = inside("import os", "print(sorted(os.listdir('/proc/self/fd')))")
        assert "['0', '1', '2', '3']" in output  # 3 is the listing itself


def test_memory_and_files_of_the_process_are_limited(tmp_path: Path) -> None:
    file = tmp_path / "written"
    output = inside(
        "from research.sandbox.process import confine", "confine(5)",
        "try:", "    bytearray(3 * 2**30)", "except MemoryError:", "    print('no memory')", "",
        "try:", f"    with open({str(file)!r}, 'w') as file: print('x', file=file)", "except OSError:",
        "    print('no file')", "",
    )  # fmt: skip
    assert "no memory" in output
    assert "no file" in output
    assert file.read_text() == ""


@pytest.mark.parametrize("stopped", [False, True])
def test_processes_started_by_the_process_are_killed_with_it(stopped: bool) -> None:
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        listener.settimeout(LONG_S)
        lines = [
            "import socket, subprocess",
            f"line = socket.create_connection({listener.getsockname()!r})",
            "quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[line.fileno()])",
            "started = subprocess.Popen(['/bin/sleep', '600'], **quiet)",
            "sent = line.send(b'x')",
            "import time; time.sleep(600)" if stopped else "",
        ]
        running = pool.submit(inside, *lines, stop=stop)
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(LONG_S)
            assert connection.recv(1) == b"x"
            if stopped:
                stop.set()
            assert connection.recv(1) == b""  # the other end is closed
        assert isinstance(running.exception(), Stopped) == stopped


def test_a_failed_process_is_reported() -> None:
    with pytest.raises(ChildProcessError, match="status 1"):
        run_isolated("no_such_module", b"", timeout_s=LONG_S)


def test_a_process_with_too_much_output_is_killed() -> None:
    with pytest.raises(ChildProcessError, match="wrote more than 1 MB"):
        run_isolated("code", b"while True: print('x' * 10**5)\n\n", "-q", timeout_s=LONG_S, output_bytes=10**6)


def test_a_process_that_ignores_its_input_returns_its_output() -> None:
    assert run_isolated("this", b"x" * 10**7, timeout_s=LONG_S).startswith(b"The Zen")


def test_code_waits_for_a_place_and_can_be_stopped_meanwhile(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    state(backend)
    monkeypatch.setattr(process, "_places", threading.BoundedSemaphore(1))
    stop = threading.Event()
    stop.set()
    with process._place(None), pytest.raises(Stopped, match="not started: stopped while waiting for a place"):
        run_python("1", stop=stop, choice=backend)


def test_random_numbers_without_numpy_are_the_same_in_every_call(backend: Backend) -> None:
    first, again = (run_python("import random\nrandom.random()", choice=backend).text for _ in range(2))
    assert first == again


@pytest.mark.examples(1)
@pytest.mark.usefixtures("cpython")
@pytest.mark.parametrize("draw", ["random.random()", "numpy.random.random()", "numpy.random.default_rng().random()"])
def test_random_numbers_are_the_same_in_every_call(draw: str) -> None:
    code = f"import numpy, random\n{draw}"
    assert run_python(code).text == run_python(code).text
