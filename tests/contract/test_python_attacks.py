"""Real attacks by a model's code on the CPython sandbox."""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from research.errors import Stopped, ToolError
from research.sandbox import interpreter as backends
from research.sandbox import run_isolated, run_python, state
from research.sandbox.interpreter import probe
from research.sandbox.job import PLOTS
from research.sandbox.linux import NOBODY
from research.sandbox.png import sanitized
from research.types import ToolOutput
from tests.workers import LONG_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the CPython sandbox needs Linux")

CANARY = "canary-5f1c"


def run(code: str, timeout_s: float = 10.0) -> ToolOutput:
    return run_python(code, timeout_s=timeout_s, choice="cpython")


def everything(code: str, timeout_s: float = 10.0) -> str:
    """Return the output, or the error message if the code fails."""
    try:
        return run(code, timeout_s).text
    except ToolError as error:
        return str(error)


def refused(code: str, timeout_s: float = 10.0) -> str:
    with pytest.raises(ToolError) as caught:
        run(code, timeout_s)
    return str(caught.value)


def together(codes: Sequence[str]) -> pytest.MarkDecorator:
    """Try all programs in one process; `make test-all` also tries each in a process of its own."""
    alone = [pytest.param([code], marks=pytest.mark.slow) for code in codes]
    return pytest.mark.parametrize("codes", [pytest.param(codes, id="all"), *alone])


def all_refused(codes: Iterable[str]) -> None:
    """Run the programs, one after the other; each must raise an error that does not contain the secret."""
    programs = list(codes)
    output = run(f"""
for code in {programs!r}:
    try:
        exec(code, {{}})
    except BaseException as error:
        if {CANARY!r} in repr(error):
            print("READ THE SECRET:", code)
    else:
        print("NOT REFUSED:", code)
print("tried", {len(programs)})
""")
    assert output.text.removesuffix("[1 plot shown to the user]") == f"tried {len(programs)}\n"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user of the machine can access, so that only the sandbox keeps code out of it."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o777)
    (path / "secret.txt").write_text(f"{CANARY}\n1 2 3\n")
    (path / "secret.txt").chmod(0o666)
    (path / "link").symlink_to("secret.txt")
    (path / "secret.py").write_text(f"print('{CANARY}')\n")
    if os.geteuid() == 0:
        os.chown(path / "secret.txt", NOBODY, NOBODY)
    yield path
    shutil.rmtree(path)


def test_this_machine_has_a_working_cpython_sandbox() -> None:
    assert state("cpython").backend == "cpython", state("cpython").why
    assert probe().backend == "cpython"


# Files

READING = [
    "open({0!r}).read()",
    "import os\nos.read(os.open({0!r}, os.O_RDONLY), 100)",
    "from pathlib import Path\nPath({0!r}).read_text()",
    "import io\nio.FileIO({0!r}).read()",
    "import os\nos.readlink({0!r}.replace('secret.txt', 'link'))",
    "import os\nos.stat({0!r})",
    "import os\nos.listdir(os.path.dirname({0!r}))",
    "import os\nos.chdir(os.path.dirname({0!r}))",
    "import mmap, os\nmmap.mmap(os.open({0!r}, os.O_RDONLY), 0, prot=mmap.PROT_READ)[:]",
    "import numpy as np\nnp.fromfile({0!r}, dtype='u1').tobytes()",
    "import numpy as np\nnp.loadtxt({0!r}, dtype=str, max_rows=1)",
    "import numpy as np\nnp.memmap({0!r}, dtype='u1').tobytes()",
    "import numpy as np\nnp.ctypeslib.load_library('libc.so.6', '/lib/x86_64-linux-gnu').open",
    "import ctypes\nctypes.CDLL('libresolv.so.2')",
    "import importlib.util, sys\nspec = importlib.util.spec_from_file_location('x', {0!r}.replace('.txt', '.py'))\n"
    "spec.loader.exec_module(importlib.util.module_from_spec(spec))",
    "import sys\nfrom importlib.machinery import PathFinder\nsys.meta_path.append(PathFinder)\n"
    "sys.path.append({0!r}[:-11])\nimport secret",
    "import subprocess\nsubprocess.run(['cat', {0!r}], capture_output=True).stdout",
    "open('/etc/passwd').read()",
    "open('/proc/self/maps').read()",
    "open('/dev/null').read()",
    "import os\nos.listdir('/proc')",
]  # fmt: skip


