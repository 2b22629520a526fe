"""Write the report of a verdict: quoted figures with `[n]`, what follows from them, and what was not found."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from research._util.amounts import plain, rounded
from research._util.glossary import chinese_label
from research.models.extractive import chinese, whether
from research.models.extractive.arithmetic import amounts_of, has_ratio, items_of, weighed, year_of
from research.models.extractive.asked import parts_of
from research.models.extractive.chinese import a_measure, measure, part_of, superlative, the_measure, written
from research.models.extractive.evidence import Fact, note
from research.models.extractive.fitting import bare
from research.models.extractive.members import counts
from research.models.extractive.narrower import narrower
from research.models.extractive.phrasebook import wholes
from research.models.extractive.places import within
from research.models.extractive.question import Question
from research.models.extractive.rankings import Bound
from research.models.extractive.table_words import rank_of
from research.models.extractive.verdict import Derived, Finding, Lead, Reading, Verdict
from research.models.extractive.write_ranked import over_all, past
from research.models.extractive.write_table import tabular

_WORDS = {
    "en": {
        "language": "en",
        "rose": "rose by ",
        "climbed": "rose by ",
        "fell": "fell by ",
        "narrowed": "(a negative figure) narrowed by ",
        "widened": "(a negative figure) widened by ",
        "same": "did not change",
        "points": "percentage points",
        "from": "from {a} in {y} [{m}] to {b} in {z} [{n}]",
        "series": "| Year | {name}: {label} |\n|---|---|",
        "difference": "The difference in {label} is {d}.",
        "differ": "The difference in {label} between {names} is {d}.",
        "sum_of": "The {label} of {names} together: {s}.",
        "equal": "{names} have the same {label}: {value} [{n}].",
        "top": "**{name}** has {which} {label} {inside}: {value} [{n}].",
        "apart": "{place} without {names}",
        "within": "{place} in {within}",
        "both": "both {place} and {within}",
        "in": "in {place}",
        "among": "among {place}",
        "countries": "the countries in {place}",
        "tied": "{count} countries share {which} {label} {inside}, {value}: {names} [{n}].",
        "tops": "{names} have {which} {label} {inside} [{n}].",
        "ordered": "{Inside}, by {label}, {which} first: {names} [{n}].",
        "ranks": "| Rank {inside} | Country | {label} | Year |",
        "from_last": "| Rank from the bottom {inside} | Country | {label} | Year |",
        "not_ranked": "Territories are not ranked. {rows}",
        "territory": "The {label} of {name} is {value} [{n}].",
        "figures": "{said} [{n}].",
        "without": "No figure is listed for {names}.",
        "last_tied": "The last of them are tied, so more countries are listed than were asked for.",
        "stands": "By {label}, **{name}** is number {rank} {inside}: {value} [{n}].",
        "passing": "**{count}** countries {inside} have {a_label} {limit}: {names}{n}.",
        "all_members": "**{count}** countries are {inside}: {names} [{n}].",
        "all_of_them": "There are **{count}** {bare}: {names} [{n}].",
        "total_sum": "The {label} of {countries} adds up to **{value}** [{n}].",
        "share": "{name} has **{value}** of the {label} of {countries}: {own} [{n}].",
        "total_mean": "The unweighted mean {label} of {countries} is **{value}** [{n}].",
        "total_median": "The median {label} of {countries} is **{value}** [{n}].",
        "ratio": "{subject}: {v}, calculated from {a} and {b}.",
        "rest": "{subject}: {v} are not among them, calculated from {a} and {b}.",
        "density": "The population density of {subject} is {v}, calculated from {a} and {b}.",
        "minus": "{subject}: {a} minus {b} is {v}.",
        "made_share": "{subject}: {v}, the ratio of {a} and {b}.",
        "made_part": "{subject}: {v}, the ratio of {a} and the sum of {b}.",
        "made_over": "{subject}: {v}, the ratio of the sum of {a} and {b}.",
        "made_times": "{subject}: {v} times, the ratio of {a} and {b}.",
        "made_sum": "{subject}: {v} in total, the sum of {a} and {b}.",
        "mean_of": "The unweighted mean {label} of {names} is {s}.",
        "regions": "The regions are those of the source, which may list a country such as Russia in another one.",
        "above": "above {limit}",
        "between": "between {low} and {high}",
        "below": "below {limit}",
        "years": "The figures are of different years: {years}.",
        "unlike": "The figures are in different units ({one}; {two}), so they are not compared.",
        "unmeasured": "The figures measure different things ({one}; {two}), so they are not compared.",
        "single": "The sources have one such figure only, so there is nothing to compare it with.",
        "numberless": "Not all of these are figures, so they are not compared.",
        "most/least": "the highest/the lowest",
        "most/fewest": "the most/the fewest",
        "最大/最小": "the largest/the smallest",
        "最多/最少": "the largest/the smallest",
        "最长/最短": "the longest/the shortest",
        "of": "Of {count}, {name} has {which} {label}: {value}.",
        "past": "{count} of {all} have {a_label} {limit}: {names}.",
        "shared": "Neighbours of {held}: {names}.",
        "shared_by_all": "{names} border{s} both {held}.",
        "shared_not": "Neighbours of {held}, but not of {others}: {names}.",
        "members": "| Country | {label} |\n|---|---|",
        "list": "{subject}: {label}: {value} [{n}].",
        "text": "{label} of {subject}: {value} [{n}].",
        "times": "{r} times",
        "as_many": "The figure for {a} is **{r}** that for {b}.",
        "grown": "{subject}: {label} {verb}, {span}.",
        "of_year": "{name} {year}",
        "other_one": "{name} {value} [{n}]",
        "thing": "Country",
        "part": "Part",
        "evidence": "Evidence",
        "count": "{subject} has land borders with **{count}** countries.",
        "yes": "Yes.",
        "no": "No.",
        "none": "**No answer found.** {why} Try other words, or add a document or a web search that covers it.",
        "open": "The sources do not answer this question.",
        "alone": "The sources do not give “{word}” alone.",
        "also": "Not found: {missing}.",
        "winner": "{name} has {which} {label}: {value} [{n}], compared with {others}.",
        "against": "**{name}**: {label}: {value} [{n}], compared with {others}.",
        "is": "It is {name} [{n}].",
        "says": "The sources say:",
        "best": "Quoted word for word; chosen by matching words, not reasoned.",
        "more": "What the other passages say",
        "and": ", ",
        "besides": "; ",
        "unsaid": "**No certain answer found.** These passages come closest; read whether they answer it, "
        "or try the words that the documents use.",
        "likely": "**No certain answer found.** The nearest sentence:",
        "near": "**No certain answer found.** No table accounts for {words}; without it, this comes closest.",
        "unknown": "In none of them: {unknown}.",
        "closest": "Closest passages found",
        "understood": "“{written}” was understood as {name}.",
        "doubt": "Which is meant: {options}?",
        "or": " or ",
        "remembered": "The sources remembered from earlier runs, not looked up again: {sources}.",
    },
    "zh": {
        "language": "zh",
        "rose": "增长了",
        "climbed": "上升了",
        "fell": "下降了",
        "narrowed": "（负值）缩小了",
        "widened": "（负值）扩大了",
        "same": "没有变化",
        "points": "个百分点",
        "from": "从{y}年的{a} [{m}] 到{z}年的{b} [{n}]",
        "series": "| 年 | {name}的{label} |\n|---|---|",
        "difference": "{names}的{label}相差{d}。",
        "differ": "{names}的{label}相差{d}。",
        "sum_of": "{names}的{label}合计{s}。",
        "equal": "{names}的{label}相同，都是{value} [{n}]。",
        "top": "**{name}** 的 {label} 在{inside}{which}：{value} [{n}]。",
        "apart": "{place}（不含{names}）",
        "within": "{within}的{place}",
        "both": "既在{place}又在{within}的",
        "in": "{place}",
        "among": "{place}中",
        "countries": "{place}各国",
        "tied": "{place}有 {count} 个国家的 {label} 并列{which}，为 {value}：{names} [{n}]。",
        "tops": "{place}{label}{which}的国家依次是{names} [{n}]。",
        "ordered": "{place}按{label}排列，{which}的在前：{names} [{n}]。",
        "ranks": "| {place}排名 | 国家 | {label} | 年份 |",
        "from_last": "| {place}倒数排名 | 国家 | {label} | 年份 |",
        "not_ranked": "属地不参加排名。{rows}",
        "territory": "{name}的{label}为{value} [{n}]。",
        "figures": "{said} [{n}]。",
        "stands": "{name}的 {label} 在{inside}排第 {rank}：{value} [{n}]。",
        "passing": "{place}有 **{count}** 个国家的 {label} {limit}：{names}{n}。",
        "all_members": "{place}有**{count}**个国家：{names} [{n}]。",
        "all_of_them": "{place}有**{count}**个：{names} [{n}]。",
        "total_sum": "{countries}的 {label} 合计 **{value}** [{n}]。",
        "share": "{name}的{label}占{place}合计的 **{value}**：{own} [{n}]。",
        "total_mean": "{countries} {label} 的平均值（未加权）为 **{value}** [{n}]。",
        "total_median": "{countries} {label} 的中位数为 **{value}** [{n}]。",
        "ratio": "{subject}：{v}，由{a}和{b}算出。",
        "rest": "{subject}：不在其中的为{v}，由{a}和{b}算出。",
        "density": "{subject}的人口密度为{v}，由{a}和{b}算出。",
        "minus": "{subject}：{a}减去{b}为{v}。",
        "made_share": "{subject}：{a}占{b}的{v}。",
        "made_part": "{subject}：{a}占{b}之和的{v}。",
        "made_over": "{subject}：{a}之和占{b}的{v}。",
        "made_times": "{subject}：{a}是{b}的{v}倍。",
        "made_sum": "{subject}：合计{v}，即{a}与{b}之和。",
        "mean_of": "{names}的{label}平均值（未加权）为{s}。",
        "without": "没有{names}的数据。",
        "last_tied": "末位数值并列，因此列出的国家多于所问的数目。",
        "regions": "地区按资料来源划分，个别国家可能归入别的地区。",
        "above": "超过{limit}",
        "between": "在{low}和{high}之间",
        "below": "低于 {limit}",
        "years": "这些数字属于不同年份：{years}。",
        "unlike": "这些数字的单位不同（{one}；{two}），因此不作比较。",
        "unmeasured": "这些数字衡量的内容不同（{one}；{two}），因此不作比较。",
        "single": "来源只有一个这样的数字，没有可以比较的对象。",
        "numberless": "其中有的不是数字，因此不作比较。",
        "most/least": "最高/最低",
        "most/fewest": "最多/最少",
        "of": "{count}个国家中，{name}的{label}{which}：{value}。",
        "past": "{all}个国家中，有{count}个的{label}{limit}：{names}。",
        "shared": "与{held}接壤的国家：{names}。",
        "shared_by_all": "{names}与{held}都接壤。",
        "shared_not": "与{held}接壤、但不与{others}接壤的国家：{names}。",
        "members": "| 国家 | {label} |\n|---|---|",
        "list": "{subject}：{label}：{value} [{n}]。",
        "is_of": "{subject}的{label}是{value} [{n}]。",
        "text": "{subject}的{label}：{value} [{n}]。",
        "times": "{r}倍",
        "as_many": "{a}的{label}是{b}的**{r}**。",
        "grown": "{subject}的{label}{verb}，{span}。",
        "of_year": "{name}{year}年",
        "other_one": "{name}为{value} [{n}]",
        "thing": "国家",
        "part": "组成部分",
        "evidence": "依据",
        "count": "{subject}有**{count}**个陆地邻国。",
        "yes": "是。",
        "no": "否。",
        "none": "**没有找到答案。** {why}请换一种问法，或添加相关的文档或网络搜索。",
        "open": "来源没有回答这个问题。",
        "alone": "来源没有单独给出“{word}”。",
        "also": "没有找到：{missing}。",
        "winner": "{name}的{label}{which}：{value} [{n}]，而{others}。",
        "against": "**{name}**的{label}：{value} [{n}]，而{others}。",
        "is": "是 {name} [{n}]。",
        "says": "来源写道：",
        "best": "以上为来源原文，按用词匹配选出，未经推理。",
        "more": "其他段落写道",
        "and": "、",
        "besides": "，",
        "unsaid": "**没有找到确定的答案。** 以下段落最为接近，请自行判断，或改用文档中的用词提问。",
        "likely": "**没有找到确定的答案。** 最接近的一句：",
        "near": "**没有找到确定的答案。** 表格里没有与{words}对应的内容；不计这个词，最接近的结果如下。",
        "unknown": "各段落都没有出现：{unknown}。",
        "closest": "最接近的段落",
        "understood": "“{written}”理解为 {name}。",
        "doubt": "请问指的是哪一个：{options}？",
        "or": "，还是",
        "remembered": "来源取自以往运行的记忆，这次没有重新查找：{sources}。",
    },
}


_YES_NO = re.compile(
    r"(?:^|[.:;,!?] )(?:is|are|was|were|does|do|did|has|have|can)\b(?! you)|true or false|\bwhether\b|"
    r"\b(?:is|does|do|has|are)n['’]t (?:it|they)\b|\bcorrect\b|right\?|吗"
)


def answer(verdict: Verdict, language: str, remembered: frozenset[Fact] = frozenset()) -> str:
    """Return the report; without findings, that there are none.  It marks the sources that are only `remembered`."""
    w = _WORDS[language]
    zh = language == "zh"
    shown = chinese.verdict(verdict) if zh else verdict
    tidy: Callable[[str], str] = chinese.tidy if zh else str
    title: Callable[[str], str] = chinese.title if zh else str
    if verdict.quotes:
        lines = [f"{w['says']}\n", *map(note, verdict.quotes)]
        return "\n".join([*lines, *_memory(verdict.quotes, remembered, w)])
    if verdict.doubt:
        return w["doubt"].format(options=w["or"].join(f"“{each}”" for each in verdict.doubt))
    if verdict.table:
        found = [tabular(each, language, verdict.question.text) for each in verdict.table]
        unread = [word for each in verdict.table for word in each.plan.unread]
        near = [w["near"].format(words=w["and"].join(f"“{word}”" for word in unread))] if unread else []
        said_so = [*(paragraph for each in found for paragraph in each), *_understood(verdict.question, w)]
        return "\n\n".join([*near, *said_so, *_under(w["closest"], list(map(note, verdict.closest)))])
    if verdict.ranked:
        cited = verdict.ranked.facts
        evidence = f"### {w['evidence']}\n\n" + "\n".join(map(note, cited))
        assert shown.ranked  # as in `verdict`
        said = map(tidy, over_all(shown.ranked, w))
        return "\n\n".join([*said, evidence, *_memory(cited, remembered, w)])
    if verdict.reading:
        memory_note = _memory(verdict.reading.quotes, remembered, w)
        return "\n\n".join([*_reading(verdict.reading, w), *memory_note])
    if not verdict.findings and not verdict.group:
        closest = [f"- {title(fact.title)}: “{fact.line}”" for fact in verdict.closest]
        word = verdict.question.nearest and narrower(verdict.question.text, verdict.question.nearest[0])
        why = w["alone"].format(word=word) if word else w["open"]
        return "\n\n".join([w["none"].format(why=why), *_under(w["closest"], closest)])
    head = [*_head(shown, w), *(line for each in shown.led for line in _led(each, w))]
    head += _understood(shown.question, w)
    quoted = [note(fact) for fact in verdict.facts]
    if shown.gaps:
        head.append(w["also"].format(missing="; ".join(each.rstrip("?？") for each in shown.gaps)))
    memory_note = _memory(verdict.facts, remembered, w)
    return "\n\n".join([*dict.fromkeys(map(tidy, head)), f"### {w['evidence']}\n\n" + "\n".join(quoted), *memory_note])


def _understood(question: Question, w: dict[str, str]) -> list[str]:
    """Return how misspelt words were understood."""
    title: Callable[[str], str] = chinese.title if w["language"] == "zh" else str
    return [w["understood"].format(written=given, name=title(name)) for given, name in question.guessed]


def _reading(reading: Reading, w: dict[str, str]) -> list[str]:
    """Return the paragraphs of an answer from prose: the best sentences verbatim, then one of each other document."""
    unknown = [w["unknown"].format(unknown=w["and"].join(reading.unknown))] if reading.unknown else []
    if not reading.stated:
        first, *beside = map(note, reading.best)
        if reading.likely:
            return [w["likely"], first.removeprefix("- "), *unknown, *_under(w["closest"], beside)]
        return [w["unsaid"], *unknown, *_under(w["closest"], [first, *beside])]
    best = [note(fact).removeprefix("- ") for fact in reading.best]
    at = next((n for n, fact in enumerate(reading.best) if reading.span and reading.span in fact.line), -1)
    if at >= 0:
        title, quote, line = best[at].partition("“")
        best[at] = f"{title}{quote}{line.replace(reading.span, f'**{reading.span}**', 1)}"
    head = [*best, w["best"]]
    return [*head, *unknown, *_under(w["more"], list(map(note, reading.others)))]


def _under(heading: str, lines: list[str]) -> list[str]:
    """Return lines under their heading; nothing if there are none."""
    return [f"### {heading}\n\n" + "\n".join(lines)] if lines else []


def _memory(facts: Sequence[Fact], remembered: frozenset[Fact], w: dict[str, str]) -> list[str]:
    """Return a sentence that names the sources not looked up in this run; empty if there are none."""
    titles = dict.fromkeys(fact.title for fact in facts if fact in remembered)
    return [w["remembered"].format(sources="; ".join(titles))] if titles else []


def _led(lead: Lead, w: dict[str, str]) -> list[str]:
    """Return sentences that tell how the country that the question describes was found."""
    if lead.ranked:
        return over_all(lead.ranked, w)[:1]
    chosen = [each for each in lead.findings if each.subject == lead.name and len(lead.findings) > 2]
    if not chosen:
        return [_plainly(each, w) for each in lead.findings]
    best, label = chosen[0], bare(chosen[0].fact.label)
    others = [each for each in lead.findings if bare(each.fact.label) == label and each is not best]
    lists = [each for each in lead.findings if each not in (best, *others)]
    told = w["against"].format(
        name=best.subject, label=label, value=_bold(best.fact.value), n=best.fact.n, others=_others(others, w)
    )
    return [told, *(_plainly(each, w) for each in lists)]


def _others(others: Sequence[Finding], w: dict[str, str]) -> str:
    return w["besides"].join(w["other_one"].format(name=o.subject, value=_compared(o.fact), n=o.fact.n) for o in others)


def _plainly(finding: Finding, w: dict[str, str]) -> str:
    """Return a line with no item in bold, because its first item is not the one that counts."""
    return _stated(finding, finding.fact.value, w)


def _head(verdict: Verdict, w: dict[str, str]) -> list[str]:
    q = verdict.question
    if verdict.hindrance:
        return _hindered(verdict, w)
    if verdict.derived:
        return _derived(verdict, verdict.derived, w)
    if verdict.holds is not None:
        return [*_yes(verdict.holds, w), *(_sentence(finding, w) for finding in verdict.findings)]
    if q.relation is not None or verdict.limit:
        return _group(verdict, w)
    if verdict.computed and q.operation == "growth":
        before, after = amounts_of([finding.fact for finding in verdict.findings[:2]])
        decided = whether.moved(q.text, float(after.value - before.value)) if len(verdict.findings) == 2 else None
        return [*_yes(decided, w), *_growth(verdict, w)]
    if verdict.computed and q.operation in ("sum", "mean"):
        return [*_calculated(verdict.findings, q, w), *(_sentence(finding, w) for finding in verdict.findings)]
    if verdict.computed and q.operation == "compare" and not verdict.chosen:
        return [*(_sentence(finding, w) for finding in verdict.findings), *_calculated(verdict.findings, q, w)]
    if verdict.chosen and len(verdict.findings) > 1:
        return _comparison(verdict, w)
    if verdict.chosen and verdict.findings:
        first = verdict.findings[0]
        return [w["is"].format(name=f"**{verdict.chosen}**", n=first.fact.n)]
    several = len(verdict.findings) > len({finding.subject for finding in verdict.findings})
    if several and len(q.targets) == 1 and q.targets[0].label in wholes():
        return _parts(verdict.findings, w)
    labels = dict.fromkeys(bare(finding.fact.label) for finding in verdict.findings)
    names = dict.fromkeys(finding.subject for finding in verdict.findings)
    short = [each for each in verdict.findings if each.fact.quantity or len(each.fact.value) <= _IN_CELL]
    cells = {(finding.subject, bare(finding.fact.label)) for finding in short}
    if len(names) > 1 < len(labels) and len(cells) == len(verdict.findings):
        return [_side_by_side(verdict.findings, list(labels), w)]
    return [_sentence(finding, w) for finding in verdict.findings]


_IN_CELL = 60
"""Longest text of a cell."""


def _side_by_side(findings: Sequence[Finding], labels: Sequence[str], w: dict[str, str]) -> str:
    """Return a table with a row for each thing and a column for each of several measures."""
    cells: dict[str, dict[str, str]] = {}
    for each in findings:
        cells.setdefault(each.subject, {})[bare(each.fact.label)] = f"{each.fact.value} [{each.fact.n}]"
    heads = [w["thing"], *(_title(part_of(label) or measure(w, label)) for label in labels)]
    rows = [[name, *(found.get(label, "–") for label in labels)] for name, found in cells.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))


def _title(label: str) -> str:
    return label[:1].upper() + label[1:]


def _parts(findings: Sequence[Finding], w: dict[str, str]) -> list[str]:
    """Return the largest part of each thing, then a table of all parts, the largest of the first thing first."""
    cells: dict[str, dict[str, str]] = {}
    shared = {each.fact.value.partition(" ")[2] for each in findings}  # `of total installed capacity (2023 est.)`
    alike = len(shared) == 1
    for each in findings:
        value = each.fact.value.partition(" ")[0] if alike else each.fact.value
        cells.setdefault(each.fact.label, {})[each.subject] = f"{value} [{each.fact.n}]"
    names = dict.fromkeys(each.subject for each in findings)
    first = [next(each for each in findings if each.subject == name) for name in names]
    head = " ".join([w["part"], *shared]).strip() if alike else w["part"]
    rows = [[head, *names], ["---"] * (1 + len(names))]
    rows += [[label, *(found.get(name, "–") for name in names)] for label, found in cells.items()]
    return [*(_sentence(each, w) for each in first), "\n".join(f"| {' | '.join(row)} |" for row in rows)]


def _yes(decided: bool | None, w: dict[str, str]) -> list[str]:
    return [] if decided is None else [f"**{w['yes'] if decided else w['no']}**"]


def _sentence(finding: Finding, w: dict[str, str]) -> str:
    fact = finding.fact
    if not fact.label:
        return note(fact).removeprefix("- ")
    return _stated(finding, f"**{finding.item}**" if finding.item else _bold(fact.value), w)


_FIGURE = re.compile(r"[-−]?\$?\d[\d,.]*(?:[^\d;]|/[\d,]+){0,60}(?:\([^()]{0,80}\))?")
_NAME = re.compile(r"[A-Z](?:[^;,()]|,(?=\d)|\([^()]{1,80}\)){1,120}")


def _stated(finding: Finding, value: str, w: dict[str, str]) -> str:
    """Return a labelled line as a sentence where its value is a figure or a name, and as a title and its text elsewhere."""
    fact, source = finding.fact, finding.fact.source or finding.fact
    subject = within(finding.subject, w["language"])
    said = {"subject": subject, "value": value, "n": fact.n}
    label = bare(source.label)
    if not chinese_label(label):
        return w["list"].format(label=fact.label, **said)
    name = "" if finding.item or not _NAME.fullmatch(source.value) else part_of(label)
    if not name and (finding.item or not _FIGURE.fullmatch(source.value)):
        head, *parts = re.split(", | - ", bare(fact.label), maxsplit=1)
        return w["text"].format(label=f"{head} ({parts[0]})" if parts else head, **said)
    if w["language"] == "zh":
        return w["is_of"].format(label=bare(fact.label), **said)
    return f"{the_measure(name or label, subject)} {value} [{fact.n}]."


def _growth(verdict: Verdict, w: dict[str, str]) -> list[str]:
    lines = []
    for before, after in zip(verdict.findings[::2], verdict.findings[1::2], strict=True):
        one, two = amounts_of([before.fact, after.fact])
        change = two.value - one.value
        label = bare(after.fact.label)
        absolute = written(abs(change), [one, two], w, label, points=True)
        relative = one.value > 0 and not one.percent
        amount = _percent(100 * (two.value / one.value - 1), w) if relative else absolute
        deficit = one.value < 0 and two.value <= 0 and not one.percent
        up = "climbed" if one.percent else "rose"
        way = ("narrowed" if change > 0 else "widened") if deficit else (up if change > 0 else "fell")
        verb = w["same"] if change == 0 else f"**{w[way]}{amount}**"
        if relative and change:
            verb += f" ({absolute})"
        span = w["from"].format(
            a=plain_of(before.fact),
            y=year_of(before.fact),
            m=before.fact.n,
            b=f"**{plain_of(after.fact)}**",
            z=year_of(after.fact),
            n=after.fact.n,
        )
        lines.append(w["grown"].format(subject=f"**{after.subject}**", label=label, verb=verb, span=span))
    series = [f"| {year_of(each.fact)} | {plain_of(each.fact)} [{each.fact.n}] |" for each in verdict.group]
    if not series:
        return lines
    head = w["series"].format(name=verdict.group[0].subject, label=bare(verdict.group[0].fact.label))
    return [*lines, "\n".join([head, *series])]


def _percent(change: Decimal, w: dict[str, str]) -> str:
    """Format a percentage rounded, followed by two decimals to check it: `1.2 % (1.17 %)`, in Chinese only these."""
    exact = f"{abs(change):.2f}"
    if w["language"] == "zh":
        return f"{exact}%"
    short = f"{abs(change):.1f}"
    return f"{short} %" if float(exact) == float(short) else f"{short} % ({exact} %)"


def _comparison(verdict: Verdict, w: dict[str, str]) -> list[str]:
    q = verdict.question
    chosen = next(f for f in verdict.findings if f.subject == verdict.chosen)
    others = [f for f in verdict.findings if f is not chosen]
    lines = []
    if q.operation == "compare" and len({each.value for each in amounts_of([f.fact for f in verdict.findings])}) == 1:
        names = w["and"].join(f"**{finding.subject}**" for finding in verdict.findings)
        marks = "] [".join(str(n) for n in dict.fromkeys(f.fact.n for f in verdict.findings))
        return [
            w["equal"].format(
                names=names, label=measure(w, bare(chosen.fact.label)), value=plain_of(chosen.fact), n=marks
            )
        ]
    asked = _YES_NO.search(q.text.lower()) and not any(part.options for part in parts_of(q.text))
    if asked and len(verdict.findings) == 2 and q.operation == "compare":
        lines.append(f"**{w['yes'] if verdict.findings[0].subject == verdict.chosen else w['no']}**")
    lines.append(
        w["winner"].format(
            name=f"**{chosen.subject}**",
            which=superlative(w, bare(chosen.fact.label), most=q.most, two=len(others) == 1),
            label=measure(w, bare(chosen.fact.label)),
            value=_bold(_compared(chosen.fact)),
            n=chosen.fact.n,
            others=_others(others, w),
        )
    )
    if verdict.computed:
        said = (
            line for pair in weighed(verdict.findings, q) for line in _calculated(pair, q, w, apart=len(others) > 1)
        )
        lines += dict.fromkeys(said)
    return lines


_TIMES_OF = re.compile(r"\bis how many times\b|是.{1,30}的.{0,3}[几多]少?倍", re.I)
"""Matches what asks how many times the second thing the first one is."""


def _calculated(findings: Sequence[Finding], q: Question, w: dict[str, str], *, apart: bool = False) -> list[str]:
    """Return the sum or mean, or for two figures the difference and ratio, with the marks of what they are calculated from.

    `apart` says that there are others, so that the names are said.
    """
    facts = [finding.fact for finding in findings]
    amounts = amounts_of(facts)
    values = [each.value for each in amounts]
    marks = "".join(f" [{n}]" for n in dict.fromkeys(fact.n for fact in facts))
    label = bare(facts[0].label)
    named = {"names": chinese.listed([finding.subject for finding in findings], w), "label": measure(w, label)}
    lines = []
    if q.operation in ("sum", "mean"):
        total = sum(values, Decimal(0))
        result = total if q.operation == "sum" else round(total / len(values), 2)
        said = f"**{written(result, amounts, w, label)}**"
        lines.append(w[f"{q.operation}_of"].format(s=said, **named) + marks)
    elif len(facts) == 2 and values[0] != values[1]:
        gap = written(abs(values[0] - values[1]), amounts, w, label, points=True)
        lines.append(w["differ" if apart else "difference"].format(d=f"**{gap}**", **named) + marks)
        if has_ratio(amounts) and not apart:
            pairs = [*zip(values, (each.subject for each in findings), strict=True)]
            (more, a), (less, b) = pairs if _TIMES_OF.search(q.text) and values[1] else sorted(pairs, reverse=True)
            ratio = w["times"].format(r=plain(rounded(more / less, 2)))
            lines.append(w["as_many"].format(a=a, b=b, r=ratio, label=label) + marks)
    return [*lines, *_years({finding.subject: year_of(finding.fact) for finding in findings}, w)]


def _years(years: Mapping[str, int | None], w: dict[str, str]) -> list[str]:
    """Return the sentence that figures are of different years, if they are."""
    said = w["and"].join(w["of_year"].format(name=name, year=year or "?") for name, year in years.items())
    return [w["years"].format(years=said)] if len(set(filter(None, years.values()))) > 1 else []


def _inputs(facts: Sequence[Fact], w: dict[str, str]) -> list[str]:
    """Return each figure with its measure and year: `total population 174,370,536 (2025 est.)`."""
    return [f"{measure(w, bare(fact.label))} {fact.value.split(';')[0]}" for fact in facts]


def _derived(verdict: Verdict, derived: Derived, w: dict[str, str]) -> list[str]:
    """Return the measure with the figures that it was calculated from."""
    facts = tuple(finding.fact for finding in verdict.findings)
    *first, last = found = _inputs(facts, w) * (2 if len(facts) == 1 else 1)
    one, two = (found[0], ", ".join(found)) if derived.kind == "made_part" else (", ".join(first), last)
    name = verdict.findings[0].subject
    subject = within(name, w["language"]) if derived.kind == "density" else f"**{name}**"
    said = w[derived.kind].format(subject=subject, v=f"**{derived.value}**", a=one, b=two)
    # All marks follow the figure that was calculated from all of them.
    marks = " ".join(dict.fromkeys(f"[{fact.n}]" for fact in facts))
    holds = (
        whether.outweighs(verdict.question.text, bare(facts[0].label), derived.value)
        if derived.kind == "minus"
        else None
    )
    return [
        *_yes(holds, w),
        f"{said} {marks}",
        *_years({measure(w, bare(fact.label)): year_of(fact) for fact in facts}, w),
    ]


def _hindered(verdict: Verdict, w: dict[str, str]) -> list[str]:
    """Return the figures, and the sentence why nothing is calculated with them."""
    found = verdict.hindrance
    if found is None:
        return []
    name = {"same": "single", "number": "numberless", "units": "unlike", "measures": "unmeasured"}[found.kind]
    return [*(_sentence(finding, w) for finding in verdict.findings), w[name].format(one=found.one, two=found.two)]


def _group(verdict: Verdict, w: dict[str, str]) -> list[str]:
    """Return what is said of the members of a list: of one of them, of those past a limit, or of all."""
    q = verdict.question
    if verdict.shared:
        return [_shared(verdict, w), *(_plainly(each, w) for each in verdict.group)]
    members = [f for f in verdict.group if f.target != q.relation]
    lists = [f for f in verdict.group if f.target == q.relation] or ([] if members else list(verdict.findings))
    if q.operation == "count" and not members:
        found = verdict.findings[0]
        count = len(items_of((found.fact.source or found.fact).value))
        return [w["count"].format(subject=found.subject, count=count), _sentence(found, w)]
    shown = {f.fact for f in members}
    rest = [_sentence(f, w) for f in verdict.findings if f.fact not in shown]
    if members:
        head = _past(verdict, verdict.limit, members, w) if verdict.limit else _of_all(verdict, members, w)
        return [head, *rest, *(_plainly(each, w) for each in lists), _members(members, w)]
    if not verdict.chosen:
        figures = all(each.fact.quantity for each in verdict.findings) and len(verdict.findings) > 1
        return [*([_members(verdict.findings, w)] if figures else rest), *(_plainly(each, w) for each in verdict.group)]
    return [*(_sentence(each, w) for each in lists), *rest]


def _shared(verdict: Verdict, w: dict[str, str]) -> str:
    """Return which members the lists have together, and which lists do not have them."""
    marked = {each.subject: f"{each.subject} [{each.fact.n}]" for each in verdict.group}
    held = chinese.listed([mark for name, mark in marked.items() if name not in verdict.apart], w)
    others = chinese.listed([marked[name] for name in verdict.apart], w)
    if counts(verdict.question.text):
        names = f"**{len(verdict.shared)}** ({chinese.listed(verdict.shared, w)})"
    else:
        names = chinese.listed([f"**{name}**" for name in verdict.shared], w)
        if verdict.shared and not others:
            return w["shared_by_all"].format(held=held, names=names, s="" if len(verdict.shared) > 1 else "s")
    return w["shared_not" if others else "shared"].format(held=held, others=others, names=names)


def _of_all(verdict: Verdict, members: Sequence[Finding], w: dict[str, str]) -> str:
    """Return the rank of the chosen one among several; the table below has the sources."""
    q, best = verdict.question, next(f for f in members if f.subject == verdict.chosen)
    return w["of"].format(
        count=len(members),
        name=f"**{best.subject}**",
        which=superlative(w, bare(best.fact.label), most=q.pick is None or q.pick.most, rank=rank_of(q.text)),
        label=measure(w, bare(best.fact.label)),
        value=_bold(best.fact.value),
    )


def _past(verdict: Verdict, limit: Bound, members: Sequence[Finding], w: dict[str, str]) -> str:
    """Return how many members are past the limit of the question, and which; the table below has the sources."""
    label, count = bare(members[0].fact.label), str(len(verdict.findings))
    return w["past"].format(
        count=f"**{count}**" if counts(verdict.question.text) else count,
        all=sum(each.subject != limit.name for each in members),
        a_label=a_measure(w, label),
        label=label,
        limit=past(limit, label, w),
        names=chinese.listed([f"**{each.subject}**" for each in verdict.findings], w) or "–",
    )


def _members(found: Sequence[Finding], w: dict[str, str]) -> str:
    """Return a table of the figures of several things."""
    label = measure(w, bare(found[0].fact.label))
    rows = [f"| {each.subject} | {each.fact.value} [{each.fact.n}] |" for each in found]
    return "\n".join([w["members"].format(label=_title(label)), *rows])


def plain_of(fact: Fact) -> str:
    """Return the value without its year in parentheses: `$3.732 trillion` for `$3.732 trillion (2024 est.)`."""
    return re.sub(
        r"\s{0,9}\([^()]{0,300}\d{4}[^()]{0,300}\)|（[^（）]{0,300}\d{4}[^（）]{0,300}）", "", fact.value
    ).strip()


def _compared(fact: Fact) -> str:
    """Return the value without the figures of its parts: `5,835 km` for `5,835 km (mainland 1,777 km; islands 4,058 km)`."""
    return re.sub(r"\s?[(（](?![^()（）]*(?:19|20)\d\d)[^()（）]*\d[^()（）]*[)）]", "", fact.value)


_IN_BOLD = 120
"""Longest list in bold, which is the answer in one line."""


def _bold(value: str) -> str:
    """Set a value in bold, or its start; leave long values unchanged."""
    head = re.match(r"[^;(；（]{1,60}(?=[;(；（]|$)", value)
    rest = value[head.end() :] if head else ""
    several = len(items_of(value)) > 1 if ";" in value else "," in re.sub(r"\([^()]*\)", "", rest)
    if several:  # the first of several is not the answer
        return f"**{value}**" if len(value) <= _IN_BOLD else value
    return f"**{value[: len(value) - len(rest)].strip()}** {rest}".strip().replace("** ;", "**;") if head else value
