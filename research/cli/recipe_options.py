"""The options of `run`, `compare` and `eval` that choose a recipe: model, tools, search, memory and budget."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from research import defaults
from research._util.bounds import split_names
from research._util.paths import resolved
from research.cli.common import parse_pairs
from research.cli.parser import count_or_zero, positive_float, positive_int
from research.defaults import FACTBOOK
from research.errors import ConfigError
from research.events.recipe import FOLDERS, LIBRARY


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
        "--egress",
        choices=["open", "private", "offline"],
        help="what may leave this machine: everything (open), nothing once your documents are among the sources (private), "
        "or nothing (offline); default: private if a cloud model would get your documents, until you have chosen otherwise",
    )
    evaluates = command.prog.endswith("eval")
    more = "" if evaluates else f", and {defaults.QUERY} if your documents have tables"
    command.add_argument(
        "--tools",
        help=f"comma-separated, from {{tools}}; default: {','.join(defaults.TOOLS)}{more}",
    )
    command.add_argument(
        "--search",
        default="library",
        help="where to search: library, folders, web, or web services by name: {search}; default: library",
    )
    command.add_argument(
        "--mcp", default="", metavar="NAMES", help="MCP servers in mcp.json whose tools are offered to the model"
    )
    command.add_argument("--temperature", type=float, metavar="T", help="sampling temperature; default: the provider's")
    # `eval --judge` names a model that compares reports.
    flags = ["--citation-judge"] if evaluates else ["--judge", "--citation-judge"]
    command.add_argument(
        *flags,
        dest="citation_judge",
        default="",
        metavar="JUDGE",
        help="which citations a model judges in addition to the rules: uncertain (those that the rules leave open), all or off; "
        "or which judge: cross-encoder:PATH_OR_ID or model:PROVIDER:NAME, instead of WORKBENCH_VERIFIER or the run's model; "
        "default: WORKBENCH_JUDGE, or uncertain",
    )
    command.add_argument(
        "--novelty",
        choices=["on", "off"],
        default="on",
        help="when several rounds in a row add nothing new, tell the model, and later conclude the run; default: on",
    )
    _add_scope_options(command)
    command.add_argument("--budget-tokens", type=positive_int, metavar="N")
    command.add_argument("--budget-usd", type=positive_float, metavar="X")
    command.add_argument("--budget-seconds", type=positive_float, metavar="S")


def _add_scope_options(command: argparse.ArgumentParser) -> None:
    """Declare which web sources are used, and how old."""
    for name, which in (("allow", "only"), ("deny", "no")):
        command.add_argument(
            f"--{name}-domain",
            action="append",
            default=[],
            metavar="DOMAIN",
            help=f"use {which} web sources of this domain and its subdomains, e.g. oecd.org or gov; may be repeated",
        )
    command.add_argument(
        "--since", default="", metavar="DATE", help="only web sources of this date or later, e.g. 2024-06"
    )
    command.add_argument("--until", default="", metavar="DATE", help="only web sources of this date or earlier")
    command.add_argument(
        "--as-of",
        default="",
        metavar="DATE",
        help="read web pages as they were on this date, from the archive that WORKBENCH_ARCHIVE names",
    )


def add_folder_option(command: argparse.ArgumentParser) -> None:
    """Declare `--folder` and `--collections`: which part of the library is searched."""
    command.add_argument(
        "--folder",
        action="append",
        default=[],
        metavar="DIR",
        help="add the documents in this folder to the library, which is searched as a whole",
    )
    command.add_argument(
        "--collections",
        metavar="NAMES",
        help="search only these collections of the library, e.g. factbook or factbook,papers; default: all of them",
    )


def collections(arguments: argparse.Namespace, search: Sequence[str], known: Sequence[str]) -> dict[str, Any]:
    """Return `search` and `folders` of `Workbench.recipe` for the collections chosen on the command line.

    `known` are the folders in the library.  Raises `ConfigError` for an unknown collection.
    """
    added = [str(resolved(Path(folder))) for folder in arguments.folder or ()]
    known = list(dict.fromkeys([*known, *added]))
    if arguments.collections is None:  # the source `folders` means only those of the command line
        return {"search": tuple(search), "folders": tuple(added if FOLDERS in search else known) if added else None}
    names = split_names(arguments.collections)
    folders = [_folder(name, known) for name in names if name != FACTBOOK]
    inside = [LIBRARY] if FACTBOOK in names else [FOLDERS] if folders or added else []
    others = [name for name in search if name not in (LIBRARY, FOLDERS)]
    return {"search": (*inside, *others), "folders": tuple(dict.fromkeys([*folders, *added]))}


def _folder(name: str, known: Sequence[str]) -> str:
    """Return the folder with that path, or whose last part is that name if no other's is."""
    found = [each for each in known if each in (name, str(resolved(Path(name))))]
    found = found or [each for each in known if Path(each).name == name]
    if len(found) == 1:
        return found[0]
    listed = ", ".join([FACTBOOK, *sorted(known)])
    raise ConfigError(f"collection {name!r} is {'ambiguous' if found else 'not in the library'}; known: {listed}")


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
        "tools": None if arguments.tools is None else split_names(arguments.tools),
        "search": split_names(arguments.search),
        "mcp": split_names(arguments.mcp),
        "temperature": arguments.temperature,
        "judge": arguments.citation_judge,
        "novelty": arguments.novelty != "off",
        "allow_domains": tuple(arguments.allow_domain),
        "deny_domains": tuple(arguments.deny_domain),
        "since": arguments.since,
        "until": arguments.until,
        "as_of": arguments.as_of,
        "egress": arguments.egress or "",
        "budget": Budget(arguments.budget_tokens, arguments.budget_usd, arguments.budget_seconds),
    }
