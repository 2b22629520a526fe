"""`endpoints`: model services by name."""

from __future__ import annotations

import argparse
import getpass
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from research.cli.common import open_home, parse_pairs, print_json
from research.cli.parser import Commands, add_json_option, positive_float, positive_int
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.config.named_endpoints import Entry


def add(commands: Commands) -> None:
    """Declare the command and its actions."""
    actions = Commands.actions_of(commands.add("endpoints", "model services by name: any number at once", None))
    action = actions.add("list", "list the endpoints, with missing settings and the last test of each", list_endpoints)
    action.add_argument("--presets", action="store_true", help="list the presets (known services) instead")
    add_json_option(action)
    _declare_add(actions.add("add", "add an endpoint, by the name of a preset or by its address", add_endpoint))
    action = actions.add("remove", "remove an endpoint that was added", remove)
    action.add_argument("name")
    add_json_option(action)
    action = actions.add("detect", "find model servers on this machine; only loopback addresses are asked", detect)
    add_json_option(action)
    action = actions.add("results", "print a table of all tested models and what works with each", results)
    action.add_argument("--format", choices=("md", "csv", "json"), default="md", help="default: md")
    action = actions.add("test", "test a model with a three-round job that calls tools, and save the result", test)
    action.add_argument("name", help="name of the endpoint")
    action.add_argument(
        "--model", default="", metavar="NAME", help="the model to test; default: the endpoint's own, or its only one"
    )
    add_json_option(action)


def _declare_add(action: argparse.ArgumentParser) -> None:
    action.add_argument("name", help="a name of your choice, or that of a preset (`endpoints list --presets`)")
    action.add_argument("url", nargs="?", default="", help="base URL; not needed for a preset that has one")
    action.add_argument(
        "--kind", default="", help="the preset to use if the address does not reveal it: azure, anthropic, ollama …"
    )
    action.add_argument(
        "--key", default="", metavar="-", help="-: read the key from standard input, or prompt for it in a terminal"
    )
    action.add_argument("--key-variable", default="", metavar="VAR", help="environment variable that has the key")
    action.add_argument("--model", default="", metavar="NAME", help="the model to test, which is also offered first")
    action.add_argument(
        "--context", type=positive_int, default=0, metavar="N", help="size of the context window, in tokens"
    )
    action.add_argument("--requests-per-minute", type=positive_float, default=0.0, metavar="N")
    action.add_argument("--tokens-per-minute", type=positive_float, default=0.0, metavar="N")
    action.add_argument(
        "--price",
        action="append",
        default=[],
        metavar="KIND=USD",
        help="US dollars per million tokens: input=…, output=…, cache_read=… or cache_write=…; may be repeated",
    )
    action.add_argument(
        "--wait",
        type=positive_float,
        default=0.0,
        metavar="SECONDS",
        help="give up on a request after this long without data; default: 120, or no limit for local servers",
    )
    action.add_argument(
        "--quirk",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="how the service departs from its API; see docs/endpoints.md",
    )
    action.add_argument("--api-version", default="", help="API version of Azure, for addresses that name a deployment")
    action.add_argument("--region", default="", help="region, for Bedrock and Vertex")
    action.add_argument("--project", default="", help="project, for Vertex")
    action.add_argument("--replace", action="store_true", help="replace a saved endpoint of that name")
    add_json_option(action)


def list_endpoints(arguments: argparse.Namespace) -> int:
    """Print one line for each endpoint, or each preset."""
    from msgspec.structs import asdict

    from research.config.named_endpoints import presets
    from research.workbench import endpoint_registry, model_trial

    if arguments.presets:
        if arguments.json:
            print_json({"presets": presets()})
            return 0
        for name, preset in presets().items():
            print(f"{name:<12} {preset.title}: {preset.url or 'address needed'}; {preset.trigger or 'no key needed'}")
        return 0
    settings = open_home(arguments).settings
    known, tested = endpoint_registry.known(settings), model_trial.results(settings.home)
    if arguments.json:
        print_json({"endpoints": [{**asdict(each), "test": tested.get(each.name)} for each in known]})
        return 0
    for each in known:
        state = each.problem or (f"key from {each.key_from}" if each.key_from else "no key")
        print(f"{each.name:<16} {each.title}, {each.url or 'no address'}: {state}")
        if found := tested.get(each.name):
            at = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.at))
            print(f"{'':<16} tested {at}: {found.line()}")
    if not known:
        print("No endpoint is set up; `endpoints list --presets` shows what can be added.", file=sys.stderr)
    return 0


