"""A supervisor and its researchers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from research import plugins, prompts
from research._util.said import say
from research.agent.asking import ASK_USER
from research.agent.context import Steps
from research.agent.model_call import Terms
from research.agent.run import Run
from research.agent.toolbox import Local
from research.agent.work import ANSWER, Loop, Span, Work
from research.errors import FormatError, LimitReached, ProviderError, ToolError
from research.plugins import Range, framework
from research.types import Answer, Outcome, Part, Reply, ToolSpec


class Question(BaseModel):
    """Ask the user one thing that the scope of the report depends on."""

    question: str = Field(min_length=1, description="What you need to know.")


class Scope(BaseModel):
    """One section to be researched."""

    name: str = Field(min_length=1, description="Heading of the section.")
    description: str = Field(description="What it has to find out.")


class Sections(BaseModel):
    """Divide the report into sections; a researcher works on each."""

    sections: list[Scope | Annotated[str, Field(min_length=1)]] = Field(
        min_length=1, max_length=10, description="Sections, or only their headings."
    )

    @property
    def scopes(self) -> list[Scope]:
        """The sections; one given as a heading has to find out what the heading says."""
        return [each if isinstance(each, Scope) else Scope(name=each, description=each) for each in self.sections]


class Section(BaseModel):
    """Hand in the section that you were given."""

    name: str = Field(min_length=1, description="Heading of the section.")
    description: str = Field("", description="What it covers.")
    content: str = Field(min_length=1, description="The text, each statement with the [n] of its source.")
    found: bool = Field(True, description="False if the sources do not say what the section had to find out.")


class FinishResearch(BaseModel):
    """Say that there is nothing more to do for your section."""


class Introduction(BaseModel):
    """Title and introduction of the report."""

    name: str = Field(min_length=1, description="Title of the report.")
    content: str = Field(min_length=1)

    @property
    def text(self) -> str:
        return self.content if self.content.startswith("# ") else f"# {self.name}\n\n{self.content}"


class Conclusion(BaseModel):
    """Conclusion of the report."""

    name: str = Field(min_length=1, description="Heading of the conclusion.")
    content: str = Field(min_length=1)
    short: str = Field("", description="The answer to the question in a few words, if it has a short one.")

    @property
    def text(self) -> str:
        return self.content if self.content.startswith("## ") else f"## {self.name}\n\n{self.content}"


class FinishReport(BaseModel):
    """Say that the report is complete."""


SECTIONS = 10
"""Most sections that the estimate expects."""
_END = {"en": "Conclusion", "zh": "结论"}
M = TypeVar("M", bound=BaseModel)
Framing = TypeVar("Framing", Introduction, Conclusion)


def _work(options: Mapping[str, Any]) -> Work:
    planning, written = options["planning"], SECTIONS * ANSWER.high
    return [
        Loop(rounds=planning, purpose="outline", least=1, forced=0),
        Loop(rounds=options["rounds"], purpose="research", agents=Span(1, SECTIONS), forced=0),
        Loop(rounds=1, purpose="introduce", least=1, forced=0, earlier=Span(0, planning), notes=written),
        Loop(rounds=1, purpose="finish", least=1, forced=0, earlier=Span(1, planning + 1), notes=written),
    ]


@framework(
    "Supervisor",
    when="For a long report in several sections.",
    note="applies to the supervisor and inside each researcher",
    purposes={"outline": "planner", "research": "researcher", "introduce": "writer", "finish": "writer"},
    calls={
        "Sections": "Name the sections",
        "Question": "Ask you",
        "Section": "Hand in a section",
        "FinishResearch": "Finish a section",
        "Introduction": "Write the introduction",
        "Conclusion": "Write the conclusion",
        "FinishReport": "Finish the report",
    },
    steps=("outline", "research"),
    work=_work,
    forkable=False,
)
def supervisor(
    run: Run,
    *,
    ask: Annotated[bool, "The supervisor may ask you about the scope."] = True,
    queries: Annotated[int, Range(1, 10), "Searches suggested for each section."] = 3,
    rounds: Annotated[int, Range(1, 50), "Rounds of each researcher."] = 8,
    planning: Annotated[int, Range(1, 10), "Rounds of the supervisor before it has to name sections."] = 4,
    concurrency: Annotated[int, Range(1, 16), "Researchers at once."] = 5,
    mcp_prompt: Annotated[str, "What supervisor and researchers are told about the tools of MCP servers."] = "",
    include_source_str: Annotated[bool, "The JSON of the run has the text of all sources in one string."] = False,
) -> Steps[Answer]:
    """A supervisor plans sections, isolated researchers write them in parallel, code assembles the report.  For long reports.

    A failed researcher leaves a marked gap in the report; introduction and conclusion are left out if they fail.  If
    everything fails, the run does.
    Source: Open Deep Research, legacy multi-agent graph.  Deliberate changes: rounds are capped, FinishResearch counts
    anywhere among the calls, an unknown tool is an observation, and errors do not end the report.
    """
    if not ask:
        run.ask_nobody()
    models: list[type[BaseModel]] = [
        Sections,
        *([Question] if run.asks else []),
        Introduction,
        Conclusion,
        FinishReport,
    ]
    ours = {ASK_USER, *(each.id for each in plugins.tool.all() if each.scholar or not each.searches)}
    run.offer([*(tool for tool in run.tools if tool.name not in ours), *map(_spec, models)])
    run.instruct(mcp_prompt)
    scopes = yield from _outline(run, planning)
    tools = [_spec(Section), _spec(FinishResearch)]
    numbers = range(1, len(scopes) + 1)
    researchers = [run.child(f"researcher-{number}", prompt="researcher", tools=tools) for number in numbers]
    for researcher in researchers:
        researcher.instruct(mcp_prompt)
    sections = yield from run.together(
        [
            run.delegate(child, _research(child, scope, rounds, queries))
            for child, scope in zip(researchers, scopes, strict=True)
        ],
        concurrency,
    )
    body = "\n\n".join(section.text for section in sections)
    yield from run.report(body)
    done = prompts.text("research_complete", run.language, sections=body)
    introduction, conclusion, short = "", "", ""
    outcome: Outcome = "answered"
    try:
        if begin := (yield from _frame(run, "introduce", done, _title(run), Introduction)):
            introduction = begin.text
        if end := (yield from _frame(run, "finish", done, _END[run.language], Conclusion, FinishReport)):
            conclusion, short = end.text, end.short
    except LimitReached as limit:
        outcome = limit.limit
    if not (introduction or conclusion) and all(section.outcome == "failed" for section in sections):
        return Answer(run.known(), "failed")
    report = "\n\n".join(filter(None, [introduction or f"# {_title(run)}", body, conclusion]))
    yield from run.report(report)
    return Answer(report, outcome, short=short, parts=tuple(part for section in sections for part in section.parts))


def _outline(run: Run, planning: int) -> Steps[list[Scope]]:
    """Return the sections, after the supervisor has searched or asked the user; by default one for the question."""
    later = {each.__name__ for each in (Introduction, Conclusion, FinishReport)}
    first = [tool for tool in run.tools if tool.name not in later]
    try:
        for left in reversed(range(planning)):
            extra = prompts.text("outline_task", run.language, question=run.question, left=str(left))
            reply = yield from run.ask(
                "outline",
                extra=extra,
                tools=first if left else [_spec(Sections)],
                reads=_call,
                terms=Terms(must_call=True),
            )
            yield from run.use(reply, _own(Sections), asking=Question.__name__)
            if sections := _first(reply, Sections):
                return sections.scopes
    except LimitReached as limit:
        if limit.limit not in ("failed", "loop"):
            raise
    return [Scope(name=_title(run), description=run.question)]


def _title(run: Run) -> str:
    """Return the default title of the report."""
    return run.question.splitlines()[0]


def _research(child: Run, scope: Scope, rounds: int, queries: int) -> Steps[Answer]:
    """Return one section by a researcher that sees only its own messages; if it fails, a marked gap."""
    child.rephrase(
        prompts.text(
            "research_task",
            child.language,
            section=scope.name,
            description=scope.description,
            queries=str(queries),
            question=child.question,
        )
    )
    outcome: Outcome = "rounds"
    reason = "-"
    try:
        while child.transcript.length < rounds:
            last = child.transcript.length == rounds - 1
            tools = [_spec(Section)] if last else None
            reply = yield from child.ask("research", tools=tools, terms=Terms(must_call=True, rounds=rounds))
            if reply.answer:
                return _section(
                    scope, Section(name=scope.name, description=scope.description, content=reply.answer, found=True)
                )
            yield from child.use(reply, _own(Section, FinishResearch))
            if section := _first(reply, Section):
                return _section(scope, section)
            if _first(reply, FinishResearch):
                break
    except LimitReached as limit:
        outcome = reason = limit.limit
    except ProviderError as error:
        outcome, reason = "failed", str(error)
    gap = prompts.text("section_gap", child.language, reason=reason)
    return Answer(f"## {scope.name}\n\n*{gap}*", outcome, parts=(Part(scope.description, "not_found", gap),))


def _section(scope: Scope, section: Section) -> Answer:
    """Return a section under its own heading, which replaces any heading the researcher wrote."""
    bare = re.sub(r"^#+ .*\n+", "", section.content.strip())
    part = Part(scope.description, "answered" if section.found else "not_found")
    return Answer(f"## {section.name}\n\n{bare}", parts=(part,))


def _frame(
    run: Run, purpose: str, done: str, heading: str, model: type[Framing], *also: type[BaseModel]
) -> Steps[Framing | None]:
    """Return the introduction or the conclusion, under `heading` if the reply is plain text; None if the model fails.

    Raises `LimitReached` when the budget is spent.
    """
    models = (model, *also)
    extra = f"{done}\n\n{prompts.text(f'{purpose}_task', run.language)}"
    try:
        specs = [_spec(each) for each in models]
        reply = yield from run.ask(purpose, extra=extra, tools=specs, reads=_call, terms=Terms(must_call=True))
        if reply.answer:
            return model.model_validate({"name": heading, "content": reply.answer})
        yield from run.use(reply, _own(*models))
    except ProviderError:
        return None
    except LimitReached as limit:
        if limit.limit in ("failed", "loop"):
            return None
        raise
    return _first(reply, model)


def _spec(model: type[BaseModel]) -> ToolSpec:
    schema = model.model_json_schema()
    parameters = {"type": "object", "properties": schema.get("properties", {}), "required": schema.get("required", [])}
    if "$defs" in schema:
        parameters["$defs"] = schema["$defs"]
    return ToolSpec(model.__name__, (model.__doc__ or "").split("\n")[0], parameters)


def _first(reply: Reply, model: type[M]) -> M | None:
    for call in reply.calls:
        if call.name == model.__name__:
            try:
                return model.model_validate(call.arguments)
            except ValidationError:
                continue  # its observation names the error
    return None


def _own(*models: type[BaseModel]) -> dict[str, Local]:
    """Return the framework's own tools, which only validate their arguments; `_first` reads them from the reply."""
    return {model.__name__: partial(_validated, model) for model in models}


def _validated(model: type[BaseModel], arguments: dict[str, Any]) -> str:
    try:
        model.model_validate(arguments)
    except ValidationError as error:
        first = error.errors()[0]
        raise ToolError(f"{model.__name__}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    return say("Noted.")


def _call(reply: Reply) -> None:
    if not reply.calls and not reply.answer:
        raise FormatError(say("Call one of the tools."))
