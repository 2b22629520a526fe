"""Check a report that someone else wrote: `audit`, and what the command line, the page and the MCP server share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from research import defaults, plugins
from research._util.said import say, speaking
from research.auditing import report_intake
from research.auditing.record import Record
from research.errors import ConfigError, ToolError
from research.events.audit_findings import AuditedStatement, Given
from research.events.recipe import FOLDERS, LIBRARY, Budget, Recipe
from research.events.view import RunView, fold
from research.text import clip, language_of
from research.workbench.recipes import has_tables
from research.workbench.workbench import Workbench


def audit(
    report: str | Path,
    *,
    sources: Sequence[str | Path] = (),
    model: str | None = None,
    judge: str = "",
    budget: Budget | None = None,
    workbench: Workbench | None = None,
) -> RunView:
    """Check the citations of a report that someone else wrote, and return the finished run.

    >>> view = research.audit(Path("report.md"))
    >>> [(each.verdict, each.text) for each in view.statements.values()]

    `report`: a path, a link, or the text itself.  `sources`: folders with documents that it cites.  The run asks for the
    pages that the report names and for nothing else.  Raises `ConfigError` for a report that cannot be read.
    """
    bench = workbench or Workbench()
    given = given_of(bench, report)
    recipe = recipe_for(bench, sources=sources, model=model, judge=judge, budget=budget)
    return fold(bench.engine.start(question_of(given), recipe, given=given, here=True).events())


def given_of(bench: Workbench, report: str | Path) -> Given:
    """Return the report at a path or link, or the text itself.  Raises `ConfigError`."""
    if isinstance(report, Path):
        return report_intake.read_file(report)
    if re.fullmatch(r"\s*https?://\S+\s*", report, re.I):
        try:
            return report_intake.read_url(report.strip(), bench.settings.allowed_hosts)
        except ToolError as error:
            raise ConfigError(str(error).removesuffix("; try another source")) from error
    return report_intake.read_text(report)


def recipe_for(
    bench: Workbench,
    *,
    sources: Sequence[str | Path] = (),
    most: int | None = None,
    folders: Iterable[str] | None = None,
    **choices: Any,
) -> Recipe:
    """Return the recipe of an audit: `visit` for sources with an address, the library for others.

    `sources` are folders to add to the library first; `folders` None: all of the library's; `choices` are other fields
    of the recipe.
    """
    from research._util.paths import resolved

    for each in sources:
        bench.library.add_folder(Path(each), lambda *_: None)
    inside = list(bench.folders() if folders is None else folders)
    chosen = list(dict.fromkeys([*(str(resolved(Path(each))) for each in sources), *inside]))
    whole = folders is None and defaults.FACTBOOK in bench.library.names()
    search = (LIBRARY,) if whole else (FOLDERS,) if chosen else ()
    options: dict[str, Any] = {"framework.sources": most} if most else {}
    tools = [name for name in defaults.AUDIT_TOOLS if search or not plugins.tool.traits(name).searches]
    if has_tables(bench.library, chosen):
        tools.append(defaults.QUERY)
    return bench.recipe(
        framework=defaults.AUDIT,
        tools=tools,
        search=search,
        folders=chosen,
        options=options,
        ask=False,
        novelty=False,
        **choices,
    )


def question_of(given: Given) -> str:
    """Return the name of the run: the title of the report."""
    with speaking(language_of(given.text)):
        return clip(say("Check of “{title}”", title=" ".join(given.title.split()) or say("a report")), 300)


def start_again(bench: Workbench, view: RunView, statements: Sequence[AuditedStatement]) -> str:
    """Start a check that looks for these statements in all sources of a run, and keeps what is known of all; return its id."""
    if view.given is None:
        raise ConfigError(f"run {view.run} did not check a report")
    own = recipe_for(bench)
    recipe = replace(own, search=tuple(dict.fromkeys((*own.search, *bench.recipe(ask=False).search))))
    # Without the numbers of sources, which are those of the check before.
    known = tuple(replace(each, sources=(), found=0) for each in view.statements.values())
    given = replace(view.given, again=tuple(each.n for each in statements), known=known)
    return bench.engine.start(view.question, recipe, given=given).run_id


def details_of(view: RunView) -> str:
    """Return the record without its verdict and first fixes."""
    with speaking(language_of(view.question)):
        return record_of(view).details


def record_of(view: RunView) -> Record:
    """Return what is known about the report so far."""
    title = view.given.title if view.given else ""
    return Record(title, list(view.statements.values()), list(view.audited.values()), view.miscounts, view.audit_notes)
