"""Another program's agent as a framework: a process that reads the question and writes its report."""

from __future__ import annotations

import os
import queue
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Final

from research.agent.context import Steps
from research.agent.run import Run
from research.config.named_endpoints import presets
from research.errors import ConfigError, LimitReached
from research.events.events import Event, Replied, ToolFinished, decode
from research.frameworks.gateway import report_of
from research.plugins import framework
from research.text import clip
from research.types import Answer, Outcome, Passage

LOOK_S: Final = 0.2
"""Seconds between checks for a stop or pause."""
QUESTION: Final = "{question}"
LONGEST: Final = 2_000_000
"""Bytes of a report."""


@framework("Agent", hidden=True, prompt="react", forkable=False, command="command")
def agent(
    run: Run,
    *,
    command: Annotated[
        str, "Starts the agent; {question} becomes an argument, and otherwise standard input has it."
    ] = "",
) -> Steps[Answer]:
    """Start another program's agent, and take what it prints as its report.

    Its requests go through a gateway, whose address it gets as OPENAI_BASE_URL and ANTHROPIC_BASE_URL.  A resumed run
    starts the agent again; requests that it made before are answered from the record.
    """
    words = _words(command, run.question)
    outcome: Outcome = "answered"
    with _gateway(run) as gateway, _process(words, run, gateway.address, QUESTION not in command) as process:
        try:
            yield from _follow(run, gateway, process)
        except LimitReached as reached:
            outcome = reached.limit
        text, status = process.result(outcome != "answered")
    if outcome == "answered" and status:
        raise ConfigError(
            f"the agent {words[0]!r} ended with status {status}: {process.errors() or 'it printed no error'}"
        )
    if outcome == "answered" and not text.strip():
        raise ConfigError(f"the agent {words[0]!r} printed no report: it has to write it to standard output")
    return report_of(run, text.strip(), outcome)


def _words(command: str, question: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"agent {clip(command, 80)!r}: {error}; write it as in a shell") from None
    if not words:
        raise ConfigError("the agent has no command; write agent:COMMAND, such as agent:python my_agent.py")
    if shutil.which(words[0]) is None:
        raise ConfigError(f"the agent {words[0]!r} cannot be started: no such program")
    return [word.replace(QUESTION, question) for word in words]


def _follow(run: Run, gateway: _Gateway, process: _Process) -> Steps[None]:
    """Emit what the gateway records until the agent has ended."""
    while not (process.ended() and gateway.batches.empty()):
        run.context.check_pause()
        run.context.meter.admit()
        try:
            events = gateway.batches.get(timeout=LOOK_S)
        except queue.Empty:
            continue
        if events is None:
            raise ConfigError(f"the gateway of the agent has ended: {gateway.errors()}")
        for event in events:
            if isinstance(event, Replied):
                run.context.meter.spend(event.usage)
            if isinstance(event, ToolFinished):
                run.context.meter.spend_tool_calls(1)
                for source in event.observation.sources:
                    run.context.ledger.add(Passage(source.url, source.title, source.quote))
            yield event
        gateway.saved()


class _Gateway:
    """The gateway's process, and the events that come from it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin and process.stdout and process.stderr
        self._process, self._in, self._out = process, process.stdin, process.stdout
        self._said = _Reader(process.stderr)
        self.address = self._out.readline().decode().strip()
        if not self.address:
            process.wait()
            raise ConfigError(f"the gateway of the agent did not start: {self.errors()}")
        self.batches: queue.SimpleQueue[list[Event] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="gateway-events", daemon=True).start()

    def saved(self) -> None:
        """Confirm that a batch's events are saved."""
        try:
            self._in.write(b"saved\n")
            self._in.flush()
        except BrokenPipeError:
            raise ConfigError(f"the gateway of the agent has ended: {self.errors()}") from None

    def errors(self) -> str:
        """Return the end of its standard error."""
        return self._said.text()[-500:].strip()

    def _read(self) -> None:
        batch: list[Event] = []
        for line in self._out:
            if line.strip():
                batch.append(decode(line))
            else:
                self.batches.put(batch)
                batch = []
        self.batches.put(None)


@contextmanager
def _gateway(run: Run) -> Iterator[_Gateway]:
    kind = run.recipe.model.partition(":")[0]
    words = [sys.executable, "-m", "research", "gateway", "--port", "0", "--pipe", run.context.run_id]
    words += ["--home", run.context.services.home] if run.context.services.home else []
    words += ["--endpoint", kind] if ":" in run.recipe.model else []
    place = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [place, os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        yield _Gateway(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()


class _Reader:
    """Reads an output to its end, so that the process never waits for it."""

    def __init__(self, output: IO[bytes]) -> None:
        self._parts: list[bytes] = []
        self._thread = threading.Thread(target=self._read, args=(output,), name="output", daemon=True)
        self._thread.start()

    def _read(self, output: IO[bytes]) -> None:
        size = 0
        while piece := output.read1(65_536):  # type: ignore[attr-defined]
            size += len(piece)
            if size <= LONGEST:
                self._parts.append(piece)

    def text(self, wait_s: float = 1.0) -> str:
        """Return what was read; waits a moment for the end."""
        self._thread.join(wait_s)
        return b"".join(self._parts).decode("utf-8", "replace")


class _Process:
    """The agent's process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout and process.stderr
        self._process = process
        self._report, self._errors = _Reader(process.stdout), _Reader(process.stderr)

    def ended(self) -> bool:
        return self._process.poll() is not None

    def result(self, early: bool) -> tuple[str, int]:
        """Return the report and the exit status; `early`: end the agent first."""
        if early:
            self._process.kill()
        status = self._process.wait()
        return self._report.text(), status

    def errors(self) -> str:
        """Return the end of its standard error."""
        return self._errors.text()[-500:].strip()


@contextmanager
def _process(words: list[str], run: Run, address: str, reads: bool) -> Iterator[_Process]:
    """Start the agent; kill it if it outlives the block."""
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(run, address),
        )
    except OSError as error:
        raise ConfigError(f"agent {words[0]!r} cannot be started: {error.strerror}") from error
    try:
        assert process.stdin
        try:
            process.stdin.write(run.question.encode() if reads else b"")
            process.stdin.close()
        except BrokenPipeError:  # it does not read the question; what it prints tells the rest
            pass
        yield _Process(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()


def _environment(run: Run, address: str) -> Mapping[str, str]:
    """Return the agent's environment: ours without keys of model services, plus the gateway's address."""
    services = presets().values()
    ours = {name for each in services for name in (each.key_variable, each.url_variable) if name}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ours and not name.startswith("WORKBENCH_") and name != "DATABASE_URL"
    }
    model = run.recipe.model.partition(":")[2] or run.recipe.model
    return {
        **kept,
        "OPENAI_BASE_URL": f"{address}/v1",
        "OPENAI_API_BASE": f"{address}/v1",
        "OPENAI_API_KEY": "gateway",
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": "gateway",
        "RESEARCH_QUESTION": run.question,
        "RESEARCH_MODEL": model,
    }
