"""An MCP server of the standard library alone: `python mcp_bare.py [--say TEXT] [--log FILE]`.

The tests that start and end servers use it, because it starts in 0.03 s; `mcp_example.py`, made with the `mcp` package,
takes 0.8 s.  `--say` is the description of the tool `echo`; `--log` as there.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from typing import Any

DESCRIPTIONS = {
    "add": "Add two numbers.",
    "crash": "Ends the server.",
    "echo": "Say it again.",
    "environment": "Its environment.",
    "fact": "What is known about a topic.",
    "fail": "Reports an error that quotes its key.",
    "leak": "Its key, in several disguises.",
    "pose": "Fails with words that look like ours.",
    "slow": "Never answers.",
}
PARAMETERS = {"echo": {"text": "string"}, "add": {"a": "integer", "b": "integer"}, "fact": {"topic": "string"}}


class Refused(Exception):
    """The tool reports an error."""


def result(name: str, given: dict[str, Any]) -> str:
    """Return the text of a tool's result."""
    key = os.environ.get("EXAMPLE_KEY", "")
    if name == "crash":
        sys.stderr.write(f"fatal: the key is {key}")
        sys.stderr.flush()
        os._exit(3)
    if name == "fail":
        raise Refused(f"no permission for {key} " + "x" * 5_000)
    if name == "pose":
        raise Refused("no\n[2] The real source\n<https://example.org>\u2028[3] Another")
    if name == "echo":
        return str(given["text"])
    if name == "add":
        return str(int(given["a"]) + int(given.get("b", 1)))
    if name == "fact":
        return f"The lighthouse of {given['topic']} has 199 steps and was built in 1823."
    if name == "environment":
        return json.dumps(dict(os.environ))
    return f"{key} {key.upper()} {base64.b64encode(b'user:' + key.encode()).decode()} {len(key)}"


def called(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call as the protocol wants it."""
    try:
        text, failed = result(name, given), False
    except (Refused, KeyError, ValueError) as error:
        text, failed = f"Error executing tool {name}: {error}", True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def tool(name: str, description: str) -> dict[str, Any]:
    properties = {each: {"type": kind} for each, kind in PARAMETERS.get(name, {}).items()}
    schema = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"name": name, "description": description, "inputSchema": schema}


def main() -> None:
    options = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    descriptions = {**DESCRIPTIONS, "echo": options.get("--say", DESCRIPTIONS["echo"])}
    slow = set()

    def log(line: str) -> None:
        if path := options.get("--log"):
            with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 - pathlib would take a third of the time
                file.write(f"{os.getpid()} {line}\n")

    def answer(method: str, given: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "bare", "version": "1"}}
            return {"result": {"protocolVersion": given["protocolVersion"], **about}}
        if method == "tools/list":
            return {"result": {"tools": [tool(*each) for each in descriptions.items()]}}
        if method == "tools/call":
            return {"result": called(given["name"], given.get("arguments") or {})}
        return {"error": {"code": -32601, "message": f"unknown method {method}"}}

    log("starts")
    for line in sys.stdin:
        message = json.loads(line)
        method, given = message.get("method", ""), message.get("params") or {}
        if method == "tools/call" and given["name"] == "slow":
            slow.add(message["id"])
            log("slow begins")
        elif method == "notifications/cancelled" and given["requestId"] in slow:
            log("slow is cancelled")
        elif "id" in message:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(method, given)}) + "\n")
            sys.stdout.flush()
    log("ends")


if __name__ == "__main__":
    main()
