"""Check whether installed parts work, and say how to fix those that do not."""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from research import defaults, plugins
from research._util import extras
from research._util.egress import Egress
from research._util.redaction import mask_keys
from research._util.registry import Broken, Entry
from research.citations.verification import MODEL, RULES, Pair
from research.config.named_endpoints import BY_SETTINGS
from research.config.settings import SAVED_FILE, Settings, variable
from research.errors import ConfigError, ToolError, WorkbenchError
from research.events.recipe import provider_of
from research.models import bounded
from research.models.failures import NoTools, RequestRejected
from research.models.traits import Priced, Served
from research.types import Message, Model, Request, ToolSpec, Usage
from research.workbench import endpoint_registry, health, model_trial, verifier_registry

if TYPE_CHECKING:
    from research.workbench.workbench import Workbench


class Check(Struct, frozen=True):
    """The result of one check."""

    name: str
    state: Literal["ok", "off", "broken"]
    """`off`: not configured, which is not an error."""
    text: str
    """The finding, and how to fix it."""
    models: tuple[str, ...] = ()
    """The names that a model server lists."""


def examine(bench: Workbench) -> list[Check]:
    """Check every part that a run may need.  Takes a few seconds; contacts only the servers that are configured."""
    checks = [
        *_home(bench),
        *_extras(),
        *installed_plugins(),
        *examine_settings(bench),
        *_library(bench),
        encoder(bench),
        *judges(bench),
        python_tool(bench),
        readers(),
        *examine_models(bench),
        *_services(bench),
        *_mcp(bench),
    ]
    return [masked(bench.settings, check) for check in checks]


def masked(settings: Settings, check: Check) -> Check:
    """Return the check without keys: checks repeat model names, and a key may have been entered as one."""
    keys = list(settings.secrets())
    names = [mask_keys(name, keys) for name in check.models]
    return Check(mask_keys(check.name, keys), check.state, mask_keys(check.text, keys), tuple(names))


def _home(bench: Workbench) -> Iterator[Check]:
    yield Check("python", "ok", f"{sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}")
    home = bench.settings.home
    try:
        with tempfile.TemporaryFile(dir=home):
            pass
        free = os.statvfs(home)
        yield Check("home", "ok", f"{home}, {free.f_bavail * free.f_frsize / 1e9:.1f} GB free")
        yield Check("runs", "ok", f"{len(bench.store.runs(limit=1_000_000)):,} saved")
    except (OSError, WorkbenchError) as error:
        yield Check("home", "broken", f"{home}: {error}; choose another folder with WORKBENCH_HOME")
    for name, each in health.check(bench).checks.items():
        yield Check(f"health {name}", "ok" if each.status == "ok" else "broken", each.text or "ok")


def installed() -> list[Entry]:
    """Import every plug-in of other packages; return those that work."""
    return [each for registry in plugins.KINDS.values() for each in registry.all() if each.package]


def broken() -> list[Broken]:
    """Import every plug-in; return those that fail."""
    return [each for registry in plugins.KINDS.values() for each in registry.broken()]


def installed_plugins() -> Iterator[Check]:
    """Yield one check for each plug-in of another package."""
    for each in installed():
        yield Check(f"plug-in {each.id}", "ok", f"{each.title}, {each.what} of package {each.package}")
    for wrong in broken():
        yield Check(f"plug-in {wrong.name}", "broken", f"{wrong}; update or uninstall the package")


def _extras() -> Iterator[Check]:
    """Yield one check for each extra of the package."""
    for extra, purpose in extras.PURPOSES.items():
        if extras.missing(extra):
            yield Check(f"extra {extra}", "off", f"for {purpose}: {extras.command(extra)}")
        else:
            yield Check(f"extra {extra}", "ok", purpose)


def examine_settings(bench: Workbench) -> Iterator[Check]:
    """Check the file saved by the settings page, and report the values in it that have no effect."""
    settings, path = bench.settings, bench.settings.home / SAVED_FILE
    if not path.exists():
        yield Check("settings", "off", f"nothing was saved on the settings page, in {path}")
        return
    saved = [variable(field) for field in Settings.model_fields if settings.origin(field) == "saved"]
    yield Check("settings", "ok", f"{path} sets {', '.join(saved) or 'nothing that is in effect'}")
    for field in sorted(settings.withheld):
        if field in ("embedder", "verifier"):
            why = "users may not load this model; WORKBENCH_ALLOW_MODELS lists those they may"
        elif field.endswith("_url"):
            why = "the key it would go with is set elsewhere"
        else:
            why = "entered for another address"
        yield Check("settings", "broken", f"{variable(field)} in {path.name} is ignored: {why}")
    if os.name == "posix" and path.stat().st_mode & 0o077:
        yield Check("settings", "broken", f"other users can read {path}, which may contain keys; run: chmod 600 {path}")


