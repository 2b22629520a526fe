"""The recipe of a run: all its choices, frozen, hashable and shown in full."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from research import defaults, plugins
from research._util.registry import derived

ROLES = ("planner", "researcher", "summariser", "writer", "critic", "reader", "judge")
"""Parts of the work that a model may be chosen for.  A `reader` chooses passages of visited pages; for the offline
model it reads the answer in the cited prose.  A `judge` checks the citations of the finished report."""
PURPOSES: dict[str, str] = {
    "act": "researcher",
    "conclude": "writer",
    "read": "reader",
    "extract": "reader",
    "verify": "judge",
    "propose": "planner",
}
"""Purposes of the requests that every framework makes, each with its role; see `plugins.Framework.purposes` for others."""
ROLE_OF: Mapping[str, str] = PURPOSES | {
    "scribe": "summariser",
    "condense": "summariser",
    "summarise": "summariser",
    "synthesise": "writer",
    "solve": "writer",
    "introduce": "writer",
    "finish": "writer",
    "evaluate": "critic",
    "reflect": "critic",
    "plan": "planner",
    "replan": "planner",
    "outline": "planner",
    "worker": "researcher",
    "research": "researcher",
}
"""The role of each purpose in runs of earlier versions, whose events do not say it."""
LIBRARY = "library"
"""The source made of the sample library and the recipe's folders."""
FOLDERS = "folders"
"""The source made of a recipe's folders alone: an evaluation's corpus."""


@derived
def roles_by_purpose(framework: str = "", context: str = "") -> Mapping[str, str]:
    """Return each purpose with its role; where two plug-ins disagree, the recipe's own framework and strategy win."""
    entries: list[plugins.Framework | plugins.ContextStrategy] = [*plugins.framework.all(), *plugins.context.all()]
    entries.sort(key=lambda entry: entry.id in (framework, context))
    return dict(PURPOSES) | {purpose: role for entry in entries for purpose, role in entry.purposes.items()}


def provider_of(model: str) -> plugins.Provider:
    """Return the provider of the model `PROVIDER:NAME`; a missing one (an endpoint's, a saved run's) has no traits."""
    return plugins.provider.traits(model.partition(":")[0])


def model_title(model: str) -> str:
    """Return a model's name for readers; the offline model has a title."""
    return "Offline model" if provider_of(model).written_by == "rules" else model


UNCERTAIN = "uncertain"
"""A judge that reads only what the rules leave open: the recipe's model, or the one named after a colon."""
PLANS = ("", "approve")
"""Whether a run shows its plan first and waits until the user has approved it."""
REMEMBER = ("off", "findings", "everything")
"""The parts of a run that memory saves; `findings` are supported statements, `everything` adds passages and report."""
RECALL_MOST = 20
"""The most memory entries that a recipe can recall."""


class Budget(Struct, frozen=True, omit_defaults=True):
    """Caps that a run and all its children share.  None means no cap.

    >>> research.run("How many people live in Japan?", budget=research.Budget(tokens=50_000, seconds=60))
    """

    tokens: int | None = None
    """Prompt and completion tokens together."""
    usd: float | None = None
    """Cost in US dollars; calls of unknown price are not counted but warned about."""
    seconds: float | None = None
    """Seconds of work; pauses do not count."""
    tool_calls: int | None = None


