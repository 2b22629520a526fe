"""The workbench's own words in exported files, in the language of the report.

A file has no language switch, so its words follow the language of the run, not that of the page.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from research import plugins
from research._util.said import translated
from research.citations.marks import SYMBOLS
from research.citations.shelf import FACTBOOK_NAMES
from research.events.recipe import Recipe
from research.events.view import RunView
from research.text import language_of

_CHINESE: Final = {
    "Subject": "对象",
    "Year": "年份",
    "Value": "数值",
    "{name}: {value}": "{name}：{value}",
    "Source": "来源",
    "References": "参考文献",
    "Checked": "核查",
    "Plots": "图",
    "About this report": "关于本报告",
    "supported": "有依据",
    "calculated": "由引用的数据算出",
    "partly supported": "部分有依据",
    "not verified": "未核实",
    "not supported": "无依据",
    "contradicted": "与来源矛盾",
    "without a source": "没有来源",
    "{good} of {all} supported": "{all}中，{good} 条有依据",
    "{count} not verified": "{count} 条未核实",
    "from memory": "来自记忆",
    "Of this source: {notes}": "关于此来源：{notes}",
    "{count} checked: {told}.": "共核查{count}：{told}。",
    "Cited numbers that no source has:": "引用了不存在的来源编号：",
    "{count} edited by the user before the research went on:": "研究继续之前，用户修改了{count}：",
    "the evolving report": "演进报告",
    "{count} without a source:": "{count}没有来源：",
    "{count} without a source, marked {mark}:": "{count}没有来源，以 {mark} 标出：",
    "{count} taken out that no source had shown:": "删去了任何来源都没有出现过的{count}：",
    "{count} not shown here: too large, too many, or no PNG.": "{count}未在此显示：过大、过多或不是 PNG。",
    "{verdict} (“{claim}”)": "{verdict}（“{claim}”）",
    "{verdict}: {reason} (“{claim}”)": "{verdict}：{reason}（“{claim}”）",
    "and {left} more": "另有 {left} 项",
    "The rest of the report is not drawn here: {left} of {all} characters.": (
        "报告其余部分未在此排出：共 {all} 个字符，其中 {left} 个未排。"
    ),
    "The rest of the table is not drawn here: {count}.": "表格其余部分未在此排出：{count}。",
    "There is no report yet.": "尚无报告。",
    FACTBOOK_NAMES["en"]: FACTBOOK_NAMES["zh"],
    "Plot {n}": "图 {n}",
    "Answer:": "答案：",
    "{good} of {all} parts": "{all} 部分中的 {good} 部分",
    "Parts of the question that were not found:": "问题中没有找到答案的部分：",
    "Date": "日期",
    "Outcome": "结果",
    "Recipe": "方案",
    "Model": "模型",
    "Rounds": "轮数",
    "Calls": "调用",
    "Tokens": "词元",
    "Cost": "费用",
    "Time": "用时",
    "Follow-up to": "追问自",
    "Run": "运行",
    "{models}, {tools}": "{models}，{tools}",
    "{sent} read, {written} written": "读入 {sent}，写出 {written}",
    "about {tokens}": "约{tokens}",
    "unknown": "未知",
    "Left this machine": "离开本机的数据",
    "nothing": "无",
    "{requests} to {host}, {size} kB ({kinds})": "{requests}发往 {host}，{size} kB（{kinds}）",
    "question": "问题",
    "passages": "原文段落",
    "memory": "记忆",
    "search words": "检索词",
    "addresses": "网址",
    "arguments": "参数",
    "{seconds} s": "{seconds} 秒",
    "Page {page} of {all}": "第 {page} 页，共 {all} 页",
    "Still running": "仍在运行",
    "Report checked": "报告已核查",
    "Nothing could be judged": "均未能判定",
    "Answered": "已回答",
    "Partly answered": "部分已回答",
    "Answered; the last verdict on the answer is FAIL": "已回答；对答案的最后评判是“未通过”（FAIL）",
    "The limit of rounds was reached; best answer from what is known": "已达轮次上限；以下是基于已知内容的最佳回答",
    "The token budget is spent; best answer from what is known": "词元预算已用完；以下是基于已知内容的最佳回答",
    "The cost budget is spent; best answer from what is known": "费用预算已用完；以下是基于已知内容的最佳回答",
    "The time is up; best answer from what is known": "时间已到；以下是基于已知内容的最佳回答",
    "The tools failed": "工具失败",
    "The agent repeated itself and was stopped; best answer from what is known": (
        "智能体陷入重复，已被停止；以下是基于已知内容的最佳回答"
    ),
    "No answer found": "没有找到答案",
    "A question to you is open": "有一个问题等您回答",
    "Stopped; what was found so far": "已停止；以下是目前找到的内容",
    "Failed": "失败",
}

_COUNTED: Final = {
    "request": "次请求",
    "statement": "条陈述",
    "citation": "处引用",
    "sentence": "个句子",
    "address": "个网址",
    "finding": "项发现",
    "plot": "幅图",
    "row": "行",
    "column": "列",
    "model call": "次模型调用",
    "tool call": "次工具调用",
}

LETTERS: Final = "".join([*_CHINESE.values(), *_COUNTED.values(), *SYMBOLS.values()])
"""All characters of these words; the embedded font must contain them."""


class Words(Struct, frozen=True):
    """Translates the workbench's words into one language: `say("and {left} more", left=3)`."""

    language: str = "en"
    """`en` or `zh`."""

    def __call__(self, text: str, **values: object) -> str:
        """Return the formatted words.  Raises `KeyError` for words without a translation."""
        return (_CHINESE[text] if self.language == "zh" else text).format(**values).strip()

    def way(self, recipe: Recipe) -> str:
        """Return how a run worked: `ReAct / Full history`."""
        return " / ".join(translated(each, self.language) for each in recipe.titles)

    def model(self, name: str) -> str:
        """Return what a reader calls a model."""
        return translated(plugins.model_title(name), self.language)

    def count(self, number: int, noun: str) -> str:
        """Return `2 statements`; in Chinese with a leading space between words and digits."""
        if self.language == "zh":
            return f" {number:,} {_COUNTED[noun]}"
        plural = "es" if noun.endswith("s") else "s"
        return f"{number:,} {noun}" + ("" if number == 1 else plural)


def words_of(view: RunView) -> Words:
    """Return the words in the language of the recipe or, if it has none, of the question."""
    chosen = view.recipe.language
    return Words(chosen if chosen in ("en", "zh") else language_of(view.question))
