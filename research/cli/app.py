"""`app`: open the pages in a browser."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from importlib.util import find_spec
from pathlib import Path

from research._util.paths import resolved
from research.cli.parser import Commands, port
from research.errors import ConfigError

PACKAGE = Path(__file__).parents[1]


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add("app", "open the pages in a browser", run)
    command.add_argument("--port", type=port, metavar="N", help="default: 8501, or the next free one; 0: any free one")


def run(arguments: argparse.Namespace) -> int:
    """Replace this process by Streamlit serving the pages."""
    if find_spec("streamlit") is None:
        raise ConfigError("the pages need the package streamlit: pip install research-workbench")
    script = find_script()
    words = ["-m", "streamlit", "run", str(script)]
    if arguments.port is not None:
        _check_port(arguments.port)
        words += ["--server.port", str(arguments.port)]
    if arguments.home is not None:
        os.environ["WORKBENCH_HOME"] = str(resolved(Path(arguments.home)))
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *words])  # signals then reach the server itself


def find_script() -> Path:
    """Return the path of `app.py`: inside the installed package, or beside it in a checkout.  Raises `ConfigError`."""
    places = (PACKAGE / "_app" / "app.py", PACKAGE.parent / "app.py")
    for script in places:
        if script.exists():
            return script
    raise ConfigError(f"app.py is missing: neither {places[0]} nor {places[1]} exists; install the package again")


def _check_port(port: int) -> None:
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except OSError as error:
        raise ConfigError(f"--port {port}: cannot listen there ({error.strerror}); choose another port") from error
