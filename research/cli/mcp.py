"""`mcp`: serve our runs to other agents, or look after the MCP servers that ours may use."""

from __future__ import annotations

import argparse

from research.cli.common import open_home


def serve(arguments: argparse.Namespace) -> int:
    from research.mcp import server

    server.serve(open_home(arguments), arguments.http)
    return 0


def approve(arguments: argparse.Namespace) -> int:
    names = open_home(arguments).mcp.approve(arguments.server)
    print("\n".join(f"approved {name}" for name in names) or f"nothing of {arguments.server} waits for approval")
    return 0


def check(arguments: argparse.Namespace) -> int:
    servers = open_home(arguments).mcp
    found = [servers.check(name) for name, _ in servers.configured()]
    if not found:
        print(f"no MCP server is configured; name them in {servers.path}")
    for each in found:
        print(f"{each.name}: {each.how}\n  {each.problem or f'{len(each.tools)} tools: ' + ', '.join(each.tools)}")
        for withheld in each.withheld:
            print(f"  {withheld}")
    servers.close()
    return 1 if any(each.problem for each in found) else 0