@together(READING)
def test_code_cannot_read_files(folder: Path, codes: Sequence[str]) -> None:
    all_refused(code.format(str(folder / "secret.txt")) for code in codes)


WRITING = [
    "open({0!r}, 'w').write('x')",
    "open({1!r}, 'w').write('x')",
    "import os\nos.open({1!r}, os.O_CREAT | os.O_WRONLY)",
    "import os\nos.mkdir({1!r})",
    "import os\nos.symlink({0!r}, {1!r})",
    "import os\nos.link({0!r}, {1!r})",
    "import os\nos.mkfifo({1!r})",
    "import os\nos.rename({0!r}, {1!r})",
    "import os\nos.remove({0!r})",
    "import os\nos.chmod({0!r}, 0)",
    "import os\nos.truncate({0!r}, 0)",
    "import os\nos.utime({0!r})",
    "import numpy as np\nnp.save({1!r}, np.ones(3))",
    "import numpy as np\nnp.ones(3).tofile({1!r})",
    "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.savefig({1!r})",
    "import tempfile\ntempfile.NamedTemporaryFile(dir={1!r}[:-4], delete=False)",
    "import logging\nlogging.basicConfig(filename={1!r})",
]


@together(WRITING)
def test_code_cannot_write_files(folder: Path, codes: Sequence[str]) -> None:
    before = {path.name: (path.lstat().st_mode, path.lstat().st_mtime_ns) for path in folder.iterdir()}
    all_refused(code.format(str(folder / "secret.txt"), str(folder / "new")) for code in codes)
    assert {path.name: (path.lstat().st_mode, path.lstat().st_mtime_ns) for path in folder.iterdir()} == before
    assert (folder / "secret.txt").read_text().startswith(CANARY)


# Network

NETWORK = [
    "import socket\nsocket.create_connection(('127.0.0.1', {0})).send(b'x')",
    "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {0}))",
    "import socket\nsocket.socket(socket.AF_UNIX).connect({1!r})",
    "import socket\nsocket.socketpair()",
    "import socket\nsocket.getaddrinfo('localhost', 80)",
    "import ctypes\nlibc = ctypes.CDLL(None)\n"
    "assert libc.connect(libc.socket(2, 1, 0), bytes([2, 0, {0} >> 8, {0} & 255, 127, 0, 0, 1]) + bytes(8), 16) == 0",
]


@together(NETWORK)
def test_code_cannot_use_the_network(folder: Path, codes: Sequence[str]) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        port = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        unix.bind(str(folder / "socket"))
        unix.listen()
        (folder / "socket").chmod(0o777)
        for sink in (tcp, udp, unix):
            sink.setblocking(False)
        all_refused(code.format(port, str(folder / "socket")) for code in codes)
        for listener in (tcp, unix):
            with pytest.raises(BlockingIOError):
                listener.accept()
        with pytest.raises(BlockingIOError):
            udp.recv(1)


# Processes

STARTING = [
    "import os\nassert os.system('touch {0}') == 0",
    "import subprocess\nsubprocess.run(['touch', {0!r}])",
    "import os\nos.posix_spawn('/usr/bin/touch', ['touch', {0!r}], {{}})",
    "import os\nos.execv('/usr/bin/touch', ['touch', {0!r}])",
    "import os\nif os.fork() == 0:\n    os.execv('/usr/bin/touch', ['touch', {0!r}])",
    "import os\nos.popen('touch {0}').read()",
    "import os\nwhile True:\n    os.fork()",
    "import ctypes\nassert ctypes.CDLL(None).system(b'touch {0}') == 0",
    "import threading\nthreading.Thread(target=print).start()",
    "import _thread\n_thread.start_new_thread(print, ())",
    "import pickle\npickle.loads(b'cos\\nsystem\\n(S\"touch {0}\"\\ntR.') == 0 or 1 / 0",
]


@together(STARTING)
def test_code_cannot_start_processes_or_threads(folder: Path, codes: Sequence[str]) -> None:
    all_refused(code.format(str(folder / "started")) for code in codes)
    assert not (folder / "started").exists()