def _library(bench: Workbench) -> Iterator[Check]:
    collections = bench.library.collections()
    if not collections:
        yield Check("library", "off", "not indexed yet; the first run does it, or `python -m research library prepare`")
    for info in collections:
        vectors = f"{info.vectors:,} of {info.passages:,} vectors"
        skipped = f", {info.unreadable:,} files not read; `library list --json` names them" if info.unreadable else ""
        yield Check("library", "ok", f"{info.name}: {info.documents:,} documents, {vectors}{skipped}")


def encoder(bench: Workbench) -> Check:
    """Encode a text; the first time, this loads the weights."""
    try:
        shape = bench.embedder.encode(["a test"]).shape
        return Check("encoder", "ok", f"{bench.settings.embedder}, {shape[1]} dimensions")
    except WorkbenchError as error:
        return Check("encoder", "broken", f"{error}; choose another with WORKBENCH_EMBEDDER")


def judges(bench: Workbench) -> Iterator[Check]:
    """Yield one check for the rules and one for the configured judge; a cross-encoder judges a claim, which loads it."""
    settings = bench.settings
    try:
        known = verifier_registry.measured(settings.home)
        chosen = verifier_registry.configured(settings)
    except WorkbenchError as error:
        yield Check("judge", "broken", str(error))
        return

    def text(name: str) -> str:
        how = f"python -m research verifiers calibrate {name} --claims FILE"
        return known[name].line() if name in known else f"not measured on claims of your own; {how}"

    yield Check(f"judge {RULES}", "ok", text(RULES))
    if not chosen:
        why = (
            "off by WORKBENCH_JUDGE"
            if settings.judge == "off"
            else "none; set WORKBENCH_VERIFIER, or choose a language model"
        )
        yield Check("judge", "off", why)
    elif chosen.startswith(MODEL):
        yield Check(f"judge {chosen}", "ok", text(chosen))
    else:
        yield verifier(bench, chosen, text(chosen))


def verifier(bench: Workbench, name: str, text: str = "") -> Check:
    """Let a verifier judge one claim; the first time, this loads its weights."""
    try:
        (found,) = verifier_registry.open_verifier(bench, name).verify([Pair("It is a test.", ("This is a test.",))])
    except WorkbenchError as error:
        return Check(f"judge {name}", "broken", f"{error}; choose another with WORKBENCH_VERIFIER")
    return Check(f"judge {name}", "ok" if found.probability is not None else "broken", found.reason or text)


def python_tool(bench: Workbench) -> Check:
    """Check where a model's code runs; the first time, this tests the sandbox's restrictions for some seconds."""
    from research.sandbox import state

    found = state(bench.settings.python_tool)
    if found.backend is None:
        return Check("python tool", "broken", f"off: {found.why}")
    elif found.backend == "monty":
        return Check("python tool", "ok", f"Monty, no numpy and no plots: {found.why or 'WORKBENCH_PYTHON=monty'}")
    else:
        return Check("python tool", "ok", "CPython with numpy and matplotlib, sealed: no files, network or processes")


def readers() -> Check:
    """Check that pages and documents are read in sealed processes; the first time, this starts one."""
    from research.web import isolated

    wrong = isolated.problem()
    if not wrong:
        return Check(
            "readers", "ok", "pages and documents are read in sealed processes: no files, network or processes"
        )
    return Check(
        "readers", "off", f"pages and documents are read in processes with limits, which are not sealed: {wrong}"
    )


def _services(bench: Workbench) -> Iterator[Check]:
    """Query once each search service that has a key or URL."""
    for entry in plugins.searcher.all():
        field = entry.needs
        if not field:
            yield Check(entry.id, "ok", "needs no key; not tested, to save its quota")
            continue
        yield service(bench, entry.id)


def service(bench: Workbench, name: str) -> Check:
    """Send a search service one query, which counts against its quota."""
    settings = bench.settings
    entry = plugins.searcher.get(name)
    try:
        entry.function(settings).search("test", 1)
        return Check(name, "ok", "answers")
    except ConfigError as error:
        needed = entry.needs
        return Check(name, "off" if needed and not getattr(settings, needed) else "broken", str(error))
    except ToolError as error:
        return Check(name, "broken", str(error))


def reader(bench: Workbench) -> Check:
    """Let Jina Reader open one page, which counts against its quota."""
    from research.web.fetch import FetchPolicy
    from research.web.jina import JinaReader

    settings = bench.settings
    key = settings.jina_api_key
    try:
        read = JinaReader(settings.jina_url, key.get_secret_value() if key else "", settings.allowed_for("jina_url"))
        read("https://example.com", FetchPolicy())
        return Check("jina", "ok", "answers")
    except (ConfigError, ToolError) as error:
        return Check("jina", "broken", str(error))


