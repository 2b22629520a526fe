"""The options of `run`, `compare` and `eval` that choose a recipe: model, tools, search, memory and budget."""

from __future__ import annotations

import argparse
from typing import Any

from research import defaults
from research.cli.common import parse_pairs, split_names
from research.cli.parser import count_or_zero, positive_float, positive_int


def add_recipe_options(command: argparse.ArgumentParser) -> None:
    """Declare the options that all three commands take."""
    command.add_argument(
        "--model",
        help="PROVIDER:NAME, such as openai:NAME, gguf:PATH, scripted:FILE or recorded:RUN; providers: {models}; "
        "default: WORKBENCH_MODEL",
    )
    command.add_argument(
        "--role", action="append", default=[], metavar="ROLE=MODEL", help="another model for a role, e.g. summariser"
    )
    command.add_argument(
        "--protocol", default="auto", choices=["auto", "native", "tagged"], help="how tool calls are written"
    )
    command.add_argument(
        "--tools",
        default=",".join(defaults.TOOLS),
        help=f"from {{tools}}; default: {','.join(defaults.TOOLS)}",
    )
    command.add_argument(
        "--search",
        default="library",
        help="library, folders, web, or names of web services: {search}; default: library",
    )
    command.add_argument("--mcp", default="", metavar="NAMES", help="MCP servers in mcp.json whose tools to offer")
    command.add_argument("--temperature", type=float, metavar="T", help="default: the provider's")
    # `eval --judge` names a model that compares reports.
    flags = ["--citation-judge"] if command.prog.endswith("eval") else ["--judge", "--citation-judge"]
    command.add_argument(
        *flags,
        dest="citation_judge",
        default="",
        metavar="JUDGE",
        help="who judges citations besides the rules: auto, off, cross-encoder:PATH_OR_ID or model:PROVIDER:NAME; "
        "default: WORKBENCH_JUDGE, that is auto: WORKBENCH_VERIFIER, or else the run's language model",
    )
    command.add_argument("--budget-tokens", type=positive_int, metavar="N")
    command.add_argument("--budget-usd", type=positive_float, metavar="X")
    command.add_argument("--budget-seconds", type=positive_float, metavar="S")


def add_folder_option(command: argparse.ArgumentParser) -> None:
    """Declare `--folder`."""
    command.add_argument(
        "--folder", action="append", default=[], metavar="DIR", help="also search the documents in this folder"
    )


def add_memory_options(command: argparse.ArgumentParser) -> None:
    """Declare `--recall` and `--remember`: what a run reads from the memory and what it adds."""
    command.add_argument(
        "--recall",
        type=count_or_zero,
        default=0,
        metavar="N",
        help="give the agent up to N memory entries before the first round, at most 20; default: 0",
    )
    command.add_argument(
        "--remember",
        default="off",
        choices=["off", "findings", "everything"],
        help="what to add to the memory when the run ends; default: off",
    )


def chosen(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the common options as arguments of `Workbench.recipe`.  Raises `ConfigError`."""
    from research.events.recipe import Budget

    return {
        "model": arguments.model,
        "roles": parse_pairs(arguments.role, "--role"),
        "protocol": arguments.protocol,
        "tools": split_names(arguments.tools),
        "search": split_names(arguments.search),
        "mcp": split_names(arguments.mcp),
        "temperature": arguments.temperature,
        "judge": arguments.citation_judge,
        "budget": Budget(arguments.budget_tokens, arguments.budget_usd, arguments.budget_seconds),
    }
