"""Write the results that follow from lines by counting or calculating."""

from __future__ import annotations

from research.models.extractive.arithmetic import bare
from research.models.extractive.verdict import Worked

_WORDS = {
    "en": {
        "border": "The land border between **{a}** and **{b}** is **{km} km** long [{n}].",
        "stretch": "{b} {km} km",
        "borders": "Land borders of **{a}**: {list} [{n}].",
        "sum_of_borders": "Together **{km} km**: the land borders of **{a}** with {list} [{n}].",
        "no_border": "**{a}** does not border {b}; its land borders are: {list} [{n}].",
        "years_between": "**{b}**: {label} **{years} years** after **{a}** [{n}] [{m}].",
        "same_year": "**{a}** and **{b}**: {label} in the same year, {y} [{n}] [{m}].",
        "full": "Counted by the day it is {full} full years.",
        "years_since": "**{a}**: {label} **{years} years** before {y} [{n}].",
        "hours": "**{h} hours** [{n}] [{m}]",
        "clock": "The clocks of {a} are ahead of those of {b}, by their capitals and without summer time.",
        "alike": "The clocks of {a} and {b} show the same time, by their capitals and without summer time.",
        "most": "**{a}**: {label} was highest in **{y}** of these years:",
        "least": "**{a}**: {label} was lowest in **{y}** of these years:",
        "line": "**{a}**: {label}: {value} [{n}].",
        "and": ", ",
    },
    "zh": {
        "border": "**{a}**与**{b}**的陆地边界长**{km} 公里** [{n}]。",
        "stretch": "{b} {km} 公里",
        "borders": "**{a}**的陆地边界：{list} [{n}]。",
        "sum_of_borders": "**{a}**的陆地边界合计**{km} 公里**：{list} [{n}]。",
        "no_border": "**{a}**不与{b}接壤；陆地邻国为{list} [{n}]。",
        "years_between": "**{b}**的{label}比**{a}**晚**{years} 年** [{n}] [{m}]。",
        "same_year": "**{a}**和**{b}**的{label}在同一年：{y} [{n}] [{m}]。",
        "full": "按日期计算为 {full} 个整年。",
        "years_since": "**{a}**的{label}在 {y} 年之前**{years} 年** [{n}]。",
        "hours": "**{h} 小时** [{n}] [{m}]",
        "clock": "按首都计算、不计夏令时，{a}的时间比{b}早。",
        "alike": "按首都计算、不计夏令时，{a}与{b}时间相同。",
        "most": "**{a}**的{label}在这些年份中以 **{y}** 年为最高：",
        "least": "**{a}**的{label}在这些年份中以 **{y}** 年为最低：",
        "line": "**{a}**：{label}：{value} [{n}]。",
        "and": "、",
    },
}


def worked(found: Worked, w: dict[str, str]) -> list[str]:
    """Return the sentences for what follows from the findings; `w` says in which language."""
    words = _WORDS[w["language"]]
    one, two = found.findings[0], found.findings[-1]
    values, n = found.values, one.fact.n
    if found.kind == "border":
        return [words["border"].format(a=values[0], b=values[1], km=values[2], n=n)]
    if found.kind in ("borders", "sum_of_borders"):
        rest = values[1:] if found.kind == "borders" else values[2:]
        pairs = zip(rest[::2], rest[1::2], strict=True)
        listed = words["and"].join(words["stretch"].format(b=name, km=km) for name, km in pairs)
        return [words[found.kind].format(a=values[0], km=values[1], list=listed, n=n)]
    if found.kind == "no_border":
        return [words["no_border"].format(a=values[0], b=values[1], list=one.fact.value, n=n)]
    lines = [
        words["line"].format(a=each.subject, label=each.fact.label, value=each.fact.value, n=each.fact.n)
        for each in found.findings
    ]
    if found.kind == "series":
        years = words["and"].join(str(each.fact.label_years[-1]) for each in found.findings[: int(values[1])])
        label = bare(one.fact.label)
        return [words[values[0]].format(a=one.subject, label=label, y=years) + f" {lines[0]}", *lines[1:]]
    if found.kind == "clock":
        head = words["hours"].format(h=values[0], n=one.fact.n, m=two.fact.n)
        said = words["alike" if values[0] == "0" else "clock"].format(a=one.subject, b=two.subject)
        return [head, said, *lines]
    label, m = one.fact.label, two.fact.n
    if found.kind == "years_since":
        return [
            words["years_since"].format(a=one.subject, label=label, years=values[0], y=values[1], x=values[2], n=n),
            *lines,
        ]
    both = {"a": one.subject, "b": two.subject, "label": label, "n": n, "m": m, "y": values[1], "x": values[2]}
    head = words["same_year" if values[0] == "0" else "years_between"].format(years=values[0], **both)
    full = [words["full"].format(full=values[3])] if values[3] else []
    return [head, *lines, *full]
