"""Planning before spending: a run asks for a plan, shows it, and waits until the user has approved it."""

from __future__ import annotations

from research import prompts
from research.agent import plan_text
from research.agent.context import MAIN, Steps
from research.agent.run import Run
from research.errors import FormatError, LimitReached, NeedsInput
from research.events.branches import PROPOSE
from research.events.events import PlanItem, PlanProposed, Warned
from research.text import clip
from research.types import Reply


def plan_first(run: Run) -> Steps[None]:
    """Propose a plan if the recipe says so, and take the approved one.  Raises `NeedsInput` until it is approved."""
    context, journal = run.context, run.context.journal
    if run.recipe.plan != "approve" or journal.plan_adopted:
        return
    items = yield from _proposed(run)
    if journal.plan:
        context.plan = journal.plan
        return
    if not journal.proposed:
        yield PlanProposed(items=items, forecast=context.services.forecast(run.question))
    raise NeedsInput(prompts.text("plan/prompt", run.language), MAIN, plan=True)


def _proposed(run: Run) -> Steps[tuple[PlanItem, ...]]:
    """Return the plan that the model writes; if it writes none, the question, with a warning."""
    sources = plan_text.sources_of(run.recipe)

    def reads(reply: Reply) -> None:
        plan_text.read_items(reply.answer, sources)

    brief = run.brief("plan/propose", question=run.question, sources=", ".join(sources) or "-")
    try:
        reply = yield from run.ask(PROPOSE, messages=brief, tools=(), reads=reads)
        return plan_text.read_items(reply.answer, sources)
    except (FormatError, LimitReached) as error:
        why = run.context.failure if isinstance(error, LimitReached) and error.limit == "failed" else str(error)
        text = prompts.text("plan/fallback", run.language, reason=why)
        yield from run.context.mark(Warned(agent=run.agent, kind="model", text=text))
        return plan_text.checked([clip(run.question, plan_text.LONGEST)], sources)
