"""The replies of the extractive model: one function per purpose, from the messages to the reply."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from research import plugins
from research.citations import check, cited
from research.models.extractive import chinese
from research.models.extractive.account import Answered, account, answers, in_one_line, judged
from research.models.extractive.asked import parts_of, without_cause
from research.models.extractive.evidence import BEHIND, Evidence, Fact, note, replied, tried
from research.models.extractive.fitting import usual_name
from research.models.extractive.followup import carried, compares, completed, leaves_out, of_described, refers
from research.models.extractive.grounding import understood
from research.models.extractive.kinds import fits, kind_of
from research.models.extractive.passages import mentioned
from research.models.extractive.planned import in_chinese, proposed, to_answer
from research.models.extractive.prose import Prose, names_asked
from research.models.extractive.question import parse
from research.models.extractive.steps import asking, relevant, solved
from research.models.extractive.table_reading import QUERY
from research.models.extractive.tabular import columns_of, of_same_rows, same_rows
from research.models.extractive.verdict import Action, Verdict
from research.models.extractive.write import answer
from research.parsing.markup import enclosed
from research.protocols.tagged import write_call
from research.text import clip, language_of
from research.types import FAILS, Message, Request, Source

DONE = "Nothing more to look up: write what the sources say."
_HOW_MUCH = re.compile(r"\W*[有是为]?多少[^\W\d_]{0,4}\W*")
"""Matches a part that only asks for the figure: 有多少公里？"""


def reply(request: Request) -> Iterator[str]:
    """Yield the reply in pieces."""
    yield from _ROLES.get(request.purpose, _act)(request.messages)


def _act(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the next step or the answer, after the whole report if the framework keeps one."""
    items = _solved(Evidence(messages), messages)
    _, evidence, verdict = next((item for item in items if item.verdict.actions), items[0])
    if verdict.doubt or (_unclear(verdict) and not evidence.own):
        yield f"<answer>{_answer(evidence, verdict) if verdict.doubt else _CLARIFY[language_of(evidence.question)]}</answer>"
        return
    yield _thoughts(evidence, verdict) if verdict.actions else _done(evidence)
    if evidence.wants_report:
        # With nothing left to look up, only what the answers quote is confirmed.
        facts = _kept(items) if verdict.actions else [fact for each in items for fact in _quoted(each.verdict)]
        yield f"<report>\n{_report(evidence, verdict, facts)}\n</report>\n"
    if verdict.actions:
        # One action a round if there is a report: its next step lists the others.
        for action in verdict.actions[:1] if evidence.wants_report else verdict.actions:
            yield write_call(_offered(action.name, messages), **action.arguments) + "\n"
    else:
        yield from _handed_in(Evidence(messages), items)


def _handed_in(evidence: Evidence, items: Sequence[Solved]) -> Iterator[str]:
    """Yield the last reply: the answers to the questions, and what they are worth."""
    answered = [(each.question, each.verdict, _answer(each.evidence, each.verdict)) for each in items]
    shown = [_refused(*each, evidence.language) for each in answered]
    text = _joined(shown) if len(shown) > 1 else shown[0][2]
    if len(items) == 1 and items[0].question == evidence.question != evidence.written:
        head, mark, rest = text.partition("\n\n### ")
        text = f"{head}\n\n{_UNDERSTOOD[language_of(evidence.question)].format(question=evidence.question)}{mark}{rest}"
    yield from ("<answer>", *text.splitlines(keepends=True), "\n\n", account(answered, evidence.planned), "</answer>")


def _refused(question: str, verdict: Verdict, text: str, language: str) -> Answered:
    """Return an answer; that of a question whose parts all stay open says so before it quotes what was found."""
    if answers(verdict) and all(part.status == "not_found" for part in judged(question, verdict, text)):
        text = answer(Verdict(verdict.question, closest=verdict.facts), language)
    return question, verdict, text


class Solved(NamedTuple):
    """A question to answer, with its next steps or its answer."""

    question: str
    evidence: Evidence
    verdict: Verdict


