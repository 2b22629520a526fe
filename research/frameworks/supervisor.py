"""A supervisor and its researchers."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from research import prompts
from research.errors import FormatError, LimitReached, ProviderError, ToolError
from research.registry import Range, framework
from research.run import Local, Run, Steps
from research.types import Answer, Reply, ToolSpec


class Question(BaseModel):
    """Ask the user one thing that the scope of the report depends on."""

    question: str = Field(min_length=1, description="What you need to know.")


class Scope(BaseModel):
    """One section to be researched."""

    name: str = Field(min_length=1, description="Heading of the section.")
    description: str = Field(description="What it has to find out.")


class Sections(BaseModel):
    """Divide the report into sections; a researcher works on each."""

    sections: list[Scope] = Field(min_length=1, max_length=10)


class Section(BaseModel):
    """Hand in the section that you were given."""

    name: str = Field(min_length=1, description="Heading of the section.")
    description: str = Field("", description="What it covers.")
    content: str = Field(min_length=1, description="The text, each statement with the [n] of its source.")


class FinishResearch(BaseModel):
    """Say that there is nothing more to do for your section."""


class Introduction(BaseModel):
    """Title and introduction of the report."""

    name: str = Field(min_length=1, description="Title of the report.")
    content: str = Field(min_length=1)


class Conclusion(BaseModel):
    """Conclusion of the report."""

    name: str = Field("Conclusion", description="Heading of the conclusion.")
    content: str = Field(min_length=1)


class FinishReport(BaseModel):
    """Say that the report is complete."""


M = TypeVar("M", bound=BaseModel)


@framework("Supervisor", inner="react")
def supervisor(
    run: Run,
    *,
    ask: Annotated[bool, "The supervisor may ask you about the scope."] = False,
    queries: Annotated[int, Range(1, 10), "Searches suggested for each section."] = 3,
    rounds: Annotated[int, Range(1, 50), "Rounds of each researcher."] = 8,
    planning: Annotated[int, Range(1, 10), "Rounds of the supervisor before it has to name sections."] = 4,
    concurrency: Annotated[int, Range(1, 16), "Researchers at once."] = 5,
) -> Steps[Answer]:
    """A supervisor plans sections, isolated researchers write them in parallel, code assembles the report.  For long reports.

    A researcher that fails leaves a marked gap; the report still comes.  The roles `outline`, `research`, `introduce`
    and `finish` may have models of their own.
    Source: Open Deep Research, legacy multi-agent graph.  Deliberate changes: rounds are capped, FinishResearch counts
    wherever it stands, an unknown tool is an observation, and errors do not end the report.
    """
    scopes = yield from _outline(run, ask=ask, planning=planning)
    researchers = [run.child(f"researcher-{number}") for number in range(1, len(scopes) + 1)]
    bodies = yield from run.together(
        [_research(child, scope, rounds, queries) for child, scope in zip(researchers, scopes, strict=True)],
        concurrency,
    )
    body = "\n\n".join(bodies)
    yield from run.report(body)
    done = prompts.text("research_complete", run.language, sections=body)
    introduction = yield from _structured(run, Introduction, "introduce", done)
    conclusion = yield from _structured(run, Conclusion, "finish", done)
    title = (
        introduction.content
        if introduction.content.startswith("# ")
        else f"# {introduction.name}\n\n{introduction.content}"
    )
    end = (
        conclusion.content if conclusion.content.startswith("## ") else f"## {conclusion.name}\n\n{conclusion.content}"
    )
    report = f"{title}\n\n{body}\n\n{end}"
    yield from run.report(report)
    return Answer(report)


def _outline(run: Run, *, ask: bool, planning: int) -> Steps[list[Scope]]:
    """The sections; before that the supervisor may search, or ask the user."""
    models: list[type[BaseModel]] = [Sections, Question] if ask else [Sections]
    for number in range(planning):
        last = number == planning - 1
        tools = [_spec(Sections)] if last else [*(t for t in run.tools if t.name == "search"), *map(_spec, models)]
        extra = prompts.text("outline_task", run.language, question=run.question)
        reply = yield from run.ask("outline", extra=extra, tools=tools, reads=_some_call)
        question = _first(reply, Question)
        sections = _first(reply, Sections)
        yield from run.use(reply, {model.__name__: _taken(model) for model in models})
        if sections:
            return sections.sections
        if question:
            yield from run.ask_user(Reply(text=question.question, answer=question.question))
    return [Scope(name=run.question, description=run.question)]


def _research(child: Run, scope: Scope, rounds: int, queries: int) -> Steps[str]:
    """One section, written by a researcher that sees only its own messages."""
    child.prompt = "researcher"
    child.question = prompts.text(
        "research_task", child.language, section=scope.name, description=scope.description, queries=str(queries)
    )
    own = {model.__name__: _taken(model) for model in (Section, FinishResearch)}
    tools = [*child.tools, _spec(Section), _spec(FinishResearch)]
    written: Section | None = None
    try:
        for number in range(rounds):
            last = number == rounds - 1
            reply = yield from child.ask("research", tools=[_spec(Section)] if last else tools)
            if reply.answer and written is None:
                written = Section(name=scope.name, description=scope.description, content=reply.answer)
            written = _first(reply, Section) or written
            if reply.calls:
                yield from child.use(reply, own)
            if written or any(call.name == "FinishResearch" for call in reply.calls):
                break
    except (ProviderError, LimitReached) as error:
        return f"## {scope.name}\n\n*{prompts.text('section_gap', child.language, reason=str(error))}*"
    if written is None:
        return f"## {scope.name}\n\n*{prompts.text('section_gap', child.language, reason='-')}*"
    content = re.sub(r"^#+ .*\n+", "", written.content.strip())
    return f"## {written.name}\n\n{content}"


def _structured(run: Run, model: type[M], purpose: str, extra: str) -> Steps[M]:
    """One structure from the model; plain words are its content."""
    task = f"{extra}\n\n{prompts.text(f'{purpose}_task', run.language)}"
    reply = yield from run.ask(purpose, extra=task, tools=[_spec(model)], reads=_some_call, limits=False)
    found = _first(reply, model)
    if found is not None:
        return found
    return model.model_validate({"name": run.question, "content": reply.answer})


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
                continue  # its observation says what is wrong
    return None


def _taken(model: type[BaseModel]) -> Local:
    def take(arguments: dict[str, Any]) -> str:
        try:
            model.model_validate(arguments)
        except ValidationError as error:
            first = error.errors()[0]
            raise ToolError(f"{model.__name__}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
        return "Noted."

    return take


def _some_call(reply: Reply) -> None:
    if not reply.calls and not reply.answer:
        raise FormatError("Call one of the tools.")
