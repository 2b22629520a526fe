"""A fake Ollama over real HTTP on loopback: it loads a model with the context that is asked for, and cuts longer prompts.

with FakeOllama([Said("Paris")], trained=32_768) as server:
    ...
    assert server.chats[0]["options"]["num_ctx"] == 8192
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fake_search import Asked, FakeSearch, Reply

Body = dict[str, Any]
PER_TOKEN = 4
"""Characters."""


@dataclass(frozen=True)
class Said:
    """One reply of the model, or a fault."""

    text: str = ""
    calls: Sequence[tuple[str, dict[str, Any]]] = ()
    thinking: str = ""
    reason: str = "stop"
    error: str = ""
    """An error inside the stream, after the text."""
    status: int = 200
    """With another status, `error` is the body's."""
    ends: bool = True
    split: int = 30
    """Bytes that arrive at once."""


@dataclass
class FakeOllama:
    """`default`: the context without `num_ctx`, or whatever is asked for where `deaf`.  `modern`: it knows `truncate`."""

    script: Sequence[Said] | Callable[[Body], Said] = ()
    trained: int = 40_960
    default: int = 4096
    deaf: bool = False
    modern: bool = False
    tools: bool = True
    remote: str = ""
    parameters: str = ""
    models: Sequence[str] = ("qwen3:8b",)
    old: bool = False
    """It says neither what is loaded nor what a model can do."""
    chats: list[Body] = field(default_factory=list)
    loads: list[int] = field(default_factory=list)
    """The context of each time that the model was loaded."""
    cut: int = 0
    """How many prompts were cut."""

    def __enter__(self) -> FakeOllama:
        self._server = FakeSearch(self._reply)
        self._server.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.__exit__(*error)

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def asked(self) -> list[Asked]:
        return self._server.asked

    def _reply(self, request: Asked) -> Reply:
        known: dict[str, Callable[[], Any]] = {
            "/api/tags": lambda: {"models": [{"name": name, "model": name} for name in self.models]},
            "/api/version": lambda: {"version": "0.12.6"},
            "/api/show": self._show,
            "/api/ps": lambda: {"models": self._loaded()},
        }
        if request.path in known:
            return Reply(known[request.path]())
        return self._chat(request.body) if request.path == "/api/chat" else Reply({"error": "not found"}, 404)

    def _show(self) -> Body:
        capabilities = ["completion", *(["tools"] if self.tools else [])]
        info = {"general.architecture": "qwen3", "qwen3.context_length": self.trained}
        return {
            "model_info": info,
            **({} if self.old else {"capabilities": capabilities}),
            "remote_host": self.remote,
            "parameters": self.parameters,
        }

    def _loaded(self) -> list[Body]:
        if self.old or not self.loads:
            return []
        return [{"name": self.models[0], "model": self.models[0], "context_length": self.loads[-1]}]

    def _chat(self, body: Body) -> Reply:
        if body["model"] not in self.models:
            return Reply({"error": f"model '{body['model']}' not found"}, 404)
        if body.get("tools") and not self.tools:
            return Reply({"error": f"{body['model']} does not support tools"}, 400)
        self.chats.append(body)
        context = self.default if self.deaf else body["options"].get("num_ctx", self.default)
        if self.loads[-1:] != [context]:
            self.loads.append(context)
        size = len(json.dumps([body["messages"], body.get("tools", [])], ensure_ascii=False)) // PER_TOKEN
        if size > context and self.modern and body.get("truncate") is False:
            return Reply({"error": "the input length exceeds the context length"}, 400)
        self.cut += size > context
        said = self.script(body) if callable(self.script) else self.script[len(self.chats) - 1]
        if said.status != 200:
            return Reply({"error": said.error}, said.status)
        return Reply(self._stream(said, min(size, context)), kind="application/x-ndjson")

    def _stream(self, said: Said, read: int) -> Iterator[bytes]:
        lines: list[Body] = (
            [{"message": {"role": "assistant", "content": "", "thinking": said.thinking}}] if said.thinking else []
        )
        lines += [{"message": {"role": "assistant", "content": word}} for word in said.text.split(" ") if word]
        for line in lines[1 if said.thinking else 0 :][1:]:
            line["message"]["content"] = " " + line["message"]["content"]
        lines += [
            {
                "message": {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"function": {"name": name, "arguments": given}}],
                }
            }
            for name, given in said.calls
        ]
        if said.error:
            lines.append({"error": said.error})
        elif said.ends:
            lines.append(
                {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": said.reason,
                 "prompt_eval_count": read, "eval_count": max(1, len(said.text) // PER_TOKEN)}
            )  # fmt: skip
        data = b"".join(json.dumps({"model": self.models[0], "done": False, **line}).encode() + b"\n" for line in lines)
        return (data[at : at + said.split] for at in range(0, len(data), said.split))