def _solved(evidence: Evidence, messages: Sequence[Message] | None = None) -> list[Solved]:
    """Return the questions to answer, each with its next steps or its answer; without `messages`, no further steps."""
    found = list[Solved]()
    for text in to_answer(evidence):
        before = found[-1] if found else None
        if before and before.verdict.actions and refers(text):
            break  # what it refers to is still looked up
        said = _answer(before.evidence, before.verdict) if before and answers(before.verdict) else ""
        whole = completed(text, before.question if before else "", said, inside=True)
        lost = not said and (refers(whole) or leaves_out(whole)) if before else evidence.lost
        if lost:  # nothing was found that it could be about
            nothing = Solved(whole, evidence, Verdict(parse(whole), missing=(whole,)))
            found.append(_within(evidence, text, nothing, messages))
            continue
        if before and compares(text) and before.verdict.question.operation != "growth":
            found.pop()  # the comparison says its figure too
        if before and _already(evidence, text, before):
            continue
        about = carried(whole, before.question) if before else ""  # `and when was the last election?`
        of_rows = same_rows(whole, before.question, before.verdict) if before and not about else ""
        tried = _each(evidence, about or of_rows, messages)._replace(question=whole) if about or of_rows else None
        if before and of_rows and tried and not of_same_rows(tried.verdict, before.verdict):
            tried = None
        alone = tried if tried and _goes_on(tried.verdict) else _each(evidence, whole, messages)
        found.append(alone if _goes_on(alone.verdict) else _within(evidence, text, alone, messages))
    first = found[0].verdict
    open_ = len(found) == 1 and not (_goes_on(first) or evidence.planned)
    if open_ and evidence.written != evidence.question and not refers(evidence.written):
        return [_each(evidence, evidence.written, messages)]  # perhaps it does not go on from the question before
    return found


def _within(evidence: Evidence, text: str, alone: Solved, messages: Sequence[Message] | None) -> Solved:
    """Return a part of a question read from own documents together with what is said before it, or else as it is `alone`."""
    at = evidence.question.lower().find(text.rstrip("?？").lower())
    if at < 1 or not evidence.own:
        return alone
    found = _each(evidence, alone.question, messages, evidence.question[:at])
    return found if found.verdict.actions or found.verdict.reading else alone


def _already(evidence: Evidence, text: str, before: Solved) -> bool:
    """Return whether the line quoted for a part of a question has the answer to the next one: the height of a mountain."""
    if (ranked := before.verdict.ranked) and _HOW_MUCH.fullmatch(text):
        return all(not fits(text, "number", row.fact.value, row.fact.value) for row in ranked.rows)
    whole = of_described(text, before.question)
    found = solved(asking(evidence, whole), acting=False) if whole and before.verdict.findings else None
    if found is None or not found.findings or found.missing or found.computed or found.derived:
        return False
    facts, kind = {each.fact for each in found.findings}, kind_of(text)
    fitting = kind in ("number", "date", "year") and not any(fits(text, kind, each.value, each.value) for each in facts)
    return fitting and facts <= {each.fact for each in before.verdict.findings}


def _goes_on(verdict: Verdict) -> bool:
    """Return whether a verdict is an answer, or what leads to one."""
    return bool(verdict.actions or verdict.doubt or answers(verdict))


def _each(evidence: Evidence, text: str, messages: Sequence[Message] | None, context: str = "") -> Solved:
    own = asking(evidence, without_cause(text)[0], context)
    verdict = solved(own, acting=messages is not None)
    if messages is not None and not _able(verdict.actions, messages):
        verdict = solved(own, acting=False)
    return Solved(text, own, verdict)


def _kept(items: Sequence[Solved]) -> Sequence[Fact]:
    """Return the facts that the next steps may need."""
    return list(dict.fromkeys(fact for each in items for fact in relevant(each.evidence) or each.verdict.quotes))


def _joined(answered: Sequence[Answered]) -> str:
    """Return the answers to the questions, each below its question unless all say what they are about, then the quotes."""
    told = all(verdict.findings or verdict.table for _, verdict, _ in answered)
    heads, behind = list[str](), dict[str, dict[str, None]]()
    for question, _, text in answered:
        head, *sections = text.split("\n\n### ")
        heads.append(head if told else f"**{question}**\n\n{head}")
        for title, _, lines in (section.partition("\n\n") for section in sections):
            behind.setdefault(title, {}).update(dict.fromkeys(lines.splitlines()))
    return "\n\n".join([*heads, *(f"### {title}\n\n" + "\n".join(lines) for title, lines in behind.items())])


