"""Opposites, synonyms and negations.  Each line of `OPPOSITES` is a scale whose two ends contradict each other."""

from __future__ import annotations

import re
from functools import lru_cache

OPPOSITES = """
rise rises rose risen rising increase increases increased increasing grow grows grew grown growing growth
 climb climbed
 gain gained gains jump jumped soar soared surge surged expand expanded up raise raised double doubled
 improve improved
 strengthen strengthened 上升 增长 增加 上涨 提高 上调 增至 升至 扩大 | fall falls fell fallen falling
 decrease decreases decreased
 decreasing decline declines declined declining drop drops dropped shrink shrank shrunk shrinking slump
 slumped plunge
 plunged slip slipped down cut cuts lower lowered reduce reduces reduced halve halved worsen worsened weaken
 weakened
 contract contracted 下降 减少 下跌 降低 缩短 下滑 跌至 降至 下调 缩减 萎缩
more greater larger bigger higher longer taller older richer faster exceed exceeds exceeded exceeding
 surpass surpassed
 outnumber above over ahead heavier wider 多于 高于 大于 超过 更多 更高 更大 更长 | less fewer smaller lower
 shorter younger
 poorer slower below under behind lighter trail trails trailed lag narrower 少于 低于 小于 不足 更少 更低
 更小 更短
most largest biggest highest greatest longest tallest oldest richest maximum peak 最多 最大 最高 最长 |
 least smallest lowest
 fewest shortest youngest poorest minimum 最少 最小 最低 最短
before prior earlier ago previously preceding predates 之前 以前 此前 早于 | after following later
 afterwards subsequently 之后 以后
 此后 晚于
first earliest begin begins began begun start starts started launch launched open opens opened opening
 commence found
 founded establish established 首次 首个 开始 启动 开业 成立 | last latest end ends ended finish finished
 stop stopped close closed
 closes closing closure abandon abandoned cease ceased shut scrap scrapped cancel cancelled abolish abolished
 dissolve
 dissolved 结束 停止 关闭 取消 放弃 废除
win wins won winning winner beat beats defeat victory victorious champion 获胜 击败 赢得 胜出 | lose loses
 lost losing loser
 loss 失败 输给 落败 失利
approve approves approved approval accept accepts accepted agree agreed support supports supported back
 backed favour
 favor endorse endorsed uphold upheld allow allows allowed permit permits permitted confirm confirms
 confirmed grant
 granted adopt adopted pass passed 批准 同意 支持 允许 通过 接受 维持 证实 | reject rejects rejected oppose
 opposes opposed refuse
 refused disagree disagreed dissent dissented ban banned bans forbid forbidden prohibit prohibited overturn
 overturned
 dismiss dismissed deny denied contradict contradicts contradicted dispute disputed veto vetoed 拒绝 反对
 禁止 否决 驳回 推翻 否认
 否定
import imports imported importing importer 进口 | export exports exported exporting exporter 出口
male males man men boy boys father he 男性 男 | female females woman women girl girls mother she 女性 女
urban city cities 城市 城镇 | rural countryside 农村 乡村
birth births born 出生 | death deaths died die dies killed mortality 死亡 去世
north northern 北部 北方 北 | south southern 南部 南方 南
east eastern 东部 东方 | west western 西部 西方
profit profits profitable surplus 盈利 利润 盈余 顺差 | deficit deficits loss losses unprofitable 亏损 赤字 逆差
buy buys bought purchase purchased acquire acquired acquires acquisition 收购 购买 买入 | sell sells sold
 sale divest divested
 disposal 出售 卖出 剥离
income revenue revenues receipts 收入 | expenditure expenditures spending expense expenses cost costs 支出
 开支 费用
safe safely harmless 安全 | dangerous unsafe harmful hazardous 危险 有害
possible able capable can 能够 可以 | impossible unable incapable cannot 不能 无法
public state-owned nationalised nationalized 公立 公有 国有 | private privately privatised privatized 私立
 私有 民营
legal lawful legalised legalized constitutional 合法 | illegal unlawful outlawed unconstitutional 非法 违宪
succeed succeeded success successful successfully 成功 | fail fails failed failure unsuccessful 未能
majority 多数 | minority 少数
literate | illiterate
immigration arrivals | emigration departures
inside indoor domestic 国内 | outside outdoor foreign overseas abroad 国外 海外
youth young 青年 年轻 | elderly old 老年 年长
arrive arrived arrival enter entered join joined joins 抵达 加入 | leave leaves left depart departed
 withdraw withdrew
 withdrawn quit exit 离开 退出
hire hired recruit recruited appoint appointed 聘用 任命 | fire fired dismiss sack sacked resign resigned
 解雇 辞职
guilty convicted conviction 有罪 | innocent acquitted acquittal cleared 无罪
warm warmer warming hot hotter 变暖 炎热 | cold colder cool cooler cooling 寒冷 变冷
strong stronger strongest | weak weaker weakest
cheap cheaper cheapest | expensive costlier dearer
include includes included including with 包括 | exclude excludes excluded excluding without except 不包括 除外
permanent permanently | temporary temporarily
mandatory compulsory required obligatory 强制 | voluntary optional 自愿
land | water
fixed | mobile
"""
"""Scales, one per line, with `|` between the two ends; a line that begins with a space continues the one before."""

