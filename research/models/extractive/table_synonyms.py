"""Nouns of tables that name the same."""

from __future__ import annotations

from research.models.extractive.similarity import cosine
from research.models.extractive.table_columns import EQUAL, apart, same

SYNONYMS = tuple(
    frozenset(line.split())
    for line in (
        "revenue income sales turnover takings earn sell sold 销售额 营业额 营收 收入 金额 卖 卖出 售出",
        "salary pay paid wage earnings payroll compensation 工资 薪资 薪水 月薪 年薪",
        "price cost charge fee 价格 单价 费用",
        "cost expense expenditure spending outlay 成本 支出 花费 开支",
        "person people employee staff worker member headcount 人 员工 人员 职工 雇员",
        "student pupil 学生 学员",
        "team club side squad 球队 队伍",
        "country nation state 国家",
        "city town 城市",
        "company firm business supplier 公司 企业",
        "weight mass 重量",
        "rain rainfall precipitation 降雨量 降水量",
        "output production yield generation 产量 产出",
        "product item article good 产品 商品",
        "department division unit 部门",
        "score mark grade point 分数 成绩 得分",
        "duration length time hour minute 时长 时间",
        "height elevation altitude 高度 海拔",
        "attendance crowd spectator 观众 上座",
        "volume quantity sell sold 数量 销量 卖出 售出",
        "stock inventory 库存 存货",
        "shipment delivery consignment 货物 发货",
        "doctor physician 医生",
        "car vehicle 车辆 汽车",
        "order purchase 订单",
        "emission co2 carbon greenhouse 排放 排放量 碳排放",
        "use usage consumption demand 用量 消耗",
        "customer client buyer 客户 顾客",
    )
)
"""Nouns that name the same; vectors cannot tell them from siblings: `nurse` and `doctor` are as near as `pay` and `salary`."""


_PEOPLE = next(group for group in SYNONYMS if "people" in group)


def people(*words: str) -> bool:
    """Return whether all these words are words for people: `employees`, `staff`."""
    return all(word in _PEOPLE for word in words)


def means(word: str, own: str) -> bool:
    """Return whether a word names what a word of a column does: `people` and `headcount`."""
    return same(word, own) or synonymous(word, own) or (cosine(word, own) >= EQUAL and not apart(word, own))


def named_alike(word: str, other: str) -> bool:
    """Return whether two words as they are written name the same: `wage` and `salary`."""
    return any(word in group and other in group for group in SYNONYMS)


def synonymous(word: str, other: str) -> bool:
    """Return whether two words name the same: `wage` and `salary`, also `employs` and `staff`."""
    groups = [group for group in SYNONYMS if other in group]
    return any(word in group or (len(word) > 5 and any(same(word, each) for each in group)) for group in groups)