def _propose(messages: Sequence[Message]) -> Iterator[str]:
    """Yield a plan: the questions that a question consists of."""
    yield "\n".join(f"- {' '.join(item.split())}" for item in proposed(Evidence.of_task(messages).question))


def _said(thought: str, language: str) -> str:
    return chinese.thought(thought) if language == "zh" else thought


def _thoughts(evidence: Evidence, verdict: Verdict) -> str:
    """Return what is thought before the next steps."""
    thoughts = dict.fromkeys(_said(action.thought, evidence.language) for action in verdict.actions)
    return f"<think>{('' if evidence.language == 'zh' else ' ').join(thoughts)}</think>\n"


def _done(evidence: Evidence) -> str:
    """Return the thought before the answer."""
    return f"<think>{_said(DONE, evidence.language)}</think>\n"


def _offered(name: str, messages: Sequence[Message]) -> str:
    """Return the name of the tool, or of another that searches where the one to search with is not offered."""
    tools = re.findall(r"^- (\w+):", messages[0].content, re.M)
    if name in tools or not plugins.tool.traits(name).searches:
        return name
    return next((each for each in tools if plugins.tool.traits(each).searches), name)


def _able(actions: Sequence[Action], messages: Sequence[Message]) -> bool:
    """Return whether the run offers the tools for these actions."""
    tools = set(re.findall(r"^- (\w+):", messages[0].content, re.M))
    return all(_offered(action.name, messages) in tools for action in actions)