OTHERS = [
    "import os, signal\nos.kill({0}, signal.SIGKILL)",
    "import os, signal\nos.killpg({0}, signal.SIGKILL)",
    "import os, signal\nos.kill(-1, signal.SIGKILL)",
    "import signal, os\nsignal.pidfd_send_signal(os.pidfd_open({0}), signal.SIGKILL)",
    "import ctypes\nb = ctypes.create_string_buffer(16)\n"
    "v = (ctypes.c_size_t * 2)(ctypes.addressof(b), 0)\n"
    "assert ctypes.CDLL(None).process_vm_readv({0}, v, 1, v, 1, 0) >= 0",
    "import os\nos.setpriority(os.PRIO_PROCESS, {0}, 19)",
]


@together(OTHERS)
def test_code_cannot_reach_other_processes(codes: Sequence[str]) -> None:
    victim = subprocess.Popen(["sleep", "600"], start_new_session=True, user=NOBODY if os.geteuid() == 0 else None)
    try:
        all_refused(code.format(victim.pid) for code in codes)
        assert victim.poll() is None
        assert os.getpriority(os.PRIO_PROCESS, victim.pid) == os.getpriority(os.PRIO_PROCESS, 0)
    finally:
        victim.kill()
        victim.wait()


def test_the_sandbox_process_has_no_privileges_and_a_system_call_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, seen = threading.Event(), threading.Event()
    ended: list[BaseException] = []

    def work() -> None:
        try:
            run_python("while True:\n    pass", timeout_s=LONG_S, stop=stop, choice="cpython")
        except Stopped as error:
            ended.append(error)

    state("cpython")
    thread = threading.Thread(target=work)
    thread.start()
    status: dict[str, str] = {}
    while thread.is_alive() and status.get("Seccomp") != "2":
        seen.wait(0.01)
        for child in children():
            status = dict(line.split(":\t") for line in child.read_text().splitlines() if ":\t" in line)
    stop.set()
    thread.join()
    assert status["Seccomp"] == "2"
    assert status["NoNewPrivs"] == "1"
    if os.geteuid() == 0:
        assert set(status["Uid"].split()) == set(status["Gid"].split()) == {"65534"}
        assert status["CapEff"].strip("0") == status["CapPrm"].strip("0") == ""
        assert status["Groups"].strip() == ""
    assert ended  # ended by the stop, long before the time limit
    assert not children()