ALIKE = """
people population inhabitants residents populous 人口 居民 人数
find found detect detected discover discovered finding 发现
employ employs employed employees staff workers workforce labour labor jobs job unemployed unemployment
 employment 就业 失业 员工
price prices inflation 通胀 物价
company firm business enterprise group 企业 公司
economy economic gdp output 经济
plant factory works 工厂
think believe argue argued hold held say said claim claimed 认为 表示 指出
replace replaced succeed succeeds successor 接替 取代
open opened begin began begun start started commission commissioned 通车 投产 开通 启用
cover covers span spans area 面积 覆盖
cost costs price worth invest invested investment 投资 造价 成本
make makes made produce produces produced production manufacture manufactured 生产 制造
car vehicle automobile 汽车
reason cause caused attribute attributed because owing 原因 由于 归因 因为
sea ocean maritime
army military defence defense armed
"""
"""Words that reports use for nearly the same; they match each other and have no opposite."""

WEAK = frozenset(
    "about around approximately roughly nearly almost some according report reported reports say says said estimate "
    "estimated est figure figures data number total totaled totalled amount amounted stand stood reach reached record "
    "recorded account accounted come came level country countries year years percent per cent one two its their "
    "million billion trillion thousand source note also over under more than up down between during while both "
    "which that this these compared comparison live lives lived those there here such only just still however whereas "
    "respectively show shows shown put "
    "because since until after before being made make makes now then most other another each same every main "
    "数据 显示 报告 表示 达到 达 为 约 大约 超过 根据 共 其中 同时 目前 此外 另外 "
    "该国 国家 全国 公司 项目 已经 已 将 由于 使 进行 可以 个 位 名 只 座 台".split()
)
"""Reporting words, which are ignored when a claim is compared with a source."""


@lru_cache(maxsize=1)
def _table() -> dict[str, frozenset[tuple[int, int]]]:
    """Return the ends of scales by word.  Two threads may both build it; neither sees a partial table."""
    lines = [line for text in (OPPOSITES, ALIKE) for line in text.strip().replace("\n ", " ").splitlines()]
    built: dict[str, set[tuple[int, int]]] = {}
    for scale, line in enumerate(lines):
        for side, words in enumerate(line.split("|")):
            for word in words.split():
                built.setdefault(word, set()).add((scale, side))
    table = {word: frozenset(ends) for word, ends in built.items()}
    # Unlisted forms are found by their stem, unless listed words with that stem differ.
    roots: dict[str, set[frozenset[tuple[int, int]]]] = {}
    for word, ends in table.items():
        roots.setdefault(stem(word), set()).add(ends)
    for root, found in roots.items():
        if len(found) == 1 and len(root) > 3:
            table.setdefault(root, *found)
    return table


@lru_cache(maxsize=1)
def _chinese() -> re.Pattern[str]:
    words = sorted((word for word in _table() if not word.isascii()), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)))


@lru_cache(maxsize=65_536)
def sides(text: str) -> frozenset[tuple[int, int]]:
    """Return the scales that a text is on, as pairs of scale and end (0 or 1)."""
    table = _table()
    found: set[tuple[int, int]] = set()
    for word in re.findall(r"[a-z]+(?:-[a-z]+)?", text.lower()):
        found |= table.get(word) or table.get(stem(word), frozenset())
    for match in _chinese().finditer(text):
        found |= table[match.group()]
    return frozenset(found)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the rough stem of a word: at most six letters, without a common ending."""
    if not word.isascii() or any(c.isdigit() for c in word):
        return word
    return (re.sub(r"(?<=\w{4})(?:ations?|ings?|ments?|ions?|ness|ly|ed|ers?|es|al|th|e|s)$", "", word) or word)[:6]
