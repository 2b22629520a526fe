"""`gateway`: serve a base address for other programs' agents, whose calls become saved runs."""

from __future__ import annotations

import argparse

from research.cli.common import open_home
from research.cli.parser import Commands, port, positive_float


def add(commands: Commands) -> None:
    """Declare the command."""
    command = commands.add(
        "gateway", "serve a base URL for other programs' agents, and record each agent as a run", serve
    )
    command.add_argument("--port", type=port, default=8400, metavar="N", help="default: 8400; 0: any free one")
    command.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="default: 127.0.0.1; another machine's agents need WORKBENCH_GATEWAY_TOKEN as their API key",
    )
    command.add_argument(
        "--endpoint",
        default="",
        metavar="NAME",
        help="endpoint for requests that name none, or recorded:RUN to replay a run; default: openai, or anthropic for "
        "requests in its format",
    )
    command.add_argument("--pipe", metavar="RUN", default="", help=argparse.SUPPRESS)
    command.add_argument(
        "--idle",
        type=positive_float,
        default=60.0,
        metavar="S",
        help="end a run after this many seconds without a request; default: 60",
    )


def serve(arguments: argparse.Namespace) -> int:
    """Serve until the process is stopped."""
    from research._util import extras

    extras.need("gateway", "the command gateway")
    from research.servers.gateway_app import Options, serve, serve_run

    bench = open_home(arguments)
    token = bench.settings.gateway_token
    options = Options(
        host=arguments.host,
        port=arguments.port,
        endpoint=arguments.endpoint,
        token=token.get_secret_value() if token and not arguments.pipe else "",
        idle_s=arguments.idle,
    )
    if arguments.pipe:
        serve_run(bench, options, arguments.pipe)
    else:
        serve(bench, options)
    return 0