def children() -> list[Path]:
    """Return `/proc/PID/status` of each sandbox that this process started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if b"research.sandbox" in command and parent == str(os.getpid()):
            found.append(process / "status")
    return found


# System calls

X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="uses system call numbers of x86_64")

RAW = {
    "open": 2, "stat": 4, "ioctl": 16, "pipe": 22, "shmget": 29, "dup": 32, "socket": 41, "clone": 56, "fork": 57,
    "vfork": 58, "execve": 59, "kill": 62, "fcntl": 72, "ptrace": 101, "setuid": 105, "personality": 135,
    "prctl": 157, "setrlimit": 160, "tkill": 200, "tgkill": 234, "keyctl": 250, "openat": 257, "unshare": 272,
    "splice": 275, "perf_event_open": 298, "name_to_handle_at": 303, "prlimit64": 302, "setns": 308,
    "process_vm_readv": 310, "seccomp": 317, "memfd_create": 319, "bpf": 321, "execveat": 322, "userfaultfd": 323,
    "pkey_mprotect": 329, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "pidfd_open": 434,
    "clone3": 435, "openat2": 437, "pidfd_getfd": 438, "landlock_create_ruleset": 444, "not yet made": 900,
}  # fmt: skip
"""System calls, made with arguments that do nothing if the call is allowed."""


@X86
@pytest.mark.parametrize("abi", [0, 0x40000000], ids=["x86_64", "x32"])
def test_dangerous_system_calls_are_refused(abi: int) -> None:
    bits = "" if not abi else "numbers.update({'read': 0, 'write': 1, 'mmap': 9, 'x32 execve': 520})\n"
    output = run(
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"numbers = {RAW!r}\n{bits}"
        "for name, number in numbers.items():\n"
        f"    result = libc.syscall(ctypes.c_long(number | {abi}), *[ctypes.c_long(-1)] * 6)\n"
        "    print(name, result, ctypes.get_errno()) if (result, ctypes.get_errno()) != (-1, 1) else None\n"
        "'all refused'"
    )
    assert output.text == "'all refused'"


@X86
def test_code_cannot_create_executable_memory() -> None:
    assert "PermissionError" in refused("import mmap\nmmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC)")
    assert run(
        "import ctypes, mmap\nm = mmap.mmap(-1, 4096)\n"
        "a = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
        "ctypes.CDLL(None).mprotect(ctypes.c_void_p(a), 4096, 5)"
    ).text == "-1"  # fmt: skip


@X86
@pytest.mark.parametrize("sealed", [False, True])
def test_32_bit_system_calls_kill_the_process(sealed: bool) -> None:
    """Number 20 is getpid in 32 bit and writev in 64 bit, so the filter must check the architecture."""
    lines = [
        "import ctypes, mmap",
        "from research.sandbox import linux",
        "page = mmap.mmap(-1, 4096, prot=7)",
        "n = page.write(bytes.fromhex('b814000000cd80c3'))",  # mov eax, 20; int 0x80; ret
        "call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))",
        "linux.seal()" if sealed else "",
        "n = print('came back', call(), flush=True)",
        "import os; os._exit(0)",
    ]
    script = "\n".join([*lines, "", ""]).encode()
    if sealed:
        with pytest.raises(ChildProcessError, match="SIGSYS"):
            run_isolated("code", script, "-q", timeout_s=LONG_S)
    else:
        assert b"came back" in run_isolated("code", script, "-q", timeout_s=LONG_S)


# What the process inherits


def test_the_environment_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", CANARY)
    output = everything(
        "import ctypes, os\n"
        "environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), 'environ')\n"
        "print(dict(os.environ), ctypes.CDLL(None).getenv(b'SOME_API_KEY'), environ[0] if environ else None)"
    )
    assert output == "{} 0 None\n"


def test_open_files_are_not_inherited(folder: Path) -> None:
    with (folder / "secret.txt").open() as file:
        os.set_inheritable(file.fileno(), True)
        output = everything(
            "import os\nfor number in range(64):\n"
            "    try:\n        os.lseek(number, 0, 0)\n        print(number, os.read(number, 99))\n"
            "    except OSError:\n        pass\n'done'"
        )
    assert output == "0 b''\n1 b''\n2 b''\n"


# Limits


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    "code",
    [
        "x = [0]\nwhile True:\n    x += x",
        "x = []\nwhile True:\n    x.append(bytes(10**6))",
        "'x' * 10**12",
        "import numpy as np\nnp.ones(10**9)",
        "print('x' * 2**31)",
        "import decimal\ndecimal.getcontext().prec = 10**9\ndecimal.Decimal(1) / 3",
    ],
)
def test_memory_is_bounded(code: str) -> None:
    assert "MemoryError" in refused(code)


def test_a_memory_map_beyond_the_limit_is_refused() -> None:
    assert "Cannot allocate memory" in refused("import mmap\nmmap.mmap(-1, 4 * 2**30)")


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    "code",
    [
        "while True:\n    pass",
        "10**10**9 % 7",
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
        "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nsignal.setitimer(signal.ITIMER_REAL, 0)\n"
        "signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True:\n    pass",
        "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
        "class Slow:\n    def __repr__(self):\n        while True:\n            pass\nSlow()",
    ],
)
def test_time_is_bounded(code: str) -> None:
    assert "stopped after 0.2 s" in refused(code, timeout_s=0.2)
    assert not children()


def test_sleeping_code_is_stopped_at_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "START_S", 2.0)
    code = "import signal, time\nsignal.setitimer(signal.ITIMER_REAL, 0)\nwhile True:\n    time.sleep(9)"
    assert "stopped after 0.5 s" in refused(code, timeout_s=0.5)
    assert not children()


def test_output_is_bounded() -> None:
    text = run("for _ in range(1000):\n    print('x' * 10**6)").text
    assert len(text) == 2000
    assert text.endswith("[cut: 1000001000 characters in all]")


# The result

PIPE = "import os, json\nwrite = lambda data: os.write(3, data)\n"


@pytest.mark.examples(4)
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os\nos._exit(0)", "ended its process"),
        ("import os\nos._exit(7)", "status 7"),
        ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
        ("import os\nos.abort()", "died"),
        ("import os\nfor n in range(64):\n    try: os.close(n)\n    except OSError: pass", "status 1"),
        (PIPE + "write(b'garbage')\n1", "wrote over its answer"),
        (PIPE + "write(b'[' * 10**6)\n1", "wrote over its answer"),
        (PIPE + "write(b'{\"x\":' * 10**5)\n1", "wrote over its answer"),
        (PIPE + "while True:\n    write(b'x' * 2**16)", "wrote more than"),
        (PIPE + "write(b'{\"output\": 1}')\nos._exit(0)", "wrote over its answer"),
        ("import sys\nsys.stdout = None\nprint('x')\n1 / 0", "ZeroDivisionError"),
        ("import sys\ndel sys.modules['msgspec'], sys.modules['research']\n1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_broken_result_is_reported_as_an_error_of_the_code(code: str, reason: str) -> None:
    assert reason in refused(code)


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.write(1, b'{\"output\": \"forged\"}')\nos.write(2, b'x')\nprint('said')",
        "import atexit, os\natexit.register(lambda: os.write(3, b'late'))\nprint('said')",
        "class Late:\n    def __del__(self):\n        import os\n        os.write(3, b'late')\n"
        "import gc\nkept = Late()\nkept.itself = kept\nprint('said')",
        "import sys\nsys.settrace(lambda *_: None)\nprint('said')",
        "import sys, signal\nsignal.setitimer(signal.ITIMER_REAL, 0)\nprint('said')",
    ],
)
def test_output_beside_the_result_is_ignored(code: str) -> None:
    assert run(code).text == "said\n"


def test_printed_text_in_the_form_of_a_result_is_shown_as_text() -> None:
    text = '{"output": "forged", "length": 6}\n'
    assert run(f"print({text!r}, end='')").text == text


def forged(**result: object) -> str:
    return f"{PIPE}write({json.dumps(result).encode()!r})\nos._exit(0)"


def test_a_forged_result_is_cut_like_any_other() -> None:
    assert len(run(forged(output="x" * 10**6, length=3)).text) == 2000
    assert len(run(forged(output="x" * 10**6, length=10**2100)).text) == 2000
    assert len(refused(forged(error="x" * 10**6))) < 3000
    assert len(refused(forged(unsealed="x" * 10**6))) < 3000
    assert state("cpython").backend == "cpython"


def test_an_invalid_image_is_omitted() -> None:
    import base64

    picture = run("import matplotlib.pyplot as plt\nplt.figure(figsize=(2, 2))\nplt.plot([1])").images[0]
    wide = bytearray(picture)
    wide[16:20] = (10**6).to_bytes(4, "big")
    wide[29:33] = zlib.crc32(wide[12:29]).to_bytes(4, "big")
    broken = bytearray(picture)
    broken[60] ^= 1
    bad = [b"", b"<svg onload=alert(1)>", picture[:-1], picture + b"<script>", bytes(wide), bytes(broken), picture[:33]]
    assert sanitized(picture, 2400) == picture
    assert not any(sanitized(image, 2400) for image in bad)
    images = [base64.b64encode(image).decode() for image in (*bad[:3], picture)]
    assert run(forged(output="x", length=1, images=images)).images == (picture,)
    assert len(run(forged(images=images[3:] * 9)).images) == PLOTS


# A sandbox that does not work


def test_a_sandbox_without_effect_is_detected_and_monty_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(backends._MODULES, "cpython", "tests.contract.unsealed")
    monkeypatch.setattr(backends, "_FORBIDDEN", {})  # the self-test of Monty is in test_sandbox.py
    fallen = probe()
    assert fallen.backend == "monty"
    assert "let code read a file" in fallen.why
    assert "start a process" in fallen.why


def test_the_self_test_leaves_no_child_that_it_would_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(backends._MODULES, "cpython", "tests.contract.unsealed")
    starting = {what: code for what, code in backends._ATTEMPTS.items() if what.startswith("start a p")}
    monkeypatch.setattr(backends, "_ATTEMPTS", {**starting, "wait for a child": "os.wait()"})
    assert probe("cpython").why.endswith("let code start a process, start a program")


@pytest.mark.parametrize("attempt", ["read a file", "signal the workbench", "fill the memory"])
def test_one_successful_attack_in_the_self_test_disables_the_backend(
    monkeypatch: pytest.MonkeyPatch, attempt: str
) -> None:
    monkeypatch.setitem(backends._ATTEMPTS, attempt, "1 + 1")
    found = probe("cpython")
    assert found.backend is None
    assert attempt in found.why


def test_other_systems_use_monty_and_give_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(backends, "_FORBIDDEN", {})
    found = probe()
    assert found.backend == "monty"
    assert "Linux only" in found.why
    assert probe("cpython").backend is None
