"""`mcp`: serve research as MCP tools, and manage the MCP servers whose tools our agents may use."""

from __future__ import annotations

import argparse

from research.cli.common import open_home
from research.cli.parser import Commands


def add(commands: Commands) -> None:
    """Declare the command and its actions."""
    command = commands.add("mcp", "serve research as MCP tools; or `mcp list`, `mcp approve NAME`", serve)
    command.add_argument(
        "--http", metavar="HOST:PORT", help="serve over HTTP on this machine instead of standard input and output"
    )
    actions = Commands.actions_of(command, required=False)
    actions.add("list", "connect to the servers in mcp.json and list their tools", check)
    action = actions.add("approve", "accept tools whose descriptions have changed", approve)
    action.add_argument("server")


def serve(arguments: argparse.Namespace) -> int:
    """Serve until the client disconnects."""
    from research._util import extras

    extras.need("mcp", "the command mcp")
    from research.servers import mcp_server

    mcp_server.serve(open_home(arguments), arguments.http)
    return 0


def approve(arguments: argparse.Namespace) -> int:
    """Accept the tools of a server as they are described now."""
    names = open_home(arguments).mcp.approve(arguments.server)
    print("\n".join(f"approved {name}" for name in names) or f"no tool of {arguments.server} needs approval")
    return 0


def check(arguments: argparse.Namespace) -> int:
    """List the servers and their tools; the exit status is 1 if one has a problem."""
    servers = open_home(arguments).mcp
    found = [servers.check(name) for name, _ in servers.configured()]
    if not found:
        print(f"no MCP server is configured; name servers in {servers.path}")
    for each in found:
        print(f"{each.name}: {each.address}\n  {each.problem or f'{len(each.tools)} tools: ' + ', '.join(each.tools)}")
        for withheld in each.withheld:
            print(f"  {withheld}")
    servers.close()
    return 1 if any(each.problem for each in found) else 0