def add_endpoint(arguments: argparse.Namespace) -> int:
    """Save an endpoint, with its key if one is given."""
    from research.workbench import endpoint_registry

    entry = _entry(arguments)
    key = _key(arguments)
    settings = endpoint_registry.add(
        open_home(arguments).settings, arguments.name, entry, key, replace=arguments.replace
    )
    (added,) = (each for each in endpoint_registry.known(settings) if each.name == arguments.name)
    if arguments.json:
        print_json(added)
        return 0
    print(f"{added.name}: {added.title}, {added.url}; models are named {added.name}:NAME")
    if added.problem:
        print(f"before it can be used: {added.problem}", file=sys.stderr)
    return 0


def _entry(arguments: argparse.Namespace) -> Entry:
    from research.config.named_endpoints import Entry

    try:
        prices = {name: float(value) for name, value in parse_pairs(arguments.price, "--price").items()}
    except ValueError as error:
        raise ConfigError(f"--price: {error}; write KIND=USD, for example input=1.25") from None
    return Entry(
        kind=arguments.kind,
        url=arguments.url,
        key_variable=arguments.key_variable,
        model=arguments.model,
        context=arguments.context,
        requests_per_minute=arguments.requests_per_minute,
        tokens_per_minute=arguments.tokens_per_minute,
        timeout_s=arguments.wait,
        prices=prices or None,
        quirks={name: _value(value) for name, value in parse_pairs(arguments.quirk, "--quirk").items()},
        api_version=arguments.api_version,
        region=arguments.region,
        project=arguments.project,
    )


def _value(text: str) -> Any:
    """Return a quirk's value: JSON such as `false`, or else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _key(arguments: argparse.Namespace) -> str:
    if arguments.key and arguments.key_variable:
        raise ConfigError("--key and --key-variable exclude each other")
    if not arguments.key:
        return ""
    if arguments.key != "-":
        raise ConfigError("--key takes `-` only: others can see the command line; paste the key, or use --key-variable")
    if sys.stdin.isatty():
        return getpass.getpass("Key: ")
    return sys.stdin.readline().strip()


def remove(arguments: argparse.Namespace) -> int:
    """Remove a saved endpoint with its key."""
    from research.config import saved_endpoints
    from research.workbench import model_trial

    settings = open_home(arguments).settings
    saved_endpoints.remove(settings, arguments.name)
    model_trial.forget(settings.home, arguments.name)
    if arguments.json:
        print_json({"removed": arguments.name})
    else:
        print(f"{arguments.name}: removed")
    return 0


def detect(arguments: argparse.Namespace) -> int:
    """Print the model servers of this machine."""
    from research.workbench import detect

    servers = detect.detect()
    if arguments.json:
        print_json({"servers": servers})
        return 0
    for each in servers:
        has = ", ".join(each.models[:8]) or "no model yet"
        print(f"{each.title} is running at {each.url} with {has}")
        how = f" --model {each.model}" if each.model else ""
        print(f"  use it: python -m research endpoints add {each.name} {each.url}{how}")
    if not servers:
        print("No model server was found on the usual ports of this machine.", file=sys.stderr)
    return 0


def test(arguments: argparse.Namespace) -> int:
    """Test an endpoint and keep the result; the exit status is 1 if the job was not done."""
    from research.workbench import model_trial

    found = model_trial.run(open_home(arguments), arguments.name, arguments.model)
    if arguments.json:
        print_json(found)
    else:
        print(f"{found.endpoint}: {found.line()}")
    return 0 if found.ok else 1


def results(arguments: argparse.Namespace) -> int:
    """Print the table of the models that were tested."""
    from research.workbench import model_trial

    found = model_trial.table(open_home(arguments).settings.home)
    if arguments.format == "json":
        print_json({"tested": found})
    elif arguments.format == "csv":
        print(model_trial.as_csv(found), end="")
    else:
        from research.exports.markdown import table

        print(
            table(model_trial.COLUMNS, [[each.replace("|", "\\|") for each in model_trial.cells(one)] for one in found])
        )
    return 0