def _mcp(bench: Workbench) -> Iterator[Check]:
    try:
        for name, how in bench.mcp.configured():
            found = mcp_server(bench, name)
            yield Check(f"mcp {name}", found.state, f"{how}: {found.text}")
    except ConfigError as error:
        yield Check("mcp", "broken", str(error))


def mcp_server(bench: Workbench, name: str) -> Check:
    """Connect to a server of `mcp.json`, which may start its program.  Raises `ConfigError` for an unknown name."""
    found = bench.mcp.check(name)
    text = found.problem or f"{len(found.tools)} tools: {', '.join(found.tools[:5])}"
    if found.withheld:
        text += "; " + "; ".join(map(str, found.withheld))
    return Check(name, "broken" if found.problem or found.withheld else "ok", text)


def examine_models(bench: Workbench) -> Iterator[Check]:
    """Yield checks of the models: those of every endpoint, and the default one."""
    yield Check("model", "ok", f"{defaults.OFFLINE}: works offline, without a key")
    settings = bench.settings
    try:
        known = {each.name: each for each in endpoint_registry.known(settings)}
        tested = model_trial.results(settings.home)
    except ConfigError as error:
        yield Check("endpoints", "broken", str(error))
        return
    for name in BY_SETTINGS:
        if name not in known:
            yield Check(name, "off", f"set {name.upper()}_API_KEY, or {name.upper()}_BASE_URL for a server of your own")
    for name, each in known.items():
        if each.problem:
            yield Check(name, "broken", each.problem)
            continue
        yield connect(bench, f"{name}:*")
        if found := tested.get(name):
            day = time.strftime("%Y-%m-%d", time.localtime(found.at))
            yield Check(f"{name} test", "ok" if found.ok else "broken", f"{day}: {found.line()}")
        elif name not in BY_SETTINGS:
            yield Check(f"{name} test", "off", f"not tested yet; run: python -m research endpoints test {name}")
    kind = settings.model.partition(":")[0]
    if kind not in (*BY_SETTINGS, *known) and provider_of(kind).written_by != "rules":
        yield connect(bench, settings.model)


def connect(bench: Workbench, name: str, *, ask: bool = False) -> Check:
    """Check a model: list its server's models and, with `ask`, request one word, which may cost a fraction of a cent.

    `openai:*` and the like only list a server's models.
    """
    kind, _, wanted = name.partition(":")
    models: list[str] = []
    started = time.monotonic()
    try:
        model = bench.model(name)
        listed = isinstance(model, Served) and endpoint_registry.lists_models(bench.settings, kind)
        if isinstance(model, Served) and listed:
            models = model.list_models()
        if not ask or wanted == "*":
            if listed:
                some = f", e.g. {', '.join(models[:3])}" if models else ""
                return Check(kind, "ok", f"{len(models)} models{some}", tuple(models))
            return Check(
                kind, "ok", "not tested: it does not list its models" if isinstance(model, Served) else "can be used"
            )
        how = _short_question(model)
    except WorkbenchError as error:
        hint = f"; the server has {', '.join(models[:8])}" if models and wanted not in models else ""
        return Check(kind, "broken", f"{error}{hint}", tuple(models))
    took = f"{name} answers{how}, after {time.monotonic() - started:.1f} s"
    return Check(kind, "ok", f"{took}; {_price(model)}", tuple(models))


def _short_question(model: Model) -> str:
    """Ask as a run does, with a tool; return how the model answers.  Raises `WorkbenchError`."""
    question, native = (
        (Message("user", "How many people live in Japan? Look it up with one call of `search`."),),
        model.native,
    )
    request = Request(question, (_SEARCH,) if native else (), purpose="act" if native else "conclude")
    try:
        reply = bounded.completion(model, request, Egress())
    except (NoTools, RequestRejected):
        if model.native:
            raise
        bounded.completion(model, Request(question, purpose="conclude"), Egress())
        return " (it refuses tools: runs ask it in tagged text)"
    return " with a tool call" if reply.calls else ""


_SEARCH: Final = ToolSpec(
    "search",
    "Search for facts.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)


def _price(model: Model) -> str:
    """Return a model's price as text."""
    if not isinstance(model, Priced):
        return "price unknown"
    # The price of a short call: some prices rise with prompt size.
    read, written = model.price(Usage(1_000, 0)), model.price(Usage(0, 1_000))
    if read is None or written is None:
        return "price unknown"
    if read == written == 0:
        return "free"
    return f"${read * 1_000:.2f} for a million tokens read, ${written * 1_000:.2f} written"
