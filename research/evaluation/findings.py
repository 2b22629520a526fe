"""An evaluation as one HTML file: questions, method, tables, plots, transcripts, hashes, and the command that repeats it.

It has no script and fetches nothing; a content security policy forbids both. Texts of models, tools and datasets are
escaped, and keys are masked.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Final

from research._util.redaction import mask_keys
from research.evaluation import svg_plots
from research.evaluation.overview import figure, measured, points
from research.evaluation.plans import Evaluation, Plan, version_of
from research.evaluation.recipe_notation import Candidate
from research.evaluation.records import Row
from research.evaluation.repeating import DOCUMENTS, QUESTIONS, code_hash, command, questions_jsonl
from research.evaluation.report import caps_of, label, markdown, title
from research.evaluation.row_exports import expected, view_of
from research.events.rounds import CallView, RoundView
from research.events.view import RunView
from research.exports.blocks import Block, Code, Heading, Items, Paragraph, Quote, Rule, Span, Table, parse
from research.exports.formulas import line
from research.store import RunLog
from research.text import clip, one_line

_SHOWN: Final[tuple[str, ...]] = ("right", "race", "f1", "evidence_recall", "citation_precision")
"""Measures to plot, the most telling first; at most two."""
_LONGEST: Final = 20_000
"""Characters of one text of a transcript."""
_FEW: Final = 200
"""Characters of a question in a heading."""


def findings(
    plan: Plan,
    found: Evaluation,
    store: RunLog,
    keys: Iterable[str] = (),
    *,
    private: bool = False,
    version: str = "",
) -> str:
    """Return the page.  `keys` are masked, as is anything that looks like a key; `version` is the workbench's.

    `private`: questions, answers and transcripts are left out, so that the page does not spread the dataset.
    """
    keys = tuple(keys)
    when = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    head = f"{len(plan.questions)} questions, {len(plan.candidates)} recipes; published on {when}."
    parts = [f'<p class="quiet">{escape(head)}</p>', mask_keys(_tables(plan, found), keys), _plots(plan, found)]
    parts += [_section("Question set", _questions(plan, private, keys)), _section("Method", _method(plan, keys))]
    if not private:
        parts.append(_section("Runs", _runs(plan, found, store, keys)))
    parts.append(_section("Repeat it", _repeat(plan, private, version, keys)))
    here = Path(__file__).with_name("findings.html")
    name = mask_keys(escape(f"Findings: {plan.name}"), keys)
    return Template(here.read_text("utf-8")).substitute(title=name, body="\n".join(parts))


def _section(heading: str, content: str) -> str:
    return f"<section><h2>{escape(heading)}</h2>{content}</section>"


def _tables(plan: Plan, found: Evaluation) -> str:
    """Return the tables of the Markdown export, without its heading and its list of rows."""
    text = markdown(plan, found).partition("\n\n")[2].partition("\n\n## Questions\n")[0]
    return _drawn(parse(text))


def _plots(plan: Plan, found: Evaluation) -> str:
    known = list[str](name for name in _SHOWN if name in measured(found))[:2]
    if "citation_precision" in known:
        known.append("citation_coverage")  # no rate without its base
    drawn = []
    for name in known:
        figures = [(label(each), figure(found.rows[each.name], name)) for each in plan.candidates]
        drawn.append(svg_plots.bars([(each, value) for each, value in figures if value], title(name)))
    if known:
        drawn.append(svg_plots.scatter(points(plan, found, known[0]), title(known[0])))
    return _section("Plots", "".join(drawn)) if any(drawn) else ""


def _questions(plan: Plan, private: bool, keys: Collection[str]) -> str:
    kinds = sorted({each.kind for each in plan.questions if each.kind})
    lines = questions_jsonl(plan)
    facts = {
        "Questions": f"{len(plan.questions)}",
        "Kinds": ", ".join(kinds),
        "Version": version_of(plan.questions),
        f"SHA-256 of {QUESTIONS}": hashlib.sha256(lines.encode()).hexdigest(),
        "Canary": ", ".join(sorted({each.canary for each in plan.questions if each.canary})),
    }
    if private:
        said = "<p>The questions, their answers and the transcripts are left out, so that the page does not spread the set.</p>"
        return _facts(facts) + said
    shown = mask_keys(lines, keys)
    said = "" if shown == lines else "<p>Something in the form of a key is masked, so the file has another hash.</p>"
    return _facts(facts) + _fold(f"{QUESTIONS}, with the expected answers", said, f"<pre>{escape(shown)}</pre>")


def _method(plan: Plan, keys: Collection[str]) -> str:
    recipe = plan.candidates[0].recipe
    facts = {
        "Trials": f"{plan.trials} of each question with each recipe",
        "Seed": "none sent" if plan.seed is None else f"{plan.seed}; each row has the seed that was made from it",
        "Budget of a run": caps_of(plan),
        "Documents": Path(plan.corpus.folder).name
        if plan.corpus.folder
        else "the library or the web, as the recipes say",
        "World": f"{plan.world} (calls without a record {'made' if recipe.world_new else 'refused'})"
        if plan.world
        else "",
        "Judge": plan.judge,
        "Tools": ", ".join(recipe.tools),
        "Search": ", ".join(recipe.search),
    }
    rows = [
        (each.name, each.recipe.label, json.dumps(each.shown_options), each.recipe.hash, each.recipe.prompts)
        for each in plan.candidates
    ]
    head = ("Recipe", "Framework / context / model", "Options", "Hash", "Hash of prompts")
    return _facts(facts) + mask_keys(_rows(map(escape, head), (map(escape, row) for row in rows)), keys)


def _runs(plan: Plan, found: Evaluation, store: RunLog, keys: Collection[str]) -> str:
    """Return each question with the transcripts of its runs, folded."""
    rows: dict[str, list[tuple[Candidate, Row]]] = {}
    for each in plan.candidates:
        for row in found.rows[each.name]:
            rows.setdefault(row.asked, []).append((each, row))
    parts = []
    for question in plan.questions:
        runs = "".join(mask_keys(_run(each, row, store), keys) for each, row in rows.get(question.digest, []))
        about = _facts({"Expected": " | ".join(expected(question)), "Documents needed": ", ".join(question.gold)})
        whole = f"<p>{escape(question.question)}</p>" if len(question.question) > _FEW else ""
        asked = f"{question.id}: {clip(one_line(question.question), _FEW)}"
        parts.append(_fold(mask_keys(asked, keys), mask_keys(whole + about, keys), runs))
    return "".join(parts)


def _run(each: Candidate, row: Row, store: RunLog) -> str:
    scores = {1.0: "right", 0.0: "wrong" if row.scores.wrong != 0 else "no answer"}
    became = "" if row.scores.right is None else scores.get(row.scores.right, f"right {row.scores.right:g}")
    summary = " · ".join(
        filter(None, (label(each), f"trial {row.trial + 1}" if row.trial else "", became, row.outcome))
    )
    facts = {
        "Run": row.run,
        "Seed": "" if row.seed is None else f"{row.seed}",
        "Tokens": f"{row.prompt_tokens:,} in, {row.completion_tokens:,} out",
        "Cost": "unknown" if row.cost_usd is None else f"{row.cost_usd:g} USD",
        "Seconds": f"{row.seconds:.1f}",
        "Copies of the dataset": ", ".join(row.leaks),
    }
    view = view_of(store, row)
    said = _transcript(view) if view else f"<p>The run was deleted.</p>{_text('Answer', row.answer)}"
    return _fold(summary, _facts(facts), said)


def _transcript(view: RunView) -> str:
    parts = [_text("Answer", view.short), *map(_round, view.rounds), _text("Report", view.report or view.answer)]
    sources = "\n".join(f"[{each.n}] {each.title}\n{each.url}" for each in view.cited_sources)
    return "".join([*parts, _text("Cited sources", sources)])


def _round(each: RoundView) -> str:
    said = each.reply.text if each.reply else each.draft
    notes = [f'<p class="quiet">{escape(note)}</p>' for note in each.notes]
    texts = [_text("Thought", each.thinking), _text("Reply", said), *map(_call, each.calls), *notes]
    return f"<h3>{escape(f'{each.agent}, round {each.number}: {each.purpose}')}</h3>{''.join(texts)}"


def _call(each: CallView) -> str:
    asked = json.dumps(each.call.arguments, ensure_ascii=False)
    seen = each.observation
    played = f" ({seen.world} in the recorded world)" if seen and seen.world else ""
    return _text(f"Call of {each.call.name}{played}", asked) + _text("Result", seen.text if seen else "")


def _repeat(plan: Plan, private: bool, version: str, keys: Collection[str]) -> str:
    where = "your copy of the questions" if private else "the questions above"
    text = f"Save {where} as {QUESTIONS}, then run:"
    if plan.corpus.folder:
        text = f"Save {where} as {QUESTIONS}, put the documents into {DOCUMENTS}, then run:"
    if plan.world:
        text += " The recorded world is not part of this page; without it, leave out --world."
    facts = {
        "Dataset": version_of(plan.questions),
        "Prompts": ", ".join(sorted({each.recipe.prompts for each in plan.candidates if each.recipe.prompts})),
        "Version": f"Research Workbench {version}, as it was when this page was published",
        "SHA-256 of its code": code_hash(),
    }
    return f"<p>{escape(text)}</p><pre>{escape(mask_keys(command(plan), keys))}</pre>{_facts(facts)}"


def _fold(summary: str, *content: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{''.join(content)}</details>"


def _text(heading: str, text: str) -> str:
    if not text.strip():
        return ""
    return f'<p class="quiet">{escape(heading)}</p><pre>{escape(clip(text, _LONGEST))}</pre>'


def _facts(facts: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items() if value)
    return f"<dl>{rows}</dl>"


def _rows(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of cells that are HTML."""
    first = "".join(f"<th>{cell}</th>" for cell in head)
    rest = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{first}</tr></thead><tbody>{rest}</tbody></table></div>'


def _drawn(blocks: Iterable[Block]) -> str:
    return "".join(map(_block, blocks))


def _block(block: Block) -> str:
    match block:
        case Heading(level=level, spans=spans):
            return f"<h{level}>{_words(spans)}</h{level}>"
        case Paragraph(spans=spans):
            return f"<p>{_words(spans)}</p>"
        case Table(head=head, rows=rows):
            return _rows(map(_words, head), (map(_words, row) for row in rows))
        case Items(items=items):
            return f"<ul>{''.join(f'<li>{_drawn(item)}</li>' for item in items)}</ul>"
        case Quote(blocks=inside):
            return _drawn(inside)
        case Code(text=text):
            return f"<pre>{escape(text)}</pre>"
        case Rule():
            return ""


def _words(spans: Iterable[Span]) -> str:
    return escape("".join(line(span.text) if span.formula else span.text for span in spans))