def _conclude(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the best answer without any further step."""
    evidence = Evidence(messages)
    yield _done(evidence)
    yield from _handed_in(evidence, _solved(evidence))


def _plan(messages: Sequence[Message]) -> Iterator[str]:
    """Yield a plan: the searches that the question suggests, and a visit to the best page of each."""
    messages = replied(messages)
    evidence = Evidence.of_task(messages)
    question, q = evidence.question, understood(evidence)
    if "\n- ask_user[" in messages[-1].content and _unclear(Verdict(q)):
        yield _CLARIFY[language_of(question)]
        return
    reads = re.search(r"^- visit\[", messages[-1].content, re.M) is not None  # a plan may only use offered tools
    searches = [
        pair for each in to_answer(evidence) for pair in _searches(messages, asking(evidence, without_cause(each)[0]))
    ]
    for place, (query, goal) in enumerate(dict(searches).items()):
        number = place * (1 + reads) + 1
        yield f"Plan: {_said(f'Look for {query}.', evidence.language)}\n#E{number} = search[{query}]\n"
        if reads:
            task = json.dumps({"url": f"#E{number}", "goal": goal}, ensure_ascii=False)
            why = _said("Read the best page found for that.", evidence.language)
            yield f"Plan: {why}\n#E{number + 1} = visit[{task}]\n"


def _searches(messages: Sequence[Message], evidence: Evidence) -> list[tuple[str, str]]:
    """Return the searches that a question suggests, each with what to read the page found for."""
    question, q = evidence.question, understood(evidence)
    if not q.names and (query := _first_query(messages, question)) != question:
        return [(query, question)]
    if not (q.relation or any(target.label for target in q.targets)):
        return [(action.arguments["query"], question) for action in Prose(evidence, q.text).opening()]
    target = q.relation or q.targets[0]
    goal = " ".join([target.label or target.text, *map(str, q.years)])
    searches = [(f"{usual_name(subject)} {goal}", goal) for subject in q.names[:5]]
    return searches or [(_first_query(messages, question), goal)]


def _replan(messages: Sequence[Message]) -> Iterator[str]:
    """Yield a search in place of a failed step: the first that this model would make without a plan."""
    evidence = Evidence.of_task(messages)
    step = re.search(r"#E\d+(?= = .{0,2000}\n\n(?:Its error|错误信息))", messages[-1].content)
    query = _first_query(messages, evidence.question)
    why = _said(f"Look for {query}.", evidence.language)
    yield f"Plan: {why}\n{step.group() if step else '#E1'} = search[{query}]\n"


def _first_query(messages: Sequence[Message], question: str) -> str:
    """Return what this model would search for first if it had no plan."""
    actions = solved(Evidence([messages[0], Message("user", question)])).actions
    return next((str(action.arguments["query"]) for action in actions if "query" in action.arguments), question)


def _worker(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the longest line of the given material."""
    lines = [line.removeprefix("> ") for line in messages[-1].content.splitlines() if line.strip()]
    yield f"<answer>{clip(max(lines, key=len, default=''), 500)}</answer>"


def _evaluate(messages: Sequence[Message]) -> Iterator[str]:
    """Yield PASS if the given evidence supports every cited statement."""
    text = messages[-1].content
    given = enclosed(text, "(?:Answer:|答案：)\n", "\n\n(?:Evidence:|证据：)\n")
    stated, quoted = next(((text[start:end], text[rest:]) for _, start, end, rest in given), (text, ""))
    sources = [
        Source(int(n), "", title, quote)
        for n, title, quote in re.findall(r"^\[(\d+)\] ([^:\n]+): (.*?)(?=^\[\d+\] |\Z)", quoted, re.S | re.M)
    ]
    bad = [c.claim for c in check(stated, sources) if c.status in FAILS]
    if not cited(stated):
        yield "FAIL: the answer cites no source."
    else:
        yield f"FAIL: not supported: {bad[0]}" if bad else "PASS"


def _reflect(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the problem, the searches made, and the advice to read more pages and use other words."""
    queries = re.findall(r"Action: search \{'query': ['\"](.{0,400}?)['\"]\}", messages[-1].content)
    problem = re.search(r"(?:What was wrong: |问题所在：)(.*)", messages[-1].content)
    used = "; ".join(dict.fromkeys(queries)) or "nothing"
    if problem and "问题所在" in problem.group():
        yield f"{problem.group(1)} 搜索过：{used}。下次多读几页找到的内容，并只按名称搜索。"
        return
    lesson = "Next time read more of the pages found, and search by the name alone."
    yield f"{problem.group(1) if problem else ''} Searched for: {used}. {lesson}"


def _summarise(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the relevant facts and the calls made; this model writes a scribe's report and a summary alike."""
    items = _solved(Evidence.of_task(messages), messages)
    following = next((each for each in items if each.verdict.actions), items[0])
    yield _report(following.evidence, following.verdict, _kept(items))


def _synthesise(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the candidate whose figures agree with most others; of equals the one with the most citations."""
    sent = messages[-1].content
    candidates = [sent[start:end] for _, start, end, _ in enclosed(sent, "<candidate[^>]*>\n", "\n</candidate>")]
    answers = [candidate.split("Answer: ", 1)[-1] for candidate in candidates]
    supported = [text for text in answers if cited(text)]
    if not supported:
        yield f"<answer>{answers[0] if answers else ''}</answer>"
        return
    heads = [set(re.findall(r"\*\*(.+?)\*\*", text.split("\n### ")[0])) for text in supported]
    agreement = [sum(bool(head & other) for other in heads) for head in heads]
    best = max(range(len(supported)), key=lambda i: (agreement[i], len(cited(supported[i]))))
    why = f"{agreement[best]} of {len(answers)} runs agree; this one cites its sources best."
    if language_of(supported[best].split("\n\n")[0]) == "zh":
        why = f"{len(answers)}次运行中有{agreement[best]}次结果一致，这一次的引用最完整。"
    yield f"<answer>{supported[best]}\n\n{why}</answer>"


def _outline(messages: Sequence[Message]) -> Iterator[str]:
    """Yield an outline with a section for each name in the question."""
    question = re.split(r"(?:Plan the report on: |请规划这份报告：)", messages[-1].content)[-1].strip()
    evidence = Evidence([messages[0], Message("user", f"{question}{_known(messages)}")])
    if evidence.offers("Question") and _unclear(solved(evidence)):
        yield write_call("Question", question=_CLARIFY[language_of(question)])
        return
    if len(planned := to_answer(evidence)) > 1:
        sections = [{"name": clip(text, 80), "description": text} for text in planned]
        yield f"<think>{_said('Divide the question.', evidence.language)}</think>\n" + write_call(
            "Sections", sections=sections
        )
        return
    q = understood(evidence)
    alone = len(q.names) < 2 or q.relation is not None or not any(target.label for target in q.targets)
    # In lower case, so that a measure is not mistaken for a name; abbreviations keep their capitals.
    asked = (target.label or target.text for target in q.targets)
    targets = " and ".join(text if text[1:2].isupper() else text[:1].lower() + text[1:] for text in asked)
    years = " ".join(map(str, q.years))
    scopes = (
        [{"name": clip(question, 80), "description": question}]
        if alone
        else [
            {"name": name, "description": f"What is the {targets} of {name} {years}?".replace(" ?", "?")}
            for name in q.names
        ]
    )
    if not alone and language_of(question) == "zh":
        labels = [target.label for target in q.targets]
        asking = [target.label or target.text for target in q.targets]
        sections = [{"name": name, "description": in_chinese(q, name, *asking)} for name in q.names]
        # Only if it is understood as it is meant.
        meant = ([target.label for target in parse(each["description"]).targets] for each in sections)
        scopes = sections if all(each == labels for each in meant) else scopes
    yield f"<think>{_said('Divide the question.', evidence.language)}</think>\n" + write_call(
        "Sections", sections=scopes
    )


def _research(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the next action of a researcher: like any agent's, but the answer is submitted as a section."""
    task = messages[1].content.split("\n\n")[0]
    name, _, description = re.sub(r"^([^:：]*)[:：]\s*", r"\1\0", task, count=1).partition("\0")
    content = f"{description or task}{_known(messages)}"
    asked = [messages[0], msgspec.structs.replace(messages[1], content=content), *messages[2:]]
    evidence = Evidence(asked)
    verdict = solved(evidence)
    if verdict.actions:
        yield from _act(asked)
        return
    content = _answer(evidence, verdict)
    found = all(part.status == "answered" for part in judged(evidence.question, verdict, content))
    yield _done(evidence) + write_call("Section", name=name, description=description, content=content, found=found)


def _condense(messages: Sequence[Message]) -> Iterator[str]:
    """Yield each line of the report once; it has nothing that could be said in fewer words."""
    report = messages[-1].content.partition("\n\n")[2]
    yield "\n".join(dict.fromkeys(report.splitlines()[1:]))


def _known(messages: Sequence[Message]) -> str:
    """Return the blocks after the question: earlier findings, a report or a summary."""
    text = messages[1].content
    known = BEHIND.search(text)
    return text[known.start() :] if known else ""


def _introduce(messages: Sequence[Message]) -> Iterator[str]:
    question, evidence = _sections(messages)
    heads = [_answer(each.evidence, each.verdict).split("\n\n### ")[0] for each in _solved(evidence)]
    yield write_call("Introduction", name=clip(question, 120), content="\n\n".join(heads))


def _finish(messages: Sequence[Message]) -> Iterator[str]:
    question, evidence = _sections(messages)
    verdict = solved(evidence, acting=False)
    gaps = "; ".join(verdict.missing)
    kept = list(dict.fromkeys(_quoted(verdict)))[:3]
    zh = language_of(question) == "zh"
    missing = f"没有找到：{'、'.join(map(chinese.term, verdict.missing))}。" if zh else f"Not found: {gaps}."
    lines = [note(fact) for fact in kept] + ([missing] if gaps else [])
    name, empty = ("结论", "找到的内容都在各节中。") if zh else ("Conclusion", "The sections are all that was found.")
    short = in_one_line(parts_of(question), verdict, _answer(evidence, verdict))
    yield write_call("Conclusion", name=name, content="\n".join(lines) or empty, short=short)


def _sections(messages: Sequence[Message]) -> tuple[str, Evidence]:
    """Return the question, and the evidence quoted by the sections in the last message."""
    question = Evidence(messages).question
    task = Message("user", f"{question}{_known(messages)}\n\n<report>\n{messages[-1].content}\n</report>")
    return question, Evidence([messages[0], task])


def _answer(evidence: Evidence, verdict: Verdict) -> str:
    """Return the verdict as a report."""
    open_ = not (answers(verdict) or verdict.doubt or verdict.table)
    held = columns_of(evidence) if open_ else []
    said = answer(Verdict(verdict.question) if held else verdict, evidence.language, evidence.remembered)
    return f"{said}\n\n{_TABLES[evidence.language].format(tables='; '.join(held))}" if held else said


def _report(evidence: Evidence, verdict: Verdict, facts: Sequence[Fact]) -> str:
    """Return an evolving report that `Evidence` can parse: facts, gaps, next step, calls made."""
    steps = [step for step in evidence.steps if step.name in ("search", "visit", "python", "recall", "query")]
    names = [*names_asked(evidence.question), *map(usual_name, verdict.question.names)]
    found: list[dict[str, None]] = [{}, {}, {}]
    for fact in facts:  # until an answer quotes it, what names nothing asked for may be foreign to the question
        named = not verdict.actions or any(mentioned(name, f"{fact.title} {fact.line}") for name in names)
        found[1 if fact in evidence.remembered else 0 if named else 2][note(fact)] = None
    heads = _HEADS[evidence.language]
    lines = [f"### {heads[0]}", *(found[0] or [f"- {heads[4]}"])]
    for head, notes in zip(heads[1:3], found[1:], strict=True):
        lines += [f"### {head}", *notes] if notes else []
    gaps = [f"- {chinese.term(gap) if heads is _HEADS['zh'] else gap}" for gap in verdict.missing]
    lines += [f"### {heads[3]}", *(gaps or [f"- {heads[4]}"])]
    steps_next = dict.fromkeys(f"- {_said(a.thought, evidence.language)}" for a in verdict.actions)
    lines += [f"### {heads[5]}", *(steps_next or [f"- {heads[6]}"])]
    return "\n".join([*lines, f"### {heads[7]}", *dict.fromkeys(map(tried, steps))])


def _quoted(verdict: Verdict) -> Sequence[Fact]:
    """Return the facts that an answer quotes; none for one that only says what comes near it."""
    if verdict.table and answers(verdict):
        return [fact for each in verdict.table for fact in each.facts]
    return verdict.facts if answers(verdict) else ()


def _unclear(verdict: Verdict) -> bool:
    """Return whether nothing in the question says what it is about."""
    q = verdict.question
    if verdict.table or any(action.name == QUERY for action in verdict.actions):
        return False  # a table may say what it is about
    empty = all(not (t.label or t.words or t.near) for t in q.targets)
    return empty and not q.names and not q.years and len(re.findall(r"\w+", q.text)) <= 8


_HEADS = {
    "en": ("Confirmed", "Remembered", "To verify", "Gaps", "none", "Next step", "answer", "Tried"),
    "zh": ("已确认", "来自记忆", "待验证", "尚缺", "暂无", "下一步", "回答", "已尝试"),
}
"""Headings of an evolving report, and what is said where there is nothing below one."""
_CLARIFY = {
    "en": "What should I look up: which thing, and what about it?",
    "zh": "请问要查什么：哪个对象，关于它的什么？",
}
_TABLES = {
    "en": "A table may have it: {tables}. Ask with the names of its columns.",
    "zh": "表格里可能有：{tables}。请用表中的列名提问。",
}
_UNDERSTOOD = {"en": "Understood as: {question}", "zh": "理解为：{question}"}
_ROLES: dict[str, Callable[[Sequence[Message]], Iterator[str]]] = {
    "propose": _propose,
    "act": _act,
    "conclude": _conclude,
    "solve": _conclude,
    "plan": _plan,
    "replan": _replan,
    "worker": _worker,
    "evaluate": _evaluate,
    "reflect": _reflect,
    "summarise": _summarise,
    "scribe": _summarise,
    "condense": _condense,
    "synthesise": _synthesise,
    "outline": _outline,
    "research": _research,
    "introduce": _introduce,
    "finish": _finish,
}