class Recipe(Struct, frozen=True, omit_defaults=True):
    """Everything that is chosen for a run.  A comparison asks one question with several recipes.

    `Workbench.recipe` makes one after checking every name and option:

    >>> Workbench().recipe(model="extractive", options={"framework.rounds": 5}).context
    'full'
    """

    framework: str = defaults.FRAMEWORK
    framework_options: dict[str, Any] = {}
    context: str = defaults.CONTEXT
    context_options: dict[str, Any] = {}
    model: str = defaults.OFFLINE
    roles: dict[str, str] = {}
    """Another model for a role or a single purpose, e.g. `{"summariser": "openai:gpt-5-nano"}` (see `ROLES`)."""
    protocol: str = "auto"
    """`native`, `tagged`, or `auto`: native if the model supports it."""
    tools: tuple[str, ...] = ("search", "visit", "python")
    search: tuple[str, ...] = (LIBRARY,)
    folders: tuple[str, ...] = ()
    """The user's own document folders, absolute paths, searched as part of the library."""
    scholar: tuple[str, ...] = ("openalex", "arxiv", "semantic_scholar")
    """Services that the `scholar` tool searches."""
    mcp: tuple[str, ...] = ()
    """Names of the MCP servers in the configuration file whose tools are offered."""
    recall: int = 0
    """Number of memory entries quoted before the first round; at most `RECALL_MOST`."""
    remember: str = "off"
    """What is saved in the memory at the end of the run: one of `REMEMBER`."""
    budget: Budget = Budget()
    temperature: float | None = None
    """Sampling temperature; None uses the provider's default."""
    judge: str = ""
    """The judge of citations besides the rules: `uncertain` (the model of the role `judge`, or else the recipe's, reads
    what the rules leave open), `model` (it reads all statements), `cross-encoder:PATH_OR_ID` (reads all, or with the
    prefix `uncertain:` the open ones) or `off`.  Empty: the model of the role `judge`, if there is one, reads every
    statement; so in runs of earlier versions."""
    novelty: bool = True
    """The model is told when several rounds in a row add nothing; if they go on, the run is concluded."""
    language: str = "auto"
    """`en`, `zh`, or `auto`: the language of the question."""
    ask: bool = True
    """Whether the agent may ask the user for a missing detail, and wait for the reply; otherwise it assumes the likeliest."""
    plan: str = ""
    """One of `PLANS`."""
    allow_domains: tuple[str, ...] = ()
    """Only web sources of these domains and their subdomains; empty: of all."""
    deny_domains: tuple[str, ...] = ()
    since: str = ""
    """Only web sources published on this day or later, as ISO date; empty: no limit."""
    until: str = ""
    as_of: str = ""
    """Pages are read from `WORKBENCH_ARCHIVE`, in their last copy up to the end of this day; empty: as they are now."""
    prompts: str = ""
    """Hash of the prompt files that the run was started with."""
    world: str = ""
    """`recorded:NAME@DIGEST`: tools return the results that earlier runs recorded (`workbench.worlds`); empty: they run."""
    world_new: bool = False
    """Whether a call without a recorded result is made rather than refused."""
    egress: str = ""
    """What may leave this machine: `private` (nothing once the run has a private source), `offline` (nothing
    at all), or empty: everything."""
    seed: int | None = None
    """Seed sent with each request to services that take one; None: not sent."""

    @property
    def hash(self) -> str:
        """Return twelve hex digits that differ between different recipes."""
        return hashlib.sha256(msgspec.json.encode(self.fields, order="deterministic")).hexdigest()[:12]

    @property
    def fields(self) -> dict[str, Any]:
        """Return every field by name; two recipes are the same if these are.

        `ask` is left out: it says whether a user is there, not how the work is done.
        """
        # Not as JSON, because msgspec omits a default only if it is the identical object.
        found = msgspec.structs.asdict(self) | {"budget": msgspec.structs.asdict(self.budget)}
        del found["ask"]
        if not self.judge:  # recipes of earlier versions keep their hash
            del found["judge"]
        if self.novelty:
            del found["novelty"]
        for name in (
            "plan",
            "allow_domains",
            "deny_domains",
            "since",
            "until",
            "as_of",
            "world",
            "world_new",
            "egress",
        ):
            if not found[name]:
                del found[name]
        if self.seed is None:
            del found["seed"]
        return found

    @property
    def reads_pages(self) -> bool:
        """Whether a reader chooses the passages of visited pages; with the offline model it reads the answer instead."""
        return provider_of(self.model).written_by != "rules" and bool({"reader", "extract"} & self.roles.keys())

    @property
    def judged_by(self) -> str:
        """Return the judge of citations: `model:NAME`, `cross-encoder:PATH_OR_ID`, or empty for the rules alone."""
        if self.judge == "off":
            return ""
        name = self.judge.removeprefix(UNCERTAIN).removeprefix(":") if self.judges_open else self.judge
        if name not in ("", "model"):
            return name
        return f"model:{self.model_for('verify')}" if self.judge or {"judge", "verify"} & self.roles.keys() else ""

    @property
    def judges_open(self) -> bool:
        """Whether the judge reads only the statements that the rules leave open."""
        return self.judge.partition(":")[0] == UNCERTAIN

    def model_for(self, purpose: str) -> str:
        """Name of the model that is asked for this purpose."""
        if not self.roles:
            return self.model
        return self.roles.get(purpose) or self.roles.get(self.role_of(purpose)) or self.model

    def role_of(self, purpose: str) -> str:
        """Name of the role that a purpose belongs to; empty if no plug-in names one."""
        return roles_by_purpose(self.framework, self.context).get(purpose, "")

    @property
    def titles(self) -> tuple[str, ...]:
        """Return what a reader calls the framework and the context strategy, in English; the latter only where it is chosen."""
        alone = plugins.framework.traits(self.framework).hidden
        framework = plugins.framework.title(self.framework)
        return (framework,) if alone else (framework, plugins.context.title(self.context))

    @property
    def label(self) -> str:
        """Return the ids of framework, context strategy and model as one line."""
        return f"{self.framework} / {self.context} / {self.model}"
